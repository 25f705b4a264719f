"""The GPT training step that every tool is given: sizes, parameters, and four ways to annotate them.

One table of annotations is written both as a Kina program and as `sdy.sharding` attributes, so that the tools
are asked the same.
"""

from __future__ import annotations

from dataclasses import dataclass

#: dim, mesh axis, priority.
Note = tuple[int, str, int]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large the model is: `layers` blocks; `norm` asks for the norm of all gradients."""

    layers: int
    batch: int = 8
    length: int = 32
    width: int = 64
    heads: int = 4
    vocabulary: int = 256
    norm: bool = False

    @property
    def head(self) -> int:
        return self.width // self.heads

    @property
    def hidden(self) -> int:
        return 4 * self.width


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of the step; `layer` is -1 outside the blocks."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Scheme:
    """A mesh and the annotations of parameters, by name; those of a block are the same in each."""

    name: str
    title: str
    mesh: tuple[tuple[str, int], ...]
    notes: tuple[tuple[str, tuple[Note, ...]], ...]

    @property
    def devices(self) -> int:
        count = 1
        for _, size in self.mesh:
            count *= size
        return count

    @property
    def embeds(self) -> bool:
        """Whether the model begins with tokens; otherwise with the sum of two tensors, `left` and `right`."""
        return not self.on("left")

    def on(self, name: str) -> tuple[Note, ...]:
        """The annotations of a parameter."""
        return dict(self.notes).get(name, ())


_BATCH: tuple[tuple[str, tuple[Note, ...]], ...] = (
    ("tokens", ((0, "data", 0),)),
    ("targets", ((0, "data", 0),)),
)
_MODEL: tuple[tuple[str, tuple[Note, ...]], ...] = (("wq", ((1, "model", 0),)), ("w_up", ((1, "model", 0),)))
_STORED: tuple[tuple[str, tuple[Note, ...]], ...] = tuple(
    (name, ((0, "data", 1),)) for name in ("wq", "wk", "wv", "wo", "w_up", "w_down")
)

SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme("data", "data parallel, 4", (("data", 4),), _BATCH),
        Scheme("tensor", "tensor parallel, 4", (("model", 4),), _MODEL),
        Scheme("data_tensor", "data 2 × tensor 2", (("data", 2), ("model", 2)), (*_BATCH, *_MODEL)),
        Scheme("fsdp", "fully sharded data parallel, 4", (("data", 4),), (*_BATCH, *_STORED)),
    )
}

#: Annotations that ask for different things, which tools settle in ways of their own.
OPEN_SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme(
            "fsdp_flat",
            "fully sharded, without priorities",
            (("data", 4),),
            (*_BATCH, *((name, tuple((dim, axis, 0) for dim, axis, _ in notes)) for name, notes in _STORED)),
        ),
        Scheme(
            "two_inputs",
            "inputs split by batch and by sequence",
            (("data", 4),),
            (("left", ((0, "data", 0),)), ("right", ((1, "data", 0),)), ("targets", ((0, "data", 0),))),
        ),
    )
}
ALL_SCHEMES = SCHEMES | OPEN_SCHEMES

#: Arguments that a step does not train.
FROZEN = ("tokens", "targets", "left", "right")

#: The step of `examples/gpt_100m.kina`.
LARGE_SIZES = Sizes(12, 8, 128, 768, 12, 32768, norm=True)
LARGE = Scheme(
    "tensor_large",
    "tensor parallel, 4, vocabulary split",
    (("model", 4),),
    (*_MODEL, ("logits", ((2, "model", 0),))),
)


def outer(sizes: Sizes, scheme: Scheme) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
    """Name, dtype and shape of the parameters outside the blocks, in the order of the arguments."""
    ids, table = (sizes.batch, sizes.length), ("table", "f32", (sizes.vocabulary, sizes.width))
    norm = (("gamma", "f32", (sizes.width,)), ("beta", "f32", (sizes.width,)))
    if scheme.embeds:
        positions = ("positions", "f32", (sizes.length, sizes.width))
        return ("tokens", "i32", ids), ("targets", "i32", ids), table, positions, *norm
    states = (*ids, sizes.width)
    return ("left", "f32", states), ("right", "f32", states), ("targets", "i32", ids), table, *norm


def inner(sizes: Sizes) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
    """The same for the parameters of one block."""
    width, heads = sizes.width, (sizes.width, sizes.heads, sizes.head)
    return (
        ("gamma1", "f32", (width,)),
        ("beta1", "f32", (width,)),
        ("wq", "f32", heads),
        ("wk", "f32", heads),
        ("wv", "f32", heads),
        ("wo", "f32", (sizes.heads, sizes.head, width)),
        ("gamma2", "f32", (width,)),
        ("beta2", "f32", (width,)),
        ("w_up", "f32", (width, sizes.hidden)),
        ("w_down", "f32", (sizes.hidden, width)),
    )


def parameters(sizes: Sizes, scheme: Scheme) -> tuple[Parameter, ...]:
    """All arguments in order, those of the blocks as `layer[3].wq`."""
    rows = [(name, name, dtype, shape) for name, dtype, shape in outer(sizes, scheme)]
    for layer in range(sizes.layers):
        rows += [(f"layer[{layer}].{name}", name, dtype, shape) for name, dtype, shape in inner(sizes)]
    return tuple(Parameter(full, dtype, shape, scheme.on(name)) for full, name, dtype, shape in rows)


def kina_program(sizes: Sizes, scheme: Scheme) -> str:
    """The step as a Kina program."""
    mesh = " ".join(f"({axis} {size})" for axis, size in scheme.mesh)
    given = "\n             ".join(_declared(scheme, *row) for row in outer(sizes, scheme))
    block = "\n                      ".join(_declared(scheme, *row) for row in inner(sizes))
    names = " ".join(name for name, _, _ in inner(sizes))
    arguments = " ".join(name for name, _, _ in outer(sizes, scheme) if name != "targets")
    first = "(add (embedding table tokens) positions)" if scheme.embeds else "(add left right)"
    options = f"{'' if scheme.embeds else ' :frozen [left right]'}{' :norm true' if sizes.norm else ''}"
    return f"""; A training step of a GPT with {sizes.layers} layers, {scheme.title}.
(mesh {mesh})

(defn gpt ({arguments})
  (let ((x {first})
        (y (repeat (layer i {sizes.layers}) ((x x))
             :params ({block})
             (transformer_block x {names}))))
    {_noted(scheme, "logits", '(einsum "bsd,vd->bsv" (layer_norm y gamma beta) table)')}))

(defn train ({given})
  (let ((logits (gpt {arguments})))
    (train_step (cross_entropy logits targets) sgd :lr 0.1{options})))
"""


def _noted(scheme: Scheme, name: str, expression: str) -> str:
    notes = _notes(scheme, name)
    return f"(@ {expression}{notes})" if notes else expression


def _notes(scheme: Scheme, name: str) -> str:
    """` @sharded(axis=1, mesh=model)`, or nothing."""
    return "".join(
        f" @sharded(axis={dim}, mesh={axis}{f', priority={priority}' if priority else ''})"
        for dim, axis, priority in scheme.on(name)
    )


def _declared(scheme: Scheme, name: str, dtype: str, shape: tuple[int, ...]) -> str:
    """`(wq (tensor f32 [64 4 16]) @sharded(axis=1, mesh=model))`."""
    return f"({name} (tensor {dtype} [{' '.join(map(str, shape))}]){_notes(scheme, name)})"


def shardy_attribute(parameter: Parameter) -> str | None:
    """The annotations as Shardy writes them: annotated dims closed, the others open."""
    if not parameter.notes:
        return None
    dims = {dim: (axis, priority) for dim, axis, priority in parameter.notes}
    words = []
    for dim in range(len(parameter.shape)):
        axis, priority = dims.get(dim, ("", 0))
        words.append(f'{{"{axis}"}}{f"p{priority}" if priority else ""}' if axis else "{?}")
    return f"#sdy.sharding<@mesh, [{', '.join(words)}]>"
