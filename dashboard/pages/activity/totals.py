"""Activity's totals and its charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from core.app import App
from core.domain import units
from core.domain.events import ActivityFilter
from dashboard.pages.activity.charts import (
    latency_history,
    latency_over_time,
    spending_by_server,
    spending_over_time,
    success_history,
    success_over_time,
)
from dashboard.ui.chart import chart
from dashboard.ui.charts.base import bucket_for
from dashboard.ui.text import KINDS, ORIGINS, REAL, SIMULATED, missing, outcome_words, visitor_zone

Texts = dict[str, str]
FIELDS = ("catalog", "server", "tool", "kinds", "origin", "time", "from", "to", "simulated", "text")
SPANS = {
    "15m": timedelta(minutes=15), "1h": timedelta(hours=1), "1d": timedelta(days=1), "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}  # fmt: skip
TIMES = {
    "": "Any time", "15m": "Last 15 minutes", "1h": "Last hour", "1d": "Last 24 hours", "7d": "Last 7 days",
    "30d": "Last 30 days", "between": "From … to …",
}  # fmt: skip
SOURCES = {"": "Real and simulated", "no": "Real only", "yes": "Simulated only"}
OTHERS = ("row", "page", "view", "live", "session", "with")
TOOLS_READ = 2000
MINUTE = "%Y-%m-%dT%H:%M"


@dataclass(frozen=True, slots=True)
class Listing:
    """A filter, the number of rows that meet it, the texts of the URL, and the visitor's time zone."""

    admitted: ActivityFilter
    count: int
    linked: Mapping[str, str]
    zone: str


def filter_row(app: App, linked: Mapping[str, str]) -> Texts:
    for name in FIELDS:
        st.session_state.setdefault(_key(name), _start(name, linked.get(name, "")))
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        catalog = _choice("Catalog", "catalog", [info.name for info in app.catalogs.infos()], "All catalogs", 140)
        server = _choice("Server", "server", _servers(app, catalog), "All servers", 150)
        tools = _tools(app, catalog, server) if server else []
        _choice("Tool", "tool", tools, "All tools" if server else "Server first", 150, disabled=not server)
        st.multiselect("Outcome", KINDS, key=_key("kinds"), format_func=outcome_words, placeholder="Any", width=190)
        _choice("Origin", "origin", list(ORIGINS), "Any origin", 118)
        st.selectbox("Time", list(TIMES), key=_key("time"), format_func=lambda name: TIMES[name], width=148)
        if st.session_state[_key("time")] == "between":
            st.datetime_input("From", key=_key("from"), width=170, help=f"In your time zone, {visitor_zone()}.")
            st.datetime_input("To (not included)", key=_key("to"), width=170)
        st.selectbox("Source", list(SOURCES), key=_key("simulated"), format_func=lambda name: SOURCES[name], width=168)
        st.text_input(
            "Contains", key=_key("text"), icon=":material/search:", placeholder="any text", max_chars=200,
            width="stretch",
        )  # fmt: skip
    return {name: text for name in FIELDS if (text := _text(name))}


def drop_foreign_query() -> None:
    """Drop a query of another page, which the browser's Back can bring."""
    if set(st.query_params) - {*FIELDS, *OTHERS}:
        st.query_params.clear()


def where(texts: Mapping[str, str], now: datetime, zone: str) -> ActivityFilter:
    """Returns the filter of the texts of a URL. Ignores unknown texts."""
    span = SPANS.get(texts.get("time", ""))
    between = texts.get("time") == "between"
    server = texts.get("server") or None
    return ActivityFilter(
        catalog=texts.get("catalog") or None, server=server, tool=(texts.get("tool") or None) if server else None,
        text=texts.get("text", ""), kinds=tuple(kind for kind in texts.get("kinds", "").split(",") if kind in KINDS),
        origin=texts.get("origin") or None,
        since=now - span if span else _time(texts.get("from", ""), zone) if between else None,
        until=_time(texts.get("to", ""), zone) if between else None,
        simulated={"yes": True, "no": False}.get(texts.get("simulated", "")),
    )  # fmt: skip


def clear_filter() -> None:
    """Clear the filter for the next run. For `on_click`."""
    for name in FIELDS:
        st.session_state[_key(name)] = _start(name, "")


def picked(texts: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Returns the filter part of the texts, to detect a change."""
    return tuple((name, texts[name]) for name in FIELDS if texts.get(name))


def _choice(title: str, name: str, options: list[str], every: str, width: int, *, disabled: bool = False) -> str:
    """Draw a list of names with "all" on top. It accepts other names, such as those of a removed catalog."""
    key = _key(name)
    if disabled or st.session_state[key] is None:
        st.session_state[key] = ""
    current: str = st.session_state[key]
    names = ["", *sorted({*options, current} - {""}, key=str.casefold)]
    st.selectbox(
        title, names, key=key, format_func=lambda text: text or every, accept_new_options=True, disabled=disabled,
        help="Tools are listed server by server: choose a server first." if disabled else None, width=width,
    )  # fmt: skip
    return st.session_state[key] or ""


def _servers(app: App, catalog: str) -> list[str]:
    return app.store.activity.spending_by_server(ActivityFilter(catalog=catalog or None))["server"].unique().tolist()


def _tools(app: App, catalog: str, server: str) -> list[str]:
    calls = app.store.activity.calls(ActivityFilter(catalog=catalog or None, server=server), limit=TOOLS_READ)
    return calls["tool"].unique().tolist()


def _key(name: str) -> str:
    return f"activity.{name}"


def _start(name: str, text: str) -> object:
    if name == "kinds":
        return [kind for kind in text.split(",") if kind in KINDS]
    if name in {"from", "to"}:
        now = datetime.now(ZoneInfo(visitor_zone())).replace(tzinfo=None, second=0, microsecond=0)
        return _minute(text) or (now - timedelta(days=1) if name == "from" else now + timedelta(days=1))
    options = {"time": TIMES, "simulated": SOURCES}.get(name)
    return text if options is None or text in options else ""


def _text(name: str) -> str:
    value = st.session_state.get(_key(name))
    if name in {"from", "to"}:
        between = st.session_state[_key("time")] == "between"
        return value.strftime(MINUTE) if between and value is not None else ""
    return ",".join(value or ()) if name == "kinds" else str(value or "").strip()


def _minute(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, MINUTE)  # on the visitor's clock; `_time` adds the zone
    except ValueError:
        return None


def _time(text: str, zone: str) -> datetime | None:
    moment = _minute(text)
    return moment.replace(tzinfo=ZoneInfo(zone)) if moment else None


WIDTH_PX = 172  # seven beside each other on a wide screen
ALL_TIME = timedelta(days=73_000)  # one bucket from 2000 on


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals of real or of simulated calls. `judged` leaves out the calls that say nothing about a tool; None means unknown."""

    calls: int = 0
    judged: int = 0
    success: float | None = None
    p50_s: float | None = None
    p95_s: float | None = None
    spent_usd: float | None = None
    unpriced: int = 0


def totals(app: App, admitted: ActivityFilter) -> tuple[Totals, Totals]:
    spending = app.store.activity.spending_over_time(ALL_TIME, admitted)
    outcomes = app.store.activity.success_and_latency_over_time(ALL_TIME, admitted)
    return _of(spending, outcomes, simulated=False), _of(spending, outcomes, simulated=True)


def totals_row(decisions: int, real: Totals, simulated: Totals) -> None:
    only_simulated = real.calls == 0 and simulated.calls > 0
    first, second = (simulated, None) if only_simulated else (real, simulated if simulated.calls else None)
    with st.container(horizontal=True, gap="small", key="activity-totals"):
        st.metric(
            "Decisions", f"{decisions:,}", help="Routing decisions that meet the filter.", border=True,
            height="stretch", width=WIDTH_PX,
        )  # fmt: skip
        for title, show, text in METRICS:
            delta = f"{REAL} · {show(second)} {SIMULATED}" if second else SIMULATED if only_simulated else None
            st.metric(
                title, show(first), delta, delta_color="off", delta_arrow="off", help=text, border=True,
                height="stretch", width=WIDTH_PX,
            )  # fmt: skip
    if left_out := _left_out(real, simulated):
        st.caption(left_out)


def _left_out(real: Totals, simulated: Totals) -> str:
    """Returns a sentence on the calls of the table that the shares and times of the tiles leave out, "" without any.

    >>> _left_out(Totals(calls=3, judged=2), Totals())
    'Success and latency are of 2 of the 3 calls: 1 was cancelled, not made or under an injected network.'
    """
    calls, judged = real.calls + simulated.calls, real.judged + simulated.judged
    if calls == judged:
        return ""
    excluded = f"{calls - judged:,} {'was' if calls - judged == 1 else 'were'}"
    return f"Success and latency are of {judged:,} of the {calls:,} calls: {excluded} cancelled, not made or under an injected network."


def _spent(group: Totals) -> str:
    return "–" if group.spent_usd is None else units.price(group.spent_usd)


METRICS = (
    (
        "Calls", lambda group: f"{group.calls:,}",
        "Calls that meet the filter. Simulated calls reached no real tool and are counted separately.",
    ),
    (
        "Success", lambda group: units.share(group.success),
        "Calls that ended ok / calls, without calls that were cancelled, not made or changed by an injected network.",
    ),
    (
        "Latency p50", lambda group: units.seconds(group.p50_s),
        "Median of the column latency: half of the calls took at most this time, without connecting. A failed call counts.",
    ),
    ("Latency p95", lambda group: units.seconds(group.p95_s), "95 of 100 calls took at most this time, without connecting. A failed call counts."),
    ("Spent", _spent, r"Sum of the column price over all priced calls, failed ones too. 1 m\$ is a thousandth of a US dollar."),
    (
        "Unpriced calls", lambda group: f"{group.unpriced:,}",
        "Calls of tools without a price. Their cost is unknown and not in Spent.",
    ),
)  # fmt: skip


def _of(spending: pd.DataFrame, outcomes: pd.DataFrame, *, simulated: bool) -> Totals:
    money, ends = _row(spending, simulated), _row(outcomes, simulated)
    return Totals(
        calls=int(money.get("calls", 0)), judged=int(ends.get("calls", 0)), success=_known(ends.get("success_share")),
        p50_s=_known(ends.get("latency_p50_s")), p95_s=_known(ends.get("latency_p95_s")),
        spent_usd=_known(money.get("spent_usd")), unpriced=int(money.get("unpriced_calls", 0)),
    )  # fmt: skip


def _row(frame: pd.DataFrame, simulated: bool) -> dict[str, float]:
    rows = frame[frame["simulated"] == simulated]
    return {} if rows.empty else {str(name): value for name, value in rows.iloc[-1].items()}


def _known(value: float | None) -> float | None:
    return None if value is None or missing(value) else float(value)


LEARNT = "activity.learnt"
CALLS_READ = 2000
Tool = tuple[str, str, str]


def charts_body(app: App, shown: Listing) -> None:
    activity, admitted, zone = app.store.activity, shown.admitted, shown.zone
    newest = activity.calls(admitted, limit=1)["at"]
    oldest = activity.calls(admitted, limit=1, offset=shown.count - 1)["at"]
    bucket = bucket_for((newest.max() - oldest.min()).to_pytimedelta())
    money, trends = (
        activity.spending_over_time(bucket, admitted),
        activity.success_and_latency_over_time(bucket, admitted),
    )
    rows = trends.loc[trends["calls"] > 0]
    subject = whose(admitted)
    left, right = st.columns(2)
    with left:
        _chart(spending_by_server(activity.spending_by_server(admitted)), "servers", "Spent by server")
        _chart(success_over_time(rows, bucket, zone, of=subject), "success", "Share of calls that succeeded over time")
    with right:
        _chart(spending_over_time(money, bucket, zone), "money", "Spent over time")
        _chart(latency_over_time(rows, bucket, zone, of=subject), "latency", "Latency over time")
    _learnt(app, admitted, zone)


def whose(admitted: ActivityFilter) -> str:
    """Returns the name of the calls that the trends show.

    >>> whose(ActivityFilter()), whose(ActivityFilter(server="a")), whose(ActivityFilter(server="a", tool="b"))
    ('all calls', 'a', 'a::b')
    """
    if not admitted.server:
        return "all calls"
    return f"{admitted.server}::{admitted.tool}" if admitted.tool else admitted.server


def _learnt(app: App, admitted: ActivityFilter, zone: str) -> None:
    tools = _real_tools(app, admitted)
    if not tools:
        st.caption("These calls did not change the statistics: only real calls do.")
        return
    if st.session_state.get(LEARNT) not in tools:
        st.session_state[LEARNT] = tools[0]
    choice, about = st.columns([1, 1.6], vertical_alignment="bottom")
    choice.selectbox("Statistics of", tools, key=LEARNT, format_func=lambda tool: f"{tool[1]}::{tool[2]} ({tool[0]})")
    catalog, server, tool = st.session_state[LEARNT]
    history = app.store.activity.statistics_history(catalog, server, tool)
    about.caption(
        f"The running statistics of EHRR (8) after each of the last {len(history):,} calls of this tool. "
        "The server's statistics also learn from its other tools."
    )
    name = f"{server}::{tool}"
    left, right = st.columns(2)
    with left:
        _chart(success_history(history, zone, tool=name), "learnt-success", "Learnt success over time")
    with right:
        _chart(latency_history(history, zone, tool=name), "learnt-latency", "Learnt latency over time")


def _real_tools(app: App, admitted: ActivityFilter) -> list[Tool]:
    if admitted.simulated:
        return []
    calls = app.store.activity.calls(replace(admitted, simulated=False), limit=CALLS_READ)
    names = zip(calls["catalog"], calls["server"], calls["tool"], strict=True)
    return [tool for tool, _ in Counter(names).most_common()]


def _chart(figure: go.Figure, key: str, about: str) -> None:
    chart(figure, key=f"activity:chart:{key}", about=about)
