"""Edges of the map: pairs of tools of which one is taken for the other, as the estimate of *Findable* knows them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.findable import Confused
from core.domain.statistics import CatalogMap
from dashboard.theme import MUTED, REJECTED, SIMILARITY
from dashboard.ui.charts.base import label

LEAST_TIMES, MOST_EDGES = 2, 120  # one request proves little; more lines than these hide the tools
SEPARATOR = "\n"
HOVER_CHARACTERS = 72
SHORT, KINK = 0.04, 0.018  # of the map: a shorter edge, and how far its mark is beside it
KINDS = {
    "one way": ("one taken for the other", MUTED, "dot"),
    "mutual": ("taken for each other", SIMILARITY, "solid"),
    "opposite": ("opposites, confused", REJECTED, "solid"),  # drawn last, above the others
}


def drawn_edges(pairs: Sequence[Confused], tools: Collection[str]) -> list[Confused]:
    """Returns the pairs that the map draws: opposites, then the most frequent ones. `pairs` has them sorted."""
    known = [pair for pair in pairs if pair.one in tools and pair.other in tools]
    return sorted(known, key=lambda pair: pair.kind != "opposite")[:MOST_EDGES]


def edge_traces(drawn: CatalogMap, edges: Sequence[Confused]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Returns the lines, which lie below the tools, and a mark in the middle of each, which says how often and can be clicked.
    `customdata` of a mark holds both names."""
    place = {tool: row for row, tool in enumerate(drawn.ids)}
    most = max((pair.both for pair in edges), default=1)
    lines: list[dict[str, Any]] = []
    marks: list[dict[str, Any]] = []
    for kind, (name, colour, dash) in KINDS.items():
        those = [pair for pair in edges if pair.kind == kind]
        ends = [(drawn.xy[place[pair.one]], drawn.xy[place[pair.other]]) for pair in those]
        middles = [_middle(a, b) for a, b in ends]
        look = {"type": "scatter", "showlegend": False, "legendgroup": kind}
        lines.append(
            {
                **look,
                "mode": "lines",
                "hoverinfo": "skip",
                "x": [
                    x for (a, b), m in zip(ends, middles, strict=True) for x in (float(a[0]), m[0], float(b[0]), None)
                ],
                "y": [
                    y for (a, b), m in zip(ends, middles, strict=True) for y in (float(a[1]), m[1], float(b[1]), None)
                ],
                "line": {"color": colour, "width": 2, "dash": dash},
            }
        )
        marks.append(
            {
                **look,
                "mode": "markers",
                "name": name,
                "showlegend": bool(those),
                "x": [x for x, _ in middles],
                "y": [y for _, y in middles],
                "customdata": [f"{pair.one}{SEPARATOR}{pair.other}" for pair in those],
                "hovertext": [_hover(name, pair) for pair in those],
                "hoverinfo": "text",
                "selected": {"marker": {"opacity": 1}},
                "unselected": {"marker": {"opacity": 1}},
                "marker": {
                    "symbol": "diamond",
                    "color": colour,
                    "opacity": 1,
                    "size": [5 + 5 * (pair.both / most) ** 0.5 for pair in those],
                    "line": {"width": 1, "color": "#FFFFFF"},
                },
            }
        )
    return lines, marks


def _middle(a: NDArray[np.floating], b: NDArray[np.floating]) -> tuple[float, float]:
    """Returns the middle of an edge. A short edge has a kink, so that its mark is beside the two tools and not on them.

    >>> _middle(np.array([0.2, 0.5]), np.array([0.6, 0.5])), _middle(np.array([0.2, 0.5]), np.array([0.21, 0.5]))
    ((0.4, 0.5), (0.205, 0.518))
    """
    x, y = (float(value) for value in (a + b) / 2)
    along = b - a
    length = float(np.hypot(*along))
    if length >= SHORT:
        return x, y
    across = (-along[1] / length, along[0] / length) if length else (0.0, 1.0)
    return round(x + KINK * float(across[0]), 6), round(y + KINK * float(across[1]), 6)


def _hover(name: str, pair: Confused) -> str:
    return "<br>".join([f"<b>{name}</b>", *(label(sentence, HOVER_CHARACTERS * 2) for sentence in pair.sentences)])
