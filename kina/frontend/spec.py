"""What the typed IR promises, as checks that tests and `--debug` execute after formation."""

from __future__ import annotations

from kina.frontend.ir import DTYPE_BYTES, REDUCTIONS, Annotation, Op, Program, TensorType
from kina.frontend.ops import OPS, OpError, check_type, complete, infer

_ANNOTATIONS = ("sharded", "replicated", "closed", "pending")


class PromiseError(AssertionError):
    """A promise of the IR that a program breaks: a fault of Kina, never of its user."""


def _promise(holds: bool, text: str) -> None:
    if not holds:
        raise PromiseError(text)


def check_ir(program: Program) -> None:
    """Hold the program against every promise of `kina.frontend.ir`; AssertionError with the one it breaks."""
    _check_mesh(program)
    _check_values(program)
    _check_order(program)
    for op in program.ops:
        _check_op(program, op)
    _check_annotations(program)
    _check_constants(program)
    _check_pairs(program)


def _check_mesh(program: Program) -> None:
    names = [axis.name for axis in program.mesh.axes]
    _promise(len(set(names)) == len(names), f"mesh axes {names} have distinct names")
    for axis in program.mesh.axes:
        _promise(axis.size >= 1, f"mesh axis `{axis.name}` has a size of at least 1, not {axis.size}")


def _check_values(program: Program) -> None:
    names: dict[str, int] = {}
    for index, value in enumerate(program.values):
        _promise(value.id == index, f"value {index} has its index as id, not {value.id}")
        _promise(bool(value.name), f"value {index} has a name")
        first = names.setdefault(value.name, index)
        _promise(first == index, f"the name `{value.name}` belongs to one value, not to {first} and {index}")
        _promise(
            value.type.dtype in DTYPE_BYTES, f"`{value.name}` has a known dtype, not `{value.type.dtype}`"
        )
        _check_limits(value.type, value.name)
        if value.splat is not None:
            _promise(_is_number(value.splat), f"the splat of `{value.name}` is a number, not `{value.splat}`")


def _check_limits(type_: TensorType, name: str) -> None:
    try:
        check_type(type_, f"`{name}`")
    except OpError as fault:
        raise PromiseError(f"types keep the limits of the language: {fault.message}") from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_order(program: Program) -> None:
    """Every value is a parameter or the result of one op, and defined before it is used."""
    count = len(program.values)
    defined: set[int] = set()

    def define(value: int, by: str) -> None:
        _promise(0 <= value < count, f"{by} defines a value of the program, not {value}")
        _promise(
            value not in defined, f"`{program.values[value].name}` is defined once; {by} defines it again"
        )
        defined.add(value)

    for value in program.parameters:
        define(value, "a parameter")
    for index, op in enumerate(program.ops):
        _promise(op.id == index, f"op {index} has its index as id, not {op.id}")
        for operand in op.operands:
            known = operand in defined
            _promise(known, f"operand {operand} of op {index} (`{op.kind}`) is defined before it is used")
        for result in op.results:
            define(result, f"op {index} (`{op.kind}`)")
    for value, each in enumerate(program.values):
        _promise(value in defined, f"`{each.name}` is a parameter or the result of an op")
    for result in program.results:
        _promise(result in defined, f"result {result} of the program is a value of it")


def _check_op(program: Program, op: Op) -> None:
    name = program.values[op.results[0]].name if op.results else str(op.id)
    where = f"`{op.kind}` (`{name}`)"
    table = OPS if program.declared is None else program.declared.table
    _promise(op.kind in table, f"{where} is a kind of the op table")
    _promise(
        op.origin in ("written", "derived"), f"the origin of {where} is written or derived, not `{op.origin}`"
    )
    operands = [program.type_of(operand) for operand in op.operands]
    try:
        completed = complete(op.kind, operands, dict(op.attributes), table)
        results = infer(op.kind, operands, dict(completed), table)
    except OpError as fault:
        raise PromiseError(f"{where} is well formed: {fault.message}") from None
    _promise(
        completed == op.attributes, f"the attributes of {where} are complete and sorted: {op.attributes}"
    )
    found = tuple(program.type_of(result) for result in op.results)
    _promise(found == results, f"the results of {where} are {_types(results)}, not {_types(found)}")


def _types(types: tuple[TensorType, ...]) -> str:
    return "(" + ", ".join(map(str, types)) + ")"


def _check_annotations(program: Program) -> None:
    used: set[tuple[int, str]] = set()
    for annotation in program.annotations:
        _promise(
            0 <= annotation.value < len(program.values), "an annotation stands on a value of the program"
        )
        value = program.values[annotation.value]
        where = f"the annotation {annotation.kind} of `{value.name}`"
        _promise(annotation.kind in _ANNOTATIONS, f"{where} is of a known kind")
        for axis in annotation.axes:
            known = any(axis == each.name for each in program.mesh.axes)
            _promise(known, f"{where} names axes of the mesh, not `{axis}`")
        _check_annotation(program, annotation, where)
        if annotation.kind == "sharded":
            for axis in annotation.axes:
                _promise((value.id, axis) not in used, f"{where} uses `{axis}` once in the tensor")
                used.add((value.id, axis))


def _check_annotation(program: Program, annotation: Annotation, where: str) -> None:
    type_ = program.type_of(annotation.value)
    _promise(annotation.priority >= 0, f"{where} has a priority of 0 or more, not {annotation.priority}")
    match annotation.kind:
        case "sharded":
            dim = annotation.dim
            _promise(dim is not None and 0 <= dim < type_.rank, f"{where} is on a dim of {type_}, not {dim}")
            _promise(bool(annotation.axes), f"{where} names at least one axis")
            parts = 1
            for axis in annotation.axes:
                parts *= program.mesh.size(axis)
            _promise(
                type_.shape[dim or 0] % parts == 0, f"{where} divides dim {dim} of {type_} into {parts} parts"
            )
        case "pending":
            known = annotation.reduction in REDUCTIONS
            _promise(known, f"{where} has a known reduction, not `{annotation.reduction}`")
            _promise(bool(annotation.axes), f"{where} names at least one axis")
        case _:
            _promise(annotation.dim is None, f"{where} is on no dim")


def _check_constants(program: Program) -> None:
    """Constants depend on constants only, and on no parameter."""
    parameters = set(program.parameters)
    for value in sorted(program.constants):
        _promise(0 <= value < len(program.values), f"the constant {value} is a value of the program")
        _promise(value not in parameters, f"the constant `{program.values[value].name}` is no parameter")
    for op in program.ops:
        if any(result in program.constants for result in op.results):
            for operand in op.operands:
                names = program.values[operand].name, program.values[op.results[0]].name
                closed = operand in program.constants
                _promise(closed, f"`{names[0]}`, of which the constant `{names[1]}` is made, is a constant")


def _check_pairs(program: Program) -> None:
    for value, cotangent in program.cotangents:
        same = program.type_of(value).shape == program.type_of(cotangent).shape
        _promise(same, f"the cotangent of `{program.values[value].name}` has its shape")
    for result, parameter in program.carries:
        _promise(0 <= result < len(program.results), f"carried result {result} is a result of the program")
        _promise(0 <= parameter < len(program.parameters), f"parameter {parameter} of the next step exists")
        left, right = program.results[result], program.parameters[parameter]
        same_type = program.type_of(left) == program.type_of(right)
        _promise(same_type, f"`{program.values[left].name}` has the type of the parameter it becomes")
