"""The files of a program: what it imports, and the library that it need not import."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path

from kina.diagnostics.finding import Finding, Help, Label, ProgramError, SetupError, error
from kina.frontend.ast import Define, Function, Import, MeshForm, Module, OpForm
from kina.frontend.autodiff import GRADIENT_FORMS
from kina.frontend.form_static import STATIC
from kina.frontend.former import Definition
from kina.frontend.forms import FORMS
from kina.frontend.reader import load, read
from kina.frontend.surface_expr import RESERVED
from kina.source import Source, Span

#: Files of one program, at most.
_FILE_LIMIT = 1000


@dataclass(slots=True)
class Files:
    """All that the user's files define, and the mesh. Imported files come first."""

    functions: dict[str, Definition] = field(default_factory=dict)
    ops: dict[str, OpForm] = field(default_factory=dict)
    defines: dict[str, Define] = field(default_factory=dict)
    mesh: MeshForm | None = None
    last: Function | None = None


def collect(main: Module, beside: Sequence[Module] = (), instead: Sequence[Module] = ()) -> Files:
    """The definitions of a file, of those it imports, and of the files `beside` it that belong to its rules.

    The modules `instead` stand for the files of their names. ProgramError where definitions clash or are
    missing.
    """
    files = Files()
    findings: list[Finding] = []
    meshes: list[tuple[Module, MeshForm]] = []
    for module in _in_order(main, beside, instead):
        for form in module.forms:
            match form:
                case MeshForm():
                    meshes.append((module, form))
                case Define():
                    findings.extend(_taken(form.name.name, form.name.span, files))
                    files.defines.setdefault(form.name.name, form)
                case Function():
                    findings.extend(_taken(form.name.name, form.name.span, files))
                    findings.extend(_repeated_parameters(form))
                    files.functions.setdefault(form.name.name, Definition(form, False))
                    files.last = form if module is main else files.last
                case OpForm():
                    findings.extend(_taken(form.name.name, form.name.span, files))
                    files.ops.setdefault(form.name.name, form)
    files.mesh = _the_mesh(main, meshes, findings)
    if findings:
        raise ProgramError(*findings)
    return files


@cache
def library() -> dict[str, Definition]:
    """The functions of the library, which is written in Kina."""
    functions: dict[str, Definition] = {}
    folder = resources.files("kina.frontend") / "library"
    for entry in sorted(folder.iterdir(), key=lambda item: item.name):
        if not entry.name.endswith(".kina"):
            continue
        module = read(Source(f"library:{entry.name}", entry.read_text(encoding="utf-8")))
        for form in module.forms:
            if isinstance(form, Function):
                functions[form.name.name] = Definition(form, True)
    return functions


def taken_by(name: str) -> str:
    """What of the language has a name, "" if nothing that keeps a program from defining it."""
    if name in FORMS:
        return "an op"
    return "a form" if name in RESERVED or name in STATIC or name in GRADIENT_FORMS else ""


def _taken(name: str, span: Span, files: Files) -> Iterator[Finding]:
    if kind := taken_by(name):
        yield error("K030", f"`{name}` is {kind} of the language and cannot be defined", span)
    earlier = files.functions.get(name) or files.defines.get(name) or files.ops.get(name)
    if earlier is None:
        return
    first = earlier.function.name.span if isinstance(earlier, Definition) else earlier.name.span
    helps = (Help("leave one of them out, or call it otherwise"),)
    if isinstance(earlier, OpForm) and first.file != span.file:
        helps = (Help(f"leave this one out: `{first.file}` declares it for all files of the program"),)
    yield error("K014", f"`{name}` is defined twice", span, labels=(Label(first, "first here"),), helps=helps)


def _repeated_parameters(function: Function) -> Iterator[Finding]:
    seen: dict[str, Span] = {}
    for param in function.params:
        name = param.name.name
        if name in seen:
            message = f"`{function.name.name}` has two parameters `{name}`"
            helps = (Help("call one of them otherwise"),)
            yield error(
                "K014", message, param.name.span, labels=(Label(seen[name], "first here"),), helps=helps
            )
        seen.setdefault(name, param.name.span)


def _the_mesh(
    main: Module, meshes: list[tuple[Module, MeshForm]], findings: list[Finding]
) -> MeshForm | None:
    own = [form for module, form in meshes if module is main]
    if len(own) > 1:
        label = (Label(own[0].span, "first here"),)
        findings.append(
            error("K031", "a file has one mesh, and this is its second", own[1].span, labels=label)
        )
    if own:
        return own[0]
    if len(meshes) > 1:
        label = (Label(meshes[0][1].span, "one is here"),)
        message = "the imported files have several meshes, and this program does not say its own"
        findings.append(error("K031", message, meshes[1][1].span, labels=label))
    return meshes[0][1] if meshes else None


def _in_order(main: Module, beside: Sequence[Module], instead: Sequence[Module]) -> list[Module]:
    """The modules of a program, each after those that it imports; ProgramError at a cycle."""
    modules = {_identity(module.source.name): module for module in instead}
    state: dict[str, str] = {}
    order: list[Module] = []
    modules[_identity(main.source.name)] = main
    for root in (*beside, main):
        path = _identity(root.source.name)
        if path not in state:
            modules.setdefault(path, root)
            _visit(path, modules, state, order)
    return order


def _visit(start: str, modules: dict[str, Module], state: dict[str, str], order: list[Module]) -> None:
    """Puts a module into the order, behind those that it imports and that are not there."""
    state[start] = "open"
    stack = [(start, iter(_imports(modules[start])))]
    while stack:
        path, remaining = stack[-1]
        form = next(remaining, None)
        if form is None:
            state[path] = "done"
            order.append(modules[path])
            stack.pop()
            continue
        shown = _target(modules[path].source, form)
        target = _identity(shown)
        if state.get(target) == "open":
            raise ProgramError(_cycle([entry for entry, _ in stack], target, form))
        if target in state:
            continue
        if len(modules) == _FILE_LIMIT:
            raise ProgramError(error("K025", f"a program has more than {_FILE_LIMIT} files", form.span))
        if target not in modules:
            modules[target] = _load(shown, form)
        state[target] = "open"
        stack.append((target, iter(_imports(modules[target]))))


def _imports(module: Module) -> list[Import]:
    return [form for form in module.forms if isinstance(form, Import)]


def _identity(name: str) -> str:
    """A file, however it is called: one that is imported can belong to rules that are named otherwise."""
    return os.path.realpath(name)


def _target(source: Source, form: Import) -> str:
    if Path(form.path).is_absolute() or not form.path:
        message = f"`{form.path}` is no path relative to this file"
        raise ProgramError(error("K024", message, form.span))
    return os.path.normpath(Path(source.name).parent / form.path)


def _load(path: str, form: Import) -> Module:
    try:
        source = load(path)
    except SetupError as reason:
        raise ProgramError(error("K024", reason.message, form.span)) from None
    return read(source)


def _cycle(open_paths: list[str], target: str, form: Import) -> Finding:
    cycle = [*open_paths[open_paths.index(target) :], target]
    path = " → ".join([f"`{Path(entry).name}`" for entry in cycle])
    help_ = Help("what both files need belongs in a third one")
    return error("K025", f"files import each other: {path}", form.span, helps=(help_,))
