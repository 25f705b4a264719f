"""Tables, JSON and lock files."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pytest

from kina.diagnostics.finding import SetupError
from kina.diagnostics.sarif import render_sarif
from kina.diagnostics.style import Style
from kina.frontend.ir import TensorType
from kina.paths import schema_path
from kina.pipeline import Result
from kina.report.as_json import render_json
from kina.report.lock import compare, lock_text
from kina.report.tables import size_text, tables
from kina.report.types import type_text
from tests.diagnostics.samples import SAMPLES
from tests.report import made

SCHEMA = jsonschema.Draft202012Validator(json.loads(schema_path().read_text(encoding="utf-8")))


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA.schema)


def test_json_of_a_whole_result_fits_the_schema() -> None:
    report = json.loads(render_json(made.result(), timings=True))
    SCHEMA.validate(report)
    assert report["timings_ms"] == {"read": 1.235, "form": 2.0}
    assert report["mesh"] == [{"axis": "data", "size": 2}, {"axis": "model", "size": 2}]
    product = next(tensor for tensor in report["tensors"] if tensor["name"] == "f.matmul")
    assert product["pending"] == [{"axis": "model", "kind": "sum"}]
    assert [tensor["name"] for tensor in report["tensors"] if tensor["annotated"]] == ["f.a"]
    assert report["collectives"][0]["tensor"] == "f.matmul"
    assert report["solver"] == {"name": "made", "version": "1"}


@pytest.mark.parametrize("name", SAMPLES)
def test_json_of_findings_fits_the_schema(name: str) -> None:
    findings = tuple(SAMPLES[name]())
    report = json.loads(render_json(Result("x.kina", findings=findings)))
    SCHEMA.validate(report)
    assert report["ok"] is not any(finding.severity == "error" for finding in findings)
    assert "timings_ms" not in report


def test_helps_with_edits_are_numbered_through_the_report() -> None:
    findings = tuple(SAMPLES["Two requests meet"]() * 2)
    report = json.loads(render_json(Result("x.kina", findings=findings)))
    assert [[help_["number"] for help_ in finding["helps"]] for finding in report["findings"]] == [
        [1, 2, 0],
        [3, 4, 0],
    ]


def test_a_report_is_one_line() -> None:
    assert render_json(made.result()).count("\n") == 1


def test_tables_name_types_collectives_and_totals() -> None:
    text = tables(made.result(), Style(100))
    assert "f32[16@model,4@data]" in text
    assert "f32[8,4]{sum model}" in text
    assert "all_reduce(model)" in text
    assert "made.kina:6:8" in text
    assert "peak memory per device  2,048 bytes (2.0 KiB)" in text
    assert '"na␊me' in text
    assert not any(line.endswith(" ") for line in text.splitlines())


def test_tables_of_an_unfinished_check_are_empty() -> None:
    assert tables(Result("x.kina"), Style()) == ""


@pytest.mark.parametrize(
    ("layout", "pending", "text"),
    [
        (((), ()), (), "f32[8,4]"),
        ((("a",), ("b", "c")), (), "f32[8@a,4@(b,c)]"),
        (((), ()), (("a", "sum"), ("b", "max")), "f32[8,4]{sum a, max b}"),
    ],
)
def test_types_are_written_as_in_the_language(
    layout: tuple[tuple[str, ...], ...], pending: tuple[tuple[str, str], ...], text: str
) -> None:
    assert type_text(TensorType("f32", (8, 4)), layout, pending) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1, "1 byte"), (1023, "1,023 bytes"), (3 * 2**30, "3,221,225,472 bytes (3.0 GiB)")],
)
def test_sizes_are_exact_and_readable(count: int, text: str) -> None:
    assert size_text(count) == text


def test_a_lock_agrees_with_what_wrote_it_in_any_order() -> None:
    program = made.program()
    plan = made.decisions(program)
    first, *rest = lock_text(program, plan).splitlines()
    assert compare(program, plan, "\n".join([first, *reversed(rest)]), "a.lock") is None


def test_a_lock_has_one_line_for_each_thing() -> None:
    program = made.program()
    lines = lock_text(program, made.decisions(program)).splitlines()
    assert len(lines) == 3 + len(program.values) + 1
    assert 'tensor "f.odd \\"na\\nme" f32[8,4]' in lines
    assert "collective all_reduce model f.matmul 128" in lines


def test_a_difference_is_shown_at_the_tensor() -> None:
    program = made.program()
    lock = lock_text(program, made.decisions(program))
    finding = compare(program, made.with_layout(program, "f.b", (("model",), ())), lock, "a.lock")
    assert finding is not None
    assert finding.code == "K390"
    assert finding.primary is not None
    assert finding.primary.line == 3
    assert finding.notes == ("- tensor f.b f32[16@model,4@data]", "+ tensor f.b f32[16@model,4]")
    assert finding.at == "f32[16@model,4@data] in the lock, f32[16@model,4] now"


def test_a_collective_that_is_gone_is_a_difference() -> None:
    program = made.program()
    plan = made.decisions(program)
    finding = compare(program, replace(plan, collectives=()), lock_text(program, plan), "a.lock")
    assert finding is not None
    assert finding.notes == ("- collective all_reduce model f.matmul 128",)


def test_what_is_no_lock_file_is_refused() -> None:
    program = made.program()
    with pytest.raises(SetupError, match=r"`a\.lock` is not a lock file"):
        compare(program, made.decisions(program), "kina lock 99\n", "a.lock")


@pytest.mark.parametrize("name", SAMPLES)
def test_sarif_has_what_viewers_need(name: str) -> None:
    findings = SAMPLES[name]()
    log = json.loads(render_sarif(findings))
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert len(run["results"]) == len(findings)
    for finding, result in zip(findings, run["results"], strict=True):
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == finding.code
        assert len(result.get("relatedLocations", ())) == len(finding.labels)
        flows = result.get("codeFlows", ())
        assert [len(flow["threadFlows"][0]["locations"]) for flow in flows] == (
            [len(finding.proof)] if finding.proof else []
        )
