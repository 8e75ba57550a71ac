"""The filter of decisions and calls. Owns the session keys `activity.<field>` of its widgets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import streamlit as st

from core.app import App
from core.domain.events import ActivityFilter
from dashboard.ui.text import KINDS, ORIGINS, outcome_words, visitor_zone

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
OTHERS = ("row", "page", "view", "live")
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
    """Draw the filters. Returns their values as texts, without empty ones."""
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
    now: str = st.session_state[key]
    names = ["", *sorted({*options, now} - {""}, key=str.casefold)]
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
    """Returns the first value of a widget."""
    if name == "kinds":
        return [kind for kind in text.split(",") if kind in KINDS]
    if name in {"from", "to"}:
        now = datetime.now(ZoneInfo(visitor_zone())).replace(tzinfo=None, second=0, microsecond=0)
        return _minute(text) or (now - timedelta(days=1) if name == "from" else now + timedelta(days=1))
    known = {"time": TIMES, "simulated": SOURCES}.get(name)
    return text if known is None or text in known else ""


def _text(name: str) -> str:
    """Returns the value of a widget for the URL."""
    value = st.session_state.get(_key(name))
    if name in {"from", "to"}:
        between = st.session_state[_key("time")] == "between"
        return value.strftime(MINUTE) if between and value is not None else ""
    return ",".join(value or ()) if name == "kinds" else str(value or "").strip()


def _minute(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, MINUTE)  # on the visitor's clock; `_moment` adds the zone
    except ValueError:
        return None


def _time(text: str, zone: str) -> datetime | None:
    found = _minute(text)
    return found.replace(tzinfo=ZoneInfo(zone)) if found else None
