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
        (f"{','.join(['(i)'] * 33)}->(i)", "32 are the most"),
        (f"({','.join(f'i{number}' for number in range(53))})->()", "52 are the most"),
    ],
)
def test_what_is_no_spec_is_refused(text: str, part: str) -> None:
    with pytest.raises(SetupError, match=part):
        read_spec(text)


@pytest.mark.parametrize(
    "op", ["", "Op", "my-op", "1op", "op_", "../op", "matmul", "let", "grad", "nan", "inf", "true"]
)
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


@pytest.mark.parametrize(
    ("op", "spec"),
    [
        ("my_op", "(b,s,h,e),(b,t,h,e)->(b,h,s,t)"),
        ("my_op", "(i,j)->()"),
        ("my_op", "(i),()->(i)"),
        ("my_op", "(b,i),(b,j),(i,j,o)->(b,o)"),
        ("my_op", "(f32,let)->(let,f32)"),
        # Names that the tests beside it, or relations of the rule base, have.
        ("f", "(i)->(i)"),
        ("made", "(i)->(i)"),
        # More bytes than a rule can count.
        ("my_op", f"({','.join(f'i{number}' for number in range(30))})->()"),
        ("op", "(i,k),(k,j)->(i,j)"),
        ("split", "(i)->(i)"),
        ("program", "(i)->(i)"),
    ],
)
def test_what_is_written_passes_check_and_lint(
    op: str, spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.run(["rules", "new", op, spec]) == 0
    assert capsys.readouterr().out == f"wrote {op}.dl\nwrote {op}.kina\nwrote {op}.test.md\n"
    assert cli.run(["rules", "lint", f"{op}.dl"]) == 0
    assert capsys.readouterr().out == "1 rule file, nothing to say\n"
    params = " ".join(
        f"(a{pos} (tensor f32 [{('4 ' if len(group) < 9 else '1 ') * len(group)}]))"
        for pos, group in enumerate(read_spec(spec).operands)
    )
    arguments = " ".join(f"a{pos}" for pos in range(len(read_spec(spec).operands)))
    text = f"(mesh (x 2)) (defn entry ({params}) ({op} {arguments}))"
    result = check(Source("p.kina", text), Options(solver="clingo", rules=(f"{op}.dl",)))
    assert result.findings == ()


@pytest.mark.parametrize("spec", ["(i,j)->(j,i)", "(i),(j)->(i,j)", "(b,i),(b,j),(i,j,o)->(b,o)"])
def test_what_is_written_passes_the_audit(
    spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is wrong, and nothing that is right is missing: elements that are moved, products, and sums."""
    assert cli.run(["rules", "new", "my_op", spec, "-o", str(tmp_path)]) == 0
    assert cli.run(["rules", "audit", str(tmp_path / "my_op.dl"), "--solver", "clingo", "--jobs", "1"]) == 0
    assert " 0 incorrect, 0 missing " in capsys.readouterr().out


@pytest.mark.parametrize("folder", ["", "a file", "a file/x", "x" * 300])
def test_a_folder_that_cannot_be_written(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a file").touch()
    assert cli.run(["rules", "new", "my_op", "(i)->(i)", "-o", folder]) == 2
    assert (folder or "--output") in capsys.readouterr().err.replace("\n", "").replace("  ", "")
    assert [each.name for each in tmp_path.iterdir()] == ["a file"]


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
