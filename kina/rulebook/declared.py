"""Rule files of others: a rule base with them, and instances of the ops that files beside them declare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product

from kina.additions import additions
from kina.diagnostics.finding import ProgramError
from kina.frontend.ast import Ref, TypeForm
from kina.frontend.body import Declarations
from kina.frontend.builder import Arg
from kina.frontend.form_op import literal_at
from kina.frontend.former import Declared
from kina.frontend.ir import DTYPE_BYTES, Attribute, TensorType
from kina.frontend.op_types import Env, size_names
from kina.frontend.ops import AttributeSpec, OpError, complete, infer
from kina.rulebook.base import RuleBase
from kina.rulebook.instances import Instance, Operand

#: Sizes that the names in a declaration stand for, in their order: different ones, else equal ones.
_MOST_SIZES = 64
_SIZES = (
    tuple(range(4, 4 + 2 * _MOST_SIZES, 2)),
    *((size,) * _MOST_SIZES for size in (8, 12, 16)),
)
#: Ways to choose attributes that are tried, and instances of one op that are kept.
_MOST_TRIES, _MOST_INSTANCES = 400, 24
_VALUES: Mapping[str, tuple[Attribute, ...]] = {
    "number": (1, 0, 2, 3, 4, 5, 6, 7, 8),
    "position": (0, 1),
    "flag": (False, True),
    "real": (0.5,),
    "dtype": ("f32",),
    "text": ("0",),
    "numbers": ((0,), (1,), (), (0, 1), (1, 1), (0, 0), (0, 1, 2)),
}


def with_added(base: RuleBase, paths: Sequence[str]) -> RuleBase:
    """The rule base with the rule files at `paths`, those of packages, and the ops that they come with.

    Raises SetupError if a file cannot be read, ProgramError if one is not text or declares ops wrongly.
    """
    found = additions("", paths)
    if not found.rules:
        return base
    changed = replace(base, added=found.rules, beside=found.sources)
    # What is wrong with a declaration is said before anything is asked.
    _ = changed.declared
    return changed


def declared_instances(declarations: Declarations) -> Iterator[Instance]:
    """Instances of each declared op: one, and more in which one attribute has another value.

    An op of which none can be made, because no value that is tried suits its types, has none.
    """
    for kind, declared in declarations.visible.ops.items():
        for sizes in _SIZES:
            made = list(islice(_made(declarations, kind, declared, sizes), _MOST_INSTANCES))
            if made:
                yield from made
                break


def _made(
    declarations: Declarations, kind: str, declared: Declared, sizes: Sequence[int]
) -> Iterator[Instance]:
    try:
        operands = tuple(_operands(declarations, declared, sizes))
    except ProgramError:
        return
    specs = declared.spec.attributes
    required = [spec for spec in specs if spec.default is None]
    ways = product(*(_values(spec) for spec in required))
    for values in islice(ways, _MOST_TRIES):
        given = {spec.name: value for spec, value in zip(required, values, strict=True)}
        first = _instance(declarations, kind, operands, given)
        if first is None:
            continue
        yield first
        for spec in specs:
            for value in _values(spec):
                other = _instance(declarations, kind, operands, {**given, spec.name: value})
                if other is not None and other.attributes != first.attributes:
                    yield other
        return


def _values(spec: AttributeSpec) -> tuple[Attribute, ...]:
    return spec.choices or _VALUES[spec.type]


def _operands(declarations: Declarations, declared: Declared, sizes: Sequence[int]) -> Iterator[TensorType]:
    """Types of the operands, with a size for each name; ProgramError if an expression has no value."""
    names = dict.fromkeys(ref.name for ref in size_names(declared.form))
    place = declared.form.span
    env: Env = {name: Arg(place, (), size) for name, size in zip(names, sizes, strict=False)}
    for _, type_ in declared.form.operands:
        yield TensorType(_dtype(type_), tuple(_size(declarations, env, each) for each in type_.shape))


def _dtype(type_: TypeForm) -> str:
    return type_.dtype.name if type_.dtype.name in DTYPE_BYTES else "f32"


def _size(declarations: Declarations, env: Env, expr: object) -> int:
    if isinstance(expr, Ref) and expr.name in env:
        found = env[expr.name].literal
    else:
        found = literal_at(declarations.visible, env, expr)  # type: ignore[arg-type]
    return found if isinstance(found, int) else 0


def _instance(
    declarations: Declarations, kind: str, types: Sequence[TensorType], given: Mapping[str, Attribute]
) -> Instance | None:
    """The op with these operands and attributes, None if it cannot be."""
    table = declarations.table
    try:
        attributes = complete(kind, types, given, table)
        results = infer(kind, types, dict(attributes), table)
        declarations.body(kind, tuple(types), attributes)
    except (OpError, ProgramError):
        return None
    operands = tuple(Operand(type_) for type_ in types)
    return Instance(kind, operands, results, attributes, tuple(sorted(given)))
