"""Real failures of sharding tools, restated small: layouts, collectives and findings of each program here.

The lines that begin with two semicolons say what is right:

    ;; layout NAME 8@x, 4@(a,b) {sum m}      the layout, and over which axes the value is pending
    ;; collectives none                      there is none
    ;; collective KIND(AXES) WORD            one collective, with the tensor or the reduction it is about
    ;; error CODE NAME                       the only error, and the tensor its message names
    ;; bytes N N                              what the collectives move per device, sorted
    ;; finding CODE                          a note or warning that must be there
    ;; input NAME …, ;; value NAME …         numbers, for test_values.py
    ;; settled …                             the same, with --on-conflict cost
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from kina.pipeline import Options, Result, check_file

FOLDER = Path(__file__).parent
PROGRAMS = sorted(FOLDER.glob("*.kina"))


@dataclass(frozen=True, slots=True)
class Right:
    """What the comment lines of a program say."""

    layouts: tuple[tuple[str, str], ...]
    collectives: tuple[str, ...] | None
    errors: tuple[tuple[str, str], ...]
    findings: tuple[str, ...]
    bytes: tuple[int, ...] | None


def right(text: str, settled: bool) -> Right:
    layouts: list[tuple[str, str]] = []
    collectives: list[str] | None = None
    errors: list[tuple[str, str]] = []
    findings: list[str] = []
    moved: tuple[int, ...] | None = None
    for line in text.splitlines():
        if not line.startswith(";; "):
            continue
        words = line[3:]
        if words.startswith("settled ") != settled:
            continue
        words = words.removeprefix("settled ")
        word, _, rest = words.partition(" ")
        match word:
            case "layout":
                name, _, layout = rest.partition(" ")
                layouts.append((name, layout))
            case "collectives":
                assert rest == "none"
                collectives = []
            case "collective":
                collectives = [*(collectives or []), rest]
            case "error":
                code, name = rest.split()
                errors.append((code, name))
            case "finding":
                findings.append(rest)
            case "bytes":
                moved = tuple(map(int, rest.split()))
            case "input" | "value":
                pass
            case _:
                layouts.append((word, rest)) if settled else pytest.fail(f"unknown line {line}")
    named = None if collectives is None else tuple(collectives)
    return Right(tuple(layouts), named, tuple(errors), tuple(findings), moved)


def shown_layout(result: Result, name: str) -> str:
    """The layout of a tensor of the entry as the comment lines write it."""
    assert result.program is not None
    assert result.decisions is not None
    value = next(v for v in result.program.values if v.name == f"{result.program.entry}.{name}")
    dims = []
    for size, axes in zip(value.type.shape, result.decisions.layouts[value.id], strict=True):
        dims.append(
            f"{size}" if not axes else f"{size}@{axes[0] if len(axes) == 1 else '(' + ','.join(axes) + ')'}"
        )
    text = ", ".join(dims) or "[]"
    pending = result.decisions.pending.get(value.id, ())
    return text + "".join(f" {{{kind} {axis}}}" for axis, kind in pending)


def assert_right(result: Result, expected: Right) -> None:
    assert result.decisions is not None
    assert result.program is not None
    for name, layout in expected.layouts:
        assert f"{name} {shown_layout(result, name)}" == f"{name} {layout}"
    if expected.collectives is not None:
        found = list(result.decisions.collectives)
        assert len(found) == len(expected.collectives), [c.reason for c in found]
        for line in expected.collectives:
            head, word = line.split(" ")
            kind, _, axes = head.rstrip(")").partition("(")
            match = next(
                c
                for c in found
                if c.kind == kind
                and c.axes == tuple(axes.split(","))
                and (
                    result.program.values[c.value].name.endswith(f".{word}") or f"pending {word}" in c.reason
                )
            )
            found.remove(match)
    if expected.bytes is not None:
        assert tuple(sorted(c.bytes for c in result.decisions.collectives)) == expected.bytes


@pytest.mark.parametrize("solver", ["clingo", pytest.param("souffle", marks=pytest.mark.souffle)])
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_case(path: Path, solver: str) -> None:
    text = path.read_text()
    expected = right(text, settled=False)
    result = check_file(str(path), Options(solver=solver))
    errors = [finding for finding in result.findings if finding.severity == "error"]
    assert [finding.code for finding in errors] == [code for code, _ in expected.errors]
    for finding, (_, name) in zip(errors, expected.errors, strict=True):
        assert f"`{name}`" in finding.message
    for code in expected.findings:
        assert code in {finding.code for finding in result.findings}
    if not expected.errors:
        assert_right(result, expected)


@pytest.mark.parametrize(
    "path", [p for p in PROGRAMS if ";; settled" in p.read_text()], ids=lambda path: path.stem
)
def test_settled_by_cost(path: Path) -> None:
    expected = right(path.read_text(), settled=True)
    result = check_file(str(path), Options(solver="clingo", on_conflict="cost"))
    assert result.ok
    assert [f.code for f in result.findings if f.severity == "warning"] == ["K203"]
    assert_right(result, expected)


@pytest.mark.parametrize(
    "path", [p for p in PROGRAMS if ";; settled" in p.read_text()], ids=lambda path: path.stem
)
def test_first_help_is_the_repair(path: Path) -> None:
    """Making the edit that the first help proposes gives what settling by cost gives."""
    from kina.diagnose.edits import apply_edits
    from kina.pipeline import check

    expected = right(path.read_text(), settled=True)
    result = check_file(str(path), Options(solver="clingo"))
    (error,) = [finding for finding in result.findings if finding.severity == "error"]
    assert error.helps
    assert error.helps[0].verified
    assert result.source is not None
    repaired = check(apply_edits(result.source, error.helps[0].edits), Options(solver="clingo"))
    assert repaired.ok
    assert_right(repaired, expected)
