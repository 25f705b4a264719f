"""Rules about ops that said nothing of any of them."""

from __future__ import annotations

from collections.abc import Sequence

from kina.audit.generators import makers
from kina.audit.outcome import OpReport
from kina.rulebook.base import RuleBase
from kina.rulebook.evaluate import op_cone


def never_fired(reports: Sequence[OpReport], base: RuleBase) -> tuple[str, ...]:
    """The names of such rules, in the order of the rule base; none unless all ops were audited."""
    if {report.op for report in reports} < {*makers(base.declared)}:
        return ()
    cone, relations = {*op_cone(base.rulebook)}, base.rulebook.relations
    fired = {rule for report in reports for rule in report.fired}
    about = (
        rule.name
        for rule in base.rulebook.rules
        if rule.body
        and rule.head.relation in cone
        and any(column.type == "Op" for column in relations[rule.head.relation].columns)
    )
    return tuple(name for name in dict.fromkeys(about) if name and name not in fired)
