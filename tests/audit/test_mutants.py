"""Wrong rules of every class of mistakes are found, and right ones are not accused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kina.audit.generators import MAKERS
from kina.rulebook.base import own_rules
from tests.audit.find import accusations, found
from tests.audit.mutants import WAYS, Mutant, edited, mutants

#: The classes of mistakes, each with at least this many wrong rules.
CLASSES, LEAST = 13, 3
#: Of each class this many are looked for in `make test`.
_SAMPLE = 3


def _cases() -> list[object]:
    seen: Counter[str] = Counter()
    cases = []
    for each in mutants():
        seen[each.mistake] += 1
        marks = [pytest.mark.deep] if seen[each.mistake] > _SAMPLE else []
        cases.append(pytest.param(each, marks=marks, id=f"{each.mistake}: {each.name}"))
    return cases


@pytest.mark.parametrize("mutant", _cases())
def test_a_wrong_rule_is_found(mutant: Mutant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINA_CACHE", "off")
    assert found(mutant, mutant.base(tmp_path))


def test_every_class_has_wrong_rules() -> None:
    count = Counter(each.mistake for each in mutants())
    assert len(count) == CLASSES
    assert min(count.values()) >= LEAST
    assert len({each.name for each in mutants()}) == len(mutants())
    assert {each.by for each in mutants()} <= {*WAYS}


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant.name)
def test_a_wrong_rule_is_an_edit_of_a_right_one(mutant: Mutant, tmp_path: Path) -> None:
    """All of them, also those that are looked for in the deep run only."""
    assert mutant.base(tmp_path).files


def test_an_edit_that_misses_is_no_test() -> None:
    with pytest.raises(ValueError, match="0 times"):
        edited("one two", "three", "four")
    with pytest.raises(ValueError, match="2 times"):
        edited("one one", "one", "two")


def _kinds() -> list[object]:
    """The kinds whose rules are mutated; of each few one is asked about in `make test`."""
    kinds = sorted({kind for each in mutants() for kind in each.ops if kind in MAKERS})
    return [
        pytest.param(kind, marks=[pytest.mark.deep] if place % 4 else []) for place, kind in enumerate(kinds)
    ]


@pytest.mark.parametrize("kind", _kinds())
def test_right_rules_are_not_accused(kind: str) -> None:
    assert accusations(own_rules(), kind, 1, 6) == []


@pytest.mark.deep
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("seed", range(5))
def test_right_rules_are_accused_of_nothing_at_any_seed(kind: str, seed: int) -> None:
    assert accusations(own_rules(), kind, seed, 0) == []
