"""Rules and ops from outside: files, a folder beside the program, packages; both engines, and by hand."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from kina import additions as additions_module
from kina import cli
from kina.additions import additions
from kina.datalog.compiled import compile_text
from kina.datalog.souffle_engine import find_souffle
from kina.diagnostics.finding import ProgramError, SetupError
from kina.paths import rules_path
from kina.pipeline import Options, Result, check_file
from tests.declared_ops import DOUBLE, ROTARY

PROGRAM = "(mesh (x 2))\n(defn f ((a (tensor f32 [4 6]) @sharded(axis=0)))\n  (double a))\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A program that uses an op, and the op with its rule in a folder of their own."""
    (tmp_path / "p.kina").write_text(PROGRAM)
    (tmp_path / "ops").mkdir()
    DOUBLE.write(tmp_path / "ops")
    return tmp_path


def checked(program: Path, *rules: Path, solver: str = "clingo") -> Result:
    return check_file(str(program), Options(solver=solver, rules=tuple(map(str, rules))))


def layout_of(result: Result, name: str) -> tuple[tuple[str, ...], ...]:
    assert result.ok, [finding.message for finding in result.findings]
    assert result.program is not None
    assert result.decisions is not None
    (value,) = (value for value in result.program.values if value.name == name)
    return result.decisions.layouts[value.id]


def codes(result: Result) -> list[str]:
    return [finding.code for finding in result.findings]


def test_a_rule_file_brings_its_op(folder: Path) -> None:
    result = checked(folder / "p.kina", folder / "ops" / "double.dl")
    assert layout_of(result, "f.double") == (("x",), ())
    assert codes(result) == []


def test_without_the_file_the_op_is_unknown(folder: Path) -> None:
    assert codes(checked(folder / "p.kina")) == ["K011"]


def test_an_op_without_a_rule_is_replicated_and_that_is_said(folder: Path) -> None:
    (folder / "p.kina").write_text('(import "ops/double.kina")\n' + PROGRAM)
    result = checked(folder / "p.kina")
    assert codes(result) == ["K902"]
    assert layout_of(result, "f.double") == ((), ())


def test_a_folder_stands_for_its_rule_files(folder: Path) -> None:
    assert layout_of(checked(folder / "p.kina", folder / "ops"), "f.double") == (("x",), ())


def test_the_folder_beside_the_program_is_added(folder: Path) -> None:
    (folder / "ops").rename(folder / "rules")
    assert layout_of(checked(folder / "p.kina"), "f.double") == (("x",), ())
    assert codes(checked(folder / "p.kina", folder / "rules" / "double.dl")) == []


def test_a_rule_base_beside_the_program_is_no_addition(folder: Path) -> None:
    (folder / "rules").mkdir()
    for file in rules_path().glob("*.dl"):
        (folder / "rules" / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "p.kina").write_text(PROGRAM.replace("(double a)", "(exp a)"))
    assert layout_of(checked(folder / "p.kina"), "f.exp") == (("x",), ())


def test_a_package_adds_by_an_entry_point(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = folder / "site"
    (site / "doubles" / "rules").mkdir(parents=True)
    (site / "doubles" / "__init__.py").write_text("raise RuntimeError('rules run no code')\n")
    DOUBLE.write(site / "doubles" / "rules")
    info = site / "doubles-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: doubles\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[kina.rules]\ndoubles = doubles.rules\n")
    monkeypatch.syspath_prepend(str(site))
    additions_module._packaged.cache_clear()
    try:
        assert layout_of(checked(folder / "p.kina"), "f.double") == (("x",), ())
        (site / "doubles" / "rules" / "double.dl").unlink()
        additions_module._packaged.cache_clear()
        with pytest.raises(SetupError, match="no folder of an installed package"):
            additions("", ())
    finally:
        monkeypatch.undo()
        additions_module._packaged.cache_clear()


def test_what_is_no_rule_file_is_refused(folder: Path) -> None:
    with pytest.raises(SetupError, match="cannot be read"):
        additions("", (str(folder / "none.dl"),))
    with pytest.raises(SetupError, match="is no rule file"):
        additions("", (str(folder / "p.kina"),))
    (folder / "empty").mkdir()
    with pytest.raises(SetupError, match="holds no rule file"):
        additions("", (str(folder / "empty"),))
    (folder / "odd.dl").write_bytes(b".once\n\xff")
    with pytest.raises(ProgramError) as caught:
        additions("", (str(folder / "odd.dl"),))
    assert caught.value.findings[0].code == "K801"
    os.mkfifo(folder / "pipe.dl")
    with pytest.raises(SetupError, match="is no file"):
        additions("", (str(folder / "pipe.dl"),))


def test_includes_stay_inside_the_folder(folder: Path) -> None:
    rules = folder / "ops" / "double.dl"
    (folder / "secret.dl").write_text(".once\n")
    for path, code in (("../secret.dl", "K804"), (str(folder / "secret.dl"), "K804"), ("none.dl", "K804")):
        rules.write_text(f'.once\n.include "{path}"\n{DOUBLE.rules}')
        result = checked(folder / "p.kina", rules)
        assert codes(result) == [code]
        assert result.findings[0].primary is not None
        assert result.findings[0].primary.line == 2


@pytest.mark.parametrize("solver", ["clingo", pytest.param("souffle", marks=pytest.mark.souffle)])
def test_included_files_are_read_once(folder: Path, solver: str) -> None:
    ops = folder / "ops"
    (ops / "below").mkdir()
    (ops / "below" / "names.dl").write_text(
        '.include "program.dl"\n/// Holds if `kind` doubles.\n'
        '.decl doubling(kind: Kind)\ndoubling("double").\n'
    )
    (ops / "more.dl").write_text('/* .include "none.dl" */ .include "below/names.dl"\n')
    text = DOUBLE.rules.replace('op_kind(op, "double")', "op_kind(op, kind), doubling(kind)")
    (ops / "double.dl").write_text(f'.include // why not\n "below/names.dl"\n.include "more.dl"\n{text}')
    result = checked(folder / "p.kina", ops / "double.dl", solver=solver)
    assert layout_of(result, "f.double") == (("x",), ())


@pytest.mark.parametrize("solver", ["clingo", pytest.param("souffle", marks=pytest.mark.souffle)])
def test_names_of_files_may_be_odd_and_equal(folder: Path, solver: str) -> None:
    odd = folder / 'a "b"\n(c)'
    odd.mkdir()
    (odd / 'double "2".dl').write_text(DOUBLE.rules)
    (odd / "layout.dl").write_text(".once\n/// Holds if `op` is seen.\n.decl seen(op: Op)\n")
    (folder / "p.kina").write_text('(import "ops/double.kina")\n' + PROGRAM)
    result = checked(folder / "p.kina", odd, solver=solver)
    assert layout_of(result, "f.double") == (("x",), ())


def test_the_kept_rules_are_those_of_the_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINA_CACHE", str(folder / "cache"))
    rules = folder / "ops" / "double.dl"
    for whole, expected in ((False, (("x",), ())), (True, ((), ())), (False, (("x",), ()))):
        text = DOUBLE.rules
        rules.write_text(
            text.replace("factor(op, port, dim, dim)", "dim_whole(op, port, dim)") if whole else text
        )
        compile_text.cache_clear()
        assert layout_of(checked(folder / "p.kina", rules), "f.double") == expected


def test_two_declarations_of_one_op_are_refused(folder: Path) -> None:
    (folder / "p.kina").write_text(DOUBLE.kina + PROGRAM)
    result = checked(folder / "p.kina", folder / "ops" / "double.dl")
    assert codes(result) == ["K014"]
    assert len(result.findings[0].labels) == 1


def test_a_file_that_is_imported_and_beside_a_rule_file_is_read_once(folder: Path) -> None:
    (folder / "p.kina").write_text('(import "ops/double.kina")\n' + PROGRAM)
    assert codes(checked(folder / "p.kina", folder / "ops" / "double.dl")) == []


def test_a_program_beside_its_own_rule_file_is_read_once(tmp_path: Path) -> None:
    rules = DOUBLE.write(tmp_path)
    (tmp_path / "double.kina").write_text(DOUBLE.kina + PROGRAM)
    assert codes(checked(tmp_path / "double.kina", rules)) == []


def test_two_rule_files_with_one_name_of_a_rule_are_refused(folder: Path) -> None:
    (folder / "ops" / "other.dl").write_text(DOUBLE.rules)
    result = checked(folder / "p.kina", folder / "ops")
    assert codes(result) == ["K830", "K830"]
    assert result.findings[0].labels


@pytest.mark.souffle
def test_the_facts_are_solved_by_hand(folder: Path) -> None:
    install = find_souffle()
    assert install is not None
    code = cli.run(
        ["facts", str(folder / "p.kina"), "--rules", str(folder / "ops"), "-o", str(folder / "facts")]
    )
    assert code == 0
    (folder / "out").mkdir()
    command = [install.path, "-I", str(rules_path()), "-F", str(folder / "facts"), "-D", str(folder / "out")]
    done = subprocess.run(
        [*command, str(folder / "facts" / "main.dl")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "f.double\t0\tx" in (folder / "out" / "layout.csv").read_text()


def test_every_command_takes_rules(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, rules = str(folder / "p.kina"), ["--rules", str(folder / "ops")]
    assert cli.run(["check", program, *rules, "--format", "json"]) == 0
    tensors = json.loads(capsys.readouterr().out)["tensors"]
    assert [each["layout"] for each in tensors] == [[["x"], []], [["x"], []]]
    assert cli.run(["why", program, "double.0@x", *rules, "--proof", "full", "--width", "1000"]) == 0
    assert f"{folder}/ops/double.dl:7" in capsys.readouterr().out
    assert cli.run(["why", program, "double.1@x", "--not", *rules]) == 0
    assert cli.run(["compile", program, *rules, "-o", str(folder / "p.mlir")]) == 0
    assert "call @double" in (folder / "p.mlir").read_text()
    assert cli.run(["run", program, *rules, "--verify"]) == 0
    assert cli.run(["run", str(folder / "p.mlir")]) == 0
    assert cli.run(["run", str(folder / "p.mlir"), *rules]) == 2
    assert cli.run(["explain", "double.dims", *rules]) == 0
    assert "The rule dims." in capsys.readouterr().out
    assert cli.run(["explain", "double.dims"]) == 2


def test_a_proof_names_the_added_rule(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ROTARY.write(folder / "ops")
    assert cli.run(["explain", "rotary.start", "--rules", str(folder / "ops")]) == 0
    assert "attribute_follows" in capsys.readouterr().out


def helps(result: Result) -> list[str]:
    return [help_.message for finding in result.findings for help_ in finding.helps]


@pytest.mark.parametrize("place", [".", "my ops"])
def test_the_file_that_brings_an_unknown_op_is_named(place: str, tmp_path: Path) -> None:
    (tmp_path / "p.kina").write_text(PROGRAM)
    (tmp_path / "unreadable.dl").mkdir()
    (tmp_path / "other.dl").symlink_to("other.dl")
    (tmp_path / place).mkdir(exist_ok=True)
    file = DOUBLE.write(tmp_path / place)
    result = checked(tmp_path / "p.kina")
    assert codes(result) == ["K011"]
    (found,) = [each for each in helps(result) if "--rules" in each]
    assert found == f"`{file}` brings an op of that name: pass `--rules {shlex.quote(str(file))}`"
    file.with_suffix(".kina").write_text("(defop doubles ((a (tensor t [n]))) (tensor t [n]) a)\n")
    assert not [each for each in helps(checked(tmp_path / "p.kina")) if "--rules" in each]


def test_the_rules_beside_a_declaration_that_is_imported_are_named(folder: Path) -> None:
    (folder / "p.kina").write_text(f'(import "ops/double.kina")\n{PROGRAM}')
    result = checked(folder / "p.kina")
    assert codes(result) == ["K902"]
    file = folder / "ops" / "double.dl"
    assert helps(result) == [f"`{file}` lies beside its declaration: pass `--rules {file}`"]
    file.unlink()
    assert helps(checked(folder / "p.kina")) == []


def test_a_file_that_is_imported_may_belong_to_rules_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the two are called."""
    monkeypatch.chdir(folder)
    (folder / "p.kina").write_text(f'(import "ops/../ops/double.kina")\n{PROGRAM}')
    for file in ("ops/double.dl", str(folder / "ops" / "double.dl")):
        assert codes(checked(Path("p.kina"), Path(file))) == []


def test_an_op_that_is_declared_twice_is_said_with_what_to_do(folder: Path) -> None:
    (folder / "p.kina").write_text(DOUBLE.kina + PROGRAM)
    file = folder / "ops" / "double.dl"
    result = checked(folder / "p.kina", file)
    assert codes(result) == ["K014"]
    declared = file.with_suffix(".kina")
    assert helps(result) == [f"leave this one out: `{declared}` declares it for all files of the program"]
    (folder / "p.kina").write_text(DOUBLE.kina * 2 + PROGRAM)
    assert helps(checked(folder / "p.kina")) == ["leave one of them out, or call it otherwise"]


def test_layouts_are_written_into_a_program_whose_ops_come_with_rules(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(folder / "p.kina"), "--rules", str(folder / "ops"), "--solver", "clingo"]
    assert cli.run(["check", *arguments, "--annotated", str(folder / "out.kina")]) == 0
    assert capsys.readouterr().err == ""
    assert "(@ (double a) @sharded(axis=0, mesh=x) @closed)" in (folder / "out.kina").read_text()


@pytest.mark.parametrize(
    "name", ["loop.dl", "", "folder.dl", "pipe.dl", "binary.dl", "nosuch.dl", "odd\n.dl"]
)
def test_what_is_no_rule_file_is_said(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    (folder / "loop.dl").symlink_to("other.dl")
    (folder / "other.dl").symlink_to("loop.dl")
    (folder / "folder.dl").mkdir()
    os.mkfifo(folder / "pipe.dl")
    (folder / "binary.dl").write_bytes(b"\xff\0")
    for command in (["check", "p.kina"], ["rules", "list"], ["rules", "graph"]):
        assert cli.run([*command, "--rules", name]) in (1, 2)
        said = capsys.readouterr()
        assert said.out == ""
        assert "K900" not in said.err
        assert (name.partition("\n")[0] or "--rules") in said.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["compile", "p.kina", "-o", "loop"],
        ["check", "p.kina", "--annotated", "loop"],
        ["run", "p.kina", "--outputs", "loop"],
        ["run", "p.kina", "--trace", "loop"],
        ["rules", "graph", "-o", "loop.svg"],
    ],
)
def test_a_result_is_not_written_through_links_that_lead_nowhere(
    arguments: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    for name in ("loop", "loop.svg"):
        (folder / name).symlink_to(name)
    rules = [] if arguments[0] == "rules" else ["--rules", "ops"]
    assert cli.run([*arguments, *rules]) == 2
    assert "too many levels of symbolic links" in capsys.readouterr().err
    assert (folder / "loop").is_symlink()
