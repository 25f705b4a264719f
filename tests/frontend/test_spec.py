"""check_ir accepts what formation makes and names the promise that a damaged program breaks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kina.frontend.builder import Builder
from kina.frontend.ir import Annotation, Mesh, MeshAxis, Program, TensorType
from kina.frontend.spec import check_ir
from kina.source import Source, Span

PLACE = Span(Source("p.kina", "(f a)"), 0, 5)


def program() -> Program:
    """`tanh` of a parameter, plus a constant."""
    builder = Builder()
    a = builder.parameter("a", TensorType("f32", (4, 8)), PLACE)
    (b,) = builder.emit("tanh", (a,), {}, PLACE, ("b",))
    (c,) = builder.emit("constant", (), {"value": "1", "dtype": "f32", "shape": (4, 8)}, PLACE, ("c",))
    (d,) = builder.emit("add", (b, c), {}, PLACE, ("d",))
    annotation = Annotation(a, "sharded", PLACE, 0, ("x",))
    mesh = Mesh((MeshAxis("x", 2),))
    return Program(
        mesh, "f", tuple(builder.values), tuple(builder.ops), (a,), (d,), (annotation,), frozenset({c})
    )


def test_a_formed_program_keeps_every_promise() -> None:
    check_ir(program())


def damaged(good: Program, what: str) -> Program:
    """The program with one promise broken."""
    values, ops, annotation = list(good.values), list(good.ops), good.annotations[0]
    match what:
        case "order":
            ops[0], ops[2] = replace(ops[2], id=0), replace(ops[0], id=2)
        case "twice":
            ops[1] = replace(ops[1], results=(1,))
        case "type":
            values[1] = replace(values[1], type=TensorType("f32", (4, 4)))
        case "attributes":
            ops[1] = replace(ops[1], attributes=tuple(reversed(ops[1].attributes)))
        case "missing":
            ops[1] = replace(ops[1], attributes=ops[1].attributes[:1])
        case "name":
            values[1] = replace(values[1], name="a")
        case "origin":
            ops[1] = replace(ops[1], origin="made")
        case "kind":
            ops[0] = replace(ops[0], kind="gelu")
        case "dim":
            annotation = replace(annotation, dim=2)
        case "axis":
            annotation = replace(annotation, axes=("y",))
        case "divide":
            annotation = replace(annotation, axes=("x",), dim=0)
            values[0] = replace(values[0], type=TensorType("f32", (3, 8)))
            values[1] = replace(values[1], type=TensorType("f32", (3, 8)))
            ops, values = ops[:1], values[:2]
            return replace(
                good,
                values=tuple(values),
                ops=tuple(ops),
                results=(1,),
                annotations=(annotation,),
                constants=frozenset(),
            )
        case "constant":
            return replace(good, constants=frozenset({2, 3}))
        case "carry":
            return replace(good, carries=((0, 1),))
    return replace(good, values=tuple(values), ops=tuple(ops), annotations=(annotation,))


BROKEN = [
    ("order", "operand 1 of op 0 (`add`) is defined before it is used"),
    ("twice", "`b` is defined once"),
    ("type", "the results of `tanh` (`b`) are (f32[4,8]), not (f32[4,4])"),
    ("attributes", "the attributes of `constant` (`c`) are complete and sorted"),
    ("missing", "`constant` (`c`) is well formed: `constant` needs `dtype`"),
    ("name", "the name `a` belongs to one value, not to 0 and 1"),
    ("origin", "is written or derived, not `made`"),
    ("kind", "`gelu` (`b`) is a kind of the op table"),
    ("dim", "is on a dim of f32[4,8], not 2"),
    ("axis", "names axes of the mesh, not `y`"),
    ("divide", "divides dim 0 of f32[3,8] into 2 parts"),
    ("constant", "`b`, of which the constant `d` is made, is a constant"),
    ("carry", "parameter 1 of the next step exists"),
]


@pytest.mark.parametrize(("what", "text"), BROKEN)
def test_a_broken_promise_is_named(what: str, text: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_ir(damaged(program(), what))
    assert text in str(caught.value)
