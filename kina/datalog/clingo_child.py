"""Grounds one program with clingo, as a script in a process of its own; it imports nothing of Kina.

Standard input: one line of JSON, then the rules. The JSON has `wanted`, `[[predicate, arity], ...]`; `rules`,
the bytes of their text; and `constants`, the numbers that `c0`, `c1`, ... stand for. Then for each relation
of the facts a line `[predicate, arity, atoms]` and 4 bytes for each argument, little-endian; at last `null`.

Standard output: for each wanted predicate the number of its atoms in 8 bytes, little-endian, then 4 bytes for
each argument, atom by atom. Standard error: a line `version TEXT` or `missing`, a line `undefined LINE` for
each operation without a value, `problem TEXT` for what else is logged.

The public interface makes one Python object for each argument, 10 µs an atom. Here arrays of arguments are
given and read, 1.5 µs an atom, where clingo keeps a number in the low 32 bits of a symbol; that is tried on
known atoms first, and the public interface takes over where it does not hold.
"""

from __future__ import annotations

import json
import os
import sys
from array import array
from collections.abc import Sequence
from typing import Any

try:
    import clingo
except ImportError:
    sys.stderr.write("missing\n")
    sys.exit(1)


def main() -> int:
    head = sys.stdin.buffer.readline()
    if not head:
        return 0
    question = json.loads(head)
    sys.stderr.write(f"version {clingo.__version__}\n")
    control = clingo.Control(["-Wno-atom-undefined"], log, 1000)
    arrays = layout_known()
    give, read = (give_arrays, read_arrays) if arrays else (give_text, read_public)
    try:
        control.add("base", [], sys.stdin.buffer.read(question["rules"]).decode())
        # Atoms that are shown get their text, a sixth of the work.
        control.add("base", [], "#show.")
        for index, number in enumerate(question["constants"]):
            control.add("base", [], f"#const c{index}={number}.")
        for line in iter(sys.stdin.buffer.readline, b"null\n"):
            if not line:
                return 0  # whoever asked is gone
            predicate, arity, atoms = json.loads(line)
            numbers = array("i", sys.stdin.buffer.read(4 * arity * atoms))
            give(control, predicate, arity, little(numbers))
        control.ground([("base", [])])
    except (RuntimeError, MemoryError) as fault:
        sys.stderr.write(f"problem {fault}\n")
        return 1
    for predicate, arity in question["wanted"]:
        numbers = read(control, predicate, arity)
        sys.stdout.buffer.write((len(numbers) // arity).to_bytes(8, "little"))
        sys.stdout.buffer.write(little(numbers).tobytes())
    sys.stdout.buffer.flush()
    return 0


def log(code: clingo.MessageCode, message: str) -> None:
    if code == clingo.MessageCode.OperationUndefined:
        sys.stderr.write(f"undefined {message.split(':', 2)[1]}\n")
    else:
        sys.stderr.write(f"problem {' '.join(message.split())}\n")


def little(numbers: array[int]) -> array[int]:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def give_text(control: clingo.Control, predicate: str, arity: int, numbers: Sequence[int]) -> None:
    """Add an atom of a predicate for each `arity` numbers."""
    pattern = f"{predicate}({','.join(['%d'] * arity)})."
    rows = zip(*(numbers[index::arity] for index in range(arity)), strict=True)
    control.add("base", [], "\n".join([pattern % row for row in rows]))


def give_arrays(control: clingo.Control, predicate: str, arity: int, numbers: array[int]) -> None:
    """The same without a text, and without an object for each argument."""
    from clingo import _internal

    ffi: Any = _internal._ffi  # type: ignore[attr-defined]
    lib: Any = _internal._lib  # type: ignore[attr-defined]
    zero = ffi.new("clingo_symbol_t*")
    lib.clingo_symbol_create_number(0, zero)
    symbols = array("q", [zero[0]]) * len(numbers)
    halves = array("i", symbols.tobytes())
    halves[sys.byteorder == "big" :: 2] = numbers
    arguments = ffi.from_buffer("clingo_symbol_t[]", halves)
    name = ffi.new("char[]", predicate.encode())
    symbol, atom = ffi.new("clingo_symbol_t*"), ffi.new("uint32_t*")
    create, add = lib.clingo_symbol_create_function, lib.clingo_backend_add_atom
    hold = lib.clingo_backend_rule
    with control.backend() as backend:
        target: Any = backend._rep
        for start in range(0, len(numbers), arity):
            if not (
                create(name, arguments + start, arity, True, symbol)
                and add(target, symbol, atom)
                and hold(target, False, atom, 1, ffi.NULL, 0)
            ):
                raise RuntimeError("clingo takes no atoms")


def read_public(control: clingo.Control, predicate: str, arity: int) -> array[int]:
    """The arguments of all atoms of a predicate, one after the other."""
    atoms = control.symbolic_atoms.by_signature(predicate, arity)
    return array("i", [argument.number for atom in atoms for argument in atom.symbol.arguments])


def read_arrays(control: clingo.Control, predicate: str, arity: int) -> array[int]:
    """The same by way of the arrays that hold the arguments, eight bytes each."""
    from clingo import _internal

    ffi: Any = _internal._ffi  # type: ignore[attr-defined]
    lib: Any = _internal._lib  # type: ignore[attr-defined]
    atoms: Any = control.symbolic_atoms._rep
    signature = ffi.new("clingo_signature_t*")
    start, end, following = (ffi.new("clingo_symbolic_atom_iterator_t*") for _ in range(3))
    symbol, arguments, size = ffi.new("clingo_symbol_t*"), ffi.new("clingo_symbol_t**"), ffi.new("size_t*")
    if not (
        lib.clingo_signature_create(predicate.encode(), arity, True, signature)
        and lib.clingo_symbolic_atoms_begin(atoms, signature, start)
        and lib.clingo_symbolic_atoms_end(atoms, end)
    ):
        raise RuntimeError("clingo does not list its atoms")
    last, current, width = end[0], start[0], 8 * arity
    found: list[bytes] = []
    while current != last:
        lib.clingo_symbolic_atoms_symbol(atoms, current, symbol)
        lib.clingo_symbol_arguments(symbol[0], arguments, size)
        found.append(ffi.buffer(arguments[0], width)[:])
        lib.clingo_symbolic_atoms_next(atoms, current, following)
        current = following[0]
    halves = array("i", b"".join(found))
    return halves[0::2] if sys.byteorder == "little" else halves[1::2]


def layout_known() -> bool:
    """True if atoms given by arrays are facts, and read the same by arrays as by the public interface."""
    known = array("i", [0, 2**31 - 1, -1, 7, -(2**31) + 1, 65536])
    try:
        control = clingo.Control(["-Wno-atom-undefined"])
        control.add("base", [], "q(X,Y) :- p(X,Y), not r(X,Y).")
        give_arrays(control, "p", 2, known)
        control.ground([("base", [])])
        facts = all(atom.is_fact for atom in control.symbolic_atoms.by_signature("q", 2))
        return facts and read_arrays(control, "q", 2) == read_public(control, "q", 2) == known
    except (ImportError, AttributeError, TypeError, ValueError, RuntimeError):
        return False


if __name__ == "__main__":
    CODE = main()
    sys.stderr.flush()
    # Taking millions of atoms apart takes longer than ending the process, and nothing needs it.
    os._exit(CODE)
