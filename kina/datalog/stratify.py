"""Orders relations into strata, each free of negation and aggregates over itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kina.datalog.rules import Relation, Rule, dependencies
from kina.datalog.syntax import Aggregate, Atom, Clause, Negation, aggregates
from kina.diagnostics.finding import Finding, ProgramError, error
from kina.source import Span

Edges = Mapping[str, Mapping[str, bool]]


def stratify(relations: Mapping[str, Relation], rules: Iterable[Rule]) -> tuple[tuple[str, ...], ...]:
    """Groups of relations that depend on each other, lowest first; raises ProgramError (K809) at a bad
    cycle.
    """
    rules = tuple(rules)
    edges: dict[str, dict[str, bool]] = {name: {} for name in relations}
    for rule in rules:
        below = edges[rule.head.relation]
        for name, negative in dependencies(rule.clause):
            below[name] = below.get(name, False) or negative
    strata = components(edges)
    place = {name: index for index, group in enumerate(strata) for name in group}
    findings: dict[tuple[str, int], Finding] = {}
    for rule in rules:
        head = rule.head.relation
        for name, negative in dependencies(rule.clause):
            span = rule.clause.span
            if negative and place[name] == place[head] and (span.file, span.start) not in findings:
                findings[span.file, span.start] = _cycle(edges, rule.clause, head, name)
    if findings:
        raise ProgramError(*findings.values())
    return strata


def components(edges: Edges) -> tuple[tuple[str, ...], ...]:
    """Strongly connected components, those that others depend on first (Tarjan 1972, with a stack of
    its own).
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_nodes: list[str] = []
    on_stack: set[str] = set()
    found: list[tuple[str, ...]] = []
    for root in edges:
        if root in index:
            continue
        work = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        open_nodes.append(root)
        on_stack.add(root)
        while work:
            node, successors = work[-1]
            child = next((name for name in successors if name not in index or name in on_stack), None)
            if child is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    found.append(_close(node, open_nodes, on_stack))
            elif child in index:
                low[node] = min(low[node], index[child])
            else:
                index[child] = low[child] = len(index)
                open_nodes.append(child)
                on_stack.add(child)
                work.append((child, iter(edges[child])))
    return tuple(found)


def _close(node: str, open_nodes: list[str], on_stack: set[str]) -> tuple[str, ...]:
    group: list[str] = []
    while not group or group[-1] != node:
        group.append(open_nodes.pop())
        on_stack.discard(group[-1])
    return tuple(sorted(group))


def _cycle(edges: Edges, clause: Clause, head: str, name: str) -> Finding:
    path = _path(edges, name, head)
    shown = " → ".join(f"`{each}`" for each in (head, *path))
    span = _premise_span(clause, name)
    message = f"`{head}` depends on itself through a negation or an aggregate"
    return error("K809", message, span, notes=(f"the cycle: {shown}",))


def _path(edges: Edges, start: str, goal: str) -> tuple[str, ...]:
    """The shortest way down from `start` to `goal`, both included."""
    before: dict[str, str] = {start: start}
    queue = [start]
    for node in queue:
        if node == goal:
            break
        for child in edges[node]:
            if child not in before:
                before[child] = node
                queue.append(child)
    path = [goal]
    while path[-1] != start:
        path.append(before[path[-1]])
    return tuple(reversed(path))


def _premise_span(clause: Clause, name: str) -> Span:
    for premise in clause.body:
        match premise:
            case Negation(atom=Atom(relation=relation)) if relation == name:
                return premise.span
            case _:
                for aggregate in aggregates(premise):
                    if name in _relations(aggregate):
                        return aggregate.span
    return clause.span


def _relations(aggregate: Aggregate) -> tuple[str, ...]:
    found = []
    for premise in aggregate.body:
        match premise:
            case Atom(relation=name) | Negation(atom=Atom(relation=name)):
                found.append(name)
            case _:
                pass
    return tuple(found)
