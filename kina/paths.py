"""Where Kina's own data is, in a checkout and in an installed wheel; and whether a file is somewhere."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def is_file(path: str | Path) -> bool:
    """Whether there is a file, also for what can be no path."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def rules_path() -> Path:
    """The folder of the rule base: `kina/_rules` of a wheel, `rules` beside the package in a checkout."""
    installed = _PACKAGE / "_rules"
    return installed if installed.is_dir() else _PACKAGE.parent / "rules"


def codes_path() -> Path:
    """The folder of the pages of the error codes."""
    return _PACKAGE / "diagnostics" / "codes"


def schema_path(command: str = "check") -> Path:
    """The JSON schema of what a command, `check` or `why`, writes with `--format json`."""
    return _PACKAGE / "report" / "schema" / f"{command}.schema.json"
