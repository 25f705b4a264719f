"""`kina rules`, for rule authors and reviewers."""

from __future__ import annotations

import click

from kina.commands.lazy import LazyGroup

#: Command -> where it stands; in the order of the help.
COMMANDS = {
    "list": "kina.commands.rules_list:list_",
    "show": "kina.commands.rules_show:show",
    "graph": "kina.commands.rules_graph:graph",
    "lint": "kina.commands.rules_lint:lint",
    "audit": "kina.commands.rules_audit:audit",
    "diff": "kina.commands.rules_diff:diff",
    "new": "kina.commands.rules_new:new",
    "path": "kina.commands.rules_path:path",
}


@click.group(cls=LazyGroup, places=COMMANDS)
def rules() -> None:
    """The rules that decide layouts, for those who write and review them."""
