"""Grounds one program with clingo, as a script in a process of its own; it imports nothing of Kina.

Standard input: one line of JSON, `[[predicate, arity], ...]`, then the program. Standard output: for each
predicate the number of its atoms in 8 bytes, little-endian, then 4 bytes for each argument, atom by atom.
Standard error: a line `undefined LINE` for each operation without a value, `problem TEXT` for what else is
logged.

The public interface makes one Python object for each argument, 10 µs an atom. Here the array of arguments is
read, 1.5 µs an atom, where clingo keeps a number in the low 32 bits of a symbol; that is tried on known atoms
first, and the public interface takes over where it does not hold.
"""

from __future__ import annotations

import json
import sys
from array import array
from typing import Any

import clingo


def main() -> int:
    predicates = json.loads(sys.stdin.readline())
    control = clingo.Control(["-Wno-atom-undefined"], log, 1000)
    try:
        control.add("base", [], sys.stdin.read())
        control.ground([("base", [])])
    except (RuntimeError, MemoryError) as fault:
        sys.stderr.write(f"problem {fault}\n")
        return 1
    read = read_arrays if layout_known() else read_public
    for predicate, arity in predicates:
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
    """True if the numbers in the arrays are those that the public interface gives."""
    try:
        control = clingo.Control()
        control.add("base", [], f"p(0,{2**31 - 1}). p(-1,7). p(-2147483647,65536).")
        control.ground([("base", [])])
        return read_arrays(control, "p", 2) == read_public(control, "p", 2)
    except (ImportError, AttributeError, TypeError, RuntimeError):
        return False


if __name__ == "__main__":
    sys.exit(main())
