"""`kina rules new`: what it writes is right as it is, whatever the dims."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kina import cli
from kina.diagnostics.finding import SetupError
from kina.pipeline import Options, check
from kina.rulebook.new_rule import Spec, new_rule, read_spec
from kina.source import Source
from tests.run.pipeline import Compiled, compiled, differences

NAMES = ("i", "j", "k", "batch_size", "t", "x")


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    """One to three operands with some dims each, and a result with some of these."""
    groups = st.lists(st.sampled_from(NAMES), max_size=3, unique=True).map(tuple)
    operands = draw(st.lists(groups, min_size=1, max_size=3).filter(any))
    known = sorted({name for group in operands for name in group})
    result = tuple(draw(st.lists(st.sampled_from(known), max_size=3, unique=True)))
    return Spec(tuple(operands), result)


@given(specs())
def test_a_spec_reads_back(spec: Spec) -> None:
    assert read_spec(str(spec)) == spec
    assert read_spec(str(spec).replace(",", " , ").replace("->", " -> ")) == spec


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "does not say"),
        ("(i,k),(k,j)", "does not say"),
        ("->(i)", "does not say"),
        ("(i)->(i),(i)", "2 results"),
        ("(i,i)->(i)", "twice"),
        ("(i)->(i,j)", "in no operand"),
        ("()->()", "no dim"),
        ("(i)(j)->(i)", "no list of dims"),
        ("ij,jk->ik", "no list of dims"),
        ("(I)->(I)", "no name of a dim"),
        ("(nan)->(nan)", "no name of a dim"),
        ("(i,)->(i)", "no name of a dim"),
        ('(")->(")', "no name of a dim"),
    ],
)
def test_what_is_no_spec_is_refused(text: str, part: str) -> None:
    with pytest.raises(SetupError, match=part):
        read_spec(text)


@pytest.mark.parametrize("op", ["", "Op", "my-op", "1op", "op_", "../op", "matmul", "let", "grad"])
def test_what_no_op_can_be_called_is_refused(op: str) -> None:
    with pytest.raises(SetupError):
        new_rule(op, read_spec("(i)->(i)"))


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(specs(), st.randoms(use_true_random=False))
def test_a_first_version_gives_what_one_device_gives(tmp_path: Path, spec: Spec, rng: object) -> None:
    for name, text in new_rule("made", spec).items():
        (tmp_path / name).write_text(text)
    sizes = {name: 4 + 2 * number for number, name in enumerate(spec.factors)}
    axes = {spec.factors[0]: "x", spec.factors[-1]: "y"}
    params = []
    for pos, group in enumerate(spec.operands):
        split = [(dim, axes[name]) for dim, name in enumerate(group) if name in axes]
        notes = "".join(f" @sharded(axis={dim}, mesh={axis})" for dim, axis in split[:1] if pos != 1)
        params.append(f"(a{pos} (tensor f32 [{' '.join(str(sizes[name]) for name in group)}]){notes})")
    arguments = " ".join(f"a{pos}" for pos in range(len(spec.operands)))
    text = f"(mesh (x 2) (y 2)) (defn f ({' '.join(params)}) (exp (multiply (made {arguments}) 0.01)))"
    found = compiled(text, Options(solver="clingo", rules=(str(tmp_path / "made.dl"),)))
    if isinstance(found, list):
        assert set(found) <= {"K201"}, (str(spec), found)
        return
    assert isinstance(found, Compiled)
    assert differences(found) == [], str(spec)


@pytest.mark.parametrize("spec", ["(b,s,h,e),(b,t,h,e)->(b,h,s,t)", "(i,j)->()", "(i),()->(i)"])
def test_what_is_written_passes_check_and_lint(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.run(["rules", "new", "my_op", spec]) == 0
    assert capsys.readouterr().out == "wrote my_op.dl\nwrote my_op.kina\nwrote my_op.test.md\n"
    assert cli.run(["rules", "lint", "my_op.dl"]) == 0
    assert capsys.readouterr().out == "1 rule file, nothing to say\n"
    params = " ".join(
        f"(a{pos} (tensor f32 [{'4 ' * len(group)}]))" for pos, group in enumerate(read_spec(spec).operands)
    )
    arguments = " ".join(f"a{pos}" for pos in range(len(read_spec(spec).operands)))
    text = f"(mesh (x 2)) (defn f ({params}) (my_op {arguments}))"
    result = check(Source("p.kina", text), Options(solver="clingo", rules=("my_op.dl",)))
    assert result.findings == ()


def test_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["rules", "new", "my_op", "(i)->(i)", "-o", str(tmp_path / "rules")]
    assert cli.run(command) == 0
    (tmp_path / "rules" / "my_op.dl").write_text("mine")
    (tmp_path / "rules" / "my_op.kina").unlink()
    assert cli.run(command) == 2
    assert "would be written over" in capsys.readouterr().err
    assert not (tmp_path / "rules" / "my_op.kina").exists()
    assert (tmp_path / "rules" / "my_op.dl").read_text() == "mine"
    assert cli.run([*command, "--force"]) == 0
    assert (tmp_path / "rules" / "my_op.dl").read_text() != "mine"
    (tmp_path / "link.dl").symlink_to("nowhere")
    assert cli.run(["rules", "new", "link", "(i)->(i)", "-o", str(tmp_path)]) == 2
