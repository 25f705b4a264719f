"""Collectives as each tool lists them, and the bytes that a device moves for them by one formula for all.

A ring over n devices: all_gather and reduce_scatter move (n-1)/n of the gathered tensor, all_reduce twice
that, all_to_all (n-1)/n of what a device holds, collective_permute all of it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_permute")

_BYTES = {
    "pred": 1,
    "s8": 1,
    "u8": 1,
    "bf16": 2,
    "f16": 2,
    "f32": 4,
    "s32": 4,
    "u32": 4,
    "f64": 8,
    "s64": 8,
    "u64": 8,
}
_HLO = re.compile(
    r"= (?P<type>\(.*?\)|\S+) "
    r"(?P<kind>all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(?:-start)?\("
)
_SHAPE = re.compile(r"(\w+)\[([\d,]*)\]")
_SDY = re.compile(
    r"sdy\.(all_reduce|all_gather|reduce_scatter|all_to_all|collective_permute) (.*) : tensor<(.*?)>"
)


@dataclass(frozen=True, slots=True)
class Moved:
    """One collective: how many devices take part in a group, and the bytes that each device moves."""

    kind: str
    devices: int
    bytes: int


def ring(kind: str, devices: int, whole: int) -> int:
    """Bytes that a device moves; `whole` is the larger one of what it holds before and after."""
    match kind:
        case "all_reduce":
            return 2 * whole * (devices - 1) // devices
        case "collective_permute":
            return whole if devices > 1 else 0
        case _:
            return whole * (devices - 1) // devices


def in_hlo(text: str) -> Iterator[Moved]:
    """The collectives of XLA's module of one device; those over one device move nothing and are left out."""
    for line in text.splitlines():
        found = _HLO.search(line)
        if found is None:
            continue
        kind = found["kind"].replace("-", "_")
        devices = _group(line) if kind != "collective_permute" else _partners(line)
        for dtype, dims in _SHAPE.findall(found["type"]):
            size = _BYTES[dtype] * prod(int(dim) for dim in dims.split(",") if dim)
            whole = size * devices if kind == "reduce_scatter" else size
            if devices > 1:
                yield Moved(kind, devices, ring(kind, devices, whole))


def _group(line: str) -> int:
    """How many devices are in a group, in the three ways that HLO writes groups."""
    if listed := re.search(r"replica_groups=\{\{([\d,]+)\}", line):
        return len(listed[1].split(","))
    if iota := re.search(r"replica_groups=\[\d+,(\d+)\]<=", line):
        return int(iota[1])
    if mesh := re.search(r"replica_groups=(?:@\w+|mesh\[(.*?)\])\s*\{(.*?)\}", line):
        sizes = dict(re.findall(r"'?(\w+)'?=(\d+)", mesh[1] or ""))
        return prod(
            int(part or sizes[axis]) for axis, part in re.findall(r"'?(\w+)'?(?::\(\d+\)(\d+))?", mesh[2])
        )
    raise ValueError(f"no groups of devices in: {line.strip()[:300]}")


def _partners(line: str) -> int:
    pairs = re.findall(r"\{(\d+),(\d+)\}", line.partition("source_target_pairs=")[2])
    return 2 if any(one != two for one, two in pairs) else 1


def in_sdy(text: str, sizes: Mapping[str, int]) -> Iterator[Moved]:
    """The collectives that Shardy's own partitioner inserts, in its dialect: global types with shardings."""
    for kind, words, type_ in _SDY.findall(text):
        before, _, sharding = words.partition("out_sharding=")
        devices = _axes(before.partition("%")[0], sizes)
        local = _tensor_bytes(type_) // _axes(
            re.sub(r"replicated=\{.*?\}|unreduced=\{.*?\}", "", sharding), sizes
        )
        whole = local * devices if kind == "reduce_scatter" else local
        yield Moved(kind, devices, ring(kind, devices, whole))


def _axes(words: str, sizes: Mapping[str, int]) -> int:
    """The product of the axes, or parts of axes, that are named."""
    return prod(int(part or sizes[axis]) for axis, part in re.findall(r'"(\w+)"(?::\(\d+\)(\d+))?', words))


def _tensor_bytes(type_: str) -> int:
    *dims, dtype = type_.split("x")
    return prod(map(int, dims)) * {"i1": 1, "i32": 4, "i64": 8, "f32": 4, "f64": 8, "bf16": 2}[dtype]


def in_stablehlo(text: str) -> Iterator[Moved]:
    """The collectives of an emitted module of one device, from its groups and local types."""
    from kina.mlir.groups import listed_groups
    from kina.mlir.reader import read_module
    from kina.source import Source

    module = read_module(Source("step.mlir", text))
    values = module.main.values
    for op in module.main.body.walk():
        if op.kind not in KINDS:
            continue
        whole = max(values[number].type.bytes for number in (op.operands[0], op.results[0]))
        devices = len(listed_groups(op, module)[0])
        yield Moved(op.kind, devices, ring(op.kind, devices, whole))


@dataclass(frozen=True, slots=True)
class Total:
    """How many collectives there are of each kind, and all bytes that a device moves."""

    counts: Mapping[str, int]
    bytes: int


def total(moved: Iterable[Moved]) -> Total:
    """All collectives together, kinds in alphabetical order."""
    counts: defaultdict[str, int] = defaultdict(int)
    bytes_ = 0
    for each in moved:
        counts[each.kind] += 1
        bytes_ += each.bytes
    return Total(dict(sorted(counts.items())), bytes_)
