"""Kina for programs in Python: a check, its decisions as data, questions about them, and runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kina.arguments import a_choice, a_flag, a_mapping, a_number, a_path, a_text, mesh_sizes, some_paths
from kina.diagnostics.finding import Finding, Help, ProgramError, SetupError

if TYPE_CHECKING:
    from kina.explain.answer import Answer
    from kina.frontend.ir import Program
    from kina.pipeline import Result
    from kina.plan.decisions import Decisions, Layout, Pending
    from kina.report.partition_specs import Specs
    from kina.run.outcome import Run


@dataclass(frozen=True, slots=True)
class Tensor:
    """A value of the program: its global shape, the mesh axes that split each dim, and pending parts.

    `pending` are pairs of a mesh axis and a reduction; `annotated` is true if the program says any of it.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    layout: Layout
    pending: Pending
    annotated: bool

    def __str__(self) -> str:
        from kina.frontend.ir import TensorType
        from kina.report.types import type_text

        return type_text(TensorType(self.dtype, self.shape), self.layout, self.pending)


@dataclass(frozen=True, slots=True)
class Collective:
    """A move of data: what moves over which axes, the op that causes it, and bytes that each device moves."""

    number: int
    kind: str
    axes: tuple[str, ...]
    tensor: str
    op: str
    bytes: int
    reason: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """The reply to a question; printed, it is what `kina why` prints. `holds` is whether its premise does."""

    answers: tuple[Answer, ...]

    @property
    def holds(self) -> bool:
        return all(answer.holds for answer in self.answers)

    def __str__(self) -> str:
        from kina.diagnostics.style import Style
        from kina.explain.render import render_answers

        return render_answers(self.answers, Style())

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


def check(
    path_or_text: str | os.PathLike[str],
    *,
    mesh: Mapping[str, int] | None = None,
    entry: str | None = None,
    on_conflict: str = "error",
    solver: str = "auto",
    strict: bool = False,
    rules: Sequence[str | os.PathLike[str]] = (),
) -> Check:
    """The decisions about a program; its mistakes are findings of the result, and none is raised.

    A string that holds a bracket or a line break is the program itself; any other one, and every `Path`,
    names a file. `mesh` replaces sizes of mesh axes, `rules` names rule files to add; the other options are
    those of `kina check`.
    Raises SetupError if the file cannot be read, and for an option that does not fit; of these ArgumentError,
    which is a TypeError too, for an argument of another type.
    """
    from kina.pipeline import Options, check, check_file
    from kina.source import TEXT, Source

    solver = a_choice("solver", solver, ("auto", "souffle", "clingo"))
    options = Options(
        solver,
        mesh_sizes(mesh),
        None if entry is None else a_text("entry", entry, "the name of a function"),
        a_choice("on_conflict", on_conflict, ("error", "cost")),
        a_flag("strict", strict),
        some_paths("rules", rules),
    )
    if isinstance(path_or_text, str) and any(mark in path_or_text for mark in "(\n"):
        text = path_or_text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        return Check(_as_text(path_or_text, check(Source(TEXT, text), options)), solver)
    path = a_path("path_or_text", path_or_text, "the path of a program or its text")
    # On the command line `-` is the standard input, which a notebook does not have.
    return Check(check_file("./-" if path == "-" else path, options), solver)


def _as_text(text: str, result: Result) -> Result:
    """The result, whose first error says how to name a file, if the text seems to be the name of one."""
    wrong = [place for place, each in enumerate(result.findings) if each.severity == "error"]
    # `Path.is_file` raises for a text that is too long for a name
    if not wrong or not (text.endswith(".kina") or os.path.isfile(text)):  # noqa: PTH113
        return result
    help_ = Help("a string with a bracket is a program itself, and a `pathlib.Path` names a file")
    first = result.findings[wrong[0]]
    findings = list(result.findings)
    findings[wrong[0]] = replace(first, helps=(help_, *first.helps))
    return replace(result, findings=tuple(findings))


@dataclass(frozen=True)
class Check:
    """What a check found out. A notebook shows it as tables; printed, it is what `kina check` prints.

    What needs decisions raises ProgramError, with the findings, if the program's mistakes left none. Layouts
    and collectives of a check that is not `ok` can be looked at; `compile`, `run` and `partition_specs` of it
    raise ProgramError.
    """

    result: Result
    solver: str

    @property
    def ok(self) -> bool:
        """Whether no finding is an error."""
        return self.result.ok

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Errors, warnings and notes, in the order in which they are printed."""
        return self.result.findings

    @property
    def mesh(self) -> Mapping[str, int]:
        """The size of each mesh axis."""
        return MappingProxyType({axis.name: axis.size for axis in self._program.mesh.axes})

    @cached_property
    def tensors(self) -> Mapping[str, Tensor]:
        """Every value by its full name, in the order of the program."""
        program, decisions = self._program, self._decisions
        annotated = {annotation.value for annotation in program.annotations if not annotation.settled}
        return MappingProxyType(
            {
                value.name: Tensor(
                    value.name,
                    value.type.dtype,
                    value.type.shape,
                    decisions.layouts[value.id],
                    decisions.pending.get(value.id, ()),
                    value.id in annotated,
                )
                for value in program.values
            }
        )

    def tensor(self, name: str) -> Tensor:
        """A tensor by its full name, or by an ending of it that no other has, else UnknownNameError."""
        from kina.names import the_one

        name = a_text("name", name, "the name of a tensor")
        return self.tensors[the_one(name, self.tensors, self._program.entry, "tensor")]

    def layout(self, name: str) -> Layout:
        """For each dim of a tensor the mesh axes that split it, major to minor."""
        return self.tensor(name).layout

    @cached_property
    def collectives(self) -> tuple[Collective, ...]:
        """All moves of data, in the order of the program."""
        return tuple(self._collectives())

    def _collectives(self) -> Iterator[Collective]:
        values = self._program.values
        for number, each in enumerate(self._decisions.collectives, 1):
            name, place = values[each.value].name, each.span
            what = (each.kind, each.axes, name, each.op, each.bytes, each.reason)
            yield Collective(number, *what, place.file, place.line)

    @property
    def cost_bytes(self) -> int:
        """Bytes that each device moves, by ring algorithms."""
        return self._decisions.cost_bytes

    @property
    def peak_bytes(self) -> int:
        """The most bytes that one device holds at a time."""
        return self._decisions.peak_bytes

    def why(
        self, question: str | None = None, *, negated: bool = False, collective: int | None = None
    ) -> Explanation:
        """Why `TENSOR[.DIM][@AXIS]` is so, why it is not (`negated`), or why a collective moves data.

        A collective goes by its number. SetupError if there is no such tensor, dim, axis or collective.
        """
        from kina.explain.ask import ask

        if question is not None:
            question = a_text("question", question, "a string such as `w.0@x`")
        if collective is not None:
            collective = a_number("collective", collective, 1)
        asked = (question, a_flag("negated", negated), collective)
        return Explanation(ask(self._program, self.solver, *asked)[1])

    def fixed(self, number: int) -> str:
        """The text of the program after the edits of help `number`, which can be checked again.

        Nothing is written. SetupError if there is no such help, or it edits another file than the program.
        """
        from kina.diagnostics.chosen import changed, numbered_help

        number = a_number("number", number, 1)
        (source, text), *others = changed(numbered_help(self.findings, number).edits)
        if others or source != self.result.source:
            message = (
                f"help {number} edits `{(others[0][0] if others else source).name}`, not the program alone"
            )
            raise SetupError(message, f"`kina check --fix {number}` makes it in the files")
        return text

    def compile(self) -> str:
        """The program of each device as StableHLO text, as `kina compile` writes it."""
        from kina.mlir.emit import emit

        self._usable()
        return emit(self._program, self._decisions)

    def partition_specs(self, every: bool = False) -> Specs:
        """Name -> `jax.sharding.PartitionSpec` of parameters and results, or of `every` value.

        Unique endings of names are found too. A pending sum has its axes as `unreduced`.
        Raises ProgramError if a finding is an error; SetupError without jax, and if a tensor is pending
        otherwise.
        """
        from kina.report.partition_specs import partition_specs

        every = a_flag("every", every)
        self._usable()
        program = self._program
        ids = range(len(program.values)) if every else dict.fromkeys((*program.parameters, *program.results))
        tensors = (self.tensors[program.values[number].name] for number in ids)
        return partition_specs(tensors, program.entry)

    def run(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        steps: int = 1,
        seed: int = 0,
        verify: bool = False,
        engine: str = "sim",
        platform: str = "auto",
    ) -> Run:
        """The outcome of so many steps, on the simulated mesh, or with `engine="xla"` on JAX's devices.

        `inputs` are whole arrays by name, of NumPy or of JAX; without them numbers are drawn by `seed`.
        What `verify` finds is in the outcome. Raises ProgramError if inputs do not fit (K701), if memory is
        short (K707), and at a fault of the run; SetupError for an option that does not fit, as `platform`
        without `engine="xla"`.
        """
        from kina.run.start import ENGINES, PLATFORMS, Choices, started

        self._usable()
        choices = Choices(
            a_number("steps", steps, 1),
            a_number("seed", seed, 0),
            a_flag("verify", verify),
            a_choice("engine", engine, ENGINES),
            a_choice("platform", platform, PLATFORMS),
        )
        if choices.engine == "sim" and choices.platform != "auto":
            message = f"`platform` is `{choices.platform}`, and a simulated mesh is on no platform"
            raise SetupError(message, 'it is an option of `engine="xla"`')
        given = None
        if inputs is not None:
            given = a_mapping("inputs", inputs, "a mapping from names of parameters to arrays")
        return started(self._program, self.result.file, self.compile(), given, choices)

    @property
    def _program(self) -> Program:
        if self.result.program is None:
            raise ProgramError(*self.findings)
        return self.result.program

    @property
    def _decisions(self) -> Decisions:
        if self.result.decisions is None:
            raise ProgramError(*self.findings)
        return self.result.decisions

    def _usable(self) -> None:
        """Raise ProgramError if a finding is an error."""
        if not self.ok:
            raise ProgramError(*self.findings)

    def __str__(self) -> str:
        from kina.diagnostics.style import Style
        from kina.diagnostics.text import render_text, summary
        from kina.report.tables import tables

        found = render_text(self.findings, Style()) + summary(self.findings) if self.findings else ""
        table = tables(self.result, Style()) if self.ok else ""
        return "\n".join(part for part in (table, found) if part)

    def __repr__(self) -> str:
        state = "ok" if self.ok else "with errors"
        moves = len(self.result.decisions.collectives) if self.result.decisions else 0
        return (
            f"<kina.Check of {self.result.file}: {state}, {moves} collectives, {len(self.findings)} findings>"
        )

    def _repr_html_(self) -> str:
        from kina.report.html import html

        return html(self.result)
