"""The decision on the map: the star, the candidates, and whose servers were short-listed."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.domain.decision import Decision
from core.domain.map import Placement
from dashboard.pages.map.charts.base import MapData, still, wrapped
from dashboard.pages.map.charts.marks import see_through
from dashboard.theme import ACCEPTED, CHOSEN, REJECTED

BADGE_SHIFTS_PX = ((13, 13), (13, -13), (-13, -13), (-13, 13))  # of candidates that lie together


def decision_traces(data: MapData, decision: Decision, place: Placement) -> list[dict[str, Any]]:
    """Rings around the tools of short-listed servers, lines to the candidates, and the star."""
    servers, candidates, xy = decision.servers, list(decision.candidates), data.drawn.xy
    traces: list[dict[str, Any]] = []
    if not servers.shortlisted.all():  # else the rings say nothing
        for colour, those in ((ACCEPTED, servers.accepted), (REJECTED, ~servers.accepted)):
            rows = np.flatnonzero((servers.shortlisted & those)[decision.tools.server_row])
            traces.append(_rings(data, np.setdiff1d(rows, candidates).tolist(), colour, width=1.5))
    traces.append(
        {
            **still("lines"),
            "x": [x for row in candidates for x in (place.x, float(xy[row, 0]), None)],
            "y": [y for row in candidates for y in (place.y, float(xy[row, 1]), None)],
            "line": {"color": see_through(CHOSEN, 0.45), "width": 1.5, "dash": "dot"},
        }
    )
    traces.append(_rings(data, candidates, CHOSEN, width=2.5))
    star = {"symbol": "star", "size": 21, "color": CHOSEN, "line": {"width": 1.5, "color": "#FFFFFF"}}
    hover = {"hoverinfo": "text", "hovertext": [f"<b>Sub-task</b><br>{wrapped(decision.subtask[:300])}"]}
    traces.append({**still("markers"), **hover, "x": [place.x], "y": [place.y], "marker": star})
    return traces


def badges(data: MapData) -> list[dict[str, Any]]:
    """The candidates' places beside their rings."""
    candidates = data.decision.candidates if data.decision is not None else ()
    return [
        {
            "x": float(data.drawn.xy[row, 0]),
            "y": float(data.drawn.xy[row, 1]),
            "xshift": BADGE_SHIFTS_PX[place % len(BADGE_SHIFTS_PX)][0],
            "yshift": BADGE_SHIFTS_PX[place % len(BADGE_SHIFTS_PX)][1],
            "text": f"<b>{place + 1}</b>",
            "font": {"size": 11, "color": "#FFFFFF"},
            "bgcolor": CHOSEN,
            "borderpad": 1,
            "showarrow": False,
        }
        for place, row in enumerate(candidates)
    ]


def _rings(data: MapData, rows: list[int], colour: str, *, width: float) -> dict[str, Any]:
    sizes_px = data.sizes_px()
    return {
        **still("markers"),
        "x": data.drawn.xy[rows, 0],
        "y": data.drawn.xy[rows, 1],
        "marker": {
            "symbol": "circle-open",
            "color": colour,
            "size": [sizes_px[row] + 7 for row in rows],
            "line": {"width": width},
        },
    }
