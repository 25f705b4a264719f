"""What formation knows while it walks a program: scopes, names, annotations, limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kina.diagnostics.finding import ProgramError, error
from kina.frontend.ast import Expr, Function, OpForm
from kina.frontend.builder import Arg, Builder, Literal
from kina.frontend.form_annotations import Annotations
from kina.frontend.ir import Op, Value
from kina.frontend.names import Names, Scope
from kina.frontend.ops import OpSpec
from kina.source import Source, Span

if TYPE_CHECKING:
    from kina.frontend.body import Declarations

#: Forms and calls inside one another, at most; well within Python's own limit.
DEPTH_LIMIT = 220
#: Forms evaluated, at most: what keeps a short program from unrolling without end.
STEP_LIMIT = 1_000_000
#: Ops of one program, at most.
OP_LIMIT = 400_000


@dataclass(frozen=True, slots=True)
class Definition:
    """A function that can be called, and whether the library or the user wrote it."""

    function: Function
    library: bool


@dataclass(frozen=True, slots=True)
class Declared:
    """An op that the program declares: its form, its row of the op table, and its body as a function."""

    form: OpForm
    spec: OpSpec
    definition: Definition
    #: the compile-time value of an expression of the declaration, where names stand for literals
    evaluate: Callable[[dict[str, Arg], Expr], Literal] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Globals:
    """Functions, compile-time constants and declared ops that code of one origin can name.

    `words` are the words that attributes of these ops can be.
    """

    functions: Mapping[str, Definition]
    constants: Mapping[str, Arg]
    ops: Mapping[str, Declared] = field(default_factory=dict)
    words: frozenset[str] = frozenset()


@dataclass(slots=True)
class Frame:
    """The inside of one call or repetition: its variables, its scope and the names it can see."""

    env: dict[str, Arg]
    scope: Scope
    visible: Globals


@dataclass(frozen=True, slots=True)
class Place:
    """A form of the recorded file that stood for `value`. `extends` if it takes annotations inside."""

    span: Span
    value: int
    extends: bool


@dataclass(frozen=True, slots=True)
class Carried:
    """The value that a parameter is in the next training step, and the form that says so."""

    value: int
    span: Span


@dataclass(frozen=True, slots=True)
class FormedCall:
    """All that a call made: values, whose names begin with `prefix` characters of its own, and ops.

    `paths` are those of the calls inside, which begin so too, and `callees` the identities of what they
    called. `depth` is how deep the call stood, and `steps` are the forms that were evaluated.
    """

    prefix: int
    arguments: tuple[int, ...]
    values: tuple[Value, ...]
    ops: tuple[Op, ...]
    result: Arg
    paths: tuple[str, ...]
    callees: frozenset[int]
    depth: int
    steps: int


@dataclass(slots=True)
class Former:
    """The state of formation. `outermost` is the user's call while library code is walked."""

    builder: Builder
    annotations: Annotations
    user: Globals
    library: Globals
    frame: Frame
    names: Names = field(default_factory=Names)
    paths: Names = field(default_factory=Names)
    #: the paths in the order in which they were made
    made_paths: list[str] = field(default_factory=list)
    parameters: list[int] = field(default_factory=list)
    parameter_set: set[int] = field(default_factory=set)
    calls: list[Definition] = field(default_factory=list)
    #: the identity of every function, and body of a declared op, that was called so far
    callees: list[int] = field(default_factory=list)
    #: forms so far whose values depend on how other values came about
    gradients: int = 0
    #: calls by all that what they make depends on
    formed_calls: dict[object, FormedCall] = field(default_factory=dict)
    formed: set[str] = field(default_factory=set)
    cotangents: list[tuple[int, int]] = field(default_factory=list)
    carried: dict[int, Carried] = field(default_factory=dict)
    #: the values in it
    next_values: set[int] = field(default_factory=set)
    initial: dict[int, str] = field(default_factory=dict)
    outermost: Span | None = None
    #: the declared op whose body is walked, "" elsewhere
    inside: str = ""
    declarations: Declarations | None = None
    depth: int = 0
    steps: int = 0
    recorded: Source | None = None
    places: list[Place] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.builder.name_for = self.name_for
        self.builder.span_for = self.span_for

    def name_for(self, base: str) -> str:
        """A unique printed name in the present scope."""
        return self.names.fresh(self.frame.scope.own + base)

    def path_for(self, base: str) -> str:
        """A unique path of a call or repetition in the present scope."""
        path = self.paths.fresh(self.frame.scope.inner + base)
        self.made_paths.append(path)
        return path

    def span_for(self, span: Span) -> Span:
        """Where the user sees what stands at `span`."""
        return span if self.outermost is None else self.outermost

    def enter(self, span: Span) -> None:
        """Counts one form; ProgramError beyond the limits."""
        self.depth += 1
        self.steps += 1
        if self.depth > DEPTH_LIMIT:
            message = f"forms and calls stand more than {DEPTH_LIMIT} deep inside one another"
            raise ProgramError(error("K017", message, self.span_for(span)))
        if self.steps > STEP_LIMIT or len(self.builder.ops) > OP_LIMIT:
            what = f"{OP_LIMIT:,} ops" if self.steps <= STEP_LIMIT else f"{STEP_LIMIT:,} forms"
            raise ProgramError(error("K032", f"the program unrolls to more than {what}", self.span_for(span)))

    def add_parameter(self, value: int) -> None:
        """Makes a value a parameter of the program."""
        self.parameters.append(value)
        self.parameter_set.add(value)

    def rename(self, value: int, base: str) -> None:
        """Gives a value the name `base` in the present scope, in place of the one it has."""
        old = self.builder.values[value]
        self.names.release(old.name)
        name = self.name_for(base)
        self.builder.values[value] = Value(old.id, name, old.type, old.span, old.splat)

    def is_fresh(self, value: int, mark: int) -> bool:
        """Whether an op made the value since there were `mark` values."""
        return value >= mark and value not in self.parameter_set

    def local_name(self, value: int) -> str:
        """The printed name without the scope that the reader stands in."""
        return self.builder.values[value].name.removeprefix(self.frame.scope.own)

    def record(self, span: Span, arg: Arg, mark: int, extends: bool) -> None:
        """Notes that a form of the recorded file stood for one new value."""
        if self.recorded is None or span.source is not self.recorded or len(arg.values) != 1:
            return
        if arg.values[0] >= mark and (extends or self.is_fresh(arg.values[0], mark)):
            self.places.append(Place(span, arg.values[0], extends))
