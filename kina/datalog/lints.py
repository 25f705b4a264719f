"""Rules that Soufflé drops when it compiles them."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from kina.datalog.rules import Rulebook
from kina.datalog.souffle_engine import SouffleInstall
from kina.diagnostics.finding import SetupError


def lost_rules(install: SouffleInstall, rulebook: Rulebook) -> tuple[str, ...]:
    """Names of rules that are not in the program that Soufflé compiles: merged with another, or dead."""
    names = {rule.name for rule in rulebook.rules if rule.name and rule.body}
    with tempfile.TemporaryDirectory(prefix="kina-") as folder:
        entry = Path(folder) / "main.dl"
        outputs = "".join(
            f".output {name}\n" for name, each in rulebook.relations.items() if not each.is_output
        )
        entry.write_text(f"{rulebook.entry.text}\n{outputs}", encoding="utf-8")
        for file in rulebook.added:
            (Path(folder) / file.name).write_text(file.alone, encoding="utf-8")
        command = [install.path, "--no-preprocessor", "-w", "-t", "none", "--show=transformed-ast"]
        for place in rulebook.search:
            command += ["-I", str(Path(place).resolve())]
        done = subprocess.run(
            [*command, str(entry)],
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=120,
            cwd=folder,
        )
    if done.returncode:
        raise SetupError(f"Soufflé does not compile the rules: {done.stderr[:300]}")
    compiled = set(re.findall(r'rule = "([^"]+)"', done.stdout))
    return tuple(sorted(names - compiled))
