"""One Soufflé program without includes and components, with what a run needs and no more."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kina.datalog.live import Live, RuleParts, behind

if TYPE_CHECKING:
    from kina.datalog.compiled import Table


class SouffleProgram(NamedTuple):
    """The text, the rule that each of its lines writes (-1 for none), and the inputs that it reads."""

    text: str
    lines: tuple[int, ...]
    inputs: tuple[str, ...]


def program(
    rules: Sequence[RuleParts], live: Live, tables: Mapping[str, Table], outputs: Collection[str]
) -> SouffleProgram:
    """The live rules that the outputs depend on. A relation that is empty need not be asked to be."""
    kept = [(number, rules[number]) for number in live.rules]
    wanted = behind([rule for _, rule in kept], outputs, live.filled)
    lines: list[tuple[int, str]] = []
    for name in tables:
        if name in wanted:
            lines += [(-1, line) for line in _declaration(tables[name], name in outputs)]
    for number, rule in kept:
        if rule.head in wanted:
            body = [
                part.text
                for part in rule.body
                if part.positive or not part.relation or part.relation in live.filled
            ]
            lines.append((number, f"{rule.text} :- {', '.join(body)}." if body else f"{rule.text}."))
    text = "".join(f"{line}\n" for _, line in lines)
    inputs = tuple(name for name, table in tables.items() if name in wanted and table.is_input)
    return SouffleProgram(text, tuple(number for number, _ in lines), inputs)


def _declaration(table: Table, is_output: bool) -> list[str]:
    name = souffle_name(table.name)
    columns = ", ".join(f"c{place}: {column.base}" for place, column in enumerate(table.columns))
    lines = [f".decl {name}({columns})"]
    if table.is_input:
        lines.append(f".input {name}")
    if is_output:
        lines.append(f'.output {name}(IO=file, filename="{table.name}.csv")')
    return lines


def souffle_name(relation: str) -> str:
    """The relation of a component's instance has a dot in its name, and no name in a rule file has a `?`."""
    return relation.replace(".", "?")
