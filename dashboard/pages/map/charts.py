"""The map of tools, with the marks and labels of a decision."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.domain import units
from core.domain.catalog import Catalog, first_sentence
from core.domain.decision import Decision
from core.domain.statistics import CatalogMap, Placement
from dashboard.pages.map.density import CROWD, WHOLE, Pointed, View, density, pointed, see_through
from dashboard.theme import ACCEPTED, CHOSEN, GROUPS, LOOKED_AT, MUTED, REJECTED
from dashboard.ui.charts.base import figure, label

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down")
SIZES_USD = (0.0001, 0.001, 0.01, 0.1)  # prices of the legend; smaller and larger prices have the size of the ends
SMALLEST_PX, LARGEST_PX, UNPRICED_PX = 6.0, 17.0, 8.0
CELLS = 8  # in each direction, to find the densest part of a group
ROOMY = 1500  # up to so many tools are drawn at full size
Floats = NDArray[np.floating]
Mark = tuple[str, str]


def centres(groups: Sequence[str], xy: Floats) -> dict[str, tuple[float, float]]:
    """Returns the middle of the densest part of each group, sorted by x.

    >>> centres(["b", "a", "b", "b"], np.array([[0.9, 0.1], [0.2, 0.5], [0.1, 0.9], [0.92, 0.1]]))
    {'a': (0.2, 0.5), 'b': (0.91, 0.1)}
    """
    if not len(groups):
        return {}
    code = {name: place for place, name in enumerate(dict.fromkeys(groups))}
    codes = np.array([code[group] for group in groups])
    cells = np.minimum((xy * CELLS).astype(np.int64), CELLS - 1) @ (CELLS, 1)
    counts = np.bincount(codes * CELLS**2 + cells, minlength=len(code) * CELLS**2).reshape(len(code), CELLS**2)
    densest = np.flatnonzero(cells == counts.argmax(axis=1)[codes])
    order = densest[np.argsort(codes[densest], kind="stable")]
    parts = np.split(xy[order], np.flatnonzero(np.diff(codes[order])) + 1)
    middles = {name: _middle(points) for name, points in zip(code, parts, strict=True)}
    return dict(sorted(middles.items(), key=lambda item: (*item[1], item[0])))


def marks(ordered: Iterable[str]) -> dict[str, Mark]:
    """Returns colour and symbol of each group. Neighbours on the map differ in colour first, then in symbol.

    >>> len(set(marks(str(n) for n in range(42)).values()))
    42
    """
    return {
        name: (GROUPS[place % len(GROUPS)], SYMBOLS[place // len(GROUPS) % len(SYMBOLS)])
        for place, name in enumerate(ordered)
    }


def size_px(price_usd: float) -> float:
    """Returns the diameter for a price per call, which grows with its logarithm; NaN is unpriced.

    >>> [round(size_px(price), 1) for price in (0.0, 0.001, 0.1, 5.0, math.nan)]
    [6.0, 9.7, 17.0, 17.0, 8.0]
    """
    if math.isnan(price_usd):
        return UNPRICED_PX
    low, high = SIZES_USD[0], SIZES_USD[-1]
    share = math.log(min(max(price_usd, low), high) / low) / math.log(high / low)
    return SMALLEST_PX + (LARGEST_PX - SMALLEST_PX) * share


def shrinking(count: int) -> float:
    """Returns the factor on sizes for many tools."""
    return min(1.0, max(0.5, math.sqrt(ROOMY / max(count, 1))))


def symbols(groups: Sequence[str], looks: Mapping[str, Mark], price_usd: Floats) -> list[str]:
    return [
        f"{looks[group][1]}-open" if unpriced else looks[group][1]
        for group, unpriced in zip(groups, np.isnan(price_usd).tolist(), strict=True)
    ]


def _middle(xy: Floats) -> tuple[float, float]:
    x, y = np.median(xy, axis=0).astype(float).round(4)
    return float(x), float(y)


HOVER_CHARACTERS = 64


@dataclass(frozen=True)
class MapData:
    """The data of a drawn map: group and price (NaN: unpriced) of each tool (T,), the highlighted tools (T,), an optional
    decision with the place of its sub-task, the row of the chosen tool, and the part in sight."""

    drawn: CatalogMap
    catalog: Catalog
    groups: Sequence[str]
    price_usd: NDArray[np.float64]
    lit: NDArray[np.bool_]
    decision: Decision | None = None
    place: Placement | None = None
    chosen: int | None = None
    view: View = WHOLE

    @cached_property
    def points(self) -> Pointed:
        always: list[int] = []
        if self.decision is not None:
            always += [*self.decision.candidates, *_ringed(self.decision)]
        if self.chosen is not None:
            always.append(self.chosen)
        return pointed(self.drawn.xy, self.view, self.lit, always)

    def sizes_px(self, rows: Iterable[int]) -> list[float]:
        factor = shrinking(len(self.points.rows))
        return [factor * size_px(float(self.price_usd[row])) for row in rows]


def wrapped(text: str) -> str:
    """Returns a stranger's text in escaped lines for a hover box."""
    return "<br>".join(label(line, HOVER_CHARACTERS) for line in textwrap.wrap(text, HOVER_CHARACTERS))


def still(mode: str) -> dict[str, Any]:
    """Returns a trace without hover that does not fade when a tool is chosen."""
    opaque = {"marker": {"opacity": 1}}
    return {
        "type": "scatter", "mode": mode, "hoverinfo": "skip", "showlegend": False, "selected": opaque, "unselected": opaque,
    }  # fmt: skip


BADGE_SHIFTS_PX = ((13, 13), (13, -13), (-13, -13), (-13, 13))  # for badges of candidates at one place


def decision_traces(data: MapData, decision: Decision, place: Placement) -> list[dict[str, Any]]:
    """Returns rings around the tools of short-listed servers, lines to the candidates, and the star."""
    servers, candidates, xy = decision.servers, list(decision.candidates), data.drawn.xy
    traces: list[dict[str, Any]] = []
    ringed = _ringed(decision)
    for colour, mask in ((ACCEPTED, servers.accepted), (REJECTED, ~servers.accepted)):
        rows = ringed[mask[decision.tools.server_row[ringed]]]
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
    hover = {"hoverinfo": "text", "hovertext": [f"<b>Sub-task</b><br>{wrapped(decision.query[:300])}"]}
    traces.append({**still("markers"), **hover, "x": [place.x], "y": [place.y], "marker": star})
    return traces


def _ringed(decision: Decision) -> NDArray[np.int64]:
    """Returns the tools (rows) of short-listed servers; none without a selection, because rings carry no information then."""
    shortlisted = decision.servers.shortlisted
    return np.flatnonzero((shortlisted & ~shortlisted.all())[decision.tools.server_row])


def badges(data: MapData) -> list[dict[str, Any]]:
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
    return {
        **still("markers"),
        "x": data.drawn.xy[rows, 0],
        "y": data.drawn.xy[rows, 1],
        "marker": {
            "symbol": "circle-open",
            "color": colour,
            "size": [size + 7 for size in data.sizes_px(rows)],
            "line": {"width": width},
        },
    }


WIDTH_PX, HEIGHT_PX = 760, 600  # of a narrow map; a wider map has fewer overlaps
CHARACTER_PX, LINE_PX = 6.8, 17
SHIFTS = (0, 1, -1, 2, -2)  # in lines, up or down from the middle of the group


class Label(NamedTuple):
    """A text and its middle in [0, 1]."""

    text: str
    x: float
    y: float

    def meets(self, other: Label) -> bool:
        width_px = (len(self.text) + len(other.text)) * CHARACTER_PX / 2
        across, up = self.x * WIDTH_PX - other.x * WIDTH_PX, self.y * HEIGHT_PX - other.y * HEIGHT_PX
        return abs(across) < width_px and abs(up) < LINE_PX


def room_for(wanted: Iterable[Label]) -> list[Label]:
    """Returns the labels that fit without overlap, moved by at most two lines. Earlier labels have priority.

    >>> [(label.text, round(label.y, 2)) for label in room_for([Label("files", 0.5, 0.5), Label("mail", 0.5, 0.5)])]
    [('files', 0.5), ('mail', 0.53)]
    """
    labels: list[Label] = []
    for text, x, y in wanted:
        half = min(len(text) * CHARACTER_PX / 2 / WIDTH_PX, 0.5)
        candidates = (Label(text, min(max(x, half), 1 - half), y + shift * LINE_PX / HEIGHT_PX) for shift in SHIFTS)
        free = next((candidate for candidate in candidates if not any(map(candidate.meets, labels))), None)
        labels += [] if free is None else [free]
    return labels


CONFIG = {"displaylogo": False, "scrollZoom": True, "modeBarButtons": [["zoomIn2d", "zoomOut2d", "resetScale2d"]]}  # fmt: skip
LABEL_CHARACTERS, MOST_NAMES = 22, 300
FEW_TOOLS, NAME_SHIFT_PX = 50, 16
CLEAR, BEHIND, GREY = 0.9, 0.4, 0.22  # opacities: considered, not on the short-list, not highlighted


def tool_map(data: MapData) -> go.Figure:
    """Draws a point for each tool: colour and symbol by group, size by price; ★ is the sub-task, rings mark its candidates."""
    middles = centres(data.groups, data.drawn.xy)
    below = [density(data.drawn.xy, behind=len(data.points.rows) > CROWD)] if data.points.dense else []
    traces = [*below, _tools(data, middles)]
    if data.decision is not None and data.place is not None:
        traces += decision_traces(data, data.decision, data.place)
    axis = {"visible": False, "range": [-0.02, 1.02], "automargin": False}
    return figure(
        [*traces, *_legend(data)],
        title=f"{len(data.drawn.ids):,} tools: tools that are close do similar things",
        height=610,
        xaxis=axis,
        yaxis=axis,
        margin={"l": 0, "r": 0, "t": 34, "b": 0},
        dragmode="pan",
        clickmode="event+select",
        hovermode="closest",
        uirevision=data.catalog.name,  # keeps zoom and position
        selectionrevision=False,  # the figure has the chosen point
        showlegend=True,
        annotations=[*_names(data, middles), *badges(data)],
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": MUTED, "activecolor": CHOSEN},
        legend={"orientation": "h", "y": 0, "yanchor": "top", "x": 0, "font": {"size": 11}, "itemclick": False, "itemdoubleclick": False},
    )  # fmt: skip


def _tools(data: MapData, middles: dict[str, tuple[float, float]]) -> dict[str, Any]:
    looks, rows = marks(middles), data.points.rows
    groups = [data.groups[int(row)] for row in rows]
    opacity = np.where(data.lit[rows], CLEAR, GREY)
    if data.decision is not None and data.lit.all():
        opacity = np.where(data.decision.servers.shortlisted[data.decision.tools.server_row[rows]], CLEAR, BEHIND)
    colours = [
        see_through(looks[group][0] if lit else MUTED, share)
        for group, lit, share in zip(groups, data.lit[rows].tolist(), opacity.tolist(), strict=True)
    ]
    return {
        "type": "scatter",  # WebGL draws 10,000 points no faster on a machine without a graphics card, and needs one
        "mode": "markers",
        "x": data.drawn.xy[rows, 0],
        "y": data.drawn.xy[rows, 1],
        "marker": {
            "color": colours,
            "symbol": symbols(groups, looks, data.price_usd[rows]),
            "size": data.sizes_px(rows.tolist()),
            "opacity": 1,
            "line": {"width": 1.5, "color": "rgba(0,0,0,0)"},  # a hollow symbol's line has its own colour
        },
        **({} if data.chosen is None else {"selectedpoints": np.flatnonzero(rows == data.chosen).tolist()}),
        "selected": {"marker": {"size": 22, "opacity": 1, "color": LOOKED_AT}},
        "unselected": {"marker": {"opacity": 1}},
        "customdata": [data.drawn.ids[row] for row in rows.tolist()],
        "hovertext": _hovers(data),
        "hoverinfo": "text",
        "showlegend": False,
    }


def _hovers(data: MapData) -> list[str]:
    similarity = None if data.decision is None else data.decision.tools.similarity
    texts: list[str] = []
    for row in map(int, data.points.rows):
        tool = data.catalog.tools[row]
        numbers = units.price(float(data.price_usd[row]))
        if similarity is not None:
            numbers += f" · similarity {similarity[row]:.3f}"
        place = " · ".join(dict.fromkeys((tool.server, data.groups[row])))
        lines = [f"<b>{label(tool.name, HOVER_CHARACTERS)}</b>", label(place, HOVER_CHARACTERS), numbers]
        texts.append("<br>".join([*lines, wrapped(first_sentence(tool.description))]))
    return texts


def _names(data: MapData, middles: dict[str, tuple[float, float]]) -> list[dict[str, Any]]:
    lit = Counter(group for group, is_lit in zip(data.groups, data.lit.tolist(), strict=True) if is_lit)
    names = room_for(Label(label(group, LABEL_CHARACTERS), *middles[group]) for group, _ in lit.most_common(MOST_NAMES))
    font = {"size": 12, "weight": 600, "shadow": "auto"}
    above = NAME_SHIFT_PX if len(data.drawn.ids) <= FEW_TOOLS else 0  # among few tools a name would hide a tool
    return [
        {"x": name.x, "y": name.y, "yshift": above, "text": name.text, "font": font, "showarrow": False}
        for name in names
    ]


def _legend(data: MapData) -> list[dict[str, Any]]:
    factor = shrinking(len(data.points.rows))
    dot, hollow = {"symbol": "circle", "color": MUTED}, {"symbol": "circle-open", "color": MUTED}
    entries = [(units.price(usd), {**dot, "size": factor * size_px(usd)}) for usd in SIZES_USD]
    entries.append(("unpriced", {**hollow, "size": factor * UNPRICED_PX}))
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
