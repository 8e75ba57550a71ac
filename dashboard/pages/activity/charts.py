"""The charts of Activity: spending, statistics and trends over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.domain import units
from core.domain.catalog import tool_id
from core.domain.outcome import OutcomeKind
from core.lab.replay import Replayed
from dashboard.theme import ACCEPTED, CHOSEN, GRID, MONEY, MUTED, REJECTED, TIME
from dashboard.ui.charts.base import (
    EDGES,
    SMALL,
    WORDS,
    axis,
    bucket_words,
    calls_words,
    chart,
    fill,
    label,
    line,
    local,
    money_unit,
    row_texts,
    rows_axis,
    time_axis,
)

SHOWN = 7
BAR = 0.2
HEIGHT_PX = 340


def spending_by_server(frame: pd.DataFrame) -> go.Figure:
    """Draws bars by server, the dearest on top. `frame` is from `Activity.spending_by_server`."""
    servers = _dearest(frame)
    top_servers = servers[:SHOWN][::-1]
    factor, unit = money_unit(frame["spent_usd"].dropna().tolist())
    traces = [_server_bars(frame, top_servers, simulated, factor) for simulated in (False, True)]
    notes = [f"{label(name)}{_unpriced(frame, name)}" for name in top_servers]
    return chart(
        [trace for trace in (*traces, row_texts(notes, range(len(notes)))) if trace["x"]],
        title="Spent by server" + (f": the {SHOWN} dearest of {len(servers)}" if len(servers) > SHOWN else ""),
        height=HEIGHT_PX,
        xaxis2=EDGES,
        barmode="overlay",
        xaxis=axis(f"{unit} spent", rangemode="tozero"),
        yaxis=rows_axis(len(top_servers), shown=SHOWN),
    )


def spending_over_time(frame: pd.DataFrame, bucket: timedelta, zone: str) -> go.Figure:
    """Draws bars by bucket of time. `frame` is from `Activity.spending_over_time`."""
    factor, unit = money_unit(frame["spent_usd"].dropna().tolist())
    traces = [_time_bars(group, bucket, zone, factor) for _, group in frame.groupby("simulated")]
    return chart(
        traces, title=f"Spent over time, each {bucket_words(bucket)}", height=HEIGHT_PX, barmode="overlay",
        xaxis=time_axis(frame, bucket, zone),
        yaxis=axis(f"{unit} spent", rangemode="tozero"),
    )  # fmt: skip


def _dearest(frame: pd.DataFrame) -> list[str]:
    spending: dict[str, list[float]] = {}
    columns = zip(frame["server"], frame["simulated"], frame["spent_usd"].fillna(0.0), strict=True)
    for server, simulated, usd in columns:
        spending.setdefault(str(server), [0.0, 0.0])[int(simulated)] += usd
    return sorted(spending, key=lambda name: (-spending[name][0], -spending[name][1]))


def _server_bars(frame: pd.DataFrame, servers: list[str], simulated: bool, factor: float) -> dict[str, Any]:
    rows = frame.loc[(frame["simulated"] == simulated) & frame["server"].isin(servers)]
    return {
        "type": "bar", "orientation": "h", "name": WORDS[simulated],
        "x": (rows["spent_usd"].fillna(0.0) * factor).tolist(), "y": [servers.index(name) for name in rows["server"]],
        "width": BAR, "offset": 0.0 if not simulated else -BAR, "marker": fill(MONEY, simulated=simulated),
        "hovertext": [f"{label(row.server, 60)}<br>{_hover(row)}" for row in rows.itertuples()], "hoverinfo": "text",
    }  # fmt: skip


def _time_bars(group: pd.DataFrame, bucket: timedelta, zone: str, factor: float) -> dict[str, Any]:
    simulated = bool(group["simulated"].iloc[0])
    width_ms = bucket.total_seconds() * 1e3 * 0.42
    return {
        "type": "bar", "name": WORDS[simulated], "x": local(group["at"], zone),
        "y": (group["spent_usd"].fillna(0.0) * factor).tolist(), "width": width_ms,
        "offset": width_ms if simulated else 0.0, "marker": fill(MONEY, simulated=simulated),
        "hovertext": [f"{time[:16].replace('T', ' ')}<br>{_hover(row)}" for time, row in zip(local(group["at"], zone), group.itertuples(), strict=True)],
        "hoverinfo": "text",
    }  # fmt: skip


def _hover(row: Any) -> str:
    money = "no priced call" if pd.isna(row.spent_usd) else f"{units.price(row.spent_usd)} spent"
    return f"{WORDS[bool(row.simulated)]}: {money}<br>{calls_words(row.calls, row.unpriced_calls)}"


def _unpriced(frame: pd.DataFrame, server: str) -> str:
    rows = frame.loc[frame["server"] == server]
    missing, calls = sum(rows["unpriced_calls"]), sum(rows["calls"])
    return f" · {missing:,} of {calls:,} calls unpriced" if missing else ""


def success_history(frame: pd.DataFrame, zone: str, *, tool: str) -> go.Figure:
    """Draws r of the tool and of its server after each call. `frame` is from `Activity.statistics_history`."""
    return _history(
        frame, zone, ("tool_success", "server_success"), ACCEPTED, units.share, scale=100.0,
        title=f"Learnt success r of {label(tool, 60)}, call by call",
        yaxis=axis("r (%)", range=[-4, 104]),
    )  # fmt: skip


def latency_history(frame: pd.DataFrame, zone: str, *, tool: str) -> go.Figure:
    """Draws the running mean of the call time of the tool and of its server after each call."""
    return _history(
        frame, zone, ("tool_latency_s", "server_call_s"), TIME, units.seconds,
        title=f"Learnt latency of {label(tool, 60)}, call by call",
        yaxis=axis("running mean of call time (s)", rangemode="tozero"),
    )  # fmt: skip


def _history(
    frame: pd.DataFrame,
    zone: str,
    columns: tuple[str, str],
    colour: str,
    show: Callable[[float], str],
    *,
    scale: float = 1.0,
    **layout: Any,
) -> go.Figure:
    """Draws the columns of the tool and of its server. Calls that taught nothing, such as simulated ones, do not change the count of calls and
    are left out. The axis is of order, not time, because overlapping calls are learnt from in the order of their ends."""
    rows = frame.loc[frame["tool_calls"].diff().fillna(1) != 0]
    times = [time[:19].replace("T", " ") for time in local(rows["at"], zone)]
    traces = [
        {
            "type": "scatter", "mode": "lines+markers", "name": name, "x": list(range(1, len(rows) + 1)),
            "y": (rows[column] * scale).tolist(),
            "line": {"color": hue, "width": 2, "shape": "hv", "dash": dash}, "marker": {"color": hue, "size": 4},
            "hovertext": [
                f"{time}<br>{name}: {show(value)}<br>after {calls:,} of its calls"
                for time, value, calls in zip(times, rows[column], rows[f"{name}_calls"], strict=True)
            ],
            "hoverinfo": "text",
        }
        for name, column, hue, dash in (("tool", columns[0], colour, "solid"), ("server", columns[1], MUTED, "dot"))
    ]  # fmt: skip
    order = axis("real calls of the tool, in the order learnt from", range=[0.5, max(len(rows), 10) + 0.5])
    return chart(traces, height=320, xaxis=order, **layout)


def success_over_time(frame: pd.DataFrame, bucket: timedelta, zone: str, *, of: str) -> go.Figure:
    """Draws a line each for real and simulated calls. `frame` is from `Activity.success_and_latency_over_time`."""
    return _trends(
        frame, bucket, zone, {"": ("success_share", "solid")}, ACCEPTED, lambda share: f"{units.share(share)} succeeded", scale=100.0,
        title=f"Success of {label(of, 60)}, each {bucket_words(bucket)}",
        yaxis=axis("% of calls that succeeded", range=[-4, 104]),
    )  # fmt: skip


DECADES_S = [10.0**power for power in range(-3, 5)]


def latency_over_time(frame: pd.DataFrame, bucket: timedelta, zone: str, *, of: str) -> go.Figure:
    """Draws p50 solid and p95 dotted on a logarithmic axis, because a timeout is a thousand times longer than a quick answer."""
    return _trends(
        frame, bucket, zone, {"p50 ": ("latency_p50_s", "solid"), "p95 ": ("latency_p95_s", "dot")}, TIME, units.seconds,
        title=f"Latency of {label(of, 60)}, p50 and p95, each {bucket_words(bucket)}",
        top=78,  # four names: two lines of legend on a narrow chart
        yaxis={
            "title": {"text": "latency (logarithmic)", "font": SMALL, "standoff": 10}, "automargin": True,
            "type": "log", "tickvals": DECADES_S, "ticktext": [units.seconds(value) for value in DECADES_S],
        },
    )  # fmt: skip


def _trends(
    frame: pd.DataFrame,
    bucket: timedelta,
    zone: str,
    lines: Mapping[str, tuple[str, str]],
    colour: str,
    show: Callable[[float], str],
    *,
    scale: float = 1.0,
    **layout: Any,
) -> go.Figure:
    """Draws each line, a column with its dash, of real and of simulated calls."""
    traces: list[dict[str, Any]] = []
    for simulated, group in frame.groupby("simulated"):
        for prefix, (column, dash) in lines.items():
            name, rows = f"{prefix}{WORDS[bool(simulated)]}", group.loc[group[column].notna()]
            traces.append(
                {
                    "type": "scatter", "mode": "lines+markers", "name": name, "x": local(rows["at"], zone, bucket / 2),
                    "y": (rows[column] * scale).tolist(), "hoverinfo": "text",
                    "hovertext": [
                        f"{start[:16].replace('T', ' ')}<br>{name}: {show(row[column])}<br>{calls_words(row['calls'])}"
                        for start, row in zip(local(rows["at"], zone), rows.to_dict("records"), strict=True)
                    ],
                    **line(colour, simulated=bool(simulated), dash=dash),
                }
            )  # fmt: skip
    return chart(traces, height=HEIGHT_PX, xaxis=time_axis(frame, bucket, zone), **layout)


def day(rows: Sequence[Replayed], zone: str) -> go.Figure:
    """Draws questions and calls over time, and below them the money: paid, and projected with the earlier and the current decisions."""
    starts, calls = [row.at for row in rows], [call for row in rows for call in row.calls]
    pairs = [row.projected_usd or (0.0, 0.0) for row in rows]
    payments = sorted((call.at, call.price_usd or 0.0) for call in calls)
    sums = [
        (
            f"paid for all calls{', simulated too' if any(call.simulated for call in calls) else ''}",
            [time for time, _ in payments],
            [usd for _, usd in payments],
            line(MONEY, simulated=False),
        ),
        ("projected then, answers kept", starts, [old for old, _ in pairs], line(MUTED, simulated=False, dash="dot")),
        ("projected now, answers kept", starts, [new for _, new in pairs], line(CHOSEN, simulated=False, dash="dot")),
    ]
    factor, unit = money_unit([sum(values) for _, _, values, _ in sums])
    winners = [[label(decision.tool or "none", 60) for decision in (row.then, row.now)] for row in rows]
    questions = [(row.at, f"{label(row.subtask, 90)}<br>then: {old}<br>now: {new}") for row, (old, new) in zip(rows, winners, strict=True)]  # fmt: skip
    ends: dict[bool, list[tuple[datetime, str]]] = {True: [], False: []}
    for call in calls:
        figures = (
            f"{units.seconds(call.latency_s)}, {units.price(call.price_usd)}{', simulated' if call.simulated else ''}"
        )
        text = f"{label(tool_id(call.server, call.tool), 70)}<br>{call.kind.replace('_', ' ')}, {figures}"
        ends[OutcomeKind(call.kind).success].append((call.at, text))
    marks = [
        _marks("question", 1, questions, zone, color=MUTED, symbol="circle"),
        _marks("call succeeded", 0, ends[True], zone, color=ACCEPTED, symbol="diamond"),
        _marks("call failed", 0, ends[False], zone, color=REJECTED, symbol="x"),
    ]
    lines = [
        {
            "type": "scatter", "mode": "lines+markers", "name": name, "x": _times(times, zone), "y": (factor * np.cumsum(values)).tolist(),
            **style, "line": {**style["line"], "shape": "hv"}, "hoverinfo": "text",
            "hovertext": [f"{name}: {units.price(usd)}" for usd in np.cumsum(values)],
        }
        for name, times, values, style in sums
    ]  # fmt: skip
    return chart(
        [trace for trace in (*marks, *lines) if trace["x"]], title="The day: questions and calls as they were, and the money added up", height=330, top=78,
        xaxis=axis(f"time ({zone})", type="date"),
        yaxis={"domain": [0, 0.66], "title": {"text": unit, "font": SMALL}, "rangemode": "tozero"},
        yaxis2={"domain": [0.74, 1], "range": [-0.6, 1.6], "tickvals": [0, 1], "ticktext": ["calls", "questions"], "gridcolor": GRID, "automargin": True, "zeroline": False},
    )  # fmt: skip


def _marks(name: str, lane: int, texts: Sequence[tuple[datetime, str]], zone: str, **look: str) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "markers", "name": name, "x": _times([time for time, _ in texts], zone), "y": [lane] * len(texts),
        "yaxis": "y2", "marker": {**look, "size": 9}, "hovertext": [text for _, text in texts], "hoverinfo": "text",
    }  # fmt: skip


def _times(times: Sequence[datetime], zone: str) -> list[str]:
    return local(pd.to_datetime(pd.Series(times), utc=True), zone)
