"""What calls cost: by server, and over time. Simulated spending is drawn apart, and unpriced calls are counted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.shared import units
from dashboard.theme import MONEY
from dashboard.ui.charts.base import EDGES, label, row_texts, rows_axis
from dashboard.ui.charts.time_axes import (
    SMALL,
    WORDS,
    bucket_words,
    calls_words,
    chart,
    fill,
    local,
    money_unit,
    time_axis,
)

SHOWN = 7
BAR = 0.2


def spending_by_server(frame: pd.DataFrame, *, height: int = 340) -> go.Figure:
    """Bars by server, dearest on top. Columns as `Activity.spending_by_server` gives them."""
    servers = _dearest(frame)
    shown = servers[:SHOWN][::-1]
    factor, unit = money_unit(frame["spent_usd"].dropna().tolist())
    traces = [_server_bars(frame, shown, simulated, factor) for simulated in (False, True)]
    notes = [f"{label(name)}{_unpriced(frame, name)}" for name in shown]
    return chart(
        [trace for trace in (*traces, row_texts(notes, range(len(notes)))) if trace["x"]],
        title="Spent by server" + (f": the {SHOWN} dearest of {len(servers)}" if len(servers) > SHOWN else ""),
        height=height,
        xaxis2=EDGES,
        barmode="overlay",
        xaxis={"title": {"text": f"{unit} spent", "font": SMALL}, "rangemode": "tozero"},
        yaxis=rows_axis(len(shown), shown=SHOWN),
    )


def spending_over_time(frame: pd.DataFrame, bucket: timedelta, zone: str, *, height: int = 340) -> go.Figure:
    """Bars by bucket of time. Columns as `Activity.spending_over_time` gives them."""
    factor, unit = money_unit(frame["spent_usd"].dropna().tolist())
    traces = [_time_bars(part, bucket, zone, factor) for _, part in frame.groupby("simulated")]
    return chart(
        traces,
        title=f"Spent over time, each {bucket_words(bucket)}",
        height=height,
        barmode="overlay",
        xaxis=time_axis(frame, bucket, zone),
        yaxis={"title": {"text": f"{unit} spent", "font": SMALL}, "rangemode": "tozero"},
    )


def _dearest(frame: pd.DataFrame) -> list[str]:
    """Servers by what their real calls cost, then by what simulated ones would have."""
    spent: dict[str, list[float]] = {}
    columns = zip(frame["server"], frame["simulated"], frame["spent_usd"].fillna(0.0), strict=True)
    for server, simulated, usd in columns:
        spent.setdefault(str(server), [0.0, 0.0])[int(simulated)] += usd
    return sorted(spent, key=lambda name: (-spent[name][0], -spent[name][1]))


def _server_bars(frame: pd.DataFrame, shown: list[str], simulated: bool, factor: float) -> dict[str, Any]:
    part = frame.loc[(frame["simulated"] == simulated) & frame["server"].isin(shown)]
    return {
        "type": "bar",
        "orientation": "h",
        "name": WORDS[simulated],
        "x": (part["spent_usd"].fillna(0.0) * factor).tolist(),
        "y": [shown.index(name) for name in part["server"]],
        "width": BAR,
        "offset": 0.0 if not simulated else -BAR,
        "marker": fill(MONEY, simulated=simulated),
        "hovertext": [f"{label(row.server, 60)}<br>{_hover(row)}" for row in part.itertuples()],
        "hoverinfo": "text",
    }


def _time_bars(part: pd.DataFrame, bucket: timedelta, zone: str, factor: float) -> dict[str, Any]:
    simulated = bool(part["simulated"].iloc[0])
    width_ms = bucket.total_seconds() * 1e3 * 0.42
    return {
        "type": "bar",
        "name": WORDS[simulated],
        "x": local(part["at"], zone),
        "y": (part["spent_usd"].fillna(0.0) * factor).tolist(),
        "width": width_ms,
        "offset": width_ms if simulated else 0.0,
        "marker": fill(MONEY, simulated=simulated),
        "hovertext": [f"{time[:16].replace('T', ' ')}<br>{_hover(row)}" for time, row in _rows(part, zone)],
        "hoverinfo": "text",
    }


def _rows(part: pd.DataFrame, zone: str) -> list[tuple[str, Any]]:
    return list(zip(local(part["at"], zone), part.itertuples(), strict=True))


def _hover(row: Any) -> str:
    spent = "no priced call" if pd.isna(row.spent_usd) else f"{units.price(row.spent_usd)} spent"
    return f"{WORDS[bool(row.simulated)]}: {spent}<br>{calls_words(row.calls, row.unpriced_calls)}"


def _unpriced(frame: pd.DataFrame, server: str) -> str:
    rows = frame.loc[frame["server"] == server]
    missing, calls = sum(rows["unpriced_calls"]), sum(rows["calls"])
    return f" · {missing:,} of {calls:,} calls unpriced" if missing else ""
