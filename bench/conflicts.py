"""What each tool says where annotations ask for more than can be.

`python -m bench conflicts`. Kina, Shardy, XLA and JAX's explicit mode are asked the same; so is `mlir-opt
--sharding-propagation`, where `mlir-opt` is installed or `KINA_MLIR_OPT` names it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.measure import ROOT
from bench.peers.cases import CASES, Case
from bench.peers.results import save

PIPELINE = "--pass-pipeline=builtin.module(func.func(sharding-propagation{}))"


@dataclass(frozen=True, slots=True)
class Row:
    """What a tool says of a case."""

    case: str
    about: str
    tool: str
    says: str


def mlir_opt() -> str | None:
    """The command, if it is there."""
    return os.environ.get("KINA_MLIR_OPT") or shutil.which("mlir-opt")


def kina(case: Case) -> str:
    """Kina's findings, each by its code, severity and first line, and how many repairs were checked."""
    import kina as api

    result = api.check(case.text("kina"))
    said = []
    for finding in result.findings:
        checked = sum(each.verified for each in finding.helps)
        repairs = f", {checked} repairs checked" if checked else ""
        said.append(f"{finding.severity}[{finding.code}] {finding.message}{repairs}")
    if not result.ok:
        return "; ".join(said)
    moves = ", ".join(f"{each.kind} of {each.bytes} bytes" for each in result.collectives)
    return f"{'; '.join(said) or 'nothing'}; {moves or 'no collective'}"


def shard_dialect(case: Case, command: str) -> str:
    """What `mlir-opt` says while it propagates and partitions."""
    program = case.text("shard.mlir")
    if not program:
        return "not tried: the dialect has no sharding of such an op"
    with tempfile.TemporaryDirectory(prefix="kina-bench-") as folder:
        path = Path(folder) / "case.mlir"
        path.write_text(program, encoding="utf-8")
        done = subprocess.run(
            [command, PIPELINE.format(",shard-partition"), path.name],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error" in line), "its process ended")
        return f"error: {first.partition('error: ')[2][:160] or first}"
    every = ("all_reduce", "all_gather", "all_to_all", "all_slice")
    kinds = [word for word in every if f"shard.{word}" in done.stdout]
    returned = done.stdout.rpartition("return")[2].rpartition(":")[2].split("\n")[0].strip()
    return f"nothing; {', '.join(kinds) or 'no collective'}; each device returns {returned}"


def measured() -> list[Row]:
    """A row for each case and tool."""
    rows = []
    command = mlir_opt()
    for number, case in enumerate(CASES):
        words = [sys.executable, "-m", "bench.peers.conflict_child", str(number)]
        done = subprocess.run(
            words, cwd=ROOT, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        says = {"Kina": kina(case), **json.loads(done.stdout)}
        if command is not None:
            says["mlir-opt"] = shard_dialect(case, command)
        rows += [Row(case.name, case.about, tool, words) for tool, words in says.items()]
    return rows


def table(rows: Sequence[Row]) -> str:
    """A list for each case: sentences are too long for columns."""
    blocks = []
    for case in CASES:
        lines = [f"- {row.tool}: {row.says}" for row in rows if row.case == case.name]
        blocks.append("\n".join([f"**{case.name}**: {case.about}", "", *lines]))
    return "\n\n".join(blocks) + "\n"


def main(_: Sequence[str] = ()) -> None:
    """Ask all tools, print the lists, and leave them in `bench/results`."""
    rows = measured()
    save("conflicts", rows, table(rows))
