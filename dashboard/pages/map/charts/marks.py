"""How a tool looks on the map: colour and symbol say its group, size its price, a hollow symbol that it has none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dashboard.theme import GROUPS

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down")
SIZES_USD = (0.0001, 0.001, 0.01, 0.1)  # what the legend shows; below the first and above the last nothing changes
SMALLEST_PX, LARGEST_PX, UNPRICED_PX = 6.0, 17.0, 8.0
CELLS = 8  # each way, to see where most of a group lies
ROOMY = 1500  # tools that have room at full size
Floats = NDArray[np.floating]
Mark = tuple[str, str]


def centres(groups: Sequence[str], xy: Floats) -> dict[str, tuple[float, float]]:
    """The middle of each group where most of it lies, by x: a group in two parts has its name at the larger one.

    >>> centres(["b", "a", "b", "b"], np.array([[0.9, 0.1], [0.2, 0.5], [0.1, 0.9], [0.92, 0.1]]))
    {'a': (0.2, 0.5), 'b': (0.91, 0.1)}
    """
    names = np.array(groups, dtype=object)
    found = {name: _middle(xy[names == name]) for name in dict.fromkeys(groups)}
    return dict(sorted(found.items(), key=lambda item: (*item[1], item[0])))


def marks(ordered: Iterable[str]) -> dict[str, Mark]:
    """Colour and symbol of each group: next to each other on the map they differ in colour, then in symbol.

    >>> len(set(marks(str(n) for n in range(42)).values()))
    42
    """
    return {
        name: (GROUPS[place % len(GROUPS)], SYMBOLS[place // len(GROUPS) % len(SYMBOLS)])
        for place, name in enumerate(ordered)
    }


def size_px(price_usd: float) -> float:
    """The diameter for a price per call: it grows with the logarithm; NaN is unpriced.

    >>> [round(size_px(price), 1) for price in (0.0, 0.001, 0.1, 5.0, math.nan)]
    [6.0, 9.7, 17.0, 17.0, 8.0]
    """
    if math.isnan(price_usd):
        return UNPRICED_PX
    low, high = SIZES_USD[0], SIZES_USD[-1]
    share = math.log(min(max(price_usd, low), high) / low) / math.log(high / low)
    return SMALLEST_PX + (LARGEST_PX - SMALLEST_PX) * share


def shrinking(count: int) -> float:
    """What sizes are multiplied with where there are many tools.

    >>> [round(shrinking(count), 2) for count in (10, 1000, 3000, 10_000)]
    [1.0, 1.0, 0.71, 0.5]
    """
    return min(1.0, max(0.5, math.sqrt(ROOMY / max(count, 1))))


def symbols(groups: Sequence[str], looks: Mapping[str, Mark], price_usd: Floats) -> list[str]:
    """The symbol of each tool: its group's, hollow where it has no price."""
    return [
        f"{looks[group][1]}-open" if unpriced else looks[group][1]
        for group, unpriced in zip(groups, np.isnan(price_usd).tolist(), strict=True)
    ]


def see_through(colour: str, share: float) -> str:
    """A hex colour with an opacity.

    >>> see_through("#3B82C4", 0.5)
    'rgba(59, 130, 196, 0.5)'
    """
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {share})"


def _middle(xy: Floats) -> tuple[float, float]:
    _, place, counts = np.unique((xy * CELLS).astype(np.int64), axis=0, return_inverse=True, return_counts=True)
    x, y = np.median(xy[place.reshape(-1) == np.argmax(counts)], axis=0).astype(float).round(4)
    return float(x), float(y)
