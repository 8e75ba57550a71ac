"""Who wins over two parameters: a colour for each winner, paler where the lead is smaller, and the current point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from core.domain.params import Knob
from core.shared import units
from core.whatif.plane import Plane
from dashboard.theme import LOOKED_AT, MUTED
from dashboard.ui.charts.base import figure, label

WIDE, WIDE_USD = 0.1, 0.001  # a lead in utility, or in USD, from which on a colour is full


def plane_chart(
    plane: Plane,
    x: Knob,
    y: Knob,
    at: tuple[float, float],
    colours: Mapping[str | None, str],
    *,
    in_usd: bool = False,
    height: int = 460,
) -> go.Figure:
    """A cell for each pair of values, its customdata `x|y`; boundaries are where colours meet. Leads are of utility, or `in_usd`."""
    wide = WIDE_USD if in_usd else WIDE
    found = sorted({int(row) for row in plane.winner.ravel()})
    names = {row: plane.tools[row] if row >= 0 else None for row in found}
    share = np.clip(plane.margin / wide, 0.0, 1.0)
    lead = np.clip(plane.margin, wide / 1e3, wide)  # of the one who wins, negative for the others: 0 where they meet
    cells = [
        {
            "type": "heatmap", "x": plane.x.tolist(), "y": plane.y.tolist(),
            "z": [[0.35 + 0.65 * float(s) if int(w) == row else None for w, s in zip(ws, ss, strict=True)]
                  for ws, ss in zip(plane.winner, share, strict=True)],
            "colorscale": [[0, _clear(colours[names[row]])], [1, colours[names[row]]]], "zmin": 0, "zmax": 1, "showscale": False,
            "customdata": _pairs(plane), "hovertext": _texts(plane, names, row, (x, y), in_usd=in_usd), "hoverinfo": "text", "hoverongaps": False,
        }
        for row in found
    ]  # fmt: skip
    point = {
        "type": "scatter", "mode": "markers", "meta": "dragged", "x": [at[0]], "y": [at[1]], "cliponaxis": False, "hoverinfo": "skip",
        "marker": {"symbol": "cross-thin", "size": 18, "line": {"width": 3, "color": LOOKED_AT}},
    }  # fmt: skip
    boundaries = [
        {
            "type": "contour", "x": plane.x.tolist(), "y": plane.y.tolist(), "z": np.where(plane.winner == row, lead, -lead).tolist(),
            "showscale": False, "hoverinfo": "skip", "line": {"width": 1.5, "color": MUTED},
            "contours": {"coloring": "none", "start": 0, "end": 0, "size": 1},
        }
        for row in found[1:]
    ]  # fmt: skip
    return figure(
        [*cells, *boundaries, point],
        title=f"Who wins over {x.symbol} and {y.symbol}",
        height=height,
        xaxis=_axis(x, plane.x),
        yaxis=_axis(y, plane.y),
    )


def _clear(colour: str) -> str:
    """`#RRGGBB` with nothing of it left: paler is then nearer to the page, in light and in dark."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return f"rgba({red},{green},{blue},0)"


def _axis(knob: Knob, values: np.ndarray) -> dict[str, object]:
    unit = f" ({knob.unit})" if knob.unit else ""
    half = (values[-1] - values[0]) / max(len(values) - 1, 1) / 2
    return {
        "range": [values[0] - half, values[-1] + half], "zeroline": False, "showgrid": False,
        "title": {"text": f"{knob.symbol} {knob.label.lower()}{unit}", "font": {"size": 11}},
    }  # fmt: skip


def _pairs(plane: Plane) -> list[list[str]]:
    return [[f"{x!r}|{y!r}" for x in plane.x.tolist()] for y in plane.y.tolist()]


def _texts(
    plane: Plane, names: Mapping[int, str | None], row: int, axes: tuple[Knob, Knob], *, in_usd: bool
) -> Sequence[Sequence[str]]:
    name, (x, y) = names[row], axes
    who = "nobody wins" if name is None else f"{label(name, 60)} wins"
    return [
        [
            f"{x.symbol} {at_x:.3g}, {y.symbol} {at_y:.3g}<br>{who}"
            + (
                ""
                if name is None or not np.isfinite(lead)
                else f", {units.price(lead) if in_usd else f'{lead:.3g}'} ahead"
            )
            for at_x, lead in zip(plane.x.tolist(), leads.tolist(), strict=True)
        ]
        for at_y, leads in zip(plane.y.tolist(), plane.margin, strict=True)
    ]
