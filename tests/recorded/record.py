"""The decisions of the real Soufflé for all examples and cases, as they are recorded in this folder.

`python -m tests.recorded.record` writes them anew; it needs Soufflé. CI compares clingo with them.
"""

from __future__ import annotations

from pathlib import Path

from kina.pipeline import Options, Result, check_file
from kina.report.lock import lock_text

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).parent
#: One of 96 layers says no more than one of a few, and its record would be long.
LEFT_OUT = frozenset({"gpt_96"})
PROGRAMS = tuple(
    path
    for folder in ("examples", "tests/cases")
    for path in sorted((ROOT / folder).glob("*.kina"))
    if path.stem not in LEFT_OUT and "100m" not in path.stem
)


def record_path(program: Path) -> Path:
    return FOLDER / f"{program.parent.name}.{program.stem}.txt"


def decided(program: Path, solver: str) -> str:
    """Findings by code and place, then layouts and collectives."""
    result = check_file(str(program), Options(solver=solver))
    return "".join(f"{line}\n" for line in _findings(result)) + _decisions(result)


def _findings(result: Result) -> list[str]:
    return [
        f"{finding.severity}[{finding.code}] "
        + (f"{finding.primary.line}:{finding.primary.column} " if finding.primary else "")
        + finding.message
        for finding in result.findings
    ]


def _decisions(result: Result) -> str:
    if result.program is None or result.decisions is None:
        return ""
    return lock_text(result.program, result.decisions)


def main() -> None:
    for program in PROGRAMS:
        record_path(program).write_text(decided(program, "souffle"), encoding="utf-8", newline="\n")
    stale = set(FOLDER.glob("*.txt")) - {record_path(program) for program in PROGRAMS}
    for path in stale:
        path.unlink()


if __name__ == "__main__":
    main()
