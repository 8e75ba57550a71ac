"""A measure over one swept parameter."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from core.domain.params import Value
from dashboard.theme import CHOSEN, MUTED, SIMILARITY
from dashboard.ui.charts.base import figure, label


def sweep_lines(
    values: Sequence[Value], measured: Sequence[float], numbers: Sequence[int], *, axis: str, measure: str, chosen: int, now: Value
) -> go.Figure:  # fmt: skip
    """A point for each value of the axis, with its number to choose it by; the `chosen` one as a star, a line where the knob is `now`."""
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    places = [value if numeric else str(value) for value in values]
    picked = [number == chosen for number in numbers]
    trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": places,
        "y": measured,
        "customdata": [str(number) for number in numbers],
        "line": {"color": SIMILARITY, "width": 1.5},
        "marker": {
            "size": [14 if one else 8 for one in picked],
            "symbol": ["star" if one else "circle" for one in picked],
            "color": [CHOSEN if one else SIMILARITY for one in picked],
        },
        "hovertemplate": f"{label(axis)} = %{{x}}<br>{label(measure)} %{{y:.4g}}<extra></extra>",
    }
    at_now = now if numeric else str(now)
    line = {"type": "line", "x0": at_now, "x1": at_now, "yref": "paper", "y0": 0, "y1": 1, "line": {"color": MUTED, "dash": "dot", "width": 1}}  # fmt: skip
    return figure(
        [trace],
        title=f"{label(measure, 80)} over {label(axis)}; ★ chosen, dotted: the knob now",
        height=320,
        xaxis={"title": {"text": label(axis), "font": {"size": 11}}, **({} if numeric else {"type": "category"})},
        shapes=[line] if at_now in places or (numeric and now is not None) else [],
    )
