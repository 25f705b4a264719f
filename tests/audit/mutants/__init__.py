"""Wrong rules: for each class of mistakes a file of edits to right ones, each of which has to be found."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kina.paths import rules_path
from kina.rulebook.base import RuleBase, own_rules
from kina.rulebook.declared import with_added
from tests.declared_ops import SAMPLES, Sample

#: What may find a wrong rule: a placement that it allows, one that it forbids, a claim about an attribute,
#: a whole program, or the lint.
WAYS = ("placement", "missing", "program", "claim", "lint")

_SAMPLES: Mapping[str, Sample] = MappingProxyType({sample.name: sample for sample in SAMPLES})


@dataclass(frozen=True)
class Mutant:
    """A rule file, of Kina or of a sample, in which `old` became `new`; `by` tells what finds it in `ops`."""

    mistake: str
    name: str
    ops: tuple[str, ...]
    file: str
    old: str
    new: str
    by: str
    sample: str = ""

    def base(self, folder: Path) -> RuleBase:
        """The wrong rules, as files in `folder`."""
        if self.sample:
            right = _SAMPLES[self.sample]
            wrong = Sample(right.name, right.kina, edited(right.rules, self.old, self.new))
            return with_added(own_rules(), [str(wrong.write(folder))])
        rules = folder / "rules"
        shutil.copytree(rules_path(), rules)
        path = rules / self.file
        path.write_text(edited(path.read_text("utf-8"), self.old, self.new), "utf-8")
        return RuleBase(rules)


def edited(text: str, old: str, new: str) -> str:
    """The text with `old`, which stands there exactly once, replaced; ValueError where it does not."""
    count = text.count(old)
    if count != 1:
        raise ValueError(f"the text to replace stands there {count} times, not once:\n{old}")
    return text.replace(old, new)


@cache
def mutants() -> tuple[Mutant, ...]:
    """Every wrong rule, class by class."""
    return tuple(each for path in sorted(Path(__file__).parent.glob("*.toml")) for each in _read(path))


def _read(path: Path) -> Iterator[Mutant]:
    data = tomllib.loads(path.read_text("utf-8"))
    for row in data["mutant"]:
        yield Mutant(data["class"], **{**_DEFAULTS, **row, "ops": tuple(row["ops"])})


_DEFAULTS: Mapping[str, Any] = MappingProxyType({"by": "placement", "file": "", "sample": ""})
