"""What all checks of shapes share: their error, and whether dims exist."""

from __future__ import annotations

from collections.abc import Sequence


class ShapeError(Exception):
    """An op breaks a rule: the code of the finding and its message."""

    def __init__(self, message: str, code: str = "K606") -> None:
        super().__init__(message)
        self.message = message
        self.code = code


def in_range(kind: str, dims: Sequence[int], rank: int, what: str = "dim", unique: bool = True) -> None:
    """Every dim is at least 0 and below `rank`, none occurs twice."""
    for dim in dims:
        if not 0 <= dim < rank:
            raise ShapeError(f"`{kind}` names {what} {dim} of a tensor with {rank} dims", "K612")
    if unique and len(set(dims)) != len(dims):
        raise ShapeError(f"`{kind}` names a {what} twice in {list(dims)}", "K612")
