"""All tools of a catalog in two dimensions, with the sub-task and its candidates among them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.domain.catalog import first_sentence
from core.shared import units
from dashboard.pages.map.charts.base import HOVER_CHARACTERS, MapData, still, wrapped
from dashboard.pages.map.charts.decision import badges, decision_traces
from dashboard.pages.map.charts.labels import Label, room_for
from dashboard.pages.map.charts.marks import (
    SIZES_USD,
    UNPRICED_PX,
    centres,
    marks,
    see_through,
    shrinking,
    size_px,
    symbols,
)
from dashboard.theme import ACCEPTED, CHOSEN, LOOKED_AT, MUTED, REJECTED
from dashboard.ui.charts.base import figure, label

CONFIG = {"displaylogo": False, "scrollZoom": True, "modeBarButtons": [["zoomIn2d", "zoomOut2d", "resetScale2d"]]}  # fmt: skip
LABEL_CHARACTERS = 22
CLEAR, BEHIND, GREY = 0.9, 0.4, 0.22  # opacities: considered, not on the short-list, not highlighted


def tool_map(data: MapData, *, height: int = 610) -> go.Figure:
    """A point a tool: colour and symbol by group, size by price; ★ the sub-task, rings and numbers its candidates."""
    middles = centres(data.groups, data.drawn.xy)
    traces = [_tools(data, middles)]
    if data.decision is not None and data.place is not None:
        traces += decision_traces(data, data.decision, data.place)
    axis = {"visible": False, "range": [-0.02, 1.02], "automargin": False}
    return figure(
        [*traces, *_legend(data)],
        title=f"{len(data.drawn.ids):,} tools: what lies together does similar things",
        height=height,
        xaxis=axis,
        yaxis=axis,
        margin={"l": 0, "r": 0, "t": 34, "b": 0},
        dragmode="pan",
        clickmode="event+select",
        hovermode="closest",
        uirevision=data.catalog.name,  # zoom and place stay
        selectionrevision=False,  # but the chosen point is what the figure says
        showlegend=True,
        annotations=[*_names(data, middles), *badges(data)],
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": MUTED, "activecolor": CHOSEN},
        legend={"orientation": "h", "y": 0, "yanchor": "top", "x": 0, "font": {"size": 11}, "itemclick": False, "itemdoubleclick": False},
    )  # fmt: skip


def _tools(data: MapData, middles: dict[str, tuple[float, float]]) -> dict[str, Any]:
    looks = marks(middles)
    opacity = np.where(data.lit, CLEAR, GREY)
    if data.decision is not None and data.lit.all():
        opacity = np.where(data.decision.servers.shortlisted[data.decision.tools.server_row], CLEAR, BEHIND)
    colours = [
        see_through(looks[group][0] if lit else MUTED, share)
        for group, lit, share in zip(data.groups, data.lit.tolist(), opacity.tolist(), strict=True)
    ]
    return {
        "type": "scatter",  # WebGL draws 10,000 points no faster on a machine without a graphics card, and needs one
        "mode": "markers",
        "x": data.drawn.xy[:, 0],
        "y": data.drawn.xy[:, 1],
        "marker": {
            "color": colours,
            "symbol": symbols(data.groups, looks, data.price_usd),
            "size": data.sizes_px(),
            "opacity": 1,
            "line": {"width": 1.5, "color": "rgba(0,0,0,0)"},  # a hollow symbol's line has its own colour
        },
        **({} if data.chosen is None else {"selectedpoints": [data.chosen]}),
        "selected": {"marker": {"size": 22, "opacity": 1, "color": LOOKED_AT}},
        "unselected": {"marker": {"opacity": 1}},
        "customdata": list(data.drawn.ids),
        "hovertext": _hovers(data),
        "hoverinfo": "text",
        "showlegend": False,
    }


def _hovers(data: MapData) -> list[str]:
    similarity = None if data.decision is None else data.decision.tools.similarity
    texts: list[str] = []
    for row, tool in enumerate(data.catalog.tools):
        numbers = units.price(float(data.price_usd[row]))
        if similarity is not None:
            numbers += f" · similarity {similarity[row]:.3f}"
        place = " · ".join(dict.fromkeys((tool.server, data.groups[row])))
        lines = [f"<b>{label(tool.name, HOVER_CHARACTERS)}</b>", label(place, HOVER_CHARACTERS), numbers]
        texts.append("<br>".join([*lines, wrapped(first_sentence(tool.description))]))
    return texts


def _names(data: MapData, middles: dict[str, tuple[float, float]]) -> list[dict[str, Any]]:
    """The groups' names; where something is highlighted, of the groups that it touches."""
    lit = Counter(group for group, here in zip(data.groups, data.lit.tolist(), strict=True) if here)
    found = room_for(Label(label(group, LABEL_CHARACTERS), *middles[group]) for group, _ in lit.most_common())
    font = {"size": 12, "weight": 600, "shadow": "auto"}
    return [{"x": name.x, "y": name.y, "text": name.text, "font": font, "showarrow": False} for name in found]


def _legend(data: MapData) -> list[dict[str, Any]]:
    """What sizes, hollow symbols and rings mean."""
    shrunk = shrinking(len(data.groups))
    dot, hollow = {"symbol": "circle", "color": MUTED}, {"symbol": "circle-open", "color": MUTED}
    entries = [(units.price(usd), {**dot, "size": shrunk * size_px(usd)}) for usd in SIZES_USD]
    entries.append(("unpriced", {**hollow, "size": shrunk * UNPRICED_PX}))
    entries.append(("selected", {"symbol": "circle", "size": 14, "color": LOOKED_AT}))
    if data.decision is not None:
        ring = {"symbol": "circle-open", "size": 12}
        entries += [
            ("sub-task", {"symbol": "star", "size": 14, "color": CHOSEN}),
            ("candidate", {**ring, "color": CHOSEN, "line": {"width": 2.5}}),
            ("on an accepted server", {**ring, "color": ACCEPTED, "line": {"width": 1.5}}),
            ("short-listed, not accepted", {**ring, "color": REJECTED, "line": {"width": 1.5}}),
        ]
    return [
        {**still("markers"), "x": [None], "y": [None], "name": name, "marker": marker, "showlegend": True}
        for name, marker in entries
    ]
