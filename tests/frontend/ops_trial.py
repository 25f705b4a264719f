"""A program in the making, to try single forms and evaluate them."""

from __future__ import annotations

import numpy as np
import pytest

from kina.diagnostics.finding import Finding, ProgramError
from kina.frontend.builder import Arg, Builder, Call
from kina.frontend.forms import apply
from kina.frontend.ir import Mesh, Program, TensorType
from kina.frontend.names import Names
from kina.frontend.spec import check_ir
from kina.source import Source, Span
from tests.frontend.ops_evaluator import DTYPES, evaluate

PLACE = Span(Source("p.kina", "(form a b c)"), 0, 12)


class Trial:
    """A program in the making, with arrays for its parameters."""

    def __init__(self) -> None:
        self.builder = Builder(name_for=Names().fresh)
        self.inputs: dict[int, np.ndarray] = {}

    def array(self, array: object, dtype: str = "f32") -> Arg:
        data = np.asarray(array, DTYPES[dtype])
        name = f"p{len(self.inputs)}"
        value = self.builder.parameter(name, TensorType(dtype, data.shape), PLACE)
        self.inputs[value] = data
        return Arg(PLACE, (value,))

    def random(self, *shape: int) -> Arg:
        return self.array(np.random.default_rng(len(self.inputs)).integers(-4, 5, shape))

    def call(self, name: str, *args: object, **keywords: object) -> Arg:
        def arg(each: object) -> Arg:
            return each if isinstance(each, Arg) else Arg(PLACE, literal=each)

        given_args = tuple(arg(each) for each in args)
        given_keywords = {key: arg(each) for key, each in keywords.items()}
        return Arg(PLACE, apply(self.builder, Call(name, given_args, given_keywords, PLACE)))

    def value(self, arg: Arg) -> np.ndarray:
        self.check()
        return evaluate(self.builder, self.inputs, arg.values)[0]

    def type(self, arg: Arg) -> str:
        self.check()
        return " ".join(str(self.builder.type_of(value)) for value in arg.values)

    def kinds(self) -> list[str]:
        return [op.kind for op in self.builder.ops]

    def check(self) -> None:
        values, ops = tuple(self.builder.values), tuple(self.builder.ops)
        check_ir(Program(Mesh(()), "f", values, ops, tuple(self.inputs), (), ()))


def refusal(name: str, *shapes: object, **keywords: object) -> Finding:
    """The finding of a call whose arguments are tensors for lists, and literals otherwise."""
    trial = Trial()
    args = [trial.random(*each) if isinstance(each, list) else each for each in shapes]
    with pytest.raises(ProgramError) as caught:
        trial.call(name, *args, **keywords)
    return caught.value.findings[0]


def close(actual: np.ndarray, expected: object) -> None:
    np.testing.assert_allclose(actual, expected, rtol=1e-5)
