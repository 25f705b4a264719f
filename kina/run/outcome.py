"""What a run leaves for Python: results by name, and what `kina run` prints of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kina.arguments import a_text
from kina.diagnose.case import plural
from kina.diagnostics.finding import Finding
from kina.names import matching, the_one
from kina.run.report import Account
from kina.run.session import StepReport
from kina.sim.dtypes import Array


@dataclass(frozen=True, slots=True, eq=False)
class Run(Mapping[str, Array]):
    """A mapping from full names to the results of the last step, whole.

    Printed, it is what `kina run` prints; `steps` is what each step said, and `findings` what `verify` found.
    """

    outputs: Mapping[str, Array]
    steps: tuple[StepReport, ...]
    findings: tuple[Finding, ...]
    account: Account = field(repr=False)
    entry: str = field(repr=False)

    @property
    def ok(self) -> bool:
        """Whether nothing differs from one device, as far as it was compared."""
        return not self.findings

    def __getitem__(self, name: str) -> Array:
        """A result by its full name, or by an ending of it that no other has.

        Raises UnknownNameError, which is a KeyError and a SetupError, if there is none.
        """
        name = a_text("name", name, "the name of a result")
        return self.outputs[the_one(name, self.outputs, self.entry, "result")]

    def __iter__(self) -> Iterator[str]:
        return iter(self.outputs)

    def __len__(self) -> int:
        return len(self.outputs)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and len(matching(name, self.outputs, self.entry)) == 1

    # arrays have no one answer to whether they are equal
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __str__(self) -> str:
        from kina.diagnostics.style import Style
        from kina.diagnostics.text import render_text, summary

        found = f"\n{render_text(self.findings, Style())}{summary(self.findings)}" if self.findings else ""
        return self.account.text() + found

    def __repr__(self) -> str:
        state = "ok" if self.ok else "with errors"
        steps, results = plural(len(self.steps), "step"), plural(len(self.outputs), "result")
        return f"<kina.Run of {self.account.file}: {state}, {steps}, {results}>"

    def _repr_html_(self) -> str:
        from kina.report.html import run_html

        return run_html(self.account, self.findings)
