"""Parameters of surface forms: what each takes, and how it stands in a signature."""

from __future__ import annotations

from dataclasses import dataclass

from kina.frontend.builder import Literal

#: How a parameter of a kind is called in messages.
KIND_WORDS = {
    "value": "a tensor",
    "values": "tensors",
    "rest": "tensors or numbers",
    "number": "a whole number",
    "numbers": "a list of whole numbers",
    "scalar": "a number",
    "elements": "a number or a list of numbers",
    "flag": "true or false",
    "word": "a word",
    "dtype": "a dtype",
    "text": "a string",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a form. `default` is a literal; a parameter without one must be given.

    `kind` is one of the keys of `KIND_WORDS`. A parameter of kind "values" takes all arguments from
    its place on that are tensors or lists, one of kind "rest" all that are left. Any parameter can
    also be given as `:name value`.
    """

    name: str
    kind: str
    default: Literal | None = None
    optional: bool = False
    choices: tuple[str, ...] = ()

    @property
    def signature(self) -> str:
        """How the parameter stands in the signature of its form."""
        if self.optional:
            given = "[...]" if self.kind == "numbers" and self.default is None else literal_text(self.default)
            return f":{self.name} {given}"
        if self.kind == "numbers":
            return f"[{self.name} ...]"
        return f"{self.name} ..." if self.kind in ("values", "rest") else self.name


def literal_text(value: Literal | None) -> str:
    """A literal as the language writes it."""
    match value:
        case None:
            return "..."
        case bool():
            return str(value).lower()
        case tuple():
            return "[" + " ".join(literal_text(each) for each in value) + "]"
        case _:
            return str(value)


# Parameters of forms, by what they take.


def tensor(name: str) -> Parameter:
    """A tensor, or a number or list that becomes a constant."""
    return Parameter(name, "value")


def tensors(name: str) -> Parameter:
    """Any number of tensors."""
    return Parameter(name, "values")


def rest(name: str) -> Parameter:
    """All tensors and numbers that are left."""
    return Parameter(name, "rest")


def integer(name: str, default: int | None = None, optional: bool = False) -> Parameter:
    """A whole number that the program fixes."""
    return Parameter(name, "number", default, optional or default is not None)


def integers(name: str, default: tuple[int, ...] | int | None = None, optional: bool = False) -> Parameter:
    """A list of whole numbers that the program fixes."""
    return Parameter(name, "numbers", default, optional or default is not None)


def flag(name: str, default: bool = False) -> Parameter:
    """A truth value that the program fixes."""
    return Parameter(name, "flag", default, True)


def words(
    name: str, choices: tuple[str, ...], default: str | None = None, optional: bool = False
) -> Parameter:
    """One of some bare words."""
    return Parameter(name, "word", default, optional or default is not None, choices)


def dtype(name: str = "dtype", default: str | None = None, optional: bool = False) -> Parameter:
    """A dtype."""
    return Parameter(name, "dtype", default, optional or default is not None)


def string(name: str) -> Parameter:
    """A string."""
    return Parameter(name, "text")
