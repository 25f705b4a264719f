"""The kinds that StableHLO lacks, made of those that it has: erf, argmax, top_k, cumulative."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kina.mlir.emit_contraction import reduced
from kina.mlir.emit_creation import counted_up
from kina.mlir.emit_indexing import sorted_by_first
from kina.mlir.emit_lines import Lines, Tensor
from kina.mlir.emit_moves import combiner, identity
from kina.mlir.emit_ops import STABLEHLO
from kina.mlir.emit_site import Emit, Emitted, Site
from kina.mlir.emit_text import FLOATS, array, numbers

# f32: the rational function x P(x^2) / Q(x^2) of Eigen and XLA, within 3e-7 of the true value; beyond the
# bound the result is one. Highest power first.
_BOUND_F32 = "3.832506856900711"
_P_F32 = (
    "0.00022905065861350646",
    "0.0034082910107109506",
    "0.050955695062380861",
    "0.18520832239976145",
    "1.128379143519084",
)
_Q_F32 = (
    "-1.1791602954361697e-7",
    "0.000023547966471313185",
    "0.0010179625278914885",
    "0.014070470171167667",
    "0.11098505178285362",
    "0.49746925110067538",
    "1",
)

# f64: S. L. Moshier, Cephes, ndtr.c: x T(x^2) / U(x^2) below 1, and 1 - exp(-x^2) P(x) / Q(x) above;
# from 6 on the result is one in f64.
_T_F64 = (
    "9.60497373987051638749e0",
    "9.00260197203842689217e1",
    "2.23200534594684319226e3",
    "7.00332514112805075473e3",
    "5.55923013010394962768e4",
)
_U_F64 = (
    "1",
    "3.35617141647503099647e1",
    "5.21357949780152679795e2",
    "4.59432382970980127987e3",
    "2.26290000613890934246e4",
    "4.92673942608635921086e4",
)
_P_F64 = (
    "2.46196981473530512524e-10",
    "5.64189564831068821977e-1",
    "7.46321056442269912687e0",
    "4.86371970985681366614e1",
    "1.96520832956077098242e2",
    "5.26445194995477358631e2",
    "9.34528527171957607540e2",
    "1.02755188689515710272e3",
    "5.57535335369399327526e2",
)
_Q_F64 = (
    "1",
    "1.32281951154744992508e1",
    "8.67072140885989742329e1",
    "3.54937778887819891062e2",
    "9.75708501743205489753e2",
    "1.82390916687909736289e3",
    "2.24633760818710981792e3",
    "1.65666309194161350182e3",
    "5.57535340817727675546e2",
)


def _polynomial(lines: Lines, x: Tensor, coefficients: Sequence[str]) -> Tensor:
    """Horner's rule, highest power first."""
    result = lines.filled(coefficients[0], x)
    for coefficient in coefficients[1:]:
        result = lines.alike("add", (lines.alike("multiply", (result, x)), lines.filled(coefficient, x)))
    return result


def _ratio(lines: Lines, x: Tensor, above: Sequence[str], below: Sequence[str]) -> Tensor:
    return lines.alike("divide", (_polynomial(lines, x, above), _polynomial(lines, x, below)))


def _clamped(lines: Lines, x: Tensor, low: str, high: str) -> Tensor:
    bounds = (lines.scalar(low, x.element), x, lines.scalar(high, x.element))
    return lines.typed("clamp", bounds, x.element, x.shape)


def _erf(site: Site) -> Emitted:
    """In f32 for the narrow types."""
    lines, x = site.lines, site.operands[0]
    if x.element == "f64":
        return (_erf_f64(lines, x, site.names[0]),)
    wide = x if x.element == "f32" else lines.typed("convert", (x,), "f32", x.shape)
    inside = _clamped(lines, wide, f"-{_BOUND_F32}", _BOUND_F32)
    ratio = _ratio(lines, lines.alike("multiply", (inside, inside)), _P_F32, _Q_F32)
    if wide is x:
        return (lines.alike("multiply", (inside, ratio), site.names[0]),)
    found = lines.alike("multiply", (inside, ratio))
    return (lines.typed("convert", (found,), x.element, x.shape, "", site.names[0]),)


def _erf_f64(lines: Lines, x: Tensor, name: str) -> Tensor:
    square = lines.alike("multiply", (x, x))
    small = lines.alike("multiply", (x, _ratio(lines, square, _T_F64, _U_F64)))
    size = lines.typed(
        "clamp",
        (lines.scalar("0", "f64"), lines.alike("abs", (x,)), lines.scalar("6", "f64")),
        "f64",
        x.shape,
    )
    power = lines.alike("exponential", (lines.alike("negate", (lines.alike("multiply", (size, size)),)),))
    rest = lines.alike("multiply", (power, _ratio(lines, size, _P_F64, _Q_F64)))
    far = lines.alike("subtract", (lines.filled("1", x), rest))
    large = lines.alike("multiply", (lines.alike("sign", (x,)), far))
    one = lines.filled("1", x)
    near = lines.compare("LT", lines.alike("abs", (x,)), one)
    return lines.typed("select", (near, small, large), "f64", x.shape, "", name)


def _argmax(site: Site) -> Emitted:
    """The least index that holds the extreme; NaN is an extreme of both kinds."""
    lines, x = site.lines, site.operands[0]
    dim, kind = site.number("dimension"), site.word("kind")
    extreme = reduced(lines, x, (dim,), kind)
    kept = numbers([each for each in range(len(x.shape)) if each != dim])
    spread = lines.typed("broadcast_in_dim", (extreme,), x.element, x.shape, f", dims = {kept}")
    hit = lines.compare("EQ", x, spread)
    if x.element in FLOATS:
        hit = lines.alike("or", (hit, lines.compare("NE", x, x)))
    places = counted_up(lines, dim, "i32", x.shape)
    beyond = lines.filled(str(x.shape[dim]), places)
    candidates = lines.typed("select", (hit, places, beyond), "i32", x.shape)
    return (reduced(lines, candidates, (dim,), "min", site.names[0]),)


def _top_k(site: Site) -> Emitted:
    """A stable sort with the indices, and the first of both."""
    lines, x = site.lines, site.operands[0]
    dim = len(x.shape) - 1
    places = counted_up(lines, dim, "i32", x.shape)
    ordered = sorted_by_first(lines, (x, places), dim, "GT", True, ())
    bounds = ", ".join(f"0:{size}" for size in site.shapes[0])
    return tuple(
        lines.typed("slice", (each,), each.element, shape, f" [{bounds}]", name)
        for each, shape, name in zip(ordered, site.shapes, site.names, strict=True)
    )


def _cumulative(site: Site) -> Emitted:
    """A window over the whole dim, padded on the side from which it runs."""
    lines, x, dim = site.lines, site.operands[0], site.number("dimension")
    size, kind = x.shape[dim], site.word("kind")
    if 0 in x.shape:
        return (x,)
    start = lines.scalar(identity(kind, x.element), x.element)
    pads = [[0, 0] for _ in x.shape]
    pads[dim] = [0, size - 1] if site.flag("reverse") else [size - 1, 0]
    ones = [1] * len(x.shape)
    window = [size if each == dim else 1 for each in range(len(x.shape))]
    fields: dict[str, object] = {
        "operand": x.name,
        "start": start.name,
        "inputs": f"{x.text}, {start.text}",
        "combiner": combiner(kind, x.element),
        "element": start.text,
        "window": array(window),
        "ones": array(ones),
        "padding": f"dense<{pads}> : tensor<{len(pads)}x2xi64>",
    }
    return (lines.put("reduce_window", x.element, x.shape, fields, site.names[0]),)


#: kind -> how it is written, for every kind of the op table
EMIT: Mapping[str, Emit] = MappingProxyType(
    {**STABLEHLO, "erf": _erf, "argmax": _argmax, "top_k": _top_k, "cumulative": _cumulative}
)
