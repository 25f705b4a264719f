"""A process that audits one op after the other: a request a line comes in, a report a line goes out."""

from __future__ import annotations

import json
import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from kina.audit.one_op import QUICK, WHOLE, audit_op
from kina.audit.outcome import to_json
from kina.diagnostics.concise import render_concise
from kina.diagnostics.finding import ProgramError, SetupError
from kina.rulebook.base import RuleBase
from kina.rulebook.declared import with_added


def main() -> None:
    """Answer requests until there are no more."""
    bases: dict[tuple[str, ...], RuleBase] = {}
    for line in sys.stdin:
        request = json.loads(line)
        key = (request["rules"], *request["added"])
        if key not in bases:
            base = RuleBase(Path(request["rules"]))
            bases[key] = with_added(base, request["added"]) if request["added"] else base
        base = bases[key]
        sys.stdout.write(json.dumps(_answer(request, base)) + "\n")
        sys.stdout.flush()


def _answer(request: dict[str, Any], base: RuleBase) -> dict[str, Any]:
    try:
        extent = QUICK if request["quick"] else WHOLE
        return {"report": to_json(audit_op(request["op"], base, request["seed"], request["solver"], extent))}
    except SetupError as problem:
        return {"setup": [problem.message, problem.help]}
    except ProgramError as problem:
        return {"program": render_concise(problem.findings)}


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _interrupt)
    with suppress(KeyboardInterrupt, BrokenPipeError):
        main()
