"""The one template of all charts, and text from strangers made safe for Plotly, which reads markup in labels."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.io.json import to_json_plotly

from core.shared.untrusted_text import one_line
from dashboard.theme import GRID, MUTED

LABEL_LIMIT = 34


def label(text: str, limit: int = LABEL_LIMIT) -> str:
    """A name as text, never markup: on one line with nothing unseen, shortened in the middle, escaped.

    >>> label("<b>bold</b>")
    '&lt;b&gt;bold&lt;/b&gt;'
    >>> label("a-very-long-server-name::and-a-long-tool-name", 20)
    'a-very-lo…-tool-name'
    """
    line = one_line(text)
    if len(line) > limit:
        tail = limit // 2
        line = f"{line[: limit - tail - 1]}…{line[-tail:]}"
    return html.escape(line, quote=False)


class LazyFigure(go.Figure):
    """A figure that is made into Plotly's objects when somebody looks into it. The page needs its JSON and its title alone, and
    making objects of them takes four times as long as deciding.

    >>> drawn = figure([{"type": "bar", "y": [1, float("nan")]}], title="Two", height=100)
    >>> figure_json(drawn)[:40], title_of(drawn), type(drawn) is go.Figure
    ('{"data":[{"type":"bar","y":[1,null]}],"l', 'Two', False)
    >>> drawn.data[0].type, figure_json(drawn)[:40], title_of(drawn), type(drawn) is go.Figure
    ('bar', '{"data":[{"y":[1,null],"type":"bar"}],"l', 'Two', True)
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        object.__setattr__(self, "spec", spec)

    def __getattribute__(self, name: str) -> Any:
        if name in {"spec", "__class__"}:
            return object.__getattribute__(self, name)
        spec = object.__getattribute__(self, "spec")
        object.__setattr__(self, "__class__", go.Figure)
        go.Figure.__init__(self, spec, _validate=False)
        return getattr(self, name)


def figure_json(drawn: go.Figure) -> str:
    """A figure as the browser is given it."""
    if type(drawn) is not LazyFigure:
        return str(drawn.to_json(validate=False))
    try:
        return json.dumps(drawn.spec, default=_as_list, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):  # numbers that JSON has not, dates
        return str(to_json_plotly(drawn.spec))


def _as_list(value: object) -> object:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError


def title_of(drawn: go.Figure) -> str:
    """What a figure says it shows, with markup."""
    return str(drawn.spec["layout"]["title"]["text"] if type(drawn) is LazyFigure else drawn.layout.title.text)


def figure(traces: Sequence[Mapping[str, Any]], *, title: str, height: int, **layout: Any) -> go.Figure:
    """A figure in the house style. `title` says what the chart shows; `layout` goes on top of the template."""
    base: dict[str, Any] = {
        "template": {},  # the page adds its colours and fonts, in light and in dark
        "title": {"text": title, "x": 0, "xref": "container", "pad": {"l": 4}, "font": {"size": 13}},
        "height": height,
        "margin": {"l": 8, "r": 8, "t": 34, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "font": {"size": 12},
        "hoverlabel": {"font": {"size": 12}, "align": "left"},
        "bargap": 0.35,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 11}},
        "dragmode": False,
    }
    for axis in ("xaxis", "yaxis"):
        style: dict[str, Any] = {"automargin": True, "gridcolor": GRID, "zerolinecolor": MUTED, "zerolinewidth": 1}
        base[axis] = {**style, **layout.pop(axis, {})}
    # a redraw of the page makes six figures: validating them would take longer than deciding; tests validate each chart
    return LazyFigure({"data": [dict(trace) for trace in traces], "layout": {**base, **layout}})


def row_texts(texts: Sequence[str], rows: Sequence[int], *, right: bool = False, faded: bool = False) -> dict[str, Any]:
    """A trace that writes texts above the rows 0, 1, 2... of a horizontal chart, at its left or right edge.

    Names there take no width from the bars. Needs the axis `EDGES`.
    """
    return {
        "type": "scatter",
        "mode": "text",
        "x": [1 if right else 0] * len(rows),
        "y": [row + 0.44 for row in rows],
        "xaxis": "x2",
        "text": texts,
        "textposition": "middle left" if right else "middle right",
        "textfont": {"size": 11},
        "opacity": 0.65 if faded else 1.0,
        "cliponaxis": False,
        "hoverinfo": "skip",
        "showlegend": False,
    }


EDGES = {"overlaying": "x", "range": [0, 1], "visible": False, "fixedrange": True}


def rows_axis(count: int, *, shown: int) -> dict[str, Any]:
    """A y axis for rows 0, 1, 2... with room for their labels; at least `shown` rows, so that bars keep their size."""
    return {
        "showticklabels": False,
        "showgrid": False,
        "zeroline": False,
        "range": [count - 0.4 - max(count, shown), count - 0.3],
    }


# two quick clicks, on whatever points, are two clicks
CONFIG = {"displayModeBar": False, "doubleClick": False, "doubleClickDelay": 0}
