"""What a surface form is, and how the arguments of a call are bound to its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from kina.frontend.builder import Arg, Builder, Call, Literal
from kina.frontend.forms.literals import constant, literal_dtype
from kina.frontend.forms.parameters import KIND_WORDS, Parameter, literal_text
from kina.frontend.ir import Attribute, TensorType
from kina.frontend.ops import OpError
from kina.frontend.ops.core import DTYPES, listing
from kina.source import Span


class Bound:
    """The arguments of one call by parameter name, with the builder that takes the ops.

    All accessors raise ProgramError with a located finding if the argument is not what they give.
    """

    __slots__ = ("_args", "_parameters", "builder", "call")

    def __init__(
        self, builder: Builder, call: Call, parameters: Mapping[str, Parameter], args: Mapping[str, object]
    ):
        self.builder = builder
        self.call = call
        self._parameters = parameters
        self._args = args

    # What was given.

    def has(self, name: str) -> bool:
        """Whether the argument was written or has a default."""
        return name in self._args or self._parameters[name].default is not None

    def arg(self, name: str) -> Arg:
        """The argument as it was evaluated; its default as if written at the call."""
        arg = self._args.get(name)
        if isinstance(arg, Arg):
            return arg
        return Arg(self.call.span, literal=self._parameters[name].default)

    def args(self, name: str) -> tuple[Arg, ...]:
        """All arguments of a parameter of kind "values" or "rest"."""
        args = self._args.get(name, ())
        return args if isinstance(args, tuple) else (self.arg(name),)

    # Literals.

    def number(self, name: str) -> int:
        """A whole number."""
        value = self.arg(name).literal
        if isinstance(value, bool) or not isinstance(value, int):
            self._mismatch(name)
        return value

    def flag(self, name: str) -> bool:
        """A truth value."""
        value = self.arg(name).literal
        if not isinstance(value, bool):
            self._mismatch(name)
        return value

    def text(self, name: str) -> str:
        """A string, a word or a dtype; a word is one of the choices of its parameter."""
        value = self.arg(name).literal
        if not isinstance(value, str):
            self._mismatch(name)
        choices = DTYPES if self._parameters[name].kind == "dtype" else self._parameters[name].choices
        if choices and value not in choices:
            listed = listing([f"`{choice}`" for choice in choices])
            self.refuse(
                "K121",
                f"`{name}` of `{self.call.name}` is one of {listed}, not `{value}`",
                self.arg(name).span,
            )
        return value

    def numbers(self, name: str) -> tuple[int, ...]:
        """A list of whole numbers; one number stands for a list of one."""
        value = self.arg(name).literal
        if isinstance(value, int) and not isinstance(value, bool):
            return (value,)
        if not isinstance(value, tuple):
            self._mismatch(name)
        return tuple(self._whole(name, value))

    def _whole(self, name: str, value: tuple[Literal, ...]) -> Iterator[int]:
        for each in value:
            if isinstance(each, bool) or not isinstance(each, int):
                self._mismatch(name)
            yield each

    # Tensors.

    def value(self, name: str, like: TensorType | None = None) -> int:
        """A tensor. A literal becomes a constant of the dtype and, if it is one number, shape of `like`."""
        return self.as_value(self.arg(name), name, like)

    def as_value(self, arg: Arg, name: str, like: TensorType | None = None) -> int:
        """One argument as a tensor, see `value`."""
        if arg.literal is None:
            if len(arg.values) != 1:
                self.refuse(
                    "K123",
                    f"`{name}` of `{self.call.name}` is one tensor, but this gives {len(arg.values)}",
                    arg.span,
                )
            return arg.values[0]
        if isinstance(arg.literal, str):
            self._mismatch(name, arg)
        dtype = like.dtype if like else literal_dtype(arg.literal)
        return constant(self.builder, arg.literal, dtype, None, arg.span, like.shape if like else ())

    def type(self, name: str) -> TensorType | None:
        """The type of a tensor argument; None for a literal."""
        arg = self.arg(name)
        return self.builder.type_of(self.value(name)) if arg.literal is None else None

    # Ops and errors.

    def emit(self, op_kind: str, operands: Sequence[int], /, **attributes: Attribute) -> int:
        """Append an op with one result at the place of the call."""
        return self.builder.emit(op_kind, operands, attributes, self.call.span)[0]

    def refuse(self, code: str, message: str, span: Span | None = None, help_: str = "") -> NoReturn:
        """Raise the finding, at the call unless a place is given, with the types of all tensors as labels."""
        values = [value for arg in self.call.args for value in arg.values]
        raise self.builder.located(OpError(code, message, help_), span or self.call.span, values)

    def _mismatch(self, name: str, arg: Arg | None = None) -> NoReturn:
        arg = arg or self.arg(name)
        wanted = KIND_WORDS[self._parameters[name].kind]
        found = "a tensor" if arg.literal is None else f"`{literal_text(arg.literal)}`"
        self.refuse("K123", f"`{name}` of `{self.call.name}` is {wanted}, not {found}", arg.span)


@dataclass(frozen=True, slots=True)
class Form:
    """A surface form. `signature` and `doc` are for people, `words` are bare words that it takes."""

    name: str
    parameters: tuple[Parameter, ...]
    doc: str
    make: Callable[[Bound], tuple[int, ...]]
    by_name: Mapping[str, Parameter] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {each.name: each for each in self.parameters})

    @property
    def signature(self) -> str:
        """The form as it is written: `(slice x [starts ...] [limits ...] :strides ...)`."""
        return f"({' '.join([self.name, *(each.signature for each in self.parameters)])})"

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(word for each in self.parameters for word in each.choices)

    def build(self, builder: Builder, call: Call) -> tuple[int, ...]:
        """Append what the form stands for and give its results. ProgramError with located findings."""
        return self.make(Bound(builder, call, self.by_name, self._bind(builder, call)))

    def _bind(self, builder: Builder, call: Call) -> dict[str, object]:
        bound: dict[str, object] = {}
        rest = list(call.args)
        for parameter in self.parameters:
            if not rest:
                break
            if parameter.kind in ("values", "rest"):
                taken = _leading_tensors(rest) if parameter.kind == "values" else len(rest)
                bound[parameter.name] = tuple(rest[:taken])
                del rest[:taken]
            else:
                bound[parameter.name] = rest.pop(0)
        if rest:
            self._refuse(
                builder,
                call,
                "K104",
                f"`{self.name}` takes {self._count()}, not {len(call.args)}",
                rest[0].span,
            )
        for name, arg in call.keywords.items():
            if name not in self.by_name:
                self._refuse(builder, call, "K120", f"`{self.name}` has no option `:{name}`", arg.span)
            if name in bound:
                self._refuse(builder, call, "K120", f"`{name}` of `{self.name}` is given twice", arg.span)
            bound[name] = (arg,) if self.by_name[name].kind in ("values", "rest") else arg
        for parameter in self.parameters:
            if parameter.name not in bound and parameter.default is None and not parameter.optional:
                self._refuse(builder, call, "K104", f"`{self.name}` lacks `{parameter.name}`", call.span)
        return bound

    def _count(self) -> str:
        needed = sum(not each.optional for each in self.parameters)
        most = len(self.parameters)
        if needed < most:
            return f"{needed} to {most} arguments"
        return f"{most} argument{'' if most == 1 else 's'}"

    def _refuse(self, builder: Builder, call: Call, code: str, message: str, span: Span) -> NoReturn:
        raise builder.located(OpError(code, message, f"write {self.signature}"), span)


def _leading_tensors(args: Sequence[Arg]) -> int:
    """How many arguments a parameter of kind "values" takes: up to a literal that is no list."""
    for i, arg in enumerate(args):
        if arg.literal is not None and not isinstance(arg.literal, tuple):
            return i
    return len(args)
