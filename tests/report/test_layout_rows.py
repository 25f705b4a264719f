"""Which tensors the table of layouts shows."""

from __future__ import annotations

from kina.pipeline import Options, check
from kina.report.tables import layout_rows
from kina.source import Source


def shown(text: str) -> list[str]:
    result = check(Source("t.kina", text), Options(solver="clingo"))
    assert result.program is not None
    assert result.decisions is not None
    rows, _ = layout_rows(result.program, result.decisions, False)
    return [row[0] for row in rows]


def test_every_result_of_a_form_is_shown_and_nothing_inside_it() -> None:
    names = shown(
        "(mesh (x 2)) (defn f ((a (tensor f32 [4 8])))"
        "  (let (((top ids) (top_k a 2))) (values (exp top) ids)))"
    )
    assert names == ["f.a", "f.top", "f.ids", "f.exp"]


def test_gradients_of_repeated_layers_are_shown_on_one_row_each() -> None:
    names = shown("""
        (mesh (x 2))
        (defn net (h) (repeat (layer i 3) ((h h)) :params ((w (tensor f32 [8 8]))) (tanh (matmul h w))))
        (defn f ((a (tensor f32 [4 8]))) (train_step (mean (net a)) sgd :frozen a))
    """)
    assert "net.layer[0-2].w'" in names
    assert "net.layer[0-2].w.next" in names
    assert "net.layer[0-2].matmul" in names
    assert "net.layer[0-1].tanh" in names
    assert not [name for name in names if "×" in name or ".sgd." in name]
