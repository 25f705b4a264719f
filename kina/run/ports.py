"""What a module says of its arguments and results in `kina.layout`; without it tensors are whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from kina.diagnostics.finding import ProgramError, error
from kina.frontend.ir import REDUCTIONS, Mesh, MeshAxis
from kina.mlir.grid import Grid
from kina.mlir.syntax import AttributeValue, Module, TensorType
from kina.plan.decisions import Layout, Pending
from kina.sim.dtypes import DTYPES, is_float
from kina.source import Span


@dataclass(frozen=True, slots=True)
class RunPort:
    """An argument or a result. `shape` is global, `type` that of one device.

    `known` is false if the module does not say how the tensor is laid out. Numbers that make sense in an
    argument are below `below`, or not negative if `positive`; `first` fills it before the first step.
    """

    name: str
    shape: tuple[int, ...]
    type: TensorType
    layout: Layout
    pending: Pending
    span: Span
    known: bool = True
    below: int | None = None
    positive: bool = False
    first: int | float | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """All ports of `main`, the mesh, and which result becomes which argument in the next step."""

    grid: Grid
    arguments: tuple[RunPort, ...]
    results: tuple[RunPort, ...]
    carries: Mapping[int, int]

    @property
    def devices(self) -> int:
        return self.grid.mesh.devices


def signature(module: Module, spans: Mapping[str, Span] | None = None) -> Signature:
    """The signature of a verified module. ProgramError K709 if its `kina.` attributes contradict it.

    `spans` are places of values in the program that the module was written from, by name.
    """
    grid = Grid(_mesh(module))
    main = module.main
    last = main.body.ops[-1]
    arguments = tuple(
        _port(
            grid, main.values[number].type, attributes, main.values[number].name[1:], main.values[number].span
        )
        for number, attributes in zip(main.body.arguments, main.argument_attributes, strict=True)
    )
    results = tuple(
        _port(grid, type_, attributes, f"result{index}", last.span)
        for index, (type_, attributes) in enumerate(
            zip(main.result_types, main.result_attributes, strict=True)
        )
    )
    carries = _carries(module, arguments, results)
    return Signature(grid, _placed(arguments, spans), _placed(results, spans), carries)


def result_names(results: Sequence[RunPort]) -> list[str]:
    """A name for each result, under which it is written: one that is returned twice gets a number too."""
    found: dict[str, None] = {}
    taken = {port.name for port in results}
    for index, port in enumerate(results):
        name = port.name
        while name in found or (name != port.name and name in taken):
            name = f"{name}#{index}"
        found[name] = None
    return list(found)


def _placed(ports: tuple[RunPort, ...], spans: Mapping[str, Span] | None) -> tuple[RunPort, ...]:
    if spans is None:
        return ports
    return tuple(replace(port, span=spans.get(port.name, port.span)) for port in ports)


def _wrong(message: str, span: Span) -> NoReturn:
    raise ProgramError(error("K709", message, span))


def _mesh(module: Module) -> Mesh:
    """The mesh in `kina.mesh`; one axis of all devices if there is none."""
    rows = module.attributes.get("kina.mesh")
    if rows is None:
        return Mesh((MeshAxis("device", module.devices),))
    axes = []
    for row in _list(rows):
        parts = _list(row)
        if len(parts) != 2 or not isinstance(parts[0], str) or type(parts[1]) is not int or parts[1] < 1:
            _wrong("`kina.mesh` is not a list of names and sizes", module.span)
        axes.append(MeshAxis(parts[0], parts[1]))
    mesh = Mesh(tuple(axes))
    if mesh.devices != module.devices:
        _wrong(f"`kina.mesh` has {mesh.devices} devices, the module {module.devices}", module.span)
    if len({axis.name for axis in axes}) != len(axes):
        _wrong("`kina.mesh` names an axis twice", module.span)
    return mesh


def _list(value: AttributeValue | None) -> Sequence[AttributeValue]:
    return value if isinstance(value, tuple) else ()


def _port(
    grid: Grid, type_: TensorType, attributes: Mapping[str, AttributeValue], name: str, span: Span
) -> RunPort:
    given = attributes.get("kina.layout")
    if given is None:
        return RunPort(name, type_.shape, type_, ((),) * type_.rank, (), span, known=False)
    if not isinstance(given, Mapping):
        _wrong("`kina.layout` is a dictionary of name, shape, axes and pending", span)
    shape = tuple(size for size in _list(given.get("shape")) if isinstance(size, int))
    layout = tuple(tuple(str(axis) for axis in _list(axes)) for axes in _list(given.get("axes")))
    pending = tuple((str(pair[0]), str(pair[1])) for pair in map(_list, _list(given.get("pending"))))
    _check(grid, type_, shape, layout, pending, span)
    below, known_name = given.get("below"), given.get("name")
    return RunPort(
        known_name if isinstance(known_name, str) else name,
        shape,
        type_,
        grid.real(layout),
        tuple(pair for pair in pending if grid.sizes[pair[0]] > 1),
        span,
        below=below if type(below) is int else None,
        positive=given.get("positive") is True,
        first=_first(given.get("first"), type_.dtype, span),
    )


def _first(value: AttributeValue | None, dtype: str, span: Span) -> int | float | None:
    if value is None:
        return None
    try:
        # a float has not all digits of a whole number
        return float(str(value)) if is_float(DTYPES[dtype]) else int(str(value))
    except ValueError:
        _wrong(f"`kina.layout` has `first = {value}`, which is no number", span)


def _check(
    grid: Grid, type_: TensorType, shape: tuple[int, ...], layout: Layout, pending: Pending, span: Span
) -> None:
    """The layout gives the local type, uses known axes, and each of them once."""
    used = [axis for axes in layout for axis in axes] + [axis for axis, _ in pending]
    unknown = sorted({axis for axis in used if axis not in grid.sizes})
    if unknown:
        _wrong(f"`kina.layout` names `{unknown[0]}`, which is no axis of the mesh", span)
    if len(used) != len(set(used)):
        _wrong("`kina.layout` uses a mesh axis twice", span)
    for _, reduction in pending:
        if reduction not in REDUCTIONS:
            _wrong(f"`kina.layout` has a pending `{reduction}`, which is no reduction", span)
    if len(layout) != len(shape) or any(
        size % grid.parts(axes) for size, axes in zip(shape, layout, strict=True)
    ):
        _wrong("`kina.layout` has axes that do not divide its shape", span)
    if grid.local(shape, layout) != type_.shape:
        _wrong(f"`kina.layout` gives the local shape {list(grid.local(shape, layout))}, not {type_}", span)


def _carries(module: Module, arguments: tuple[RunPort, ...], results: tuple[RunPort, ...]) -> dict[int, int]:
    """Position of an argument -> position of the result that it becomes."""
    found = {}
    for row in map(_list, _list(module.attributes.get("kina.carries"))):
        pair = [number for number in row if isinstance(number, int)]
        if len(pair) != 2 or not 0 <= pair[0] < len(results) or not 0 <= pair[1] < len(arguments):
            _wrong("`kina.carries` is not a list of positions of results and arguments", module.span)
        left, right = results[pair[0]], arguments[pair[1]]
        if (left.shape, left.type.dtype) != (right.shape, right.type.dtype):
            _wrong(f"`{left.name}` is carried to `{right.name}`, which has another type", module.span)
        found[pair[1]] = pair[0]
    return found
