"""Rules kept between runs: the same answers, and nothing believed that is not whole or not of today."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kina.datalog import cache, trees
from kina.datalog.compiled import Compiled, compile_text
from kina.datalog.engine import solve
from kina.diagnostics.finding import ProgramError

ENTRY = '.include "rules.dl"\n'
RULES = """
.once
.type Name <: symbol
.decl given(name: Name, size: number)
.input given
.decl large(name: Name)
.output large
large(name) :- given(name, size), size > 4, name != "none".
"""
FACTS = {"given": [("a", 3), ("b", 5), ("none", 9)]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and rules beside it."""
    monkeypatch.setenv("KINA_CACHE", str(tmp_path / "cache"))
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "rules.dl").write_text(RULES)
    return tmp_path


def fresh(folder: Path) -> Compiled:
    compile_text.cache_clear()
    trees.parse.cache_clear()
    return compile_text(ENTRY, "main.dl", (folder / "rules",))


def unread(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Compiled:
    """The rules, and an error if their syntax is looked at."""
    with monkeypatch.context() as patch:
        patch.setattr("kina.datalog.modules.parse_text", lambda *_: pytest.fail("the rules are parsed"))
        rules = fresh(folder)
        assert solve("clingo", rules, FACTS).relations == {"large": [("b",)]}
    return rules


def kept(folder: Path) -> list[Path]:
    return sorted((folder / "cache").glob("*.json"))


def test_a_second_run_parses_no_rules(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert solve("clingo", fresh(folder), FACTS).relations == {"large": [("b",)]}
    assert len(kept(folder)) == 5, "two trees, the relations, the rules by their parts, and those for clingo"
    rules = unread(folder, monkeypatch)
    assert rules.outputs == ("large",)
    assert [rule.head.relation for rule in rules.rulebook.rules] == ["large"]


def test_a_changed_rule_file_is_read_again(folder: Path) -> None:
    solve("clingo", fresh(folder), FACTS)
    (folder / "rules" / "rules.dl").write_text(RULES.replace("> 4", "> 2"))
    assert solve("clingo", fresh(folder), FACTS).relations == {"large": [("a",), ("b",)]}


def test_a_new_rule_file_within_reach_is_noticed(folder: Path) -> None:
    first = fresh(folder)
    (folder / "rules" / "more.dl").write_text(".once\n")
    assert fresh(folder).key != first.key


def test_a_copy_of_the_rules_is_not_read_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    solve("clingo", fresh(folder), FACTS)
    other = folder / "elsewhere"
    shutil.copytree(folder / "rules", other / "rules")
    unread(other, monkeypatch)
    assert fresh(other).search == (str(other / "rules"),)
    (other / "rules").rename(other / "renamed")
    renamed = compile_text(ENTRY, "main.dl", (other / "renamed",))
    assert renamed.key != fresh(folder).key, "messages call the files otherwise"


@pytest.mark.parametrize("damage", [b"", b"{", b"\0\xff", b"[]", None])
def test_what_is_damaged_is_written_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes | None
) -> None:
    solve("clingo", fresh(folder), FACTS)
    for file in kept(folder):
        file.write_bytes(file.read_bytes()[:-9] if damage is None else damage)
    assert solve("clingo", fresh(folder), FACTS).relations == {"large": [("b",)]}
    unread(folder, monkeypatch)


@pytest.mark.parametrize("data", [None, [], 3, "text", {"a": 1}, [[1]], [["a", [[]], 1]]])
def test_what_is_whole_and_of_another_form_is_not_used(folder: Path, data: object) -> None:
    solve("clingo", fresh(folder), FACTS)
    for file in kept(folder):
        cache.write(file.stem, data)
    assert solve("clingo", fresh(folder), FACTS).relations == {"large": [("b",)]}


def test_rules_that_are_wrong_are_wrong_each_time(folder: Path) -> None:
    (folder / "rules" / "rules.dl").write_text(RULES.replace("size >", "other >"))
    for _ in range(2):
        with pytest.raises(ProgramError):
            fresh(folder)
    assert len(kept(folder)) == 2, "the trees of its files, and nothing of what they say"


def test_a_folder_that_cannot_be_written_is_no_mistake(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "file").write_text("")
    monkeypatch.setenv("KINA_CACHE", str(folder / "file" / "below"))
    assert solve("clingo", fresh(folder), FACTS).relations == {"large": [("b",)]}


def test_the_cache_can_be_switched_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINA_CACHE", "off")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    assert solve("clingo", fresh(folder), FACTS).relations == {"large": [("b",)]}
    assert not (folder / "cache").exists()


def test_old_data_goes(folder: Path) -> None:
    for number in range(cache.KEPT + 6):
        cache.write(f"k{number}", number)
    assert len(kept(folder)) == cache.KEPT
    assert cache.read(f"k{cache.KEPT + 5}") == cache.KEPT + 5
    assert [path for path in (folder / "cache").iterdir() if path.suffix != ".json"] == []
