"""The command line: exit codes, what goes to which stream, and surroundings that do not play along."""

from __future__ import annotations

import errno
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kina import __main__, cli, output, pipeline
from kina.diagnostics.finding import SetupError
from kina.pipeline import Options
from tests.command import ROOT, kina_command

WRONG = "(mesh (x 4))\n(defn f ((a (tensor f32 [8 8]) @sharded(axis=2)))\n  (exp a))\n"
RIGHT = "(mesh (x 4))\n(defn f ((a (tensor f32 [8 8]) @sharded(axis=1)))\n  (exp a))\n"
SUM = "(mesh (x 4))\n(defn f ((a (tensor f32 [8 8]) @sharded(axis=1)))\n  (sum a))\n"


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    file = tmp_path / "wrong.kina"
    file.write_text(WRONG, encoding="utf-8")
    return str(file)


@pytest.fixture
def right(tmp_path: Path) -> str:
    file = tmp_path / "right.kina"
    file.write_text(RIGHT, encoding="utf-8")
    return str(file)


def test_findings_go_to_stderr_and_exit_is_1(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["check", wrong]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error[K")
    assert "\x1b" not in err


def test_results_go_to_stdout_and_exit_is_0(right: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["check", right, "--solver", "clingo"]) == 0
    out, err = capsys.readouterr()
    assert "f32[8,8@x]" in out
    assert err == ""


@pytest.mark.parametrize("form", ["json", "sarif", "github", "concise"])
def test_formats_for_programs_go_to_stdout_whole(
    form: str, wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["check", wrong, "--format", form]) == 1
    out, err = capsys.readouterr()
    assert "wrong.kina" in out
    assert err == ""


def test_json_has_a_line_for_each_file(wrong: str, right: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["check", right, wrong, "--format", "json", "--solver", "clingo", "--timings"]) == 1
    reports = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(report["ok"], report["file"]) for report in reports] == [(True, right), (False, wrong)]
    assert set(reports[0]["timings_ms"]) >= {"read", "form", "dump", "rules", "solve", "load"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "no-such-file.kina"],
        ["check"],
        ["check", "--no-such-option"],
        ["check", "f.kina", "--format", "xml"],
        ["check", "f.kina", "--mesh", "x"],
        ["check", "f.kina", "--mesh", "x=0"],
        ["check", "f.kina", "--mesh", "x=2,x=3"],
        ["check", "f.kina", "--mesh", f"x={2**31}"],
        ["check", "f.kina", "--accept"],
        ["check", "f.kina", "g.kina", "--annotated", "out.kina"],
        ["explain", "K000"],
        ["no-such-command"],
        [],
    ],
    ids=" ".join,
)
def test_nothing_is_on_stdout_at_exit_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.strip()
    assert "Traceback" not in err


def test_a_good_file_prints_nothing_if_another_is_missing(
    right: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["check", right, "no-such-file", "--solver", "clingo"]) == 2
    assert capsys.readouterr().out == ""


def test_standard_input_is_a_file() -> None:
    done = kina_command("check", "-", "--format", "concise", stdin=WRONG.encode())
    assert done.returncode == 1
    assert done.stdout.startswith("<stdin>:2:")


@pytest.mark.parametrize(
    "data",
    [b"", b"\x00\x01\xff\xfe", b"(" * 100_000, b'"no end', b"(defn f (", b"\xff"],
    ids=lambda d: repr(d[:10]),
)
def test_what_is_no_program_is_a_located_finding(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "bad.kina"
    file.write_bytes(data)
    done = kina_command("check", str(file), "--format", "json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["findings"][0]["primary"]["file"] == str(file)
    assert "Traceback" not in done.stderr


def test_an_interrupt_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], wrong: str
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kina.commands.check.check_file", interrupted)
    monkeypatch.setattr(sys, "argv", ["kina", "check", wrong])
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        assert __main__.command() == 130
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert capsys.readouterr().err == "kina: interrupted\n"


#: Kina that is interrupted, and once more while it says so.
TWICE = """
import os, signal, sys
from kina import __main__, cli
signal.signal(signal.SIGINT, signal.default_int_handler)
class Stream:
    def write(self, text):
        os.kill(os.getpid(), signal.SIGINT)
        return os.write(2, text.encode())
    def flush(self):
        os.kill(os.getpid(), signal.SIGTERM)
def interrupted(arguments):
    sys.stderr = Stream()
    raise KeyboardInterrupt
cli.run = interrupted
__main__.main()
"""


def test_an_interrupt_while_one_is_answered_changes_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", TWICE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "kina: interrupted\n")


def test_a_mistake_of_kina_is_said_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], wrong: str
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("kina.commands.check.check_file", broken)
    monkeypatch.delenv("KINA_DEBUG", raising=False)
    assert cli.run(["check", wrong]) == 2
    assert capsys.readouterr().err.startswith("error[K900]: internal error: ZeroDivisionError: by zero\n")
    monkeypatch.setenv("KINA_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        cli.run(["check", wrong])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_said(right: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kina", "explain", "K900"],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == b"error: cannot write to the standard output: no space left on device\n"
    annotated = kina_command("check", right, "--annotated", "/dev/full", "--solver", "clingo")
    assert annotated.returncode == 2
    assert annotated.stdout == ""
    assert "no space left on device" in annotated.stderr


def test_a_reader_that_goes_away_is_no_error(right: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "kina", "explain", "K900"],
            stdout=writer,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            check=False,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colour_is_for_terminals_that_want_it(env: dict[str, str], coloured: bool, wrong: str) -> None:
    leader, follower = pty.openpty()
    surroundings = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"} | env
    subprocess.run(
        [sys.executable, "-m", "kina", "check", wrong],
        stderr=follower,
        env=surroundings,
        cwd=ROOT,
        check=False,
    )
    os.close(follower)
    printed = os.read(leader, 65536)
    os.close(leader)
    assert b"error" in printed
    assert (b"\x1b[" in printed) is coloured


def test_facts_are_written_for_souffle(
    right: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new" / "facts"
    assert cli.run(["facts", right, "-o", str(folder)]) == 0
    assert "f.a\t1\tx\t0\n" in (folder / "given_sharded.facts").read_text(encoding="utf-8")
    assert ".include" in (folder / "main.dl").read_text(encoding="utf-8")
    assert cli.run(["facts", right, "-o", str(folder)]) == 0
    assert [path.name for path in folder.parent.iterdir()] == ["facts"]
    capsys.readouterr()


def test_each_input_relation_has_its_facts(
    right: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["facts", right, "-o", str(tmp_path / "facts")]) == 0
    schema = (ROOT / "rules" / "program.dl").read_text(encoding="utf-8")
    inputs = {line.split()[1] for line in schema.splitlines() if line.startswith(".input")}
    written = {path.stem for path in (tmp_path / "facts").glob("*.facts")}
    assert written == inputs
    capsys.readouterr()


def test_facts_of_a_wrong_program_leave_nothing(
    wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["facts", wrong, "-o", str(tmp_path / "facts")]) == 1
    assert not (tmp_path / "facts").exists()
    assert capsys.readouterr().out == ""


def test_facts_into_a_file_are_refused(right: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["facts", right, "-o", right]) == 2
    assert "is not a folder" in capsys.readouterr().err
    assert cli.run(["facts", right, "-o", right + "/below"]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_rules_path_has_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["rules", "path"]) == 0
    assert (Path(capsys.readouterr().out.strip()) / "program.dl").is_file()


def test_explain_shows_pages_of_codes_and_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["explain", "k900"]) == 0
    assert capsys.readouterr().out.startswith("# K900: ")
    assert cli.run(["explain", "levels.shape-forward"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("# levels.shape-forward\n")
    assert "rules/levels.dl:" in page
    assert cli.run(["explain", "levels.shape-forwards"]) == 2
    assert "near it: `levels.shape-forward`" in capsys.readouterr().err


def test_doctor_names_engines_and_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["doctor"]) == 0
    report = capsys.readouterr().out
    for name in ("kina", "python", "cores", "rules", "souffle", "clingo", "numpy"):
        assert any(line.split()[0] == name for line in report.splitlines() if line)


@pytest.mark.parametrize(
    "command", [[], ["check"], ["facts"], ["explain"], ["rules"], ["rules", "path"], ["doctor"]]
)
def test_every_command_has_help(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([*command, "--help"]) == 0
    assert "Usage: kina" in capsys.readouterr().out


def test_a_lock_file_pins_layouts(right: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = str(tmp_path / "right.lock")
    check = ["check", right, "--solver", "clingo", "--expect", lock]
    assert cli.run(check) == 2
    assert "`--accept` writes it" in capsys.readouterr().err
    assert cli.run([*check, "--accept"]) == 0
    assert cli.run(check) == 0
    capsys.readouterr()
    Path(right).write_text(RIGHT.replace("axis=1", "axis=0"), encoding="utf-8")
    assert cli.run(check) == 1
    err = capsys.readouterr().err
    assert "error[K390]" in err
    assert "+ tensor f.exp f32[8@x,8]" in err


@pytest.mark.parametrize(
    "options",
    [
        ["check", "--accept", "--expect"],
        ["compile", "-o"],
        ["run", "--outputs"],
        ["run", "--trace"],
    ],
)
def test_results_do_not_replace_a_program(
    options: list[str], right: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path(right).read_bytes()
    command, *rest = options
    assert cli.run([command, right, *rest, right]) == 2
    assert "is a source file" in capsys.readouterr().err
    assert Path(right).read_bytes() == before


def test_annotated_programs_check_to_the_same(
    right: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.kina"
    assert cli.run(["check", right, "--solver", "clingo", "--annotated", str(out), "--format", "json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert cli.run(["check", str(out), "--solver", "clingo", "--format", "json"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert [tensor["layout"] for tensor in first["tensors"]] == [
        tensor["layout"] for tensor in second["tensors"]
    ]


def test_a_failed_write_leaves_what_was_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "out.kina"
    file.write_text("before", encoding="utf-8")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(SetupError, match="no space left on device"):
        output.write_text(file, "after")
    assert file.read_text(encoding="utf-8") == "before"
    assert list(tmp_path.iterdir()) == [file]


def test_a_failed_folder_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(SetupError, match="no space left on device"):
        output.write_folder(tmp_path / "facts", {"a.facts": ""})
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("before", encoding="utf-8")
    file.chmod(0o640)
    link.symlink_to(file)
    output.write_text(link, "after")
    assert link.is_symlink()
    assert file.read_text(encoding="utf-8") == "after"
    assert file.stat().st_mode & 0o777 == 0o640


def test_the_start_imports_little() -> None:
    script = (
        "import sys; from kina.cli import run; code = run(['--version'])\n"
        "heavy = {'numpy', 'clingo', 'lark', 'rich', 'jinja2', 'sexpdata'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr


def test_strict_makes_warnings_errors() -> None:
    from kina.diagnostics.finding import Finding

    assert pipeline._strictly(Finding("K501", "warning", "", None)).severity == "error"
    assert pipeline._strictly(Finding("K301", "note", "", None)).severity == "note"
    assert Options().strict is False
