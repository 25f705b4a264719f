"""What `TENSOR[.DIM][@AXIS]` means, and what is said of one that means nothing."""

from __future__ import annotations

import pytest

from kina.diagnostics.finding import SetupError
from kina.explain.names import find_target
from kina.frontend.ir import Program
from kina.pipeline import Options, build
from kina.source import Source

TEXT = """
(mesh (data 2) (model 2))
(defn block (x w) (let ((h (matmul x w))) (exp h)))
(defn main ((x (tensor f32 [8 8]) @sharded(axis=0, mesh=data))
            (s (tensor f32 [])))
  (let ((y (repeat (layer i 3) ((x x)) :params ((wq (tensor f32 [8 8]))) (block x wq))))
    (multiply y (broadcast_to s [8 8]))))
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return build(Source("names.kina", TEXT), Options())


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("main.x", "main.x"),
        ("x", "main.x"),
        ("x.1", "main.x.1"),
        ("x.0@data", "main.x.0@data"),
        ("x@model", "main.x@model"),
        ("layer[2].wq.0@model", "layer[2].wq.0@model"),
    ],
)
def test_a_name_is_found(program: Program, text: str, target: str) -> None:
    assert str(find_target(program, text)) == target


@pytest.mark.parametrize(
    ("text", "message", "help_"),
    [
        ("wq", "`wq` is the name of 3 tensors", "`layer[0].wq`"),
        ("y7", "there is no tensor `y7`", ""),
        ("layer[2].wx", "there is no tensor `layer[2].wx`", "`layer[2].wq`"),
        ("x@modle", "the mesh has no axis `modle`", "`data`, `model`"),
        ("x.2", "`main.x` has no dim 2", "f32[8,8], with dims 0 to 1"),
        ("s.0", "`main.s` has no dim 0", "it is a scalar"),
        ("", "there is no tensor ``", ""),
    ],
)
def test_what_is_not_there_is_said(program: Program, text: str, message: str, help_: str) -> None:
    with pytest.raises(SetupError) as problem:
        find_target(program, text)
    assert problem.value.message == message
    assert help_ in problem.value.help
