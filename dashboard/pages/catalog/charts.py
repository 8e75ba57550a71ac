"""Who is taken for whom: a point for each pair of servers whose tools are taken for one another."""

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
    """Draws the servers of the tools that are missed most: rows are meant, columns are found first. The area of a point is how
    often. Points within a server stand out. `customdata` holds both names."""
    times: Counter[tuple[str, str]] = Counter()
    for one in tools:
        for other, count in one.taken_for:
            times[one.tool.partition("::")[0], other.partition("::")[0]] += count
    of_server: Counter[str] = Counter()
    for (meant, found), count in times.items():
        of_server[meant] += count
        of_server[found] += count
    names = sorted(name for name, _ in of_server.most_common(MOST_SERVERS))
    place = {name: row for row, name in enumerate(names)}
    drawn = [(pair, count) for pair, count in times.items() if pair[0] in place and pair[1] in place]
    most = max((count for _, count in drawn), default=1)
    trace = {
        "type": "scatter", "mode": "markers",
        "x": [place[found] for (_, found), _ in drawn], "y": [place[meant] for (meant, _), _ in drawn],
        "customdata": [f"{meant}{SEPARATOR}{found}" for (meant, found), _ in drawn],
        "marker": {
            "size": [5 + 15 * (count / most) ** 0.5 for _, count in drawn], "opacity": 0.85,
            "color": [REJECTED if meant == found else CHOSEN for (meant, found), _ in drawn],
        },
        "hovertext": [
            f"{count} requests of {label(meant)} find {'another tool of it' if meant == found else label(found)} first" for (meant, found), count in drawn
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
