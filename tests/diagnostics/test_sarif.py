"""What `--format sarif` writes is SARIF 2.1.0, by the published schema."""

from __future__ import annotations

import json

import jsonschema
import pytest

from kina.diagnostics.finding import Finding
from kina.diagnostics.pages import all_pages
from kina.diagnostics.sarif import render_sarif
from tests.diagnostics.page_programs import findings_of
from tests.diagnostics.samples import SAMPLES
from tests.diagnostics.sarif_schema import sarif_schema

#: Findings with proofs, labels, helps, edits and notes of their own.
TELLING = ("K201", "K202", "K310", "K312", "K402", "K501", "K503", "K507")


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft7Validator:
    schema = sarif_schema()
    assert "SARIF" in schema["title"]
    return jsonschema.Draft7Validator(schema)


def check_all(validator: jsonschema.Draft7Validator, findings: tuple[Finding, ...]) -> None:
    log = json.loads(render_sarif(findings))
    assert len(log["runs"][0]["results"]) == len(findings)
    problems = [f"{list(each.absolute_path)}: {each.message[:200]}" for each in validator.iter_errors(log)]
    assert problems == []


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_samples(validator: jsonschema.Draft7Validator, name: str) -> None:
    check_all(validator, tuple(SAMPLES[name]()))


@pytest.mark.parametrize("code", TELLING)
def test_findings_of_programs(validator: jsonschema.Draft7Validator, code: str) -> None:
    page = next(page for page in all_pages() if page.code == code)
    check_all(validator, findings_of(page, page.wrong))


def test_no_findings(validator: jsonschema.Draft7Validator) -> None:
    check_all(validator, ())


def test_the_schema_refuses_what_is_wrong(validator: jsonschema.Draft7Validator) -> None:
    log = json.loads(render_sarif(()))
    log["runs"][0]["results"] = [{"level": "grave"}]
    assert list(validator.iter_errors(log))
