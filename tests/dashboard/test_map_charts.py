"""The map's chart: valid for Plotly, one point a tool, meanings by colour, symbol and size, and strangers' text as text."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.domain.catalog import Catalog, Server, Tool
from core.domain.decision import Decision
from core.domain.statistics import CatalogMap, Placement
from core.routers.ehrr import Ehrr, EhrrParameters
from core.routers.presets import applied
from dashboard.pages.map.charts import (
    HEIGHT_PX,
    WIDTH_PX,
    Label,
    MapData,
    room_for,
    tool_map,
)
from dashboard.pages.map.density import ALL_POINTS, MOST_POINTS, View
from dashboard.theme import ACCEPTED, CHOSEN, LOOKED_AT, MUTED, REJECTED
from tests.cases import each
from tests.dashboard.chart_texts import HOSTILE, texts
from tests.routers import worlds

OUR_TAGS = re.compile(r"</?b>|<br>")
PRICES = (0.0001, 0.01, None, 0.0, 3.0)


def market(servers: int = 12, *, name: str = "server") -> Catalog:
    """Servers of five tools each, in three categories; every third asks too much."""
    return Catalog(
        "market",
        tuple(
            Server(
                f"{name} {row}",
                f"about {'abcdefghijkl'[row % 12] * 5}",
                category=f"{name[:8]} kind {row % 3}",
                ask_usd=0.9 if row % 3 == 2 else 0.0001,
                tools=tuple(
                    Tool(f"{name} {row}", f"{name} {n}", f"{name} does {'vwxyz'[n] * 4}.", price_usd=price)
                    for n, price in enumerate(PRICES)
                ),
            )
            for row in range(servers)
        ),
    )


def decided(catalog: Catalog, **parameters: object) -> tuple[Decision, Placement]:
    """A decision over a catalog, and its sub-task's place."""
    tools, servers = len(catalog.tools), len(catalog.servers)
    of_tools = {tool.id: 0.9 - 0.5 * row / tools for row, tool in enumerate(catalog.tools)}
    of_servers = {server.name: 0.9 - 0.5 * row / servers for row, server in enumerate(catalog.servers)}
    paper = applied(EhrrParameters, "paper", parameters)
    decision = Ehrr().route(HOSTILE, worlds.context(catalog, of_servers, of_tools), paper)
    return decision, Placement(0.4, 0.6, np.linspace(0, 1, len(catalog.tools), dtype=np.float32))


def shown(catalog: Catalog | None = None, *, by: str = "category", asked: bool = True, **changes: Any) -> MapData:
    source = market() if catalog is None else catalog
    tools = source.tools
    xy = np.random.default_rng(1).random((len(tools), 2)).astype(np.float32)
    category = {server.name: server.category for server in source.servers}
    prices = np.array([math.nan if tool.price_usd is None else tool.price_usd for tool in tools])
    decision, place = decided(source) if asked and tools else (None, None)
    data = MapData(
        CatalogMap("market", tuple(tool.id for tool in tools), xy, 0.6),
        source,
        [tool.server if by == "server" else category[tool.server] for tool in tools],
        prices,
        np.ones(len(tools), dtype=bool),
        decision,
        place,
    )
    return replace(data, **changes)


def points(figure: go.Figure) -> Any:
    """The trace that can be clicked."""
    (clickable,) = [trace for trace in figure.data if trace.customdata is not None]
    return clickable


def rings(figure: go.Figure, colour: str) -> list[tuple[float, float]]:
    """The places of a colour's rings."""
    return [
        (float(x), float(y))
        for trace in figure.data
        if trace.marker.symbol == "circle-open" and trace.marker.color == colour and not trace.showlegend
        for x, y in zip(trace.x, trace.y, strict=True)
    ]


@each("name", ["server", HOSTILE, "x" * 300])
def test_plotly_takes_it_and_names_are_text(name: str) -> None:
    document = tool_map(shown(market(4, name=name), by="server" if name == HOSTILE else "category")).to_dict()
    assert go.Figure(**document).layout.title.text == "20 tools: tools that are close do similar things"
    for text in texts(document):
        assert "<" not in OUR_TAGS.sub("", text), text
        assert text.isprintable()
        assert len(text) < 500
    for trace in document["data"]:
        assert not {"hovertemplate", "texttemplate"} & set(trace)


def test_every_tool_is_a_point_with_its_figures_to_read() -> None:
    data = shown()
    trace = points(tool_map(data))
    assert list(trace.customdata) == list(data.drawn.ids)
    np.testing.assert_allclose(np.column_stack([trace.x, trace.y]), data.drawn.xy)
    similarity = data.decision.tools.similarity[0]
    assert trace.hovertext[0] == (
        f"<b>server 0</b><br>server 0 · server kind 0<br>0.1 m$ · similarity {similarity:.3f}<br>server does vvvv."
    )
    assert "unpriced" in trace.hovertext[2]
    assert "similarity" not in points(tool_map(shown(asked=False))).hovertext[0]


def test_size_says_the_price_and_a_hollow_symbol_that_there_is_none() -> None:
    trace = points(tool_map(shown()))
    sizes, hollow = trace.marker.size[:5], [symbol.endswith("-open") for symbol in trace.marker.symbol[:5]]
    assert sizes[0] == sizes[3] < sizes[1] < sizes[4]
    assert hollow == [False, False, True, False, False]
    legend = {entry.name: entry.marker for entry in tool_map(shown()).data if entry.showlegend}
    assert [legend[text].size for text in ("0.1 m$", "10 m$")] == [sizes[0], sizes[1]]
    assert legend["unpriced"].symbol == "circle-open"
    assert legend["unpriced"].size == sizes[2]
    crowd = points(tool_map(shown(market(700), asked=False)))
    assert crowd.marker.size[0] < sizes[0]


def test_only_what_is_highlighted_keeps_its_colour() -> None:
    data = shown(asked=False)
    lit = np.array([group == "server kind 1" for group in data.groups])
    colours = points(tool_map(replace(data, lit=lit))).marker.color
    grey = {colour for colour, is_lit in zip(colours, lit, strict=True) if not is_lit}
    assert len(grey) == 1
    assert next(iter(grey)).startswith(f"rgba({int(MUTED[1:3], 16)}, ")
    assert not grey & {colour for colour, is_lit in zip(colours, lit, strict=True) if is_lit}
    labels = [note.text for note in tool_map(replace(data, lit=lit)).layout.annotations]
    assert labels == ["server kind 1"]


def test_the_decision_is_drawn_as_it_was_made() -> None:
    data = shown()
    figure, decision = tool_map(data), data.decision
    assert decision.candidates
    xy = [tuple(map(float, point)) for point in data.drawn.xy]
    assert rings(figure, CHOSEN) == [xy[row] for row in decision.candidates]
    badges = [(note.text, note.x, note.y) for note in figure.layout.annotations if note.bgcolor == CHOSEN]
    assert badges == [(f"<b>{rank}</b>", *xy[row]) for rank, row in enumerate(decision.candidates, start=1)]
    (star,) = [trace for trace in figure.data if trace.marker.symbol == "star" and not trace.showlegend]
    assert (star.x[0], star.y[0]) == (0.4, 0.6)
    assert star.hovertext[0].startswith("<b>Sub-task</b><br>&lt;img")
    servers, of_tool = decision.servers, decision.tools.server_row
    for colour, accepted in ((ACCEPTED, True), (REJECTED, False)):
        rows = [
            row
            for row, server in enumerate(of_tool)
            if servers.shortlisted[server] and servers.accepted[server] == accepted and row not in decision.candidates
        ]
        assert rows
        assert sorted(rings(figure, colour)) == sorted(xy[row] for row in rows)


def test_the_chosen_tool_stands_out_and_nothing_else_fades() -> None:
    figure = tool_map(shown(chosen=7))
    trace = points(figure)
    assert list(trace.selectedpoints) == [7]
    assert trace.selected.marker.color == LOOKED_AT
    assert all(other.unselected.marker.opacity == 1 for other in figure.data if other.mode != "lines")
    assert points(tool_map(shown())).selectedpoints is None


def test_names_never_cover_each_other_and_the_largest_group_is_named() -> None:
    rng = np.random.default_rng(2)
    labels = [Label("n" * int(rng.integers(3, 22)), *rng.random(2)) for _ in range(81)]
    placed = room_for(labels)
    assert placed[0].text == labels[0].text
    assert 20 < len(placed) < 81
    for row, label in enumerate(placed):
        assert 0 <= label.x <= 1
        for other in placed[row + 1 :]:
            wide = (len(label.text) + len(other.text)) / 2 * 6 / WIDTH_PX
            assert abs(label.x - other.x) >= wide or abs(label.y - other.y) >= 15 / HEIGHT_PX


def crowd(count: int = ALL_POINTS + 1_000) -> MapData:
    """A catalog that is too large for points, half of it in one corner."""
    catalog = market(count // len(PRICES))
    data = shown(catalog, asked=False)
    xy = np.random.default_rng(4).random((len(catalog.tools), 2)).astype(np.float32)
    xy[::2] *= 0.25
    return replace(data, drawn=replace(data.drawn, xy=xy))


def test_a_large_catalog_is_a_density_that_counts_every_tool() -> None:
    data = crowd()
    figure = tool_map(data)
    (heat,) = [trace for trace in figure.data if trace.type == "heatmap"]
    assert sum(count for row in heat.z for count in row if count is not None) == len(data.catalog.tools)
    assert not [count for row in heat.z for count in row if count == 0]
    assert len(points(figure).x) == 0
    assert go.Figure(**figure.to_dict())
    assert heat.colorscale[0][0] == 0
    assert heat.colorscale[-1][0] == 1
    cells = [heat.z[int(y * len(heat.z))][int(x * len(heat.x))] for x, y in data.drawn.xy.tolist()]
    assert all(cells)  # rows are y, columns are x
    assert not [trace for trace in tool_map(shown(asked=False)).data if trace.type == "heatmap"]


def test_the_few_tools_in_sight_are_points_and_so_are_those_that_matter() -> None:
    data = crowd()
    inside = View(0.5, 0.7, 0.5, 0.8)
    trace = points(tool_map(replace(data, view=inside)))
    assert list(trace.customdata) == [data.drawn.ids[row] for row in inside.rows(data.drawn.xy)]
    assert 0 < len(trace.x) < MOST_POINTS
    assert len(points(tool_map(replace(data, view=View(0.0, 0.3, 0.0, 0.3)))).x) == 0  # too many
    lit = np.array([group == "server kind 1" for group in data.groups]) & (np.arange(len(data.groups)) < 900)
    far = int(np.flatnonzero(lit)[-1]) + 1
    trace = points(tool_map(replace(data, lit=lit, chosen=far)))
    assert list(trace.customdata) == [data.drawn.ids[row] for row in np.flatnonzero(lit | (np.arange(len(lit)) == far))]
    assert trace.customdata[trace.selectedpoints[0]] == data.drawn.ids[far]
