"""The programs here run: with the numbers that they name, and on random ones as one device does.

    ;; input NAME 0 1 2         the elements of a parameter, row-major, repeated until it is full
    ;; value NAME 1 2 3         the same of a result; `value NAME[0,1] …` is the part at these indices

`range` stands for 0 1 2 … and `ones` for 1. Lines that begin with `settled` hold with --on-conflict cost.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from kina.pipeline import Options
from kina.run.executor import Simulated
from kina.run.given import Given, Origin, from_arrays
from kina.run.inputs import Draw
from kina.run.outputs import arrays
from kina.run.ports import Signature, signature
from kina.run.session import Session
from kina.sim.dtypes import DTYPES, Array
from kina.sim.prepare import prepare
from tests.cases.test_cases import PROGRAMS
from tests.command import kina_command
from tests.run.pipeline import Compiled, compiled, differences

_LINE = re.compile(r";; (?:settled )?(input|value) (\w+)(?:\[([\d,]+)\])? (.*)")
RUNNABLE = [
    path for path in PROGRAMS if "\n;; error " not in path.read_text() or ";; settled" in path.read_text()
]
VALUED = [path for path in RUNNABLE if re.search("^;; (settled )?value", path.read_text(), re.MULTILINE)]


@cache
def made_from(path: Path) -> Compiled:
    """The compiled program; a conflict is settled by cost if the comment lines say how."""
    text = path.read_text()
    options = Options(on_conflict="cost") if ";; settled" in text else Options()
    made = compiled(text, options, path.name)
    assert isinstance(made, Compiled)
    return made


def numbers(words: str, shape: tuple[int, ...], dtype: str) -> Array:
    """The elements that a comment line gives to a tensor."""
    count = int(np.prod(shape))
    values = {"range": list(range(count)), "ones": [1]}.get(words) or [float(word) for word in words.split()]
    assert count % len(values) == 0
    return np.resize(np.array(values), shape).astype(DTYPES[dtype])


def given(text: str, ports: Signature) -> list[Given]:
    shapes = {port.name.rpartition(".")[2]: port for port in ports.arguments}
    named = {
        name: numbers(words, shapes[name].shape, shapes[name].type.dtype)
        for kind, name, _, words in _LINE.findall(text)
        if kind == "input"
    }
    origin = Origin("the comment lines", "arrays there")
    return from_arrays(named, ports, range(ports.devices), origin)


@pytest.mark.parametrize("path", VALUED, ids=lambda path: path.stem)
def test_a_case_has_its_values(path: Path) -> None:
    text, made = path.read_text(), made_from(path)
    ports = signature(made.module)
    session = Session(
        ports,
        Simulated(prepare(made.module)),
        Draw(0),
        1,
        given(text, ports),
        made.program,
    )
    session.run(lambda _: None)
    assert [report.findings for report in session.reports] == [()]
    found = arrays(session, per_device=False)
    for kind, name, index, words in _LINE.findall(text):
        if kind != "value":
            continue
        whole = found[f"{made.program.entry}.{name}"]
        part = whole[tuple(map(int, index.split(",")))] if index else whole
        wanted = numbers(words, part.shape, "f64")
        np.testing.assert_allclose(part, wanted, rtol=1e-5, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("path", RUNNABLE, ids=lambda path: path.stem)
def test_a_case_gives_what_one_device_gives(path: Path) -> None:
    assert differences(made_from(path), seed=7) == []


def test_a_conflict_that_is_settled_by_cost_is_run_and_compared() -> None:
    path = next(path for path in PROGRAMS if path.stem == "convolution_batch_and_features")
    done = kina_command("run", str(path), "--on-conflict", "cost", "--verify")
    assert done.returncode == 0, done.stderr
    assert "compared with one device: the result is equal" in done.stdout
    assert "warning[K203]" in done.stderr
    assert re.search(r"all_gather +1 +324\b", done.stdout)
