"""The agreement of routers: the overlap of their candidates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.theme import SIMILARITY
from dashboard.ui.charts.base import figure, label

DARK = 0.45  # a square with a greater share needs a light text


def agreement_map(names: Sequence[str], overlap: NDArray[np.float64]) -> go.Figure:
    """Draws a square for each pair: the share of common candidates (Jaccard). (R, R) in [0, 1]."""
    labels = [label(name, 22) for name in names]
    trace = {
        "type": "heatmap",
        "z": overlap,
        "x": list(range(len(labels))),
        "y": list(range(len(labels))),
        "zmin": 0,
        "zmax": 1,
        "colorscale": [[0, "rgba(59,130,196,0.04)"], [1, SIMILARITY]],
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "hovertext": [
            [
                f"{first} and {second}: {overlap[row, column]:.0%} of their candidates"
                for column, second in enumerate(labels)
            ]
            for row, first in enumerate(labels)
        ],
    }
    places = [(row, column) for row in range(len(labels)) for column in range(len(labels))]
    dark, light = ([place for place in places if (overlap[place] > DARK) == is_dark] for is_dark in (True, False))
    axis = {
        "tickvals": list(range(len(labels))), "ticktext": labels, "showgrid": False, "zeroline": False,
        "fixedrange": True,
    }  # fmt: skip
    return figure(
        [trace, _shares(dark, overlap, color="#FFFFFF"), _shares(light, overlap)],
        title="Candidates in common",
        height=260,
        xaxis={**axis, "side": "bottom", "tickfont": {"size": 10}},
        yaxis={**axis, "autorange": "reversed"},
    )


def _shares(places: Sequence[tuple[int, int]], overlap: NDArray[np.float64], **font: str) -> dict[str, object]:
    return {
        "type": "scatter", "mode": "text", "x": [column for _, column in places], "y": [row for row, _ in places],
        "text": [f"{overlap[place]:.0%}" for place in places], "textfont": font, "hoverinfo": "skip",
    }  # fmt: skip
