"""Arguments of the Python interface that do not fit: named, with what was given and what is wanted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kina
from tests.test_api import CARRIED


class NoArray:
    """What says that it is an array, and is none."""

    def __array__(self) -> object:
        raise ZeroDivisionError("by nothing")

    def __repr__(self) -> str:
        raise RuntimeError("not even to be shown")


#: Arguments of `kina.check` that are of another type, and what is said of them.
ARGUMENTS: tuple[tuple[dict[str, object], str], ...] = (
    ({"path_or_text": 3}, "`path_or_text` is 3, of type `int`, not the path of a program or its text"),
    ({"path_or_text": None}, "`path_or_text` is None, not"),
    ({"path_or_text": b"(mesh (x 2))"}, "of type `bytes`, not"),
    ({"path_or_text": NoArray()}, "`path_or_text` is of type `NoArray`, not"),
    ({"path_or_text": ""}, "`path_or_text` is '', of type `str`, not"),
    ({"path_or_text": "a\0b"}, r"`path_or_text` is 'a\\x00b', of type `str`, not"),
    ({"rules": 3}, "`rules` is 3, of type `int`, not a list of paths"),
    ({"rules": "ops.dl"}, "`rules` is 'ops.dl', of type `str`, not a list of paths"),
    ({"rules": Path("ops.dl")}, "not a list of paths"),
    ({"rules": None}, "`rules` is None, not a list of paths"),
    ({"rules": [3]}, r"`rules\[0\]` is 3, of type `int`, not a path"),
    ({"rules": ["a\0.dl"]}, r"`rules\[0\]` is .*, not a path"),
    ({"mesh": 4}, "`mesh` is 4, of type `int`, not a mapping from mesh axes to sizes"),
    ({"mesh": [("x", 2)]}, "`mesh` is of type `list`, not"),
    ({"mesh": {1: 2}}, "a key of `mesh` is 1, of type `int`, not a string"),
    ({"mesh": {"x": 2.0}}, r"`mesh\['x'\]` is 2.0, of type `float`, not a whole number from 1 to 2147483647"),
    ({"mesh": {"x": True}}, r"`mesh\['x'\]` is True, not a whole number"),
    ({"entry": 3}, "`entry` is 3, of type `int`, not the name of a function"),
    ({"on_conflict": None}, "`on_conflict` is None, not one of error, cost"),
    ({"solver": ["clingo"]}, "`solver` is of type `list`, not one of auto, souffle, clingo"),
    ({"strict": "yes"}, "`strict` is 'yes', of type `str`, not True or False"),
)


@pytest.mark.parametrize(("arguments", "said"), ARGUMENTS, ids=lambda part: str(type(part).__name__))
def test_an_argument_of_another_type_is_named(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(kina.ArgumentError, match=said) as caught:
        kina.check(**{"path_or_text": CARRIED, **arguments})
    assert isinstance(caught.value, kina.SetupError)
    assert isinstance(caught.value, TypeError)


def test_arguments_of_a_result_are_named() -> None:
    result: Any = kina.check(CARRIED)
    wrong: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: result.layout(None), "`name` is None, not the name of a tensor"),
        (lambda: result.tensor(["w"]), "`name` is of type `list`"),
        (lambda: result.why(3), "`question` is 3, of type `int`, not a string such as"),
        (lambda: result.why("w", negated="yes"), "`negated` is 'yes'"),
        (lambda: result.why(collective="1"), "`collective` is '1', of type `str`, not a whole number"),
        (lambda: result.why(collective=True), "`collective` is True, not a whole number"),
        (lambda: result.partition_specs(every=3), "`every` is 3"),
        (lambda: result.run([1]), "`inputs` is of type `list`, not a mapping from names"),
        (lambda: result.run({1: 2}), "a key of `inputs` is 1"),
        (
            lambda: result.run({"w": "abc"}),
            r"`inputs\['w'\]` is 'abc', of type `str`, not an array of numbers",
        ),
        (lambda: result.run({"w": None}), r"`inputs\['w'\]` is None, not an array of numbers"),
        (
            lambda: result.run({"w": NoArray()}),
            r"`inputs\['w'\]` is of type `NoArray`, not an array: by nothing",
        ),
        (lambda: result.run({"w": [[1], [1, 2]]}), r"`inputs\['w'\]` is of type `list`, not an array: "),
        (lambda: result.run(steps=1.5), "`steps` is 1.5, of type `float`, not a whole number from 1 on"),
        (lambda: result.run(seed=None), "`seed` is None, not a whole number"),
        (lambda: result.run(verify="no"), "`verify` is 'no'"),
        (lambda: result.run(engine=None), "`engine` is None, not one of sim, xla"),
        (lambda: result.run(platform=0), "`platform` is 0, of type `int`, not one of auto, cpu"),
        (lambda: result.run()[None], "`name` is None, not the name of a result"),
    )
    for call, said in wrong:
        with pytest.raises(kina.ArgumentError, match=said):
            call()
    with pytest.raises(kina.SetupError, match="`collective` is 0, which is not from 1 on"):
        result.why(collective=0)


def test_numbers_of_numpy_are_numbers() -> None:
    options: Any = {"mesh": {"x": np.int64(4)}, "strict": np.True_}
    result: Any = kina.check(CARRIED, **options)
    assert dict(result.mesh) == {"x": 4}
    assert len(result.run(steps=np.int32(2)).steps) == 2
    with pytest.raises(kina.SetupError, match="which is not from 1 to"):
        kina.check(CARRIED, mesh={"x": 10**5000})


def test_inputs_by_device() -> None:
    result = kina.check(CARRIED)
    half, a = np.ones((8, 2), np.float32), np.ones((4, 8), np.float32)
    whole = {"w": np.concatenate([half, 2 * half], 1), "a": a}
    parts = {"w@0": half, "train.w@1": 2 * half, "a": a}
    np.testing.assert_array_equal(result.run(parts)["w.next"], result.run(whole)["w.next"])
    with pytest.raises(kina.ProgramError, match="`inputs` has an array `w@2`, which is no argument"):
        result.run({**parts, "w@2": half})
    with pytest.raises(kina.ProgramError, match=r"`inputs` has no array `train\.w@1`"):
        result.run({"w@0": half, "a": a})


def test_a_program_text_may_begin_with_a_byte_order_mark() -> None:
    assert kina.check("\ufeff" + CARRIED.replace("\n", "\r\n")).ok
    with pytest.raises(kina.SetupError, match=r"`\./-` cannot be read"):
        kina.check("-")
