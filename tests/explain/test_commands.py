"""`kina why` and `kina check --fix` on the command line; comments that allow."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from kina import cli
from kina.explain.reasons import KINDS
from kina.paths import schema_path
from kina.pipeline import Options, check
from kina.source import Source
from tests.command import ROOT, kina_command

CONFLICT = (
    "(mesh (x 4))\n(defn f ((a (tensor f32 [8 8]) @sharded(axis=0))\n"
    "         (b (tensor f32 [8 8]) @sharded(axis=1)))\n  (add (exp a) (exp b)))\n"
)
REDUNDANT = (
    "(mesh (x 4))\n(defn f ((a (tensor f32 [8 8]) @sharded(axis=0))\n"
    "         (b (tensor f32 [8 8])))\n  (add (negate (@ (exp a) @sharded(axis=0))) b))\n"
)
SCHEMA = jsonschema.Draft202012Validator(json.loads(schema_path("why").read_text(encoding="utf-8")))

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def conflict(tmp_path: Path) -> Path:
    file = tmp_path / "case.kina"
    file.write_text(CONFLICT, encoding="utf-8")
    return file


def test_the_schema_knows_every_reason() -> None:
    kinds = SCHEMA.schema["$defs"]["answer"]["properties"]["kind"]["enum"]
    assert set(kinds) == {*KINDS, "is", "pending", "collective", "no"}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["a"], 0, "dim 0 of `f.a` is on `x`"),
        (["a.1"], 1, "is whole on every device"),
        (["add.0@x", "--not"], 0, "is asked for `x` on dim 0 and for `x` on dim 1"),
        (["a.0@x", "--not"], 1, "dim 0 of `f.a` is on `x`"),
        (["add", "--not"], 0, "dim 1 of `f.add` is not on `x`"),
    ],
)
def test_answers_go_to_stdout(
    conflict: Path, arguments: list[str], code: int, said: str, capsys: Capture
) -> None:
    assert cli.run(["why", str(conflict), *arguments]) == code
    out, err = capsys.readouterr()
    assert said in out
    assert err == ""
    assert cli.run(["why", str(conflict), *arguments, "--format", "json"]) == code
    answer = json.loads(capsys.readouterr().out)
    SCHEMA.validate(answer)
    assert answer["holds"] == (code == 0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give either TENSOR"),
        (["c"], "there is no tensor `c`"),
        (["a@y"], "the mesh has no axis `y`"),
        (["--collective", "1", "--not"], "--not is a question about a TENSOR"),
        (["a", "--collective", "1"], "give either TENSOR"),
    ],
)
def test_questions_about_what_is_not_there(
    conflict: Path, arguments: list[str], said: str, capsys: Capture
) -> None:
    assert cli.run(["why", str(conflict), *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


def test_a_program_with_mistakes_has_findings_and_no_answer(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "wrong.kina"
    file.write_text("(mesh (x 4))\n(defn f ((a (tensor f32 [8]) @sharded(axis=2))) a)\n", encoding="utf-8")
    assert cli.run(["why", str(file), "a"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error[K4")


def test_a_help_is_applied_and_the_program_checked_again(conflict: Path, capsys: Capture) -> None:
    assert cli.run(["check", str(conflict), "--fix", "1"]) == 0
    out, err = capsys.readouterr()
    assert "- (add (exp a) (exp b))" in out
    assert "+ (@ (add (exp a) (exp b)) @sharded(axis=0))" in out
    assert "all_to_all(x)" in out
    assert err == ""
    assert "(@ (add (exp a) (exp b)) @sharded(axis=0))" in conflict.read_text(encoding="utf-8")


def test_a_size_that_fits_is_tried(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "case.kina"
    text = (
        "(mesh (data 8))\n(defn f ((a (tensor f32 [17 16]) @sharded(axis=0)) (b (tensor f32 [{} 16]))) {})\n"
    )
    file.write_text(text.format(16, "(values a b)"), encoding="utf-8")
    assert cli.run(["check", str(file), "--fix", "1", "--format", "concise"]) == 0
    assert "[24 16]" in file.read_text(encoding="utf-8")
    file.write_text(text.format(17, "(add a b)"), encoding="utf-8")
    capsys.readouterr()
    assert cli.run(["check", str(file)]) == 1
    err = capsys.readouterr().err
    assert "= help: sizes that fit: 16, 24" in err


def test_a_help_keeps_line_ends_and_the_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "case.kina"
    file.write_bytes(b"\xef\xbb\xbf" + CONFLICT.replace("\n", "\r\n").encode())
    assert cli.run(["check", str(file), "--fix", "1", "--format", "concise"]) == 0
    data = file.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf(mesh")
    assert data.count(b"\r\n") == data.count(b"\n") == 4


def test_a_help_that_is_not_there(conflict: Path, capsys: Capture) -> None:
    assert cli.run(["check", str(conflict), "--fix", "9"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "the report has no help 9" in err
    assert conflict.read_text(encoding="utf-8") == CONFLICT


def test_standard_input_is_not_fixed(capsys: Capture) -> None:
    assert cli.run(["check", "-", "--fix", "1"]) == 2
    assert "--fix takes one FILE" in capsys.readouterr().err


def codes(text: str, strict: bool = False) -> list[tuple[str, str]]:
    found = check(Source("case.kina", text), Options(strict=strict)).findings
    return [(finding.code, finding.severity) for finding in found]


def test_an_allow_silences_its_code_with_a_reason() -> None:
    assert codes(REDUNDANT) == [("K503", "warning")]
    assert codes(REDUNDANT, strict=True) == [("K503", "error")]
    allowed = ";; kina: allow K503 because it marks where the batch is split\n" + REDUNDANT
    assert codes(allowed) == codes(allowed, strict=True) == []


def test_an_allow_without_reason_silences_nothing() -> None:
    assert codes(";; kina: allow K503\n" + REDUNDANT) == [("K503", "warning"), ("K507", "warning")]
    assert codes("; kina: permit K503\n" + REDUNDANT) == [("K503", "warning"), ("K507", "warning")]


def test_an_allow_that_silences_nothing_is_reported() -> None:
    text = ";; kina: allow K504 because it is small\n" + REDUNDANT.replace(
        "(@ (exp a) @sharded(axis=0))", "(exp a)"
    )
    assert codes(text) == [("K506", "warning")]


def test_errors_are_not_silenced() -> None:
    text = ";; kina: allow K201 because I say so\n" + CONFLICT
    assert codes(text) == [("K201", "error")]


def test_what_the_document_shows_is_what_is_printed() -> None:
    text = (ROOT / "docs" / "why.md").read_text(encoding="utf-8")
    shown = text.split("```console\n")[1].split("```")[0]
    command, _, expected = shown.partition("\n")
    done = kina_command(*command.removeprefix("$ kina ").split())
    assert done.stdout == expected
