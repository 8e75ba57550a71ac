"""Values at which a decision changes where it depends on a parameter in no simple way: bracketed between the points of a grid, and
halved until they are known to a billionth of the range. Changes there and back within one step of the grid can be missed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from core.domain.trace import Array

GRID = 33
NEAREST = 1e-9

Signatures = Callable[[Sequence[str], Array], Sequence[Hashable]]


@dataclass(frozen=True, slots=True)
class _Bracket:
    name: str
    low: float
    high: float
    left: Hashable
    right: Hashable
    span: float


def bracketed(ranges: dict[str, tuple[float, float]], decided: Signatures) -> dict[str, list[float]]:
    """For each parameter the values within its range at which the decision changes.

    `decided` gets names of parameters and a value for each, and tells the decision of each; all parameters are searched together.

    >>> def decided(names, values):
    ...     return [value**2 > 0.5 for value in values]
    >>> [round(x, 6) for x in bracketed({"x": (0.0, 1.0)}, decided)["x"]]
    [0.707107]
    """
    names = [name for name in ranges for _ in range(GRID)]
    values = np.concatenate([np.linspace(low, high, GRID) for low, high in ranges.values()])
    known = decided(names, values)
    open_ones = [
        _Bracket(
            names[at],
            float(values[at]),
            float(values[at + 1]),
            known[at],
            known[at + 1],
            float(np.ptp(ranges[names[at]])),
        )
        for at in range(len(names) - 1)
        if names[at] == names[at + 1] and known[at] != known[at + 1]
    ]
    found: dict[str, list[float]] = {name: [] for name in ranges}
    while open_ones:
        middles = np.array([(one.low + one.high) / 2 for one in open_ones])
        halves = list[_Bracket]()
        for one, middle, here in zip(
            open_ones, middles.tolist(), decided([one.name for one in open_ones], middles), strict=True
        ):
            for part in (
                _Bracket(one.name, one.low, middle, one.left, here, one.span),
                _Bracket(one.name, middle, one.high, here, one.right, one.span),
            ):
                if part.left == part.right:
                    continue
                if part.high - part.low > NEAREST * part.span:
                    halves.append(part)
                else:
                    found[one.name].append((part.low + part.high) / 2)
        open_ones = halves
    return {name: sorted(values) for name, values in found.items()}
