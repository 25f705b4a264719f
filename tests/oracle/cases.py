"""Hand-made modules for every op and every collective, with inputs; used by all engines.

In a body `%a`, `%b`, … are the arguments; results are what it returns. Inputs and results are f32, f64, i32, i64
or ui32: other types are made and unmade inside, because not every engine takes them at its border.
"""

# ruff: noqa: E501  (an op of MLIR is one line)

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kina.sim.dtypes import DTYPES, Array


@dataclass(frozen=True)
class Case:
    name: str
    arguments: tuple[str, ...]
    body: str
    devices: int = 1
    low: float = -3.0
    high: float = 3.0
    #: engines whose answer is implementation-defined and known to differ
    without: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        names = [
            f'%{chr(97 + i)}: tensor<{t}> {{mhlo.sharding = "{{manual}}"}}'
            for i, t in enumerate(self.arguments)
        ]
        *ops, returned = [line for line in self.body.strip().splitlines() if line.strip()]
        types = returned.split(":", 1)[1].strip()
        results = ", ".join(f'{t} {{mhlo.sharding = "{{manual}}"}}' for t in split_types(types))
        lines = "\n".join("    " + line.strip() for line in (*ops, returned))
        return (
            f"module attributes {{mhlo.num_partitions = {self.devices} : i32, mhlo.num_replicas = 1 : i32}} {{\n"
            f"  func.func public @main({', '.join(names)}) -> ({results}) {{\n{lines}\n  }}\n}}\n"
        )

    def inputs(self, seed: int = 0) -> list[list[Array]]:
        rng = np.random.default_rng(seed)
        return [[self._input(rng, text) for text in self.arguments] for _ in range(self.devices)]

    def _input(self, rng: np.random.Generator, text: str) -> Array:
        *sizes, dtype = text.split("x")
        shape, kind = tuple(int(size) for size in sizes), DTYPES[dtype]
        if kind.kind == "f":
            return rng.uniform(self.low, self.high, shape).astype(kind)
        low = 0 if kind.kind == "u" else int(self.low)
        return rng.integers(low, int(self.high) + 1, shape).astype(kind)


def split_types(text: str) -> list[str]:
    parts = text.replace("tensor", "\ntensor").split("\n")
    return [part.strip(" ,") for part in parts if part.strip(" ,")]


def unary(kind: str, dtype: str = "f32", low: float = -3.0, high: float = 3.0) -> Case:
    t = f"tensor<5x7x{dtype}>"
    return Case(
        f"{kind}_{dtype}", (f"5x7x{dtype}",), f"%r = stablehlo.{kind} %a : {t}\nreturn %r : {t}", 1, low, high
    )


def binary(
    kind: str, dtype: str = "f32", low: float = -3.0, high: float = 3.0, without: tuple[str, ...] = ()
) -> Case:
    t = f"tensor<6x9x{dtype}>"
    body = f"%r = stablehlo.{kind} %a, %b : {t}\nreturn %r : {t}"
    return Case(f"{kind}_{dtype}", (f"6x9x{dtype}",) * 2, body, 1, low, high, without)


def region(kind: str, dtype: str = "f32") -> str:
    return (
        f"({{ ^bb0(%p: tensor<{dtype}>, %q: tensor<{dtype}>): %v = stablehlo.{kind} %p, %q : tensor<{dtype}> "
        f"stablehlo.return %v : tensor<{dtype}> }})"
    )


ELEMENTWISE = [
    *(
        unary(kind)
        for kind in [
            "abs",
            "negate",
            "exponential",
            "exponential_minus_one",
            "logistic",
            "tanh",
            "sine",
            "cosine",
            "tan",
            "cbrt",
            "sign",
            "floor",
            "ceil",
            "round_nearest_even",
            "round_nearest_afz",
        ]
    ),
    *(unary(kind, low=0.1, high=4) for kind in ["log", "log_plus_one", "sqrt", "rsqrt"]),
    *(
        unary(kind, "i32", -100, 100)
        for kind in ["abs", "negate", "sign", "not", "popcnt", "count_leading_zeros"]
    ),
    *(unary(kind, "f64") for kind in ["exponential", "tanh", "logistic"]),
    *(
        binary(kind)
        for kind in ["add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder", "atan2"]
    ),
    binary("power", low=0.1, high=3),
    *(
        binary(kind, "i32", -6, 6)
        for kind in ["add", "subtract", "multiply", "maximum", "minimum", "and", "or", "xor"]
    ),
    *(
        binary(kind, "ui32", 0, 9)
        for kind in ["add", "subtract", "multiply", "shift_left", "shift_right_logical"]
    ),
    # zero is among the divisors: the specification leaves the result open, and the interpreter aborts
    *(
        binary(kind, dtype, -6, 6, ("interpreter",))
        for kind in ("divide", "remainder")
        for dtype in ("i32", "ui32")
    ),
    binary("power", "i32", 0, 4),
    *(
        binary(kind, "i32", -40, 40)
        for kind in ["shift_left", "shift_right_logical", "shift_right_arithmetic"]
    ),
    *(binary(kind, "i64", -(2**40), 2**40) for kind in ["add", "multiply", "divide"]),
    Case(
        "wraparound",
        ("8xi32",),
        """
        %c = stablehlo.constant dense<2147483647> : tensor<8xi32>
        %x = stablehlo.multiply %a, %c : tensor<8xi32>
        %r = stablehlo.add %x, %c : tensor<8xi32>
        return %r : tensor<8xi32>""",
    ),
    Case(
        "divide_by_zero",
        ("4xi32",),
        """
        %z = stablehlo.constant dense<0> : tensor<4xi32>
        %d = stablehlo.divide %a, %z : tensor<4xi32>
        %m = stablehlo.remainder %a, %z : tensor<4xi32>
        return %d, %m : tensor<4xi32>, tensor<4xi32>""",
        without=("interpreter",),
    ),
    Case(
        "nan",
        ("4xf32",),
        """
        %n = stablehlo.constant dense<[0x7FC00000, 1.0, 0xFF800000, 0x7F800000]> : tensor<4xf32>
        %m = stablehlo.maximum %a, %n : tensor<4xf32>
        %l = stablehlo.minimum %n, %a : tensor<4xf32>
        %e = stablehlo.compare EQ, %n, %n : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
        %f = stablehlo.compare NE, %n, %n, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
        %g = stablehlo.compare LT, %n, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
        %h = stablehlo.is_finite %n : (tensor<4xf32>) -> tensor<4xi1>
        %e1 = stablehlo.convert %e : (tensor<4xi1>) -> tensor<4xi32>
        %f1 = stablehlo.convert %f : (tensor<4xi1>) -> tensor<4xi32>
        %g1 = stablehlo.convert %g : (tensor<4xi1>) -> tensor<4xi32>
        %h1 = stablehlo.convert %h : (tensor<4xi1>) -> tensor<4xi32>
        return %m, %l, %e1, %f1, %g1, %h1 : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
        """,
    ),
    Case(
        "compare",
        ("9xi32", "9xi32"),
        "\n".join(
            f"%c{d} = stablehlo.compare {d}, %a, %b, SIGNED : (tensor<9xi32>, tensor<9xi32>) -> tensor<9xi1>\n"
            f"%r{d} = stablehlo.convert %c{d} : (tensor<9xi1>) -> tensor<9xi32>"
            for d in ["EQ", "NE", "LT", "LE", "GT", "GE"]
        )
        + "\nreturn %rEQ, %rNE, %rLT, %rLE, %rGT, %rGE : "
        + ", ".join(["tensor<9xi32>"] * 6),
    ),
    Case(
        "select_clamp",
        ("4x5xf32", "4x5xf32", "f32"),
        """
        %p = stablehlo.compare GT, %a, %b : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xi1>
        %s = stablehlo.select %p, %a, %b : tensor<4x5xi1>, tensor<4x5xf32>
        %t = stablehlo.constant dense<true> : tensor<i1>
        %u = stablehlo.select %t, %s, %b : tensor<i1>, tensor<4x5xf32>
        %v = stablehlo.clamp %c, %u, %b : (tensor<f32>, tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
        return %u, %v : tensor<4x5xf32>, tensor<4x5xf32>""",
    ),
    Case(
        "convert",
        ("7xf32", "7xi32"),
        """
        %i = stablehlo.convert %a : (tensor<7xf32>) -> tensor<7xi32>
        %h = stablehlo.convert %a : (tensor<7xf32>) -> tensor<7xbf16>
        %g = stablehlo.convert %h : (tensor<7xbf16>) -> tensor<7xf32>
        %k = stablehlo.convert %a : (tensor<7xf32>) -> tensor<7xf16>
        %l = stablehlo.convert %k : (tensor<7xf16>) -> tensor<7xf32>
        %f = stablehlo.convert %b : (tensor<7xi32>) -> tensor<7xf32>
        %p = stablehlo.convert %b : (tensor<7xi32>) -> tensor<7xi1>
        %q = stablehlo.convert %p : (tensor<7xi1>) -> tensor<7xi64>
        %u = stablehlo.bitcast_convert %a : (tensor<7xf32>) -> tensor<7xi32>
        return %i, %g, %l, %f, %q, %u : tensor<7xi32>, tensor<7xf32>, tensor<7xf32>, tensor<7xf32>, tensor<7xi64>, tensor<7xi32>
        """,
    ),
    Case(
        "bf16_arithmetic",
        ("16xf32", "16xf32"),
        """
        %x = stablehlo.convert %a : (tensor<16xf32>) -> tensor<16xbf16>
        %y = stablehlo.convert %b : (tensor<16xf32>) -> tensor<16xbf16>
        %m = stablehlo.multiply %x, %y : tensor<16xbf16>
        %e = stablehlo.exponential %x : tensor<16xbf16>
        %m1 = stablehlo.convert %m : (tensor<16xbf16>) -> tensor<16xf32>
        %e1 = stablehlo.convert %e : (tensor<16xbf16>) -> tensor<16xf32>
        return %m1, %e1 : tensor<16xf32>, tensor<16xf32>""",
    ),
    Case(
        "flags",
        ("8xi32", "8xi32"),
        """
        %x = stablehlo.convert %a : (tensor<8xi32>) -> tensor<8xi1>
        %y = stablehlo.convert %b : (tensor<8xi32>) -> tensor<8xi1>
        %p = stablehlo.and %x, %y : tensor<8xi1>
        %o = stablehlo.or %x, %y : tensor<8xi1>
        %q = stablehlo.xor %p, %o : tensor<8xi1>
        %n = stablehlo.not %q : tensor<8xi1>
        %r = stablehlo.convert %n : (tensor<8xi1>) -> tensor<8xi32>
        return %r : tensor<8xi32>""",
    ),
]

SHAPING = [
    Case(
        "broadcast",
        ("3xf32", "4x1xf32", "f32"),
        """
        %x = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
        %y = stablehlo.broadcast_in_dim %b, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x3xf32>
        %z = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
        %w = stablehlo.broadcast_in_dim %b, dims = [2, 0] : (tensor<4x1xf32>) -> tensor<2x3x4xf32>
        %s = stablehlo.add %x, %y : tensor<4x3xf32>
        %t = stablehlo.multiply %s, %z : tensor<4x3xf32>
        return %t, %w : tensor<4x3xf32>, tensor<2x3x4xf32>""",
    ),
    Case(
        "transpose_reshape",
        ("2x3x4xf32",),
        """
        %x = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
        %y = stablehlo.reshape %x : (tensor<4x2x3xf32>) -> tensor<8x3xf32>
        return %x, %y : tensor<4x2x3xf32>, tensor<8x3xf32>""",
    ),
    Case(
        "slice_reverse",
        ("6x8xf32",),
        """
        %x = stablehlo.slice %a [1:6:2, 0:8:3] : (tensor<6x8xf32>) -> tensor<3x3xf32>
        %y = stablehlo.reverse %x, dims = [0, 1] : tensor<3x3xf32>
        return %y : tensor<3x3xf32>""",
    ),
    Case(
        "dynamic",
        ("5x6xf32", "2x3xf32", "i32", "i32"),
        """
        %x = stablehlo.dynamic_slice %a, %c, %d, sizes = [2, 3] : (tensor<5x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
        %y = stablehlo.dynamic_update_slice %a, %b, %d, %c : (tensor<5x6xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<5x6xf32>
        return %x, %y : tensor<2x3xf32>, tensor<5x6xf32>""",
        low=-9,
        high=9,
    ),
    Case(
        "concatenate",
        ("2x3xf32", "2x1xf32", "2x0xf32"),
        """
        %x = stablehlo.concatenate %a, %b, %c, %a, dim = 1 : (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x0xf32>, tensor<2x3xf32>) -> tensor<2x7xf32>
        return %x : tensor<2x7xf32>""",
    ),
    Case(
        "pad",
        ("4x5xf32", "f32"),
        """
        %x = stablehlo.pad %a, %b, low = [1, -1], high = [-2, 3], interior = [2, 1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<9x11xf32>
        %y = stablehlo.pad %a, %b, low = [-3, 0], high = [2, -4], interior = [1, 0] : (tensor<4x5xf32>, tensor<f32>) -> tensor<6x1xf32>
        return %x, %y : tensor<9x11xf32>, tensor<6x1xf32>""",
    ),
    Case(
        "iota_constant",
        ("3xi32",),
        """
        %x = stablehlo.iota dim = 1 : tensor<2x3xi32>
        %c = stablehlo.constant dense<[[1, -2, 3], [4, 5, 6]]> : tensor<2x3xi32>
        %f = stablehlo.constant dense<[1.5, -2.0e-3, 0x7F800000]> : tensor<3xf32>
        %h = stablehlo.constant dense<"0x0000803F00000040"> : tensor<2xf32>
        %s = stablehlo.add %x, %c : tensor<2x3xi32>
        %b = stablehlo.optimization_barrier %s : tensor<2x3xi32>
        %k:2 = stablehlo.optimization_barrier %b, %f : tensor<2x3xi32>, tensor<3xf32>
        return %k#0, %k#1, %h : tensor<2x3xi32>, tensor<3xf32>, tensor<2xf32>""",
    ),
]


def reduction(kind: str, dtype: str, init: str) -> Case:
    return Case(
        f"reduce_{kind}_{dtype}",
        (f"3x4x5x{dtype}",),
        f"""
        %z = stablehlo.constant dense<{init}> : tensor<{dtype}>
        %x = stablehlo.reduce(%a init: %z) applies stablehlo.{kind} across dimensions = [0, 2] : (tensor<3x4x5x{dtype}>, tensor<{dtype}>) -> tensor<4x{dtype}>
        %y = stablehlo.reduce(%a init: %z) applies stablehlo.{kind} across dimensions = [0, 1, 2] : (tensor<3x4x5x{dtype}>, tensor<{dtype}>) -> tensor<{dtype}>
        return %x, %y : tensor<4x{dtype}>, tensor<{dtype}>""",
    )


REDUCTIONS = [
    reduction("add", "f32", "0.0"),
    reduction("add", "f32", "2.5"),
    reduction("multiply", "f32", "1.0"),
    reduction("maximum", "f32", "0xFF800000"),
    reduction("minimum", "f32", "0x7F800000"),
    reduction("add", "i32", "7"),
    reduction("and", "i32", "-1"),
    reduction("or", "i32", "0"),
    reduction("maximum", "i32", "-2147483648"),
    Case(
        "argmax",
        ("4x6xf32",),
        """
        %i = stablehlo.iota dim = 1 : tensor<4x6xi32>
        %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %o = stablehlo.constant dense<0> : tensor<i32>
        %r:2 = stablehlo.reduce(%a init: %z), (%i init: %o) across dimensions = [1] : (tensor<4x6xf32>, tensor<4x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>) reducer(%p: tensor<f32>, %s: tensor<f32>) (%q: tensor<i32>, %t: tensor<i32>) { %g = stablehlo.compare GE, %p, %s : (tensor<f32>, tensor<f32>) -> tensor<i1> %v = stablehlo.select %g, %p, %s : tensor<i1>, tensor<f32> %w = stablehlo.select %g, %q, %t : tensor<i1>, tensor<i32> stablehlo.return %v, %w : tensor<f32>, tensor<i32> }
        return %r#0, %r#1 : tensor<4xf32>, tensor<4xi32>""",
    ),
    Case(
        "cumulative",
        ("3x7xf32",),
        f"""
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %x = "stablehlo.reduce_window"(%a, %z) <{{window_dimensions = array<i64: 1, 7>, padding = dense<[[0, 0], [6, 0]]> : tensor<2x2xi64>}}> {region("add")} : (tensor<3x7xf32>, tensor<f32>) -> tensor<3x7xf32>
        %y = "stablehlo.reduce_window"(%a, %n) <{{window_dimensions = array<i64: 1, 7>, padding = dense<[[0, 0], [0, 6]]> : tensor<2x2xi64>}}> {region("maximum")} : (tensor<3x7xf32>, tensor<f32>) -> tensor<3x7xf32>
        return %x, %y : tensor<3x7xf32>, tensor<3x7xf32>""",
    ),
    Case(
        "reduce_window",
        ("6x8xf32",),
        f"""
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %x = "stablehlo.reduce_window"(%a, %z) <{{window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 1>, window_dilations = array<i64: 1, 2>, base_dilations = array<i64: 2, 1>, padding = dense<[[1, 0], [2, -1]]> : tensor<2x2xi64>}}> {region("add")} : (tensor<6x8xf32>, tensor<f32>) -> tensor<6x5xf32>
        return %x : tensor<6x5xf32>""",
    ),
]

CONTRACTIONS = [
    Case(
        "matmul",
        ("4x5xf32", "5x6xf32"),
        """
        %x = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x5xf32>, tensor<5x6xf32>) -> tensor<4x6xf32>
        return %x : tensor<4x6xf32>""",
    ),
    Case(
        "attention_scores",
        ("2x3x4x5xf32", "2x7x4x5xf32"),
        """
        %x = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x4x5xf32>, tensor<2x7x4x5xf32>) -> tensor<2x4x3x7xf32>
        return %x : tensor<2x4x3x7xf32>""",
    ),
    Case(
        "two_contracted",
        ("3x4x5xf32", "5x6x4xf32"),
        """
        %x = stablehlo.dot_general %a, %b, contracting_dims = [1, 2] x [2, 0] : (tensor<3x4x5xf32>, tensor<5x6x4xf32>) -> tensor<3x6xf32>
        %y = stablehlo.dot_general %a, %b, contracting_dims = [] x [] : (tensor<3x4x5xf32>, tensor<5x6x4xf32>) -> tensor<3x4x5x5x6x4xf32>
        return %x, %y : tensor<3x6xf32>, tensor<3x4x5x5x6x4xf32>""",
    ),
    Case(
        "matmul_integers",
        ("4x5xi32", "5x6xi32"),
        """
        %x = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x5xi32>, tensor<5x6xi32>) -> tensor<4x6xi32>
        return %x : tensor<4x6xi32>""",
    ),
    Case(
        "matmul_empty",
        ("4x0xf32", "0x6xf32"),
        """
        %x = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x0xf32>, tensor<0x6xf32>) -> tensor<4x6xf32>
        return %x : tensor<4x6xf32>""",
        without=("interpreter",),
    ),
    Case(
        "convolution",
        ("2x3x8x9xf32", "4x3x3x2xf32"),
        """
        %x = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 1], pad = [[1, 1], [0, 2]], lhs_dilate = [1, 2], rhs_dilate = [2, 1], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x8x9xf32>, tensor<4x3x3x2xf32>) -> tensor<2x4x3x18xf32>
        return %x : tensor<2x4x3x18xf32>""",
    ),
    Case(
        "convolution_groups",
        ("2x8x8x4xf32", "3x3x2x6xf32"),
        """
        %x = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [-1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x2x6xf32>) -> tensor<2x8x6x6xf32>
        return %x : tensor<2x8x6x6xf32>""",
    ),
    Case(
        "convolution_depthwise",
        ("2x4x9xf32", "8x1x3xf32"),
        """
        %x = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [3]} {batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<2x4x9xf32>, tensor<8x1x3xf32>) -> tensor<2x8x3xf32>
        return %x : tensor<2x8x3xf32>""",
    ),
    Case(
        "convolution_batch_groups",
        ("6x4x7xf32", "6x4x3xf32"),
        """
        %x = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0]x[o, i, 0]->[f, b, 0], window = {} {batch_group_count = 3 : i64, feature_group_count = 1 : i64} : (tensor<6x4x7xf32>, tensor<6x4x3xf32>) -> tensor<6x2x5xf32>
        return %x : tensor<6x2x5xf32>""",
    ),
]

_GATHER = '"stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<'
_SCATTER = '"stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<'

INDEXING = [
    Case(
        "embedding",
        ("7x4xf32", "2x3x1xi32"),
        f"""
        %x = {_GATHER}offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4>, indices_are_sorted = false}}> : (tensor<7x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
        return %x : tensor<2x3x4xf32>""",
        low=-3,
        high=9,
    ),
    Case(
        "gather_windows",
        ("5x6x4xf32", "2x3xi32"),
        f"""
        %x = {_GATHER}offset_dims = [0, 2, 3], start_index_map = [1, 0], index_vector_dim = 0>, slice_sizes = array<i64: 2, 3, 4>, indices_are_sorted = false}}> : (tensor<5x6x4xf32>, tensor<2x3xi32>) -> tensor<2x3x3x4xf32>
        return %x : tensor<2x3x3x4xf32>""",
        low=-2,
        high=7,
    ),
    Case(
        "gather_scalar_vector",
        ("6xf32", "4xi32"),
        f"""
        %x = {_GATHER}collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, indices_are_sorted = false}}> : (tensor<6xf32>, tensor<4xi32>) -> tensor<4xf32>
        return %x : tensor<4xf32>""",
        low=-2,
        high=8,
    ),
    Case(
        "gather_batching",
        ("3x6x2xf32", "4x3x1xi64"),
        f"""
        %x = {_GATHER}offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 2>, indices_are_sorted = false}}> : (tensor<3x6x2xf32>, tensor<4x3x1xi64>) -> tensor<4x3x2xf32>
        return %x : tensor<4x3x2xf32>""",
        low=-2,
        high=8,
    ),
    *(
        Case(
            f"scatter_{kind}",
            ("7x4xf32", "2x3x1xi32", "2x3x4xf32"),
            f"""
        %x = {_SCATTER}update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, indices_are_sorted = false, unique_indices = false}}> {region(kind)} : (tensor<7x4xf32>, tensor<2x3x1xi32>, tensor<2x3x4xf32>) -> tensor<7x4xf32>
        return %x : tensor<7x4xf32>""",
            low=-2,
            high=8,
        )
        for kind in ("add", "maximum", "minimum", "multiply")
    ),
    Case(
        "scatter_set",
        ("7x4xf32", "4x1xi32", "4x4xf32"),
        """
        %i = stablehlo.constant dense<[[1], [9], [-1], [5]]> : tensor<4x1xi32>
        %x = "stablehlo.scatter"(%a, %i, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%p: tensor<f32>, %q: tensor<f32>): stablehlo.return %q : tensor<f32> }) : (tensor<7x4xf32>, tensor<4x1xi32>, tensor<4x4xf32>) -> tensor<7x4xf32>
        return %x : tensor<7x4xf32>""",
    ),
    Case(
        "scatter_elements",
        ("6xi32", "5xi32", "5xi32"),
        f"""
        %x = {_SCATTER}inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> {region("add", "i32")} : (tensor<6xi32>, tensor<5xi32>, tensor<5xi32>) -> tensor<6xi32>
        return %x : tensor<6xi32>""",
        low=-1,
        high=7,
    ),
    Case(
        "scatter_windows",
        ("6x5xf32", "3x2xi32", "3x2x3xf32"),
        f"""
        %i = stablehlo.constant dense<[[0, 1], [2, 2], [4, 0]]> : tensor<3x2xi32>
        %x = "stablehlo.scatter"(%a, %i, %c) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}}> {region("add")} : (tensor<6x5xf32>, tensor<3x2xi32>, tensor<3x2x3xf32>) -> tensor<6x5xf32>
        return %x : tensor<6x5xf32>""",
    ),
    Case(
        "scatter_subtract",
        ("6xf32", "5x1xi32", "5xf32"),
        f"""
        %x = {_SCATTER}inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> {region("subtract")} : (tensor<6xf32>, tensor<5x1xi32>, tensor<5xf32>) -> tensor<6xf32>
        return %x : tensor<6xf32>""",
        low=0,
        high=5,
    ),
    Case(
        "scatter_batching",
        ("3x6xf32", "3x4x1xi32", "3x4xf32"),
        f"""
        %x = {_SCATTER}inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}}> {region("add")} : (tensor<3x6xf32>, tensor<3x4x1xi32>, tensor<3x4xf32>) -> tensor<3x6xf32>
        return %x : tensor<3x6xf32>""",
        low=-1,
        high=7,
    ),
    *(
        Case(
            f"sort_{direction}",
            ("3x9xi32", "3x9xf32"),
            f"""
        %x:2 = "stablehlo.sort"(%a, %b) <{{dimension = 1 : i64, is_stable = true}}> ({{ ^bb0(%p: tensor<i32>, %q: tensor<i32>, %s: tensor<f32>, %t: tensor<f32>): %l = stablehlo.compare {direction}, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1> stablehlo.return %l : tensor<i1> }}) : (tensor<3x9xi32>, tensor<3x9xf32>) -> (tensor<3x9xi32>, tensor<3x9xf32>)
        return %x#0, %x#1 : tensor<3x9xi32>, tensor<3x9xf32>""",
        )
        for direction in ("LT", "GT")
    ),
    Case(
        "sort_two_keys",
        ("9x2xi32", "9x2xf32"),
        """
        %x:2 = "stablehlo.sort"(%a, %b) <{dimension = 0 : i64, is_stable = true}> ({ ^bb0(%p: tensor<i32>, %q: tensor<i32>, %s: tensor<f32>, %t: tensor<f32>): %l = stablehlo.compare LT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1> %e = stablehlo.compare EQ, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1> %g = stablehlo.compare GT, %s, %t, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1> %m = stablehlo.and %e, %g : tensor<i1> %o = stablehlo.or %l, %m : tensor<i1> stablehlo.return %o : tensor<i1> }) : (tensor<9x2xi32>, tensor<9x2xf32>) -> (tensor<9x2xi32>, tensor<9x2xf32>)
        return %x#0, %x#1 : tensor<9x2xi32>, tensor<9x2xf32>""",
    ),
]

_G2 = "replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>"
_CROSSED = "replica_groups = dense<[[3, 1], [0, 2]]> : tensor<2x2xi64>"
_ALL = "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>"


def _channel(number: int) -> str:
    return f"channel_handle = #stablehlo.channel_handle<handle = {number}, type = 1>"


def all_reduce(kind: str, groups: str, dtype: str = "f32", without: tuple[str, ...] = ()) -> Case:
    t = f"tensor<4x6x{dtype}>"
    return Case(
        f"all_reduce_{kind}_{len(groups)}_{groups[25]}",
        (f"4x6x{dtype}",),
        f"""
        %x = "stablehlo.all_reduce"(%a) <{{{_channel(1)}, {groups}, use_global_device_ids}}> {region(kind, dtype)} : ({t}) -> {t}
        return %x : {t}""",
        4,
        without=without,
    )


COLLECTIVES = [
    *(
        all_reduce(kind, groups)
        for kind in ("add", "maximum", "minimum", "multiply")
        for groups in (_G2, _ALL)
    ),
    all_reduce("add", _CROSSED),
    # XLA on CPU has no such reductions of whole numbers
    all_reduce("and", _G2, "i32", ("xla",)),
    all_reduce("or", _ALL, "i32", ("xla",)),
    Case(
        "all_gather",
        ("2x6xf32",),
        f"""
        %x = "stablehlo.all_gather"(%a) <{{all_gather_dim = 1 : i64, {_channel(1)}, {_CROSSED}, use_global_device_ids}}> : (tensor<2x6xf32>) -> tensor<2x12xf32>
        %y = "stablehlo.all_gather"(%a) <{{all_gather_dim = 0 : i64, {_channel(2)}, {_ALL}, use_global_device_ids}}> : (tensor<2x6xf32>) -> tensor<8x6xf32>
        return %x, %y : tensor<2x12xf32>, tensor<8x6xf32>""",
        4,
    ),
    Case(
        "reduce_scatter",
        ("4x6xf32",),
        f"""
        %x = "stablehlo.reduce_scatter"(%a) <{{scatter_dimension = 1 : i64, {_channel(1)}, {_CROSSED}, use_global_device_ids}}> {region("add")} : (tensor<4x6xf32>) -> tensor<4x3xf32>
        %y = "stablehlo.reduce_scatter"(%a) <{{scatter_dimension = 0 : i64, {_channel(2)}, {_ALL}, use_global_device_ids}}> {region("maximum")} : (tensor<4x6xf32>) -> tensor<1x6xf32>
        return %x, %y : tensor<4x3xf32>, tensor<1x6xf32>""",
        4,
    ),
    Case(
        "all_to_all",
        ("4x6xf32",),
        f"""
        %x = "stablehlo.all_to_all"(%a) <{{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, {_channel(1)}, {_CROSSED}}}> : (tensor<4x6xf32>) -> tensor<2x12xf32>
        %y = "stablehlo.all_to_all"(%a) <{{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, {_channel(2)}, {_ALL}}}> : (tensor<4x6xf32>) -> tensor<4x6xf32>
        return %x, %y : tensor<2x12xf32>, tensor<4x6xf32>""",
        4,
    ),
    Case(
        "collective_permute",
        ("2x3xf32",),
        f"""
        %x = "stablehlo.collective_permute"(%a) <{{source_target_pairs = dense<[[0, 1], [1, 2], [3, 0]]> : tensor<3x2xi64>, {_channel(1)}}}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
        return %x : tensor<2x3xf32>""",
        4,
    ),
    Case(
        "collective_broadcast",
        ("2x3xf32",),
        f"""
        %x = "stablehlo.collective_broadcast"(%a) <{{{_CROSSED}, {_channel(1)}}}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
        return %x : tensor<2x3xf32>""",
        4,
        without=("xla",),
    ),
    Case(
        "device_numbers",
        ("f32",),
        """
        %p = stablehlo.partition_id : tensor<ui32>
        %q = stablehlo.replica_id : tensor<ui32>
        %r = stablehlo.add %p, %q : tensor<ui32>
        return %p, %r : tensor<ui32>, tensor<ui32>""",
        4,
    ),
    Case(
        "branch",
        ("4xf32",),
        """
        %p = stablehlo.partition_id : tensor<ui32>
        %i = stablehlo.convert %p : (tensor<ui32>) -> tensor<i32>
        %o = stablehlo.constant dense<1> : tensor<i32>
        %c = stablehlo.compare LT, %i, %o : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %x = "stablehlo.if"(%c) ({ %t = stablehlo.add %a, %a : tensor<4xf32> stablehlo.return %t : tensor<4xf32> }, { stablehlo.return %a : tensor<4xf32> }) : (tensor<i1>) -> tensor<4xf32>
        %y = "stablehlo.case"(%i) ({ stablehlo.return %a : tensor<4xf32> }, { %n = stablehlo.negate %a : tensor<4xf32> stablehlo.return %n : tensor<4xf32> }, { %n = stablehlo.sine %a : tensor<4xf32> stablehlo.return %n : tensor<4xf32> }) : (tensor<i32>) -> tensor<4xf32>
        return %x, %y : tensor<4xf32>, tensor<4xf32>""",
        4,
    ),
    Case(
        "chain",
        ("8x4xf32", "4x8xf32"),
        f"""
        %m = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
        %s = "stablehlo.reduce_scatter"(%m) <{{scatter_dimension = 0 : i64, {_channel(3)}, {_ALL}, use_global_device_ids}}> {region("add")} : (tensor<8x8xf32>) -> tensor<2x8xf32>
        %e = stablehlo.tanh %s : tensor<2x8xf32>
        %g = "stablehlo.all_gather"(%e) <{{all_gather_dim = 0 : i64, {_channel(5)}, {_ALL}, use_global_device_ids}}> : (tensor<2x8xf32>) -> tensor<8x8xf32>
        %n = stablehlo.dot_general %g, %a, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
        %r = "stablehlo.all_reduce"(%n) <{{{_channel(7)}, {_G2}, use_global_device_ids}}> {region("add")} : (tensor<8x4xf32>) -> tensor<8x4xf32>
        return %r, %e : tensor<8x4xf32>, tensor<2x8xf32>""",
        4,
    ),
]

CASES = [*ELEMENTWISE, *SHAPING, *REDUCTIONS, *CONTRACTIONS, *INDEXING, *COLLECTIVES]
