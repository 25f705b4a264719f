"""How much arithmetic an op does, counted as multiplications and additions of its products."""

from __future__ import annotations

from math import prod

from kina.frontend.ir import Op, Program


def flops(program: Program, op: Op) -> int:
    """The floating-point operations of all of a matrix product or a convolution, 0 for other ops."""
    match op.kind:
        case "dot_general":
            left = program.type_of(op.operands[0]).shape
            contracting = op.attribute("lhs_contracting_dimensions")
            assert isinstance(contracting, tuple)
            return 2 * program.type_of(op.results[0]).elements * prod(left[dim] for dim in contracting)
        case "convolution":
            kernel = program.type_of(op.operands[1])
            features = op.attribute("kernel_output_feature_dimension")
            assert isinstance(features, int)
            each = kernel.elements // max(1, kernel.shape[features])
            return 2 * program.type_of(op.results[0]).elements * each
        case _:
            return 0
