"""What lies on the map beside its tools: edges between tools that are taken for one another, and the density of a large catalog."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.domain.findings import Confused
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


ALL_POINTS = 5_000  # up to so many tools each one is a point; more take seconds to draw and hide each other
MOST_POINTS = 2_000  # of a part of a larger map
FEWEST_BINS, MOST_BINS = 64, 256  # in each direction
STEPS = 9  # of the colour scale
FAINT, FULL = 0.12, 1.0  # opacities of one tool, and of the fullest place
PALE, CROWD = 0.45, 200  # behind more points than a crowd it is paler
Floats = NDArray[np.floating]
Rows = NDArray[np.int64]


class View(NamedTuple):
    """The part of the map that is in sight; the map is [0, 1] in both directions."""

    left: float = 0.0
    right: float = 1.0
    low: float = 0.0
    high: float = 1.0

    @classmethod
    def of(cls, told: object) -> View:
        """Returns the view that a browser tells, which may be anything; the whole map for what is none.

        >>> View.of([0.2, 0.4, "x", 1]) == View(), View.of([0.4, 0.2, 0, 3])
        (True, View(left=0.2, right=0.4, low=0.0, high=1.0))
        """
        match told:
            case [int() | float(), int() | float(), int() | float(), int() | float()]:
                ends = [min(max(float(one), 0.0), 1.0) if math.isfinite(one) else 0.0 for one in told]
                return cls(*sorted(ends[:2]), *sorted(ends[2:]))
            case _:
                return cls()

    def rows(self, xy: Floats) -> Rows:
        """Returns the tools (rows) in sight."""
        x, y = xy[:, 0], xy[:, 1]
        return np.flatnonzero((x >= self.left) & (x <= self.right) & (y >= self.low) & (y <= self.high))


WHOLE = View()


class Pointed(NamedTuple):
    """The tools that are points, ascending rows, and how many are in sight. `dense`: the map is a density, with these above it."""

    rows: Rows
    in_sight: int
    dense: bool


def pointed(xy: Floats, view: View, lit: NDArray[np.bool_], always: list[int]) -> Pointed:
    """Returns the tools that get a point: all of a small catalog. Of a large one those in sight if they are few enough, the highlighted
    ones if these are, and always some."""
    if len(xy) <= ALL_POINTS:
        return Pointed(np.arange(len(xy)), len(xy), dense=False)
    seen = view.rows(xy)
    marked = np.flatnonzero(lit) if not lit.all() else np.zeros(0, dtype=np.int64)
    drawn = [rows for rows in (seen, marked) if len(rows) <= MOST_POINTS]
    return Pointed(np.unique(np.concatenate([np.array(always, dtype=np.int64), *drawn])), len(seen), dense=True)


def density(xy: Floats, *, behind: bool) -> dict[str, Any]:
    """Returns a trace of how many tools lie in each cell of a grid, paler `behind` points. Its colours grow with the logarithm; an empty
    cell has none."""
    bins = min(
        max(round(1.2 * math.sqrt(len(xy))), FEWEST_BINS), MOST_BINS
    )  # most places of a crowd have several tools
    counts, edges, _ = np.histogram2d(xy[:, 0], xy[:, 1], bins=bins, range=((0, 1), (0, 1)))
    most = max(float(counts.max(initial=0)), 2.0)
    rows = counts.T.astype(np.int64).tolist()
    middles = ((edges[:-1] + edges[1:]) / 2).round(5).tolist()
    return {
        "type": "heatmap", "x": middles, "y": middles, "z": [[count or None for count in row] for row in rows],
        "zmin": 1, "zmax": most, "colorscale": _scale(most), "hoverinfo": "z", "hoverongaps": False, "showlegend": False,
        "opacity": PALE if behind else 1.0,
        "colorbar": {"title": {"text": "tools", "side": "top", "font": {"size": 11}}, "thickness": 8, "len": 0.35, "x": 1, "xanchor": "right",
                     "y": 0.98, "yanchor": "top", "tickfont": {"size": 10}, "outlinewidth": 0, "nticks": 4},
    }  # fmt: skip


def _scale(most: float) -> list[list[Any]]:
    """Returns a colour scale over counts from 1 to `most` whose opacity grows with the logarithm."""
    red, green, blue = (int(SIMILARITY[at : at + 2], 16) for at in (1, 3, 5))
    steps = [step / (STEPS - 1) for step in range(STEPS)]
    return [
        [(most**share - 1) / (most - 1), f"rgba({red}, {green}, {blue}, {FAINT + (FULL - FAINT) * share:.3f})"]
        for share in steps
    ]
