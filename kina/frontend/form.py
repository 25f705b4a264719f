"""Surface tree to typed IR: functions inlined, repetitions unrolled, constants set apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kina.diagnostics.finding import Finding, Help, ProgramError, SetupError, error
from kina.frontend.ast import Function, MeshForm, Module
from kina.frontend.autodiff.origin import spread
from kina.frontend.body import Declarations
from kina.frontend.builder import Arg, Builder
from kina.frontend.constants import separate_constants
from kina.frontend.form_annotations import Annotations
from kina.frontend.form_check import check_uncalled
from kina.frontend.form_expr import annotate, body, literal, whole
from kina.frontend.form_modules import Files, collect, library
from kina.frontend.form_op import attach, with_declared
from kina.frontend.form_repeat import parameter
from kina.frontend.former import Definition, Former, Frame, Globals
from kina.frontend.ir import Mesh, MeshAxis, Program
from kina.frontend.names import Scope, entry_scope
from kina.frontend.suggest import nearest
from kina.source import Source, Span

_AXIS_LIMIT = 1 << 20
_DEVICE_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class RecordedPlace:
    """A form of the recorded file and the name of the value that it stood for."""

    span: Span
    value: str
    extends: bool


def form(
    module: Module,
    entry: str | None = None,
    mesh: Mapping[str, int] | None = None,
    beside: Sequence[Module] = (),
    instead: Sequence[Module] = (),
) -> Program:
    """The typed IR of a program whose entry is the function `entry`, or the last one of the file.

    `mesh` replaces sizes of mesh axes; the files `beside` are as if imported, and the modules `instead` stand
    for imported files of their names. ProgramError with located findings where the program is at fault;
    SetupError if `entry` or an axis of `mesh` does not exist.
    """
    return form_recorded(module, entry, mesh, None, beside, instead)[0]


def form_recorded(
    module: Module,
    entry: str | None,
    mesh: Mapping[str, int] | None,
    recorded: Source | None,
    beside: Sequence[Module] = (),
    instead: Sequence[Module] = (),
) -> tuple[Program, tuple[RecordedPlace, ...]]:
    """As `form`, with the places in the file `recorded` where values of the program are written."""
    files = collect(module, beside, instead)
    function = _entry(module, files, entry)
    former = _former()
    user = Globals({**library(), **files.functions}, {})
    constants = _constants(former, files, user)
    former.user = with_declared(Globals(user.functions, constants), tuple(files.ops.values()))
    attach(former, Declarations(former.user, former.library))
    former.frame = Frame({}, entry_scope(function.function.name.name), former.user)
    former.annotations.mesh = _mesh(former, files, function.function, mesh)
    former.recorded = recorded
    program = separate_constants(_program(former, function))
    places = [
        RecordedPlace(place.span, former.builder.values[place.value].name, place.extends)
        for place in former.places
    ]
    return program, tuple(places)


def _former() -> Former:
    library_globals = Globals(library(), {})
    frame = Frame({}, Scope("", ""), library_globals)
    return Former(Builder(), Annotations(Mesh(())), library_globals, library_globals, frame)


def _entry(module: Module, files: Files, entry: str | None) -> Definition:
    if entry is not None:
        found = files.functions.get(entry)
        if found is None:
            guess = nearest(entry, files.functions)
            help_ = f"the nearest function is `{guess}`" if guess else ""
            raise SetupError(f"`{module.source.name}` has no function `{entry}`", help_)
        return found
    if files.last is None:
        end = len(module.source.text)
        message = f"`{module.source.name}` defines no function"
        help_form = Help("the last `(defn name (param …) body)` of a file is what Kina checks")
        raise ProgramError(error("K018", message, Span(module.source, end, end), helps=(help_form,)))
    return files.functions[files.last.name.name]


def _constants(former: Former, files: Files, user: Globals) -> dict[str, Arg]:
    constants: dict[str, Arg] = {}
    former.frame = Frame({}, Scope("", ""), Globals(user.functions, constants))
    for name, define in files.defines.items():
        value = literal(former, define.value, f"the constant `{name}`")
        constants[name] = Arg(define.value.span, (), value)
    return constants


def _mesh(former: Former, files: Files, entry: Function, replaced: Mapping[str, int] | None) -> Mesh:
    if files.mesh is None:
        help_ = Help("write `(mesh (x 4))` at the top of the file: a name and a number of devices")
        raise ProgramError(error("K019", "the program has no mesh", entry.name.span, helps=(help_,)))
    axes = _axes(former, files.mesh)
    for name, size in (replaced or {}).items():
        if name not in axes:
            guess = nearest(name, axes)
            listed = ", ".join([f"`{axis}`" for axis in axes])
            raise SetupError(
                f"the mesh has no axis `{name}`; it has {listed}",
                f"the nearest is `{guess}`" if guess else "",
            )
        if not 1 <= size <= _AXIS_LIMIT:
            raise SetupError(f"mesh axis `{name}` has size {size}; 1 to {_AXIS_LIMIT:,} are possible")
        axes[name] = size
    mesh = Mesh(tuple([MeshAxis(name, size) for name, size in axes.items()]), files.mesh.span)
    if mesh.devices > _DEVICE_LIMIT:
        message = f"the mesh has {mesh.devices:,} devices, and {_DEVICE_LIMIT:,} is the most"
        raise ProgramError(error("K020", message, files.mesh.span))
    return mesh


def _axes(former: Former, form: MeshForm) -> dict[str, int]:
    axes: dict[str, int] = {}
    if not form.axes:
        raise ProgramError(error("K020", "the mesh has no axis", form.span))
    for name, expr in form.axes:
        size = whole(former, expr, f"the size of mesh axis `{name.name}`")
        if name.name in axes:
            raise ProgramError(error("K020", f"the mesh has two axes `{name.name}`", name.span))
        if not 1 <= size <= _AXIS_LIMIT:
            message = f"mesh axis `{name.name}` has size {size}; 1 to {_AXIS_LIMIT:,} are possible"
            raise ProgramError(error("K020", message, expr.span))
        axes[name.name] = size
    return axes


def _program(former: Former, entry: Definition) -> Program:
    try:
        results = _results(former, entry)
    except ProgramError as fault:
        raise ProgramError(*dict.fromkeys((*former.annotations.findings, *fault.findings))) from None
    former.annotations.findings.extend(_uncalled(former, entry))
    carries = _carries(former, results, entry.function.name.name)
    builder = former.builder
    return Program(
        mesh=former.annotations.mesh,
        entry=entry.function.name.name,
        values=tuple(builder.values),
        ops=spread(builder.values, builder.ops) if former.cotangents else tuple(builder.ops),
        parameters=tuple(former.parameters),
        results=results,
        annotations=former.annotations.all(),
        cotangents=tuple(former.cotangents),
        carries=carries,
        initial=_initial(former),
        declared=former.declarations,
        span=entry.function.span,
    )


def _carries(former: Former, results: tuple[int, ...], entry: str) -> tuple[tuple[int, int], ...]:
    """For each parameter with a next value the position of the result that is it, and its own."""
    places = {value: position for position, value in reversed(list(enumerate(results)))}
    positions = {value: position for position, value in enumerate(former.parameters)}
    carries: list[tuple[int, int]] = []
    for value, carried in former.carried.items():
        if carried.value in places:
            carries.append((places[carried.value], positions[value]))
            continue
        name = former.builder.values[value].name
        message = f"the next value of `{name}` is no result of `{entry}`"
        former.annotations.findings.append(error("K038", message, carried.span))
    return tuple(sorted(carries))


def _initial(former: Former) -> tuple[tuple[int, str], ...]:
    """For each parameter with a first value its position and the element that fills it."""
    first = former.initial
    return tuple([(place, first[value]) for place, value in enumerate(former.parameters) if value in first])


def _uncalled(former: Former, entry: Definition) -> list[Finding]:
    formed = former.formed | {entry.function.name.name}
    functions = former.user.functions.values()
    rest = [each for each in functions if not each.library and each.function.name.name not in formed]
    used = {op.kind for op in former.builder.ops}
    ops = [each for kind, each in former.user.ops.items() if kind not in used]
    return check_uncalled(former.user, [*rest, *ops])


def _results(former: Former, entry: Definition) -> tuple[int, ...]:
    function = entry.function
    former.calls.append(entry)
    for param in function.params:
        former.frame.env[param.name.name] = parameter(former, param)
    mark = len(former.builder.values)
    result = body(former, function.body, function.span)
    if result.literal is not None:
        message = f"`{function.name.name}` gives the compile-time value `{result.literal}`, not a tensor"
        raise ProgramError(error("K034", message, function.body[-1].span))
    return annotate(former, result, function.annotations, mark, "result").values
