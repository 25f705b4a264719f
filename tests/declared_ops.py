"""Declared ops with rules, for tests: what each is, and how it may be split."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sample:
    """A declaration in Kina, and the rules of the op in a file of the same name."""

    name: str
    kina: str
    rules: str

    def write(self, folder: Path) -> Path:
        """Both files in a folder; the path of the rules."""
        (folder / f"{self.name}.kina").write_text(self.kina)
        path = folder / f"{self.name}.dl"
        path.write_text(self.rules)
        return path


def rules(name: str, *clauses: str) -> str:
    """A rule file whose clauses, each `what-it-does: clause`, have names and sentences."""
    parts = ['.once\n.include "sharding.dl"\n// Rules for a test.\n']
    for clause in clauses:
        what, _, text = clause.partition(": ")
        parts.append(f'/// The rule {what}.\n@[rule = "{name}.{what}"]\n{text}\n')
    return "\n".join(parts)


DOUBLE = Sample(
    "double",
    "(defop double ((a (tensor t [n d]))) (tensor t [n d]) (add a a))\n",
    rules(
        "double",
        'dims: factor(op, port, dim, dim) :- op_kind(op, "double"), port_value(op, port, value),'
        " value_dim(value, dim, _).",
        'linear: linear_alone(op, port, "sum") :- op_kind(op, "double"), op_operand(op, 0, port, _).',
    ),
)

#: Angles of places count from `start`, so the sequence can be split where the place of a shard is added.
ROTARY = Sample(
    "rotary",
    """(defop rotary ((x (tensor t [b s h d])) (start (position :default 0)) (base (real :default 100.0)))
  (tensor t [b s h d])
  (let ((half (/ d 2))
        (places (convert (add (iota i32 [s half] 0) (broadcast start [s half] [])) f64))
        (speeds (exp (mul (iota f64 [s half] 1) (/ -4.0 half))))
        (angle (mul (mul places speeds) (/ 100.0 base)))
        (c (broadcast (convert (cos angle) t) [b s h half] [1 3]))
        (z (broadcast (convert (sin angle) t) [b s h half] [1 3]))
        (l (slice x [0 0 0 0] [b s h half]))
        (r (slice x [0 0 0 half] [b s h d])))
    (concatenate (sub (mul l c) (mul r z)) (add (mul l z) (mul r c)) 3)))
""",
    rules(
        "rotary",
        'dims: factor(op, port, dim, dim) :- op_kind(op, "rotary"), port_value(op, port, value),'
        " value_dim(value, dim, _), dim < 3.",
        'pairs: dim_whole(op, port, 3) :- op_kind(op, "rotary"), port_value(op, port, _).',
        'start: attribute_follows(op, "start", 0, port, 1) :- op_kind(op, "rotary"),'
        " op_operand(op, 0, port, _).",
        'linear: linear_alone(op, port, "sum") :- op_kind(op, "rotary"), op_operand(op, 0, port, _).',
    )
    + 'attribute_localised("rotary", "start").\nattribute_indifferent("rotary", "base").\n',
)

#: The number of heads is that of the shard where the heads are split.
SPLIT_HEADS = Sample(
    "split_heads",
    """(defop split_heads ((x (tensor t [b m])) (heads (number :least 1)))
  (tensor t [b heads (/ m heads)])
  (reshape x [b heads (/ m heads)]))
""",
    rules(
        "split_heads",
        'batch: factor(op, port, 0, 0) :- op_kind(op, "split_heads"), port_value(op, port, _).',
        'result: factor(op, port, dim, dim) :- op_kind(op, "split_heads"), op_result(op, 0, port, value),'
        " value_dim(value, dim, _), dim > 0.",
        'major: factor_within(op, port, 1, 1, 1, heads) :- op_kind(op, "split_heads"),'
        ' op_number(op, "heads", heads), op_operand(op, 0, port, _).',
        'minor: factor_within(op, port, 1, 2, heads, width) :- op_kind(op, "split_heads"),'
        ' op_number(op, "heads", heads), op_operand(op, 0, port, _), op_result(op, 0, _, value),'
        " value_dim(value, 2, width).",
        'heads: attribute_follows(op, "heads", 0, port, 1) :- op_kind(op, "split_heads"),'
        " op_result(op, 0, port, _).",
        'keeps: shape_keeping(op) :- op_kind(op, "split_heads").',
        'any: linear_alone(op, port, reduction) :- op_kind(op, "split_heads"), op_operand(op, 0, port, _),'
        " reduction_known(reduction).",
    )
    + 'attribute_localised("split_heads", "heads").\n',
)

#: Two results, one of them combined over the columns.
ENERGY = Sample(
    "energy",
    """(defop energy ((a (tensor f32 [n d])) (w (tensor f32 [d])))
  (values (tensor f32 [n d]) (tensor f32 [n]))
  (let ((p (multiply a (broadcast w [n d] [1]))))
    (values p (sum (multiply p a) [1]))))
""",
    rules(
        "energy",
        'rows: factor(op, port, 0, 0) :- op_kind(op, "energy"), op_result(op, _, port, _).',
        'operand-rows: factor(op, port, 0, 0) :- op_kind(op, "energy"), op_operand(op, 0, port, _).',
        'weights-whole: dim_whole(op, port, 0) :- op_kind(op, "energy"), op_operand(op, 1, port, _).',
        'columns-whole: dim_whole(op, port, 1) :- op_kind(op, "energy"), port_value(op, port, value),'
        " value_dim(value, 1, _).",
    ),
)

#: A sum over the columns, which may be split: the result is then pending.
TOTALS = Sample(
    "totals",
    "(defop totals ((a (tensor t [n d])) (w (tensor t [n d]))) (tensor t [n]) (sum (multiply a w) [1]))\n",
    rules(
        "totals",
        'rows: factor(op, port, 0, 0) :- op_kind(op, "totals"), port_value(op, port, _).',
        'columns: factor(op, port, 1, 1) :- op_kind(op, "totals"), op_operand(op, _, port, _).',
        'sum: factor_reduced(op, 1, "sum") :- op_kind(op, "totals").',
        'linear: linear_alone(op, port, "sum") :- op_kind(op, "totals"), op_operand(op, _, port, _).',
    ),
)

SAMPLES = (DOUBLE, ROTARY, SPLIT_HEADS, ENERGY, TOTALS)
