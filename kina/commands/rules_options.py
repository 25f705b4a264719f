"""What the commands of `kina rules` share: options, and the names that they know."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kina.paths import is_file

if TYPE_CHECKING:
    from kina.rulebook.base import RuleBase

Command = TypeVar("Command", bound=Callable[..., Any])


def base_option(command: Command) -> Command:
    """`--base`, another rule base than Kina's own."""
    return click.option(
        "--base",
        metavar="FOLDER",
        type=click.Path(exists=True, file_okay=False),
        help="The rule base, in place of kina's own.",
    )(command)


def quick_solver_option(command: Command) -> Command:
    """`--solver`, for many small runs: clingo starts in a third of the time that Soufflé takes."""
    return click.option(
        "--solver",
        type=click.Choice(["auto", "souffle", "clingo"]),
        default="clingo",
        show_default=True,
        help="The Datalog engine; for many small runs clingo is the quicker one.",
    )(command)


def base_of(folder: str | None, added: tuple[str, ...] = ()) -> RuleBase:
    """The rule base that an option names, with added files. SetupError if there is none in the folder."""
    from kina.diagnostics.finding import SetupError
    from kina.rulebook.base import RuleBase, own_rules

    if folder is None:
        base = own_rules()
    elif (Path(folder) / "base.dl").is_file():
        base = RuleBase(Path(folder))
    else:
        raise SetupError(f"`{folder}` holds no rule base", "it has a `base.dl` that includes the other files")
    if not added:
        return base
    from kina.rulebook.declared import with_added

    return with_added(base, added)


def outside(files: Sequence[str], base: RuleBase) -> list[str]:
    """Those of the files that are none of the rule base, and so are added to it."""
    own = {file.source.name.rpartition("/")[2] for file in base.files}
    return [name for name in files if not _is_own(name, own, base.folder)]


def named_files(names: Sequence[str], base: RuleBase) -> tuple[str, ...]:
    """The rule files among names that are there and none of the rule base's."""
    files = [name for name in names if name.endswith(".dl") and is_file(name)]
    return tuple(dict.fromkeys(outside(files, base)))


def _is_own(name: str, own: Collection[str], folder: Path) -> bool:
    """Whether a file is one of the rule base: by its name alone, unless there is such a file here, or in its
    folder."""
    path = Path(name)
    if path.name not in own:
        return False
    if path.parent == Path() and not path.exists():
        return True
    return Path(os.path.realpath(path)).parent == Path(os.path.realpath(folder))


def known_names(base: RuleBase) -> list[str]:
    """Every op, rule and relation of a rule base, in this order."""
    from kina.rulebook.base import clauses, declarations, rule_name

    rules = [rule_name(clause) for file in base.files for clause in clauses(file)]
    relations = [each.name for file in base.files for each in declarations(file)]
    return [name for name in dict.fromkeys([*base.table, *rules, *relations]) if name]
