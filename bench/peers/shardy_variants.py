"""Layouts that Shardy changes when a program is written otherwise, in a process of its own.

`python -m bench.peers.shardy_variants FILE` prints, for each way of rewriting, how many layouts each
variant changes: operands of one commutative op swapped, one reshape written as a broadcast or the reverse,
axes renamed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from math import prod
from pathlib import Path
from typing import Any

from jax.interpreters import mlir
from jaxlib.mlir import ir, passmanager

COMMUTATIVE = ("stablehlo.add", "stablehlo.multiply", "stablehlo.maximum")
Edit = Callable[[list[Any]], None]


def ops(module: Any) -> list[Any]:
    """The ops of the entry, in order."""
    main = next(op for op in module.body.operations if op.operation.name == "func.func")
    return [op.operation for op in main.regions[0].blocks[0].operations]


def layouts(text: str, edit: Edit | None = None) -> list[str]:
    """The sharding of every op after propagation, as text."""
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        if edit is not None:
            edit(ops(module))
        passmanager.PassManager.parse("builtin.module(sdy-user-priority-propagate)").run(module.operation)
        found = (op.attributes for op in ops(module))
        return [str(each["sdy.sharding"]) if "sdy.sharding" in each else "" for each in found]


def swaps(text: str) -> Iterator[Edit]:
    """Each commutative op with two operands, the other way round."""
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        kinds = [op.name for op in ops(module)]
    for number, kind in enumerate(kinds):
        if kind in COMMUTATIVE:
            yield lambda found, number=number: _swap(found[number])  # type: ignore[misc]


def _swap(op: Any) -> None:
    op.operands[0], op.operands[1] = op.operands[1], op.operands[0]


def respellings(text: str) -> Iterator[Edit]:
    """Each op that adds dims of size 1: a broadcast as a reshape, a reshape as a broadcast."""
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        found = [_respelt(op) for op in ops(module)]
    for number, kind in enumerate(found):
        if kind is not None:
            yield lambda others, number=number, kind=kind: _replace(others[number], kind)  # type: ignore[misc]


def _respelt(op: Any) -> str | None:
    """The other kind that the op could be written as."""
    if op.name not in ("stablehlo.reshape", "stablehlo.broadcast_in_dim"):
        return None
    before, after = (list(ir.RankedTensorType(x.type).shape) for x in (op.operands[0], op.results[0]))
    only_ones = [size for size in before if size > 1] == [size for size in after if size > 1]
    if prod(before) < 2 or len(after) < len(before) or not only_ones or 1 in before:
        return None
    return "stablehlo.broadcast_in_dim" if op.name == "stablehlo.reshape" else "stablehlo.reshape"


def _replace(op: Any, kind: str) -> None:
    type_ = op.results[0].type
    dims = [dim for dim, size in enumerate(ir.RankedTensorType(type_).shape) if size > 1]
    attributes: dict[str, ir.Attribute] = (
        {} if kind == "stablehlo.reshape" else {"broadcast_dimensions": ir.DenseI64ArrayAttr.get(dims)}
    )
    with ir.InsertionPoint(op), ir.Location.unknown():
        made = ir.Operation.create(kind, results=[type_], operands=[op.operands[0]], attributes=attributes)
    op.results[0].replace_all_uses_with(made.results[0])
    op.erase()


def changed(before: list[str], after: list[str]) -> int:
    """How many layouts differ."""
    return sum(one != two for one, two in zip(before, after, strict=True))


def renamed(text: str) -> list[str]:
    """The layouts of the program with its axes renamed, under their old names again."""
    names = sorted(set(re.findall(r'"(\w+)"=\d+', text)))
    forth = {name: f"{chr(ord('z') - number)}_axis" for number, name in enumerate(names)}
    back = {new: old for old, new in forth.items()}
    return [_named(each, back) for each in layouts(_named(text, forth))]


def _named(text: str, names: dict[str, str]) -> str:
    return re.sub(r'"(\w+)"', lambda found: f'"{names.get(found[1], found[1])}"', text)


def main() -> None:
    """Print the counts as JSON."""
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    before = layouts(text)
    print(
        json.dumps(
            {
                "layouts": len(before),
                "swap": [changed(before, layouts(text, edit)) for edit in swaps(text)],
                "respell": [changed(before, layouts(text, edit)) for edit in respellings(text)],
                "rename": [changed(before, renamed(text))],
            }
        )
    )


if __name__ == "__main__":
    main()
