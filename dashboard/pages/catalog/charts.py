"""Servers whose tools are taken for one another: a point for each pair of servers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import plotly.graph_objects as go

from core.domain.findings import ToolFound
from dashboard.theme import CHOSEN, REJECTED
from dashboard.ui.charts.base import figure, label

ROW_PX, LEAST_PX, MOST_SERVERS = 17, 260, 40
SEPARATOR = "\n"


def taken_for_map(tools: Sequence[ToolFound]) -> go.Figure:
    """Draws the servers of the most missed tools: rows are meant, columns are found first. The area of a point is its count.
    Points within a server stand out. `customdata` holds both names."""
    times: Counter[tuple[str, str]] = Counter()
    for tool in tools:
        for other, count in tool.taken_for:
            times[tool.tool.partition("::")[0], other.partition("::")[0]] += count
    of_server: Counter[str] = Counter()
    for (server, rival), count in times.items():
        of_server[server] += count
        of_server[rival] += count
    names = sorted(name for name, _ in of_server.most_common(MOST_SERVERS))
    place = {name: row for row, name in enumerate(names)}
    points = [(pair, count) for pair, count in times.items() if pair[0] in place and pair[1] in place]
    most = max((count for _, count in points), default=1)
    trace = {
        "type": "scatter", "mode": "markers",
        "x": [place[rival] for (_, rival), _ in points], "y": [place[server] for (server, _), _ in points],
        "customdata": [f"{server}{SEPARATOR}{rival}" for (server, rival), _ in points],
        "marker": {
            "size": [5 + 15 * (count / most) ** 0.5 for _, count in points], "opacity": 0.85,
            "color": [REJECTED if server == rival else CHOSEN for (server, rival), _ in points],
        },
        "hovertext": [
            f"{count} requests of {label(server)} find {'another tool of it' if server == rival else label(rival)} first" for (server, rival), count in points
        ],
        "hoverinfo": "text",
    }  # fmt: skip
    axis = {"tickvals": list(range(len(names))), "ticktext": [label(name, 20) for name in names], "zeroline": False, "fixedrange": True}  # fmt: skip
    room = {"range": [-0.7, len(names) - 0.3]}
    return figure(
        [trace],
        title="Meant (rows) and found first (columns)",
        height=max(LEAST_PX, 110 + ROW_PX * len(names)),
        xaxis={**axis, **room, "tickangle": -90, "tickfont": {"size": 9}},
        yaxis={**axis, "range": [len(names) - 0.3, -0.7], "tickfont": {"size": 10}},
    )
