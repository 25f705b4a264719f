"""The `kina` command line: finds the command, runs it, and turns what went wrong into exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from kina import __version__
from kina.commands.lazy import LazyGroup
from kina.diagnostics.finding import ProgramError, SetupError
from kina.output import reason, write_stderr

#: Command -> where it stands; in the order of the help.
COMMANDS = {
    "check": "kina.commands.check:check",
    "why": "kina.commands.why:why",
    "explain": "kina.commands.explain:explain",
    "facts": "kina.commands.facts:facts",
    "compile": "kina.commands.compile:compile",
    "run": "kina.commands.run:run",
    "rules": "kina.commands.rules:rules",
    "doctor": "kina.commands.doctor:doctor",
}

_EPILOG = """\b
Exit codes: 0 fine, 1 the program or a rule file is at fault, 2 the environment is, 130 interrupted.
Completion: `eval "$(_KINA_COMPLETE=bash_source kina)"` (or zsh_source, fish_source).
"""


@click.group(
    cls=LazyGroup,
    places=COMMANDS,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="kina %(version)s")
def kina() -> None:
    """Sharding decisions that a person can read, question, review and trust.

    Kina reads a tensor program in which a few tensors carry sharding annotations, deduces how every other
    tensor is laid out and where data has to move, and explains each decision down to the annotations.
    """


def run(arguments: Sequence[str]) -> int:
    """Run one command; its exit code. What goes wrong is said on the standard error stream."""
    if "_KINA_COMPLETE" in os.environ:
        kina.main(list(arguments), prog_name="kina")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        return _invoke(arguments)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as problem:
        problem.show()
        return 2
    except SetupError as problem:
        write_stderr(setup_message(problem))
        return problem.exit_code
    except ProgramError as problem:
        from kina.commands.show import show_findings

        show_findings(problem.findings)
        return 1
    except BrokenPipeError:
        return 0
    except OSError as problem:
        write_stderr(f"error: the system refuses: {reason(problem)}\n")
        return 2
    except MemoryError:
        write_stderr("error: out of memory\n")
        return 2
    except Exception as problem:
        if os.environ.get("KINA_DEBUG") == "1":
            raise
        write_stderr(internal_message(problem))
        return 2


def _invoke(arguments: Sequence[str]) -> int:
    with kina.make_context("kina", list(arguments)) as context:
        code = kina.invoke(context)
    return code if isinstance(code, int) else 0


def setup_message(problem: SetupError) -> str:
    """What is printed when the surroundings are at fault."""
    return f"error: {problem}\n"


def internal_message(problem: Exception) -> str:
    """What is printed for a mistake of Kina's own."""
    return (
        f"error[K900]: internal error: {type(problem).__name__}: {problem}\n"
        f"  = note: this is a mistake in kina {__version__}, not in your program\n"
        "  = help: report it with the program and the output of the same command under `KINA_DEBUG=1`\n"
    )
