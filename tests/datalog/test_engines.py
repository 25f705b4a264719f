"""Choosing an engine, and what both say when something is wrong."""

from __future__ import annotations

import itertools
import stat
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from kina.datalog import cache
from kina.datalog.clingo_engine import solve_clingo
from kina.datalog.compiled import compiled
from kina.datalog.engine import solve
from kina.datalog.modules import parse_text
from kina.datalog.rules import Rulebook
from kina.datalog.souffle_engine import fact_text, find_souffle, solve_souffle
from kina.diagnostics.finding import ProgramError, SetupError

PATHS = """.type V <: symbol
.decl edge(from: V, to: V)
.input edge
.decl path(from: V, to: V)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl inner(value: V)
inner(x) :- path(_, x), path(x, _).
.decl size(number: number)
.output size
size(n) :- n = count : { path(_, _) }.
.decl empty()
.output empty
empty() :- !edge(_, _).
"""
ENDLESS = ".decl n(x: number)\n.output n\nn(0).\nn(x + 1) :- n(x).\n"
FACTS = {"edge": [("a b", "é,1"), ("é,1", "c%09"), ("c%09", "")]}


def book(text: str = PATHS) -> Rulebook:
    return parse_text(text, "x.dl", ())


@pytest.mark.parametrize("solver", ["clingo", pytest.param("souffle", marks=pytest.mark.souffle)])
def test_names_of_all_kinds_come_back(solver: str) -> None:
    solution = solve(solver, book(), FACTS, ["path", "inner", "size", "empty"])
    assert solution.solver == solver
    assert solution.relations["path"] == sorted(
        [("a b", "é,1"), ("a b", "c%09"), ("a b", ""), ("é,1", "c%09"), ("é,1", ""), ("c%09", "")]
    )
    assert solution.relations["inner"] == [("c%09",), ("é,1",)]
    assert solution.relations["size"] == [(6,)]
    assert solution.relations["empty"] == []
    assert solve(solver, book(), {}, ["empty", "size"]).relations == {"empty": [()], "size": [(0,)]}


def test_outputs_are_those_with_a_directive_by_default() -> None:
    assert solve("clingo", book(), FACTS).relations.keys() == {"path", "size", "empty"}
    with pytest.raises(ValueError, match="nothing"):
        solve("clingo", book(), FACTS, ["nothing"])


@pytest.mark.souffle
def test_auto_takes_souffle() -> None:
    assert solve("auto", book(), FACTS).solver == "souffle"


def test_auto_takes_clingo_without_souffle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("KINA_SOUFFLE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_souffle() is None
    assert solve("auto", book(), FACTS).solver == "clingo"
    with pytest.raises(SetupError) as caught:
        solve("souffle", book(), FACTS)
    assert "KINA_SOUFFLE" in caught.value.help


def test_there_is_no_other_solver() -> None:
    with pytest.raises(SetupError):
        solve("prolog", book(), FACTS)


def program(folder: Path, text: str) -> str:
    path = folder / "souffle"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


VERSION = 'if [ "$1" = --version ]; then echo "Version: 2.5"; exit 0; fi'


def test_an_old_souffle_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KINA_SOUFFLE", program(tmp_path, 'echo "Version: 2.4.1"'))
    with pytest.raises(SetupError, match=r"2\.4\.1"):
        find_souffle()
    assert solve("auto", book(), FACTS).solver == "clingo"


def test_a_named_souffle_must_exist(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KINA_SOUFFLE", str(tmp_path / "none"))
    with pytest.raises(SetupError, match="not a program"):
        find_souffle()


@pytest.mark.parametrize(
    ("script", "part"),
    [
        ("echo 'cannot do that' >&2; exit 1", "exit code 1: cannot do that"),
        ("kill -SEGV $$", "SIGSEGV"),
        ("exit 0", "no readable"),
        ("exec sleep 30", "within 0.5 s"),
    ],
)
def test_a_failing_souffle_is_a_diagnostic(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, part: str
) -> None:
    monkeypatch.setenv("KINA_SOUFFLE", program(tmp_path, f"{VERSION}\n{script}"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(SetupError, match=part):
        solve("souffle", book(), FACTS, time_limit=0.5)
    assert [path.name for path in tmp_path.iterdir()] == ["souffle"]


def test_an_interrupt_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = f"{VERSION}\nkill -INT $PPID; exec sleep 5"
    monkeypatch.setenv("KINA_SOUFFLE", program(tmp_path, script))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        solve("souffle", book(), FACTS)
    assert [path.name for path in tmp_path.iterdir()] == ["souffle"]


def test_no_room_for_temporary_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KINA_SOUFFLE", program(tmp_path, VERSION))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(SetupError, match="temporary folder"):
        solve("souffle", book(), FACTS)


@pytest.mark.parametrize("solver", ["clingo", pytest.param("souffle", marks=pytest.mark.souffle)])
def test_rules_without_end_meet_the_time_limit(solver: str) -> None:
    with pytest.raises(SetupError, match="do not finish"):
        solve(solver, book(ENDLESS), {}, time_limit=0.7)


@pytest.mark.parametrize("solver", ["clingo", pytest.param("souffle", marks=pytest.mark.souffle)])
def test_division_by_zero_is_located(solver: str) -> None:
    text = ".decl p(x: number)\np(0). p(3).\n.decl q(x: number)\n.output q\n"
    bad = book(f'{text}@[rule = "x.share"]\nq(y) :- p(x), y = 6 / x.\n')
    with pytest.raises(ProgramError) as caught:
        solve(solver, bad, {})
    finding = caught.value.findings[0]
    assert (finding.code, finding.rule) == ("K812", "x.share")
    assert finding.primary is not None
    assert (finding.primary.line, finding.primary.text) == (6, "x")
    good = book(f"{text}q(6 / x) :- p(x), x > 0.\nq(6 % y) :- p(x), y = x - 4, y != 0.\n")
    assert solve(solver, good, {}).relations == {"q": [(0,), (2,)]}


@pytest.mark.souffle
def test_division_by_zero_is_located_in_rules_that_were_accepted_before() -> None:
    text = (
        ".decl p(x: number)\n.input p\n.decl q(x: number)\n.output q\n"
        '@[rule = "x.first"]\nq(y) :- p(x), y = 8 / (x + 1).\n'
        '@[rule = "x.second"]\nq(y) :- p(x), y = 6 / x.\n'
    )
    rules = replace(compiled(book(text)), key=cache.digest([text.encode()]))
    assert solve("souffle", rules, {"p": [(1,)]}).relations == {"q": [(4,), (6,)]}
    for number, (name, line) in ((0, ("x.second", 8)), (-1, ("x.first", 6))):
        with pytest.raises(ProgramError) as caught:
            solve("souffle", rules, {"p": [(number,)]})
        finding = caught.value.findings[0]
        assert finding.primary is not None
        assert (finding.code, finding.rule, finding.primary.line) == ("K812", name, line)


def test_a_missing_clingo_is_a_diagnostic(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.executable", program(tmp_path, "echo broken >&2; exit 3"))
    with pytest.raises(SetupError, match="exit code 3: broken"):
        solve_clingo(book(), FACTS, ["path"])


def test_the_child_reads_nothing_from_the_working_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "clingo.py").write_text("raise SystemExit('taken over')")
    (tmp_path / "json.py").write_text("raise SystemExit('taken over')")
    monkeypatch.chdir(tmp_path)
    assert solve_clingo(book(), FACTS, ["size"]) == {"size": [(6,)]}


def test_both_ways_of_reading_clingo_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    clingo = pytest.importorskip("clingo")
    from kina.datalog import clingo_child

    control = clingo.Control()
    control.add("base", [], "p(0,1..5). p(-3,2147483647). q(7).")
    control.ground([("base", [])])
    assert clingo_child.layout_known()
    for name, arity in (("p", 2), ("q", 1), ("none", 3)):
        assert clingo_child.read_arrays(control, name, arity) == clingo_child.read_public(
            control, name, arity
        )


def test_facts_that_would_break_the_lines_are_refused() -> None:
    relation = book().relations["edge"]
    with pytest.raises(ValueError, match="tab or a line break"):
        fact_text(relation, [("a\tb", "c")])
    with pytest.raises(ValueError, match="tab or a line break"):
        fact_text(relation, [("a", "b\nc\td")])


@pytest.mark.souffle
def test_a_relation_without_output_is_written_when_asked_for() -> None:
    install = find_souffle()
    assert install is not None
    text = ".comp C { .decl z(x: number) z(1). }\n.init c = C\n"
    assert solve_souffle(install, book(text), {}, ["c.z"]) == {"c.z": [(1,)]}


def test_a_join_on_a_small_column_does_not_scan_all_values() -> None:
    """The grounder's own order takes quadratic time here: 20,000 values would need a quarter of an hour."""
    size = 20_000
    names = [f"value{number}" for number in range(size)]
    text = """.type V <: symbol
.decl edge(from: V, to: V)
.input edge
.decl dim(value: V, dim: number, size: number)
.input dim
.decl on(value: V, dim: number)
.output on
on(value, dim) :- dim(value, dim, 64), !edge(_, value).
on(to, dim) :- on(from, dim), edge(from, to), dim(to, dim, _).
"""
    facts = {
        "edge": list(itertools.pairwise(names)),
        "dim": [(name, dim, 64) for name in names for dim in range(2)],
    }
    found = solve_clingo(book(text), facts, ["on"], time_limit=60)
    assert len(found["on"]) == 2 * size
