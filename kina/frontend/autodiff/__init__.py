"""Reverse-mode differentiation on the typed IR: each kind of op says what its operands' cotangents are."""

from __future__ import annotations

#: The forms of the language that differentiate or train, each with the place of the argument that
#: names a function, None if none does.
GRADIENT_FORMS = {"grad": 0, "value_and_grad": 0, "gradients": None, "train_step": 1, "carry": None}
