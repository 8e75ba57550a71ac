"""The part of the map in sight: its tools as points, and a large catalog as a density."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dashboard.theme import SIMILARITY

ALL_POINTS = 5_000  # up to so many tools each tool is a point; more take seconds to draw and hide each other
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
        """Returns the view of a browser's message, which may be anything; the whole map if it is no view.

        >>> View.of([0.2, 0.4, "x", 1]) == View(), View.of([0.4, 0.2, 0, 3])
        (True, View(left=0.2, right=0.4, low=0.0, high=1.0))
        """
        match told:
            case [int() | float(), int() | float(), int() | float(), int() | float()]:
                ends = [min(max(float(number), 0.0), 1.0) if math.isfinite(number) else 0.0 for number in told]
                return cls(*sorted(ends[:2]), *sorted(ends[2:]))
            case _:
                return cls()

    def rows(self, xy: Floats) -> Rows:
        x, y = xy[:, 0], xy[:, 1]
        return np.flatnonzero((x >= self.left) & (x <= self.right) & (y >= self.low) & (y <= self.high))


WHOLE = View()


class Pointed(NamedTuple):
    """The tools that are points, ascending rows, and how many are in sight. `dense`: the map is a density, with the points above it."""

    rows: Rows
    in_sight: int
    dense: bool


def pointed(xy: Floats, view: View, lit: NDArray[np.bool_], always: list[int]) -> Pointed:
    """Returns the tools that get a point: all of a small catalog. Of a large catalog, the tools in sight and
    the highlighted tools, each if they are few enough, and the tools `always`."""
    if len(xy) <= ALL_POINTS:
        return Pointed(np.arange(len(xy)), len(xy), dense=False)
    in_sight = view.rows(xy)
    lit_rows = np.flatnonzero(lit) if not lit.all() else np.zeros(0, dtype=np.int64)
    row_sets = [rows for rows in (in_sight, lit_rows) if len(rows) <= MOST_POINTS]
    return Pointed(np.unique(np.concatenate([np.array(always, dtype=np.int64), *row_sets])), len(in_sight), dense=True)


def density(xy: Floats, *, behind: bool) -> dict[str, Any]:
    """Returns a trace of the number of tools in each cell of a grid, paler `behind` points. Its colours grow with the logarithm; an empty
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
    shares = [step / (STEPS - 1) for step in range(STEPS)]
    return [
        [(most**share - 1) / (most - 1), see_through(SIMILARITY, round(FAINT + (FULL - FAINT) * share, 3))]
        for share in shares
    ]


def see_through(colour: str, share: float) -> str:
    """Returns a hex colour with an opacity.

    >>> see_through("#3B82C4", 0.5)
    'rgba(59, 130, 196, 0.5)'
    """
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {share})"
