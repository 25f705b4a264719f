"""One function over both Datalog engines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from kina.datalog import limits
from kina.datalog.clingo_alike import Alike
from kina.datalog.compiled import Rules, compiled
from kina.datalog.fact import Fact, Facts
from kina.datalog.souffle_engine import GET_SOUFFLE, SouffleInstall, find_souffle, solve_souffle
from kina.diagnostics.finding import SetupError


@dataclass(frozen=True, slots=True)
class Solution:
    """The tuples of the relations that were asked for, each list sorted, and the engine that found them."""

    relations: Mapping[str, list[Fact]]
    solver: str
    version: str


def solve(
    solver: str,
    rules: Rules,
    facts: Facts,
    outputs: Collection[str] | None = None,
    time_limit: float | None = None,
    alike: Callable[[], Alike] | None = None,
) -> Solution:
    """What the rules derive from the facts, the same in both engines.

    `solver` is "auto" (Soufflé if 2.5 or later is there, else clingo), "souffle" or "clingo"; `outputs`
    are ground relation names, by default those with an `.output` directive. SetupError if the engine is
    missing or fails and at the time limit, in seconds, which added rules always have; ProgramError (K812) for
    a division by zero. `alike` tells which ops of a program are alike, and is asked where that saves time.
    """
    rules = compiled(rules)
    if time_limit is None and rules.added:
        time_limit = limits.ADDED_RULES
    wanted = frozenset(rules.outputs if outputs is None else outputs)
    unknown = sorted(wanted - rules.tables.keys())
    if unknown:
        raise ValueError(f"no such relations: {', '.join(unknown)}")
    install = _choose(solver)
    if install is not None:
        relations = solve_souffle(install, rules, facts, wanted, time_limit)
        name, version = "souffle", install.version
    else:
        from kina.datalog.clingo_engine import run_clingo

        name = "clingo"
        relations, version = run_clingo(rules, facts, wanted, time_limit, alike() if alike else None)
    for rows in relations.values():
        rows.sort()
    return Solution(relations, name, version)


def made_ready(solver: str) -> AbstractContextManager[None]:
    """Inside, what the solver needs for its first run is being started; what is wrong, the run says."""
    try:
        embedded = _choose(solver) is None
    except SetupError:
        return nullcontext()
    if not embedded:
        return nullcontext()
    from kina.datalog.clingo_process import waiting

    return waiting()


def _choose(solver: str) -> SouffleInstall | None:
    """The Soufflé to use, None for clingo."""
    match solver:
        case "clingo":
            return None
        case "auto":
            try:
                return find_souffle()
            except SetupError:
                return None
        case "souffle":
            install = find_souffle()
            if install is None:
                raise SetupError("Soufflé is asked for and not found", GET_SOUFFLE)
            return install
        case _:
            raise SetupError(f"there is no solver `{solver}`", "solvers are auto, souffle and clingo")
