"""What added rule files may do, and that whatever they say gives a finding at a place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kina.datalog import limits
from kina.datalog.added import AddedFile, includes, read_added
from kina.datalog.modules import parse_text
from kina.diagnostics.finding import Finding, ProgramError, SetupError
from kina.facts.entry import entry_text
from kina.mlir.emit import emit
from kina.mlir.reader import read_module
from kina.mlir.verify import verify
from kina.paths import rules_path
from kina.pipeline import Options, check
from kina.source import Source

HEAD = '.once\n.include "sharding.dl"\n'


def loaded(text: str, name: str = "my.dl") -> tuple[Finding, ...]:
    """What is wrong with the rule base when a file with this text is added."""
    source = Source(name, text)
    added = (AddedFile("my.dl", "my.dl", source, text),)
    try:
        parse_text(entry_text((0,), False, ["my.dl"]), "main.dl", (rules_path(),), added)
    except ProgramError as problem:
        return problem.findings
    return ()


def rule(clause: str, name: str = "my.rule", extra: str = "") -> str:
    return f'{HEAD}/// A rule.\n@[rule = "{name}"]\n{extra}{clause}\n'


KIND = 'op_kind(op, "double")'
SAYS = f"factor(op, port, 0, 0) :- {KIND}, port_value(op, port, _)."
UP = "/// Holds.\n.decl up(n: number)\nup(0).\n"
GOOD = {
    "what an op says": SAYS,
    "a table of kinds": 'elementwise_kind("double").',
    "a relation of its own": f"""/// Holds.
.decl mine(op: Op)
mine(op) :- {KIND}.
factor(op, port, 0, 0) :- mine(op), port_value(op, port, _).""",
    "counting within dims": """/// Holds.
.decl upto(value: Value, dim: Dim)
upto(value, 0) :- value_rank(value, _).
upto(value, dim + 1) :- upto(value, dim), value_dim(value, dim, _).""",
    "a recursion that computes nothing": """/// Holds.
.decl after(one: Value, two: Value)
after(one, two) :- op_operand(op, _, _, one), op_result(op, _, _, two).
after(one, three) :- after(one, two), after(two, three).""",
    "a component": """.comp Mine {
/// Holds.
.decl seen(op: Op)
seen(op) :- op_kind(op, _).
}
.init mine = Mine""",
}


@pytest.mark.parametrize("name", GOOD)
def test_what_added_files_may_do(name: str) -> None:
    assert loaded(HEAD + GOOD[name] + "\n") == ()


AT_RESULT = f"{KIND}, op_result(op, _, _, value), axes_single(list, _)"
AT_PORT = f"{KIND}, port_value(op, port, _), mesh_axis(axis, _, _)"
SEED = "p0_written_forward.before(value, 0, list)"
BACK = """@[rule = "my.back"]
right(n) :- left(n).
/// Holds.
.decl left(n: number)
/// Holds.
.decl right(n: number)
right(0).
"""
TWO = "/// Holds.\n.decl up(n: number, d: number)\nup(0, 0).\n"
#: name -> the file, the code, and what stands at the place of the finding
BAD = {
    "the name of a rule of the base": (
        rule(SAYS, "elementwise.same-place"),
        "K830",
        "elementwise.same-place",
    ),
    "the name of a level's rule": (rule(SAYS, "levels.carry-on"), "K830", "levels.carry-on"),
    "a layout": (rule(f"granted(value, 0, list, 0) :- {AT_RESULT}."), "K831", "granted(value, 0, list, 0)"),
    "a collective": (rule(f"all_gather(port, axis, 0) :- {AT_PORT}."), "K831", "all_gather(port, axis, 0)"),
    "a table by a rule": (rule("elementwise_kind(k) :- op_kind(_, k)."), "K831", "elementwise_kind(k)"),
    "a level": (rule(f"{SEED} :- value_rank(value, _), axes_single(list, _)."), "K831", SEED),
    "an input of its own": (f"{HEAD}/// Holds.\n.decl given(op: Op)\n.input given\n", "K832", ".input given"),
    "an input of the base": (HEAD + ".input ruled\n", "K832", ".input ruled"),
    "a code": (rule(SAYS, extra='@[code = "K902"]\n'), "K832", 'code = "K902"'),
    "a fact of the program": (HEAD + 'op_kind("f.x", "double").\n', "K805", 'op_kind("f.x", "double")'),
    "parameters": (HEAD + '.output factor(filename="/tmp/x")\n', "K803", "("),
    "a functor": (rule(f"factor(op, port, @f(0), 0) :- {KIND}, port_value(op, port, _)."), "K802", "@f"),
    "a pragma": (HEAD + '.pragma "x" "y"\n', "K802", ".pragma"),
    "a relation of the base again": (HEAD + "/// Holds.\n.decl factor(op: Op)\n", "K811", "factor(op: Op)"),
    "counting up": (rule("up(n + 1) :- up(n).") + UP, "K833", "n + 1"),
    "counting by equality": (rule("up(m) :- up(n), m = n * 2 + 1.") + UP, "K833", "n * 2 + 1"),
    "counting by two equalities": (rule("up(k) :- up(n), m = n + 1, k = m.") + UP, "K833", "m"),
    "counting across relations": (rule("left(n + 1) :- right(n).") + BACK, "K833", "n + 1"),
    "a bound on another variable": (
        rule("up(n + 1, d) :- up(n, d), value_dim(_, d, _).") + TWO,
        "K833",
        "n + 1",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_added_files_may_not_do(name: str) -> None:
    text, code, at = BAD[name]
    found = loaded(text)
    assert {finding.code for finding in found} == {code}, [finding.message for finding in found]
    assert found[0].primary is not None
    assert found[0].primary.file == "my.dl"
    assert at in found[0].primary.text


def test_a_file_that_is_called_as_one_of_the_base_is_another_file() -> None:
    assert loaded(rule(SAYS, "layout.mine"), "rules/layout.dl") == ()
    assert [
        each.code
        for each in loaded(rule("granted(v, 0, l, 0) :- given_sharded(v, _, l, _)."), "rules/layout.dl")
    ] == ["K831"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('.include "a.dl"', ["a.dl"]),
        ('.include\n  // "no.dl"\n /* .include "no.dl" */ "a.dl"', ["a.dl"]),
        ('// .include "no.dl"\np(".include", "no.dl").', []),
        ('.include "a.dl" .include "b.dl"', ["a.dl", "b.dl"]),
        ('.included "no.dl"', []),
    ],
)  # fmt: skip
def test_includes_are_those_of_the_grammar(text: str, found: list[str]) -> None:
    assert [path for path, _, _ in includes(text)] == found


def test_files_get_names_of_their_own(tmp_path: Path) -> None:
    for folder, name in (
        ("a", "ops.dl"),
        ("b", "ops.dl"),
        ("c", "layout.dl"),
        ("d", "main.dl"),
        ("e", "é e.dl"),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(".once\n")
    paths = [str(path) for path in sorted(tmp_path.rglob("*.dl"))]
    names = [file.name for file in read_added(paths, ["layout.dl"])]
    assert names == ["ops.dl", "ops-2.dl", "layout-2.dl", "main-2.dl", "__e.dl"]


@pytest.mark.parametrize("solver", ["clingo", pytest.param("souffle", marks=pytest.mark.souffle)])
def test_rules_that_multiply_without_measure_are_stopped(
    solver: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "ADDED_RULES", 1.5)
    names = ", ".join(f"op_kind(o{n}, _)" for n in range(7))
    columns = ", ".join(f"o{n}: Op" for n in range(7))
    text = f"/// Holds.\n.decl many({columns})\nmany({', '.join(f'o{n}' for n in range(7))}) :- {names}.\n"
    path = tmp_path / "my.dl"
    path.write_text(
        HEAD + text + "factor(op, port, 0, 0) :- many(op, _, _, _, _, _, _), port_value(op, port, _).\n"
    )
    program = f"(mesh (x 2)) (defn f ((a (tensor f32 [4]))) {'(exp ' * 40}a{')' * 40})"
    with pytest.raises(SetupError, match="do not finish within"):
        check(Source("t.kina", program), Options(solver=solver, rules=(str(path),)))


# Whatever rules say, the outcome is a finding or a module that can run.

PLACES = ("op_operand(op, 0, port, _)", "op_operand(op, 1, port, _)", "op_result(op, 0, port, _)")
PORTS = st.sampled_from([*PLACES, "op_result(op, 1, port, _)", "port_value(op, port, _)"])
DIMS = st.sampled_from(["0", "1", "2", "dim"])
SMALL = st.integers(0, 4)
REDUCTIONS = st.sampled_from(['"sum"', '"max"', '"prod"', '"bogus"'])
PROGRAM = """(mesh (x 2) (y 2))
(defop mix ((a (tensor f32 [n d])) (b (tensor f32 [d m])) (g (number :default 2)) (p (position :default 0))
            (l (numbers :default [4 8])))
  (values (tensor f32 [n m]) (tensor f32 [n g]))
  (values (matmul a b) (broadcast (add (sum a [1]) (convert p f32)) [n g] [0])))
(defn f ((a (tensor f32 [8 4])%s) (b (tensor f32 [4 8])%s))
  (let (((u v) (mix (exp a) b))) (values (exp u) (exp v))))
"""
NOTES = st.sampled_from(
    [
        "",
        " @sharded(axis=0, mesh=x)",
        " @sharded(axis=1, mesh=y)",
        " @sharded(axis=0, mesh=(x,y))",
        " @sharded(axis=0, mesh=x) @sharded(axis=1, mesh=y)",
        " @sharded(axis=1, mesh=x, priority=1)",
    ]
)


@st.composite
def clauses(draw: st.DrawFn) -> str:
    port, dim = draw(PORTS), draw(DIMS)
    bound = ", port_value(op, port, w), value_dim(w, dim, _)" if dim == "dim" else ""
    body = f'op_kind(op, "mix"), {port}{bound}'
    factor = "dim" if dim == "dim" and draw(st.booleans()) else str(draw(SMALL))
    kinds = (
        f"factor(op, port, {dim}, {factor}) :- {body}.",
        f"factor(op, port, {dim}, {factor}) :- {body}.",
        f"factor_within(op, port, {dim}, {factor}, {draw(SMALL)}, {draw(SMALL)}) :- {body}.",
        f'factor_reduced(op, {draw(SMALL)}, {draw(REDUCTIONS)}) :- op_kind(op, "mix").',
        f"dim_whole(op, port, {dim}) :- {body}.",
        f"linear_alone(op, port, {draw(REDUCTIONS)}) :- {body}.",
        f"linear_together(op, port, {draw(REDUCTIONS)}) :- {body}.",
        'shape_keeping(op) :- op_kind(op, "mix").',
        f"counted_once(op, port) :- {body}.",
        f'attribute_follows(op, "{draw(st.sampled_from("gplq"))}", {draw(SMALL)}, port, {dim}) :- {body}.',
        'elementwise_kind("mix").',
    )
    return draw(st.sampled_from(kinds))


def outcome(rules: str, notes: tuple[str, str], folder: Path, on_conflict: str = "error") -> set[str]:
    """The codes of the errors; none if there is a module, which the verifier accepts."""
    path = folder / "my.dl"
    path.write_text(rules)
    options = Options(solver="clingo", rules=(str(path),), on_conflict=on_conflict)
    result = check(Source("t.kina", PROGRAM % notes), options)
    if result.ok:
        assert result.program is not None
        assert result.decisions is not None
        verify(read_module(Source("t.mlir", emit(result.program, result.decisions))))
    return {finding.code for finding in result.findings if finding.severity == "error"}


def random_rules(parts: list[str]) -> str:
    """A file of clauses; a fact has no name."""
    named = [
        part if ":-" not in part else f'/// A rule.\n@[rule = "my.rule{n}"]\n{part}'
        for n, part in enumerate(parts)
    ]
    return HEAD + "\n".join(named) + "\n"


FEW = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=8)
MANY = settings(FEW, max_examples=300)
RULES = st.lists(clauses(), min_size=1, max_size=5).map(random_rules)


@FEW
@given(RULES, st.tuples(NOTES, NOTES), st.sampled_from(["error", "cost"]))
def test_any_rules_give_findings_or_a_module(
    tmp_path: Path, rules: str, notes: tuple[str, str], on: str
) -> None:
    assert outcome(rules, notes, tmp_path, on) <= {"K201", "K320", "K901", "K903", "K904", "K905"}


@pytest.mark.deep
@MANY
@given(RULES, st.tuples(NOTES, NOTES), st.sampled_from(["error", "cost"]))
def test_many_rules_give_findings_or_a_module(
    tmp_path: Path, rules: str, notes: tuple[str, str], on: str
) -> None:
    assert outcome(rules, notes, tmp_path, on) <= {"K201", "K320", "K901", "K903", "K904", "K905"}
