"""What Kina has to say to its user: one data type, rendered by the modules beside it."""

from __future__ import annotations

from dataclasses import dataclass

from kina.source import Span


@dataclass(frozen=True, slots=True)
class Label:
    """A second place that matters to a finding, with a short text below its carets."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text of `span` by `replacement`."""

    span: Span
    replacement: str


@dataclass(frozen=True, slots=True)
class Help:
    """What the user can do. `verified` is true only if the check was run again with the edits and passed.

    `proposed` are edits that nobody has tried yet; reports say nothing of them.
    """

    message: str
    edits: tuple[Edit, ...] = ()
    verified: bool = False
    proposed: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True)
class ProofStep:
    """One inference. `id` is its index in the proof, `premises` are ids of other steps.

    `relation` and `columns` are the tuple; `says` is the sentence of it. `rule` is the name of the
    rule that derives it ("" for a leaf) and `rule_at` its place, `rules/elementwise.dl:12`.
    `given_at` is the place of the annotation that a leaf stands for, None elsewhere.
    `hidden` steps are left out of the short form and their premises move up.
    """

    id: int
    relation: str
    columns: tuple[str | int, ...]
    says: str
    rule: str = ""
    rule_at: str = ""
    given_at: Span | None = None
    premises: tuple[int, ...] = ()
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """A diagnostic. `severity` is "error", "warning" or "note"; `code` is K and three digits.

    `message` says what is the case, in lower case and without a final stop; `at` is the text under
    the carets of the primary span. `primary` is None only if no source text is concerned.
    `rule` is the name of the rule that objects, where one does. The first step of `proof` is its root.
    """

    code: str
    severity: str
    message: str
    primary: Span | None
    at: str = ""
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    helps: tuple[Help, ...] = ()
    proof: tuple[ProofStep, ...] = ()
    rule: str = ""
    more: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The finding in one line, as `--format concise` prints it."""
        from kina.diagnostics.concise import render_concise

        return render_concise((self,)).rstrip("\n")


def error(code: str, message: str, primary: Span | None, at: str = "", **parts: object) -> Finding:
    """A finding of severity "error"."""
    return Finding(code, "error", message, primary, at, **parts)  # type: ignore[arg-type]


def _with_help(message: str, help_: str) -> str:
    return f"{message}\n  = help: {help_}" if help_ else message


class ProgramError(Exception):
    """Carries findings out of a stage that cannot go on; the pipeline catches it, no traceback is shown."""

    def __init__(self, *findings: Finding) -> None:
        super().__init__(findings[0].message if findings else "")
        self.findings = findings

    def __reduce__(self) -> tuple[type[ProgramError], tuple[Finding, ...]]:
        """As other processes receive it, such as those of a pool: made of findings, and not of a message."""
        return type(self), self.findings

    def __str__(self) -> str:
        """The first error as one line, its first help, and how many findings there are besides."""
        from kina.diagnostics.cells import printable

        if not self.findings:
            return super().__str__()
        first = next((each for each in self.findings if each.severity == "error"), self.findings[0])
        help_ = printable(first.helps[0].message) if first.helps else ""
        more = f"\nand {len(self.findings) - 1} more" if len(self.findings) > 1 else ""
        return _with_help(str(first), help_) + more


class SetupError(Exception):
    """The surroundings are at fault (exit code 2): no such file, engine missing, bad option."""

    #: What the command ends with.
    exit_code = 2

    def __init__(self, message: str, help_: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.help = help_

    def __str__(self) -> str:
        return _with_help(self.message, self.help)


class UnknownNameError(SetupError, KeyError):
    """Nothing has the name that was asked for, or more than one thing has."""


class ArgumentError(SetupError, TypeError):
    """An argument of the Python interface has another type than it should."""
