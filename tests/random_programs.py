"""Random programs in Kina's language, for tests of whole pipelines. Equal seeds give equal programs.

Shapes are drawn from few sizes, so that some are equal by chance; annotations put axes on dims in both
orders; every kind of op is drawn about equally often. Ops that jump (floor, argmax, sort, …) or that amplify
errors (divide, log, …) take values that have the same bits on any number of devices: then a difference is
a mistake.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod

MESHES = (("x", 4),), (("x", 2), ("y", 2)), (("a", 2), ("b", 4)), (("x", 3),), (("x", 2), ("y", 2), ("z", 2))
FLOATS = ("f64", "f32", "bf16", "f16")


@dataclass(frozen=True)
class V:
    """A value: `exact` if rounding cannot depend on the layout."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    exact: bool
    parameter: bool = False


@dataclass
class Maker:
    """One program in the making."""

    seed: int
    rng: random.Random = field(init=False)
    mesh: tuple[tuple[str, int], ...] = field(init=False)
    float: str = field(init=False)
    sizes: tuple[int, ...] = field(init=False)
    parameters: list[str] = field(init=False, default_factory=list)
    bindings: list[str] = field(init=False, default_factory=list)
    pool: list[V] = field(init=False, default_factory=list)
    used: set[str] = field(init=False, default_factory=set)
    notes: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.rng = random.Random(f"kina {self.seed}")
        self.mesh = self.rng.choice(MESHES)
        self.float = self.rng.choices(FLOATS, (10, 8, 1, 1))[0]
        self.sizes = (3, 6, 6, 12, 2) if self.mesh[0][1] == 3 else (4, 8, 8, 2, 16, 3)

    # -- values

    def parameter(self, dtype: str, shape: tuple[int, ...]) -> V:
        name = f"p{len(self.parameters)}"
        value = V(name, dtype, shape, True, True)
        type_ = f"(tensor {dtype} {listed(shape)})"
        self.parameters.append(f"({name} {type_}{self.annotations(value)})")
        self.pool.append(value)
        return value

    def annotations(self, value: V, chance: float = 0.45) -> str:
        """None mostly; else dims over axes, two axes on a dim in any order, now and then a pending sum."""
        found, free = "", [name for name, _ in self.mesh]
        self.rng.shuffle(free)
        if self.notes >= 4 or not value.shape or self.rng.random() > chance:
            return ""
        pending = value.parameter and value.dtype in FLOATS and self.rng.random() < 0.12
        if pending:
            kind = self.rng.choice(("sum", "sum", "max", "min"))
            wide = value.dtype in ("f64", "f32")
            return f" @pending(mesh={free.pop()}, kind={kind})" if wide else ""
        for dim in self.rng.sample(
            range(len(value.shape)), min(len(value.shape), self.rng.choice((1, 1, 2)))
        ):
            axes = self.take(free, value.shape[dim])
            if axes:
                word = axes[0] if len(axes) == 1 else f"({','.join(axes)})"
                found += f" @sharded(axis={dim}, mesh={word}{self.rng.choice(('', '', '', ', priority=1'))})"
        if found:
            self.notes += 1
        return found

    def take(self, free: list[str], size: int) -> list[str]:
        """One or two axes out of `free` whose product divides `size`."""
        sizes, taken = dict(self.mesh), []
        for _ in range(self.rng.choice((1, 1, 2))):
            fitting = [axis for axis in free if size % (prod(sizes[a] for a in taken) * sizes[axis]) == 0]
            if fitting:
                taken.append(self.rng.choice(fitting))
                free.remove(taken[-1])
        return taken

    def shape(self, low: int = 1, high: int = 3) -> tuple[int, ...]:
        return tuple(self.rng.choice(self.sizes) for _ in range(self.rng.randint(low, high)))

    def pick(
        self,
        dtype: str = "",
        low: int = 0,
        high: int = 4,
        exact: bool = False,
        wanted: Callable[[V], bool] = bool,
    ) -> V:
        """A value that is there, else a new parameter."""
        dtype = dtype or self.float
        fitting = [
            v
            for v in self.pool
            if v.dtype == dtype and low <= len(v.shape) <= high and (v.exact or not exact) and wanted(v)
        ]
        if fitting and self.rng.random() < 0.8:
            # late values more often, so that programs are deep
            chosen = fitting[max(self.rng.randrange(len(fitting)), self.rng.randrange(len(fitting)))]
        else:
            chosen = self.parameter(dtype, self.shape(max(low, 1), min(high, 3)))
            if not wanted(chosen):
                chosen = fitting[-1] if fitting else chosen
        self.used.add(chosen.name)
        return chosen

    def shaped(self, dtype: str, shape: tuple[int, ...], exact: bool = False) -> V:
        """A value of just this type."""
        fitting = [v for v in self.pool if (v.dtype, v.shape) == (dtype, shape) and (v.exact or not exact)]
        chosen = (
            self.rng.choice(fitting) if fitting and self.rng.random() < 0.7 else self.parameter(dtype, shape)
        )
        self.used.add(chosen.name)
        return chosen

    def let(self, text: str, dtype: str, shape: tuple[int, ...], exact: bool) -> V:
        name = f"v{len(self.bindings)}"
        value = V(name, dtype, shape, exact)
        note = self.annotations(value, 0.06)
        self.bindings.append(f"({name} {f'(@ {text}{note})' if note else text})")
        self.pool.append(value)
        return value

    def pair(
        self, text: str, one: tuple[str, tuple[int, ...]], two: tuple[str, tuple[int, ...]], exact: bool
    ) -> None:
        number = len(self.bindings)
        self.bindings.append(f"((v{number} w{number}) {text})")
        self.pool += [V(f"v{number}", *one, exact), V(f"w{number}", *two, exact)]

    # -- the program

    def text(self, ops: int) -> str:
        makers = list(OPS.items())
        self.rng.shuffle(makers)
        return self.of([make for _, make in makers[:ops]])

    def of(self, makers: Sequence[Make]) -> str:
        """The program in which each of the makers had its turn."""
        for make in makers:
            make(self)
        ends = [v for v in self.pool if v.name not in self.used and not v.parameter] or self.pool[-1:]
        results = " ".join(self.end(v) for v in ends)
        axes = " ".join(f"({name} {size})" for name, size in self.mesh)
        lets = "\n        ".join(self.bindings)
        body = f"(values {results})" if len(ends) > 1 else results
        parameters = "\n         ".join(self.parameters)
        return f"(mesh {axes})\n(defn f ({parameters})\n  (let ({lets})\n    {body}))\n"

    def end(self, value: V) -> str:
        note = self.annotations(value, 0.15) or self.rng.choice(("", "", "", " @replicated"))
        return f"(@ {value.name}{note})" if note else value.name


Make = Callable[[Maker], object]


def listed(numbers: object) -> str:
    return f"[{' '.join(map(str, numbers))}]"  # type: ignore[call-overload]


def unary(name: str, exact: bool = False, dtype: str = "") -> Make:
    def make(m: Maker) -> object:
        x = m.pick(dtype, exact=exact)
        return m.let(f"({name} {x.name})", x.dtype, x.shape, x.exact)

    return make


def binary(name: str, exact: bool = False, dtype: str = "") -> Make:
    def make(m: Maker) -> object:
        x = m.pick(dtype, exact=exact)
        y = m.shaped(x.dtype, x.shape, exact)
        pair = [x, y]
        m.rng.shuffle(pair)
        return m.let(f"({name} {pair[0].name} {pair[1].name})", x.dtype, x.shape, x.exact and y.exact)

    return make


def shifted(name: str) -> Make:
    """Amounts and divisors are constants: others would be out of range."""

    def make(m: Maker) -> object:
        x = m.pick("i32")
        return m.let(f"({name} {x.name} {m.rng.randint(1, 5)})", "i32", x.shape, True)

    return make


def positive(name: str) -> Make:
    """Of what is above a half."""

    def make(m: Maker) -> object:
        x = m.pick(exact=True)
        return m.let(f"({name} (add (abs {x.name}) 0.5))", x.dtype, x.shape, True)

    return make


def quotient(name: str) -> Make:
    def make(m: Maker) -> object:
        x = m.pick(exact=name != "divide")
        y = m.shaped(x.dtype, x.shape, True)
        return m.let(f"({name} {x.name} (add (abs {y.name}) 0.5))", x.dtype, x.shape, x.exact)

    return make


def power(m: Maker) -> object:
    x = m.pick(exact=True)
    return m.let(
        f"(power (add (abs {x.name}) 0.5) {m.rng.choice(('0.5', '-1.5', '2'))})", x.dtype, x.shape, True
    )


def compare(m: Maker) -> object:
    x = m.pick(m.rng.choice((m.float, "i32")), exact=True)
    y = m.shaped(x.dtype, x.shape, True)
    word = m.rng.choice(("EQ", "NE", "LT", "LE", "GT", "GE"))
    return m.let(f"(compare {x.name} {y.name} {word})", "bool", x.shape, True)


def is_finite(m: Maker) -> object:
    x = m.pick(exact=True)
    return m.let(f"(is_finite {x.name})", "bool", x.shape, True)


def logical(name: str) -> Make:
    def make(m: Maker) -> object:
        dtype = m.rng.choice(("bool", "i32"))
        x = m.pick(dtype)
        other = "" if name == "not" else " " + m.shaped(dtype, x.shape).name
        return m.let(f"({name} {x.name}{other})", dtype, x.shape, True)

    return make


def convert(m: Maker) -> object:
    x = m.pick(m.rng.choice(("bool", "i32", m.float)), exact=True)
    target = m.rng.choice([t for t in (m.float, "i32", "i64") if t != x.dtype])
    return m.let(f"(convert {x.name} {target})", target, x.shape, True)


def select(m: Maker) -> object:
    x = m.pick()
    y, c = m.shaped(x.dtype, x.shape), m.shaped("bool", x.shape)
    return m.let(f"(select {c.name} {x.name} {y.name})", x.dtype, x.shape, x.exact and y.exact)


def clamp(m: Maker) -> object:
    x = m.pick()
    return m.let(f"(clamp -1 {x.name} 1)", x.dtype, x.shape, x.exact)


def broadcast(m: Maker) -> object:
    x = m.pick(high=2)
    extra, at = m.rng.choice(m.sizes), m.rng.randint(0, len(x.shape))
    shape = (*x.shape[:at], extra, *x.shape[at:])
    dims = [d if d < at else d + 1 for d in range(len(x.shape))]
    return m.let(f"(broadcast {x.name} {listed(shape)} {listed(dims)})", x.dtype, shape, x.exact)


def transpose(m: Maker) -> object:
    x = m.pick(low=2)
    order = m.rng.sample(range(len(x.shape)), len(x.shape))
    shape = tuple(x.shape[d] for d in order)
    return m.let(f"(transpose {x.name} {listed(order)})", x.dtype, shape, x.exact)


def reshape(m: Maker) -> object:
    x = m.pick(low=1)
    count = prod(x.shape)
    splits = [s for s in (1, 2, 3, 4, 6, 8, 12) if count % s == 0]
    if len(x.shape) > 1 and m.rng.random() < 0.5:
        at = m.rng.randrange(len(x.shape) - 1)
        shape = (*x.shape[:at], x.shape[at] * x.shape[at + 1], *x.shape[at + 2 :])
    else:
        first = m.rng.choice(splits)
        shape = (first, count // first)
    return m.let(f"(reshape {x.name} {listed(shape)})", x.dtype, shape, x.exact)


def slice_(m: Maker) -> object:
    x = m.pick(low=1)
    dim = m.rng.randrange(len(x.shape))
    bounds = [(0, n, 1) for n in x.shape]
    start = m.rng.randint(0, x.shape[dim] - 1)
    bounds[dim] = (start, m.rng.randint(start + 1, x.shape[dim]), m.rng.choice((1, 1, 2)))
    shape = tuple(-(-(b - a) // s) for a, b, s in bounds)
    starts, limits, strides = (listed(part) for part in zip(*bounds, strict=True))
    return m.let(f"(slice {x.name} {starts} {limits} :strides {strides})", x.dtype, shape, x.exact)


def concatenate(m: Maker) -> object:
    x = m.pick(low=1)
    dim = m.rng.randrange(len(x.shape))
    y = m.shaped(x.dtype, x.shape)
    shape = (*x.shape[:dim], 2 * x.shape[dim], *x.shape[dim + 1 :])
    return m.let(f"(concatenate {x.name} {y.name} {dim})", x.dtype, shape, x.exact and y.exact)


def pad(m: Maker) -> object:
    x = m.pick(low=1)
    dim = m.rng.randrange(len(x.shape))
    low, high, between = [[0] * len(x.shape) for _ in range(3)]
    low[dim], high[dim], between[dim] = m.rng.randint(-1, 2), m.rng.randint(0, 2), m.rng.choice((0, 0, 1))
    size = low[dim] + high[dim] + x.shape[dim] + (x.shape[dim] - 1) * between[dim]
    shape = (*x.shape[:dim], size, *x.shape[dim + 1 :])
    text = (
        f"(pad {x.name} {m.rng.choice((0, 0, 7))} {listed(low)} {listed(high)} :interior {listed(between)})"
    )
    return m.let(text, x.dtype, shape, x.exact)


def reverse(m: Maker) -> object:
    x = m.pick(low=1)
    return m.let(f"(reverse {x.name} [{m.rng.randrange(len(x.shape))}])", x.dtype, x.shape, x.exact)


def dynamic_slice(m: Maker) -> object:
    x = m.pick(low=1)
    dim = m.rng.randrange(len(x.shape))
    sizes = list(x.shape)
    sizes[dim] = m.rng.randint(1, x.shape[dim])
    starts = ["0"] * len(sizes)
    starts[dim] = m.shaped("i32", ()).name
    text = f"(dynamic_slice {x.name} {listed(sizes)} {' '.join(starts)})"
    return m.let(text, x.dtype, tuple(sizes), x.exact)


def dynamic_update_slice(m: Maker) -> object:
    x = m.pick(low=1)
    dim = m.rng.randrange(len(x.shape))
    sizes = list(x.shape)
    sizes[dim] = m.rng.randint(1, x.shape[dim])
    update = m.shaped(x.dtype, tuple(sizes))
    starts = ["0"] * len(sizes)
    starts[dim] = m.shaped("i32", ()).name
    text = f"(dynamic_update_slice {x.name} {update.name} {' '.join(starts)})"
    return m.let(text, x.dtype, x.shape, x.exact and update.exact)


def dot(m: Maker) -> object:
    """A matrix product of values that are there, batched at times, or a contraction over two dims."""
    x = m.pick(low=2, high=3, wanted=lambda v: max(v.shape) < 200)
    if len(x.shape) == 3 and m.rng.random() < 0.6:
        equation, shape = m.rng.choice(
            (
                ("bij,bjk->bik", (x.shape[0], x.shape[2])),
                ("bij,ijk->bk", (x.shape[1], x.shape[2])),
                ("bij,jk->bik", (x.shape[2],)),
                ("bij,bik->jk", (x.shape[0], x.shape[1])),
            )
        )
    elif len(x.shape) == 3:
        equation, shape = "bij,kj->bki", (0, x.shape[2])
    else:
        equation, shape = m.rng.choice(
            (("ij,jk->ik", (x.shape[1],)), ("ij,ik->kj", (x.shape[0],)), ("ji,jk->ki", (x.shape[0],)))
        )
    free = m.rng.choice(m.sizes)
    other = (free, shape[1]) if shape[0] == 0 else (*shape, free)
    y = m.shaped(x.dtype, other)
    letters = dict(zip(equation.split(",")[0], x.shape, strict=True)) | {"k": free}
    result = tuple(letters[letter] for letter in equation.split("->")[1])
    return m.let(f'(einsum "{equation}" {x.name} {y.name})', x.dtype, result, False)


def convolution(m: Maker) -> object:
    n, groups = m.rng.choice(m.sizes), m.rng.choice((1, 1, 2, 4))
    per_group, outputs = m.rng.choice((1, 2, 4)), groups * m.rng.choice((1, 2, 4))
    image = m.shaped(m.float, (n, groups * per_group, 5, 4))
    kernel = m.shaped(m.float, (outputs, per_group, 3, 3))
    stride, padding = m.rng.choice((1, 2)), m.rng.choice((0, 1))
    rows, columns = ((size + 2 * padding - 3) // stride + 1 for size in (5, 4))
    text = f"(conv2d {image.name} {kernel.name} :stride {stride} :padding {padding} :groups {groups})"
    return m.let(text, m.float, (n, outputs, rows, columns), False)


def reduce(m: Maker) -> object:
    dtype = m.rng.choice((m.float, m.float, "i32", "bool"))
    x = m.pick(dtype, low=1)
    kinds = {"bool": ("and", "or"), "i32": ("sum", "max", "and", "or")}.get(
        dtype, ("sum", "max", "min", "sum", "prod")
    )
    kind = m.rng.choice(kinds)
    dims = sorted(m.rng.sample(range(len(x.shape)), m.rng.randint(1, len(x.shape))))
    shape = tuple(n for d, n in enumerate(x.shape) if d not in dims)
    exact = x.exact and (kind in ("max", "min") or dtype in ("i32", "bool"))
    return m.let(f"(reduce {x.name} {kind} {listed(dims)})", dtype, shape, exact)


def cumulative(m: Maker) -> object:
    x = m.pick(low=1)
    dim, kind = m.rng.randrange(len(x.shape)), m.rng.choice(("sum", "max", "min", "sum"))
    back = m.rng.choice(("", " :reverse true"))
    return m.let(f"(cumulative {x.name} {dim} {kind}{back})", x.dtype, x.shape, x.exact and kind != "sum")


def argmax(m: Maker) -> object:
    x = m.pick(low=1, exact=True)
    dim = m.rng.randrange(len(x.shape))
    shape = (*x.shape[:dim], *x.shape[dim + 1 :])
    return m.let(f"({m.rng.choice(('argmax', 'argmin'))} {x.name} {dim})", "i32", shape, True)


def sort(m: Maker) -> object:
    x = m.pick(low=1, exact=True)
    dim, way = m.rng.randrange(len(x.shape)), m.rng.choice(("ascending", "descending"))
    if m.rng.random() < 0.5:
        return m.let(f"(sort {x.name} {dim} :direction {way})", x.dtype, x.shape, True)
    y = m.shaped("i32", x.shape)
    return m.pair(
        f"(sort {x.name} {y.name} {dim} :direction {way})", (x.dtype, x.shape), ("i32", x.shape), True
    )


def top_k(m: Maker) -> object:
    x = m.pick(low=1, exact=True)
    shape = (*x.shape[:-1], m.rng.randint(1, x.shape[-1]))
    return m.pair(f"(top_k {x.name} {shape[-1]})", (x.dtype, shape), ("i32", shape), True)


def gather(m: Maker) -> object:
    x = m.pick(low=1, high=2)
    ids = m.parameter("i32", m.shape(1, 2))
    m.used.add(ids.name)
    return m.let(f"(take {x.name} {ids.name})", x.dtype, (*ids.shape, *x.shape[1:]), x.exact)


def scatter(m: Maker) -> object:
    x = m.pick(low=1, high=2)
    ids = m.parameter("i32", m.shape(1, 1))
    m.used.add(ids.name)
    rows = m.shaped(x.dtype, (*ids.shape, *x.shape[1:]))
    word = m.rng.choice(("add", "add", "max", "min", "set"))
    # which of equal ids is written last is the order of the updates, everywhere
    return m.let(
        f"(scatter_{word} {x.name} {ids.name} {rows.name})",
        x.dtype,
        x.shape,
        word != "add" and x.exact and rows.exact,
    )


def iota(m: Maker) -> object:
    x = m.pick(m.rng.choice((m.float, "i32")), low=1)
    made = f"(iota {x.dtype} {listed(x.shape)} {m.rng.randrange(len(x.shape))})"
    return m.let(f"({m.rng.choice(('add', 'maximum'))} {x.name} {made})", x.dtype, x.shape, x.exact)


def constant(m: Maker) -> object:
    x = m.pick(low=1)
    row = listed([m.rng.randint(-3, 3) for _ in range(x.shape[-1])])
    return m.let(f"(multiply {x.name} (constant {row} :dtype {x.dtype}))", x.dtype, x.shape, x.exact)


def random_numbers(m: Maker) -> object:
    x = m.pick(low=1)
    made = f"(convert (rng_uniform {m.rng.randint(0, 99)} f32 {listed(x.shape)}) {x.dtype})"
    made = made if x.dtype != "f32" else f"(rng_uniform {m.rng.randint(0, 99)} f32 {listed(x.shape)})"
    return m.let(f"(add {x.name} {made})", x.dtype, x.shape, x.exact)


def barrier(m: Maker) -> object:
    x = m.pick()
    return m.let(f"(optimization_barrier {x.name})", x.dtype, x.shape, x.exact)


def reshard(m: Maker) -> object:
    x = m.pick()
    return m.let(f"(reshard {x.name})", x.dtype, x.shape, x.exact)


def softmax(m: Maker) -> object:
    x = m.pick(low=1)
    return m.let(f"(softmax {x.name} {m.rng.randrange(len(x.shape))})", x.dtype, x.shape, False)


_SMOOTH = (
    "abs",
    "negate",
    "exponential",
    "exponential_minus_one",
    "logistic",
    "tanh",
    "sine",
    "cosine",
    "erf",
)

OPS: dict[str, Make] = {
    **{name: unary(name) for name in _SMOOTH},
    **{name: unary(name, True) for name in ["cbrt", "sign", "floor", "ceil", "round_nearest_even", "tan"]},
    **{name: positive(name) for name in ["log", "log_plus_one", "sqrt", "rsqrt"]},
    **{name: binary(name) for name in ["add", "subtract", "multiply", "maximum", "minimum"]},
    **{f"{name} again": binary(name) for name in ["add", "subtract", "multiply"]},
    "atan2": binary("atan2", True),
    "add of whole numbers": binary("add", dtype="i32"),
    **{name: quotient(name) for name in ("divide", "remainder")},
    **{name: logical(name) for name in ("not", "and", "or", "xor")},
    **{name: shifted(name) for name in ("shift_left", "shift_right_logical", "shift_right_arithmetic")},
    "power": power, "compare": compare, "is_finite": is_finite, "convert": convert, "select": select,
    "clamp": clamp, "broadcast": broadcast, "transpose": transpose, "transpose again": transpose,
    "reshape": reshape, "reshape again": reshape, "slice": slice_, "concatenate": concatenate, "pad": pad,
    "reverse": reverse, "dynamic_slice": dynamic_slice, "dynamic_update_slice": dynamic_update_slice,
    "dot": dot, "dot again": dot, "dot once more": dot, "dot for the fourth time": dot,
    "convolution": convolution, "reduce": reduce, "reduce again": reduce, "cumulative": cumulative,
    "argmax": argmax, "sort": sort, "top_k": top_k, "gather": gather, "scatter": scatter, "iota": iota,
    "constant": constant, "random numbers": random_numbers, "barrier": barrier, "reshard": reshard,
    "softmax": softmax,
}  # fmt: skip


def random_program(seed: int, ops: int = 8) -> str:
    """The text of a program with about `ops` forms."""
    return Maker(seed).text(ops)
