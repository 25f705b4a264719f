"""What a shell offers for an argument that is being typed."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path

import click


def tensor_completion(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The tensors of the program that stands before, by full names and by endings; after a `@` its mesh axes.

    Nothing if there is no such program, or it is wrong: `kina check` says why.
    """
    from kina.commands.options import options_from
    from kina.diagnostics.finding import ProgramError, SetupError
    from kina.pipeline import build, open_source

    file = ctx.params.get("file")
    # anything else than a file could let the shell wait
    if not file or not Path(file).is_file():
        return []
    with suppress(ProgramError, SetupError):
        program = build(open_source(file), options_from(ctx.params))
        place, at, axis = incomplete.rpartition("@")
        if at:
            return [f"{place}@{each.name}" for each in program.mesh.axes if each.name.startswith(axis)]
        names = [value.name for value in program.values if value.id not in program.constants]
        endings = Counter(name.rpartition(".")[2] for name in names)
        once = [ending for ending, count in endings.items() if count == 1]
        return [name for name in dict.fromkeys([*once, *names]) if name.startswith(incomplete)]
    return []


def topic_completion(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """The error codes and the names of rules that begin with what was typed."""
    from kina.diagnostics.pages import codes
    from kina.report.rule_page import rule_names

    found = [code for code in codes() if code.startswith(incomplete.upper())]
    return found or [name for name in rule_names() if name.startswith(incomplete)]


def names_completion(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """The ops, rules and relations whose name begins with what was typed."""
    from kina.commands.rules_options import known_names
    from kina.rulebook.base import own_rules

    return [name for name in known_names(own_rules()) if name.startswith(incomplete)]


def relation_completion(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """The rule files and relations whose name begins with what was typed."""
    from kina.rulebook.base import declarations, own_rules

    base = own_rules()
    files = [file.source.name.rpartition("/")[2] for file in base.files]
    relations = [each.name for file in base.files for each in declarations(file)]
    return [name for name in dict.fromkeys([*files, *relations]) if name.startswith(incomplete)]


def file_completion(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """The files of the rule base whose name begins with what was typed."""
    from kina.paths import rules_path

    return sorted(file.name for file in rules_path().glob("*.dl") if file.name.startswith(incomplete))
