"""A comparison of rules as Markdown that fits a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kina.diagnostics.cells import printable
from kina.rulebook.diff import Diff
from kina.rulebook.diff_program import Difference, ProgramChange
from kina.rulebook.diff_text import arrow, clause_lines, op_words, rules_words

#: Characters that a comment may have.
LIMIT = 65_536
#: By this line a workflow finds the comment that it wrote before.
MARK = "<!-- kina rules diff -->"
_CUT = "\n\nThe rest does not fit a comment: `kina rules diff` shows all.\n"


def diff_markdown(found: Diff, failed: Sequence[str], limit: int = LIMIT) -> str:
    """What differs, details folded, cut at a whole part where it would be longer than `limit`."""
    parts = [_head(found, failed), *_rules(found), *_ops(found), *_audit(found), *_programs(found)]
    room = limit - len(_CUT)
    out = parts[0][:room]
    for part in parts[1:]:
        if len(out) + 2 + len(part) > room:
            return out + _CUT
        out += f"\n\n{part}"
    return f"{out}\n"


def _head(found: Diff, failed: Sequence[str]) -> str:
    lines = [MARK, f"### What the change of rules does: {code(found.base)} → {code(found.head)}", ""]
    if not (found.rules or found.ops):
        return "\n".join([*lines, "No rule differs."])
    ops = dict.fromkeys(change.op for change in found.ops)
    counts = (
        f"{_count(len(found.rules), 'clause')}",
        f"{_count(len(ops), 'op')}{': ' + ', '.join(map(code, list(ops)[:6])) if ops else ''}",
        f"{len(found.programs.changed)} of {_count(_looked_at(found), 'program')}",
    )
    lines.append(" · ".join(counts))
    lines += ["", *(f"- **fails**: {_sentence(each)}" for each in failed)] if failed else []
    return "\n".join(lines)


def _looked_at(found: Diff) -> int:
    return len(found.programs.changed) + len(found.programs.same)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def code(text: str) -> str:
    """Text as a code span that nothing in it can end, and that a table can hold."""
    plain = printable(text).replace("|", "\\|")
    longest = max((len(run) for run in re.findall(r"`+", plain)), default=0)
    fence = "`" * (longest + 1)
    blank = " " if plain[:1] in ("`", "") or plain[-1:] == "`" else ""
    return f"{fence}{blank}{plain}{blank}{fence}"


def _sentence(text: str) -> str:
    """A sentence of Kina's, whose names are code spans already; nothing in it is markup."""
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace("@", "@\u200b")


def _folded(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"<details><summary>{title}</summary>", "", *lines, "", "</details>"])


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def _rules(found: Diff) -> Iterator[str]:
    """Each clause, with its lines folded."""
    for change in found.rules:
        title = f"{change.what}: {code(change.name)} in {code(change.head_at or change.base_at)}"
        lines = [printable(line) for line in clause_lines(change)]
        runs = [len(run) for line in lines for run in re.findall(r"`+", line)]
        fence = "`" * max(3, 1 + max(runs, default=0))
        yield _folded(_summary(title), [f"{fence}diff", *lines, fence])


def _summary(title: str) -> str:
    """Code spans of a line as HTML: Markdown is not read inside `<summary>`."""
    out = []
    for number, part in enumerate(re.split(r"(`+) ?(.*?) ?\1", title)):
        escaped = part.replace("&", "&amp;").replace("<", "&lt;").replace("\\|", "|")
        out.append((escaped, "", f"<code>{escaped}</code>")[number % 3])
    return "".join(out)


def _ops(found: Diff) -> Iterator[str]:
    if not found.ops:
        if found.rules:
            yield "No placement of any op differs."
        return
    rows = [
        (
            code(each.op),
            each.what,
            code(op_words(each)),
            code(each.forms[1] or each.forms[0]),
            code(rules_words(each.rules)),
        )
        for each in found.ops
    ]
    yield "\n".join(_table(("op", "", "placement", "rule", "by"), rows))


def _audit(found: Diff) -> Iterator[str]:
    if not found.audited:
        return
    rows = [
        (code(one.op), f"{'now' if one.new else 'no longer'} {one.what}", code(one.why))
        for one in found.verdicts
    ]
    names = ", ".join(map(code, found.audited))
    if rows:
        yield "\n".join([f"Audited: {names}", "", *_table(("op", "", "why"), rows)])
    else:
        yield f"Audited: {names}. Nothing is incorrect or missing that was not before."


def _programs(found: Diff) -> Iterator[str]:
    changed = found.programs.changed
    if changed:
        rows = [
            (code(one.file), arrow(one.bytes), arrow(one.peak_bytes), arrow(one.errors)) for one in changed
        ]
        yield "\n".join(_table(("program", "bytes moved", "peak memory", "errors"), rows))
    for one in changed:
        yield _program(one)
    left_out = found.programs.left_out
    if left_out:
        lines = [f"- {code(file)}: {code(why)}" for file, why in left_out]
        yield _folded(f"{_count(len(left_out), 'program')} left out", lines)


def _program(change: ProgramChange) -> str:
    parts = (("layout", change.layouts), ("collective", change.collectives), ("finding", change.findings))
    rows = [_row(what, each) for what, differences in parts for each in differences]
    table = _table(("", "of", "before", "after", "", "by"), rows)
    return _folded(_summary(f"{code(change.file)}: {_count(len(rows), 'difference')}"), table)


def _row(what: str, each: Difference) -> tuple[str, ...]:
    before, after = (code(text) if text else "" for text in (each.before, each.after))
    times = f"×{each.times}" if each.times > 1 else ""
    return what, code(each.about), before, after, times, code(rules_words(each.rules))
