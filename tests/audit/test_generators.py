"""Every op is audited: there are instances of each, of all sizes, and equal seeds give equal ones."""

from __future__ import annotations

import pytest

from kina.audit.generators import MAKERS, count, instances
from kina.frontend.ops import OPS


def test_every_op_has_instances() -> None:
    assert set(MAKERS) == set(OPS)


@pytest.mark.parametrize("kind", MAKERS)
def test_instances_are_of_the_kind_and_equal_for_equal_seeds(kind: str) -> None:
    first = list(instances(kind, 3, count(kind)))
    assert {instance.op.kind for instance in first} == {kind}
    assert first == list(instances(kind, 3, count(kind)))
    assert first != list(instances(kind, 4, count(kind)))


@pytest.mark.parametrize("kind", [kind for kind in MAKERS if OPS[kind].attributes])
def test_every_attribute_takes_several_values(kind: str) -> None:
    found = list(instances(kind, 0, count(kind)))
    for attribute in OPS[kind].attributes:
        values = {instance.op.attribute(attribute.name) for instance in found}
        hints = ("indices_are_sorted",)
        assert len(values) > 1 or attribute.name in hints, attribute.name
