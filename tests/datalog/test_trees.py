"""Syntax trees that are kept between runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from kina.datalog import cache, grammar, trees
from kina.diagnostics.finding import ProgramError
from kina.paths import rules_path
from kina.source import Source

FILES = sorted(rules_path().glob("*.dl"))
EVERYTHING = """.type V <: symbol
.type N = number
.once
.include "more.dl"
/// Sizes, in elements.
@[says = "`{v}` has {n}"]
@[hide]
.decl size(v: V, n: N)
.input size
.comp C { .decl s(n: N) s(-1). }
.comp D : C { s(n) :- size(_, n), n > 1 + 2 * 3, !s(0), n = sum m : { size(_, m), m != n }. }
.init d = D
s(n) :- n = count : { size("x", _) }.
"""


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINA_CACHE", str(tmp_path))
    trees.parse.cache_clear()


def again(source: Source, monkeypatch: pytest.MonkeyPatch) -> object:
    """The tree of a second process, which has no parser."""
    trees.parse.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(grammar, "parse", lambda _: pytest.fail("parsed again"))
        return trees.parse(source)


@pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])
def test_a_kept_tree_is_the_parsed_one(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source(file.name, file.read_text(encoding="utf-8"))
    parsed = grammar.parse(source)
    assert trees.parse(source) == parsed
    assert again(source, monkeypatch) == parsed


def test_every_kind_of_node_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source("x.dl", EVERYTHING)
    parsed = grammar.parse(source)
    assert trees.parse(source) == parsed
    assert again(source, monkeypatch) == parsed
    seen = {type(node).__name__ for item in parsed.items for node in nodes(item)}
    assert seen >= {each.__name__ for each in trees.CLASSES}


def nodes(node: object) -> list[object]:
    """A node and all that is in it."""
    if isinstance(node, tuple):
        return [each for part in node for each in nodes(part)]
    if type(node) not in trees.CLASSES:
        return []
    return [node, *(each for name in node.__slots__ for each in nodes(getattr(node, name)))]  # type: ignore[attr-defined]


def test_the_same_text_under_another_name_is_read_for_that_name(monkeypatch: pytest.MonkeyPatch) -> None:
    trees.parse(Source("x.dl", EVERYTHING))
    found = again(Source("y.dl", EVERYTHING), monkeypatch)
    assert found == grammar.parse(Source("y.dl", EVERYTHING))


@pytest.mark.parametrize("data", [None, [], 3, {"items": 3}, {"items": [3, [1]]}, {"items": [[99, 1]]}])
def test_what_is_no_tree_is_parsed_anew(tmp_path: Path, data: object) -> None:
    source = Source("x.dl", EVERYTHING)
    trees.parse(source)
    for file in tmp_path.glob("*.json"):
        cache.write(file.stem, data)
    trees.parse.cache_clear()
    assert trees.parse(source) == grammar.parse(source)


def test_a_fault_is_found_each_time(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(ProgramError):
            trees.parse(Source("x.dl", "p(x) :- q(x"))
    assert list(tmp_path.iterdir()) == []
