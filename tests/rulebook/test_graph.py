"""The graph of relations: what is in it, where it stands, and the files that it becomes."""

from __future__ import annotations

import itertools
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kina import cli
from kina.datalog.rules import dependencies
from kina.rulebook.base import own_rules
from kina.rulebook.graph import Graph, graph_of
from kina.rulebook.layout import Box, place
from kina.rulebook.usage import declared, usages
from tests.command import kina_command

SVG = "{http://www.w3.org/2000/svg}"


def graph(about: str = "", depth: int = 2) -> Graph:
    rulebook = own_rules().rulebook
    return graph_of(rulebook, usages(rulebook), about, depth)


def test_every_relation_and_every_dependency_is_there() -> None:
    rulebook = own_rules().rulebook
    whole = graph()
    assert {usage.name for usage in whole.nodes} == {each.declared for each in rulebook.relations.values()}
    pairs = {
        (declared(rulebook, name), declared(rulebook, rule.head.relation))
        for rule in rulebook.rules
        for name, _ in dependencies(rule.clause)
    }
    assert {(edge.below, edge.above) for edge in whole.edges} == {
        pair for pair in pairs if pair[0] != pair[1]
    }


def test_what_a_file_shows() -> None:
    shown = graph("scatter.dl")
    inner = {"index_matched", "indices_meet", "written_once", "combiner_keeps", "lookup_divides"}
    assert shown.inner == inner
    assert {"counted_once", "index_dim", "dim_whole"} <= {usage.name for usage in shown.nodes}
    assert all({edge.below, edge.above} & shown.inner or "scatter.dl" in edge.files for edge in shown.edges)
    assert graph("rules/scatter.dl") == shown


def test_what_a_relation_shows() -> None:
    near = graph("window_meets", 1)
    assert {usage.name for usage in near.nodes} == {
        *("lookup_lists", "window_place", "window_lacks", "op_kind", "op_list"),
        *("window_meets", "window_spans"),
    }
    assert {usage.name for usage in graph("window_meets", 0).nodes} == {"window_meets"}
    (edge,) = (each for each in near.edges if each.below == "window_lacks" and each.above == "window_meets")
    assert edge.against


@pytest.mark.parametrize("about", ["", "layout.dl", "factor"])
def test_boxes_lie_in_their_file_and_apart(about: str) -> None:
    shown = graph(about)
    placed = place(shown)
    for usage in shown.nodes:
        assert _holds(placed.files[usage.file], placed.relations[usage.name])
    for boxes in (placed.files, placed.relations):
        for one, two in itertools.combinations(boxes.values(), 2):
            assert (
                one.x + one.width < two.x or two.x + two.width < one.x or _above(one, two) or _above(two, one)
            )
    assert all(_holds(Box(0, 0, placed.width, placed.height), box) for box in placed.files.values())


def _holds(outer: Box, inner: Box) -> bool:
    right, bottom = inner.x + inner.width, inner.y + inner.height
    return (
        outer.x <= inner.x
        and outer.y <= inner.y
        and right <= outer.x + outer.width
        and bottom <= outer.y + outer.height
    )


def _before(one: Box, two: Box) -> bool:
    return one.x + one.width < two.x


def _above(one: Box, two: Box) -> bool:
    return one.y + one.height < two.y


def test_the_picture_links_each_relation_to_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["rules", "graph", "window_spans", "--link", "https://example.org/"]) == 0
    root = ElementTree.fromstring(capsys.readouterr().out)
    links = {link.get("href"): link for link in root.iter(f"{SVG}a")}
    shown = graph("window_spans")
    assert set(links) == {
        f"https://example.org/{usage.relation.place.replace(':', '#L')}" for usage in shown.nodes
    }
    assert len(list(root.iter(f"{SVG}path"))) == len(shown.edges)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "section":
            self.ids.add(found["id"] or "")
        if tag == "a":
            self.links.add(found["href"] or "")


def test_the_page_has_a_section_for_each_link(tmp_path: Path) -> None:
    file = tmp_path / "rules of ours.html"
    assert cli.run(["rules", "graph", "-o", str(file)]) == 0
    page = _Page()
    page.feed(file.read_text(encoding="utf-8"))
    assert page.links == {f"#{name}" for name in page.ids}
    assert page.ids == {usage.name for usage in graph().nodes}


def test_equal_rules_give_equal_bytes() -> None:
    one, two = (kina_command("rules", "graph", PYTHONHASHSEED=seed).stdout for seed in ("1", "2"))
    assert one == two
    assert one.startswith("<svg ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lookup_windws"], "near it: `lookup_windows`"),
        (["nowhere.dl"], "there is no rule file and no relation `nowhere.dl`"),
        (["-o", "a.png"], "ends in .svg or .html"),
        (["-o", "/no/such/folder/a.svg"], "cannot write"),
    ],
)
def test_what_cannot_be_drawn(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["rules", "graph", *arguments]) == 2
    found = capsys.readouterr()
    assert said in found.err
    assert found.out == ""
