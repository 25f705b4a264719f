"""A first version of the rule of an op that multiplies and sums: three files, ready to be checked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import ascii_letters

from jinja2 import Environment, StrictUndefined, Template

from kina.diagnostics.finding import SetupError
from kina.frontend.form_modules import taken_by
from kina.frontend.forms.einsum import MOST_OPERANDS
from kina.rulebook.base import own_rules

_OP = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
#: What reads as a number or a truth value.
_WORDS = frozenset({"nan", "inf", "true", "false"})
_GROUP = re.compile(r"\(([^()]*)\)")
_HELP = 'write it as "(i,k),(k,j)->(i,j)": the dims of each operand, and those of the result'


@dataclass(frozen=True, slots=True)
class Spec:
    """The dims of each operand and of the result, by the names of the factors that they are."""

    operands: tuple[tuple[str, ...], ...]
    result: tuple[str, ...]

    @property
    def factors(self) -> tuple[str, ...]:
        """Every factor once: those of the result first, then those that are summed."""
        return tuple(dict.fromkeys([*self.result, *(name for group in self.operands for name in group)]))

    @property
    def summed(self) -> tuple[str, ...]:
        """The factors that the result lacks."""
        return tuple(name for name in self.factors if name not in self.result)

    def __str__(self) -> str:
        groups = ",".join(f"({','.join(group)})" for group in self.operands)
        return f"{groups}->({','.join(self.result)})"


def read_spec(text: str) -> Spec:
    """The spec in a text such as `(i,k),(k,j)->(i,j)`. SetupError where it is none that `einsum` computes."""
    left, arrow, right = "".join(text.split()).partition("->")
    operands, results = _groups(left, text), _groups(right, text)
    if not arrow or not operands:
        raise SetupError(f"`{text}` does not say what becomes of which dims", _HELP)
    if len(results) != 1:
        raise SetupError(f"`{text}` has {len(results)} results; a first version is written for one", _HELP)
    spec = Spec(operands, results[0])
    for group in (*operands, results[0]):
        for name in group:
            if group.count(name) > 1:
                raise SetupError(
                    f"`{text}` has `{name}` twice in one tensor; a diagonal is no product", _HELP
                )
    for name in results[0]:
        if not any(name in group for group in operands):
            raise SetupError(f"`{text}` has `{name}` in the result and in no operand", _HELP)
    if not spec.factors:
        raise SetupError(f"`{text}` has no dim, and so nothing that a rule could split", _HELP)
    if len(operands) > MOST_OPERANDS:
        raise SetupError(f"`{text}` has {len(operands)} operands; {MOST_OPERANDS} are the most")
    if len(spec.factors) > len(ascii_letters):
        raise SetupError(f"`{text}` has {len(spec.factors)} factors; {len(ascii_letters)} are the most")
    return spec


def _groups(text: str, whole: str) -> tuple[tuple[str, ...], ...]:
    found = [match[1] for match in _GROUP.finditer(text)]
    if ",".join(f"({each})" for each in found) != text:
        raise SetupError(f"`{whole}` is no list of dims in brackets", _HELP)
    groups = tuple(tuple(each.split(",")) if each else () for each in found)
    for group in groups:
        for name in group:
            if not _NAME.fullmatch(name) or name in _WORDS:
                raise SetupError(f"`{name}` in `{whole}` is no name of a dim: lower-case letters and digits")
    return groups


def new_rule(op: str, spec: Spec) -> Mapping[str, str]:
    """The files `OP.dl`, `OP.kina` and `OP.test.md` by name. SetupError if no op can be called so."""
    if not _OP.fullmatch(op):
        raise SetupError(f"`{op}` is no name of an op: lower-case words with `_` between them")
    if op in _WORDS:
        raise SetupError(f"`{op}` reads as a number or a truth value, and no op can be called so")
    if why := taken_by(op):
        raise SetupError(f"`{op}` is {why} of the language, and no op can be called so")
    fields = _fields(op, spec)
    return {f"{op}{ending}": _template(ending).render(fields) for ending in (".dl", ".kina", ".test.md")}


def _template(ending: str) -> Template:
    text = (files("kina.rulebook") / "templates" / f"op{ending}.j2").read_text(encoding="utf-8")
    # The text is no HTML, and what is filled in are names that were checked.
    environment = Environment(  # noqa: S701
        undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(text)


def _fields(op: str, spec: Spec) -> dict[str, object]:
    """What the templates print."""
    names = list(_fresh(("x", "y", "z"), spec.factors, len(spec.operands)))
    (entry,) = _fresh(("f", "g"), (op,), 1)
    operand_table, result_table = (_table(f"{op}_{what}") for what in ("operand", "result"))
    letters = dict(zip(spec.factors, ascii_letters, strict=False))
    numbers = {name: number for number, name in enumerate(spec.factors)}
    sizes = {name: 4 + 2 * number for number, name in enumerate(spec.factors)}
    (dtype,) = _fresh(("t",), (*spec.factors, *names), 1)
    split = _split(spec, names)
    summed = [{"name": name, "number": numbers[name], "rule": name.replace("_", "-")} for name in spec.summed]
    rules = ["operand-dim", *["result-dim"] * bool(spec.result), *(f"sum-{each['rule']}" for each in summed)]
    moves, multiplies = _how(spec)
    rules += ["linear", *["together"] * multiplies]
    equation = ",".join("".join(letters[name] for name in group) for group in spec.operands)
    return {
        "op": op,
        "entry": entry,
        "operand_table": operand_table,
        "result_table": result_table,
        "spec": str(spec),
        "spec_names": ", ".join(f"{numbers[name]} is `{name}`" for name in spec.factors),
        "declared": f"\n{' ' * len(f'(defop {op} (')}".join(
            f"({name} (tensor {dtype} [{' '.join(group)}]))"
            for name, group in zip(names, spec.operands, strict=True)
        ),
        "parameters": f"\n{' ' * len(f'(defn {entry} (')}".join(
            f"({name} (tensor f32 [{' '.join(str(sizes[each]) for each in group)}])"
            f"{f' @sharded(axis={split.dim})' if split.operand == name else ''})"
            for name, group in zip(names, spec.operands, strict=True)
        ),
        "dtype": dtype,
        "operands": [
            {
                "name": name,
                "pos": pos,
                "factors": [numbers[each] for each in group],
            }
            for pos, (name, group) in enumerate(zip(names, spec.operands, strict=True))
        ],
        "result": {
            "dims": " ".join(spec.result),
            "factors": [numbers[name] for name in spec.result],
        },
        "equation": f"{equation}->{''.join(letters[name] for name in spec.result)}",
        "summed": summed,
        "moves": moves,
        "multiplies": multiplies,
        "rules": [f"{op}.{name}" for name in rules],
        "place": split.place,
    }


def _how(spec: Spec) -> tuple[bool, bool]:
    """Whether the op moves elements and no more, and whether it multiplies and does not sum."""
    alone = len(spec.operands) == 1
    return (alone and not spec.summed, not alone and not spec.summed)


def _table(wish: str) -> str:
    """A relation that no file of the rule base declares, `wish` if it can be."""
    return next(_fresh((wish, f"{wish}_dim"), tuple(own_rules().compiled.tables), 1))


def _fresh(wishes: Sequence[str], taken: Sequence[str], number: int) -> Iterator[str]:
    """So many names, the wishes first, that are not taken."""
    candidates = (*wishes, *(f"{wishes[0]}{index}" for index in range(number + len(taken))))
    free = (name for name in candidates if name not in taken)
    for _, name in zip(range(number), free, strict=False):
        yield name


@dataclass(frozen=True, slots=True)
class _Split:
    """A dim of an operand to annotate, and where the result has it, if it does."""

    operand: str
    dim: int
    place: int | None


def _split(spec: Spec, names: Sequence[str]) -> _Split:
    """A dim that the result has, else any."""
    factor = spec.factors[0]
    operand, group = next(pair for pair in zip(names, spec.operands, strict=True) if factor in pair[1])
    place = spec.result.index(factor) if factor in spec.result else None
    return _Split(operand, group.index(factor), place)
