"""The share of tasks whose winner changes when a knob is turned, a bar for each knob and turn."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from core.domain.params import Knob
from core.whatif.tornado import Bar, Tornado
from dashboard.theme import MONEY, SIMILARITY
from dashboard.ui.charts.base import EDGES, figure, row_texts, rows_axis

SHADES = {0.5: 0.4, 0.25: 0.65, 0.1: 1.0}


def tornado_chart(tornado: Tornado, knobs: Mapping[str, Knob]) -> go.Figure:
    """Turned down to the left, up to the right; the largest reach on top. A bar's customdata is `knob|turn`."""
    names = sorted(
        {bar.name for bar in tornado.bars if bar.changed},
        key=lambda name: max(b.share for b in tornado.bars if b.name == name),
    )
    place = {name: number for number, name in enumerate(names)}
    drawn = [_bars(tornado, place, knobs, turn, up) for turn in SHADES for up in (False, True)]
    reach = 100 * max((bar.share for bar in tornado.bars), default=0.1)
    places = list(range(len(names)))
    return figure(
        [*drawn, row_texts([f"<b>{knobs[name].symbol}</b> {knobs[name].label.lower()}" for name in names], places)],
        title="Tasks whose winner changes when a knob is turned",
        height=90 + 42 * len(names),
        barmode="overlay",
        xaxis2=EDGES,
        xaxis={"range": [-1.1 * reach, 1.1 * reach], "title": {"text": "% of the tasks", "font": {"size": 11}}},
        yaxis=rows_axis(len(names), shown=len(names)),
    )


def _bars(
    tornado: Tornado, place: Mapping[str, int], knobs: Mapping[str, Knob], turn: float, up: bool
) -> dict[str, object]:
    bars = [bar for bar in tornado.bars if bar.name in place and abs(bar.turn) == turn and (bar.turn > 0) is up]
    return {
        "type": "bar", "orientation": "h", "y": [place[bar.name] for bar in bars],
        "x": [(100 if up else -100) * bar.share for bar in bars], "width": 0.36,
        "marker": {"color": MONEY if up else SIMILARITY, "opacity": SHADES[turn]},
        "customdata": [f"{bar.name}|{bar.turn:g}" for bar in bars],
        "hovertext": [_hover(bar, knobs[bar.name], len(tornado.tasks)) for bar in bars], "hoverinfo": "text",
    }  # fmt: skip


def _hover(bar: Bar, knob: Knob, tasks: int) -> str:
    return (
        f"{knob.symbol} {bar.now:.4g} → {bar.value:.4g} ({bar.turn:+.0%})<br>another winner: {len(bar.changed)} of {tasks} tasks"
        f"<br>success {100 * bar.success:+.2f} points<br>money {1e3 * bar.usd:+.3g} m$ per task"
    )
