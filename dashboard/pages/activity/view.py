"""The Activity page: the tables and charts of stored events, and the controls above them."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from io import BytesIO
from zoneinfo import ZoneInfo

import pandas as pd
import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job
from core.domain.errors import WayfareError
from core.domain.events import ActivityFilter
from dashboard.pages.activity.calls import calls_body, refused_body
from dashboard.pages.activity.decisions import decisions_body
from dashboard.pages.activity.frames import PAGE, forget_place
from dashboard.pages.activity.replay import replay_body
from dashboard.pages.activity.totals import (
    Listing,
    charts_body,
    clear_filter,
    drop_foreign_query,
    filter_row,
    picked,
    totals,
    totals_row,
    where,
)
from dashboard.session import current_app, only
from dashboard.ui.table import Column, table
from dashboard.ui.text import (
    cell_text,
    errors_shown,
    escaped,
    outcome_words,
    progress_words,
    source_words,
    visitor_zone,
)
from dashboard.ui.url_state import UrlState, open_page, segments

POLL_S = 1.0
NOTHING = (
    "No long run yet. Runs, sweeps and searches of the Lab, tasks that Compare plays, runs of the Network page, embedding, maps, "
    "discovery, calibration and estimates appear here while they are under way, with Stop, and afterwards with their result; so do "
    "wayfare bench, sweep, scenario, replay, calibrate, findable and lint."
)
COMMANDS = (
    "Commands run in this console while it is up. One that began before it works in a process of its own, and is listed when it has "
    "ended. The last commands are kept in the store, the other runs until the console ends."
)


def runs_body(app: App) -> None:
    """Draw every run with its progress, the newest first. The list is redrawn while a run is under way."""
    jobs = app.background.listed()
    if not jobs:
        st.info(NOTHING, icon=":material/pending_actions:")
        return
    polls = any(job.under_way for job in jobs)
    st.fragment(_list, run_every=POLL_S if polls else None)(app, polls=polls)
    st.caption(COMMANDS)


def _list(app: App, *, polls: bool) -> None:
    jobs = app.background.listed()
    if polls and not any(job.under_way for job in jobs):
        st.rerun()  # the last run has ended
    for number, job in enumerate(jobs):
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            with st.container(width="stretch", gap="xxsmall"):
                _progress(app, job)
            if job.link:
                words = "Show it" if job.under_way else "Show its result" if job.error is None else "Go there"
                st.link_button(words, f".{job.link}", icon=":material/open_in_new:")
            if job.under_way and job.of:  # a run that counts its steps ends at the next step
                st.button(
                    "Stop", key=f"activity.runs.stop.{number}", icon=":material/stop:", on_click=job.end,
                    **only("tune", disabled=job.stop.is_set(), help="It stops after the current step."),
                )  # fmt: skip


def _progress(app: App, job: Job) -> None:
    name = escaped(job.title, 240)
    if job.under_way and job.of:
        st.progress(min(1.0, job.done / job.of), f"**{name}**: {progress_words(job)}")
    else:
        end = app.settings.now() - timedelta(seconds=job.ended_ago_s)
        suffix = "" if job.under_way else f" · {end.astimezone(ZoneInfo(visitor_zone())):%Y-%m-%d %H:%M}"
        st.markdown(f"**{name}**: {progress_words(job)}{suffix}")


CHANGES_SHOWN = 500
EXPORTS = {
    "decisions": "Decisions", "outcomes": "Calls", "refused_requests": "Refused requests", "statistics": "Statistics",
    "parameters": "Parameter changes", "person_actions": "Actions of people",
}  # fmt: skip
FORMATS = {"csv": "CSV", "parquet": "Parquet"}


def export_menu() -> None:
    """Offers each table as CSV and as Parquet. A click makes the file. If that fails, its address shows the error."""
    with st.popover("Export", icon=":material/download:"):
        st.caption(
            "All records, regardless of the filter, in order of commit. Times are UTC, money is USD, "
            "durations are seconds. In CSV a text that a spreadsheet would run as a formula gets an apostrophe; "
            "Parquet is exact."
        )
        for table, title in EXPORTS.items():
            name, *buttons = st.columns([1.6, 1, 1.2], vertical_alignment="center")
            name.text(title)
            for place, (format_, label) in zip(buttons, FORMATS.items(), strict=True):
                place.link_button(label, f"./export/{table}.{format_}", width="stretch")


def parameter_changes(app: App, zone: str) -> None:
    """Lists the changed parameters. The list is read if it is opened."""
    changes = st.expander("Parameter changes", key="activity.extra.changes", icon=":material/tune:", on_change="rerun")
    if not changes.open:
        return
    with changes:
        try:
            frame = changes_frame(pd.read_parquet(BytesIO(app.store.activity.export("parameters", "parquet"))), zone)
        except WayfareError as error:
            st.error(cell_text(str(error)))
            return
        if frame.empty:
            st.caption("No parameter was changed yet. All decisions used the defaults.")
            return
        st.caption(f"The newest {len(frame):,} changes. A change is stored with the first decision that uses it.")
        table(
            frame,
            (Column("time", help=f"In your time zone, {zone}.", format="YYYY-MM-DD HH:mm:ss"),),
            key="activity.extra.table",
        )


def changes_frame(events: pd.DataFrame, zone: str) -> pd.DataFrame:
    newest = events.sort_values("sequence", ascending=False).head(CHANGES_SHOWN)
    texts = {name: [cell_text(text) for text in newest[name]] for name in ("router", "name", "old", "new", "origin")}
    return pd.DataFrame(
        {
            "time": newest["at"].dt.tz_convert(zone).tolist(), "router": texts["router"], "parameter": texts["name"],
            "from": texts["old"], "to": texts["new"], "changed by": texts["origin"],
        }
    )  # fmt: skip


LIVE = "activity.live"
EVERY_S = 2.0


def moved(newest: int, seen: int, drawn_ago_s: float) -> bool:
    """Tells whether to redraw: there are new events, and the last drawing is not too recent.

    >>> moved(8, 7, 2.0), moved(8, 8, 2.0), moved(8, 7, 0.1)
    (True, False, False)
    """
    return newest != seen and drawn_ago_s >= EVERY_S / 2


@st.fragment(run_every=EVERY_S)
def _beat(app: App, seen: int, drawn_s: float) -> None:
    """Redraw the page when there are events after `seen`. Draws nothing itself."""
    if moved(app.store.activity.latest_sequence(), seen, time.monotonic() - drawn_s):
        st.rerun()


Texts = dict[str, str]
VIEW = "activity.view"
CALLS, DECISIONS, REFUSED, CHARTS, REPLAY, RUNS = "calls", "decisions", "refused", "charts", "replay", "runs"
VIEWS = {CALLS: "Calls", DECISIONS: "Decisions", REFUSED: "Refused", CHARTS: "Charts", REPLAY: "Replay", RUNS: "Runs"}


def view_bar(app: App, url: UrlState, linked: Texts, refused: int) -> tuple[str, bool]:
    counts = {REFUSED: refused, RUNS: app.background.listed_under_way}

    def title(view: str) -> str:
        return f"{VIEWS[view]} ({counts[view]:,})" if counts.get(view) else VIEWS[view]

    with st.container(horizontal=True, vertical_alignment="center"):
        view = segments(url, linked, "view", "Show", list(VIEWS), title)
        st.session_state.setdefault(LIVE, linked.get("live") != "off")
        live = st.toggle(
            "Live", key=LIVE,
            help=f"New decisions, calls and refusals appear within {EVERY_S:g} s. Turn it off to keep the page still.",
        )  # fmt: skip
        export_menu()
    return view, live


def view_body(app: App, view: str, shown: Listing) -> str:
    """Draw the table, the charts or the runs. Returns the id of the chosen row, or ""."""
    if view == RUNS:
        runs_body(app)
        return ""
    if shown.count == 0:
        _nothing_found(view, shown)
        return ""
    if view == CHARTS:
        charts_body(app, shown)
        return ""
    bodies = {DECISIONS: decisions_body, REFUSED: refused_body}
    return bodies.get(view, calls_body)(app, shown)


def _nothing_found(view: str, shown: Listing) -> None:
    thing = {DECISIONS: "decision", REFUSED: "refused request"}.get(view, "call")
    if view == REFUSED and shown.admitted == ActivityFilter():
        st.info(
            "No refusals yet. A request that a scope, a budget, an approval, a changed definition, a rate or a paused server stops "
            "appears here, with the way to allow it.",
            icon=":material/verified_user:",
        )
        return
    if shown.admitted == ActivityFilter():
        st.info(f"There is no {thing} yet. Make a call on the Call page or from a candidate on the Decision view.")
        if view == CALLS:
            _example()
        return
    st.info(f"No {thing} meets the filter.", icon=":material/search_off:")
    st.button("Clear the filter", key="activity.clear", icon=":material/backspace:", on_click=clear_filter)


def nothing_yet() -> None:
    st.markdown("#### No activity yet")
    st.markdown(
        "Every decision and every call appears here, with its cost, its outcome and its effect on the statistics."
    )
    if st.button("Make the first decision", key="activity.first", type="primary", icon=":material/alt_route:"):
        open_page("route")
    st.markdown("Or [replay the calls of another gateway](./activity?view=replay) from a file.")
    _example()


def _example() -> None:
    st.markdown(":gray-badge[example] Three calls, as they will be listed")
    with st.container(key="activity-example"):
        table(pd.DataFrame(EXAMPLE), key="activity.example")


EXAMPLE = {
    "tool": ["unit-exchange::convert_units", "Skyhop::trips.list", "mail-room::mail.send"],
    "outcome": [outcome_words(kind) for kind in ("ok", "timeout", "tool_error")],
    "source": [source_words(simulated) for simulated in (False, True, False)],
    "latency": ["12 ms", "30 s", "410 ms"],
    "price": ["1.91 m$", "1.09 m$", "2.24 m$"],
    "for the sub-task": ["convert 300 miles to kilometres", "my next trip", "send Bo the weather in Oslo"],
}


PICKED = "activity:picked"


def page() -> None:
    app, url = current_app(), UrlState("activity")
    drop_foreign_query()
    linked = url.begin()
    with errors_shown():
        url.end(*_page(app, url, linked))


def _page(app: App, url: UrlState, linked: Texts) -> tuple[Texts, Texts | None]:
    """Draw the page. Returns the texts for the URL, and the question if its knobs were drawn."""
    activity = app.store.activity
    sequence = activity.latest_sequence()  # before other reads, so that the next beat draws later events
    replays = st.session_state.get(VIEW, linked.get("view")) == REPLAY
    if not replays and activity.call_count() + activity.decision_count() + activity.refused_count() == 0:
        nothing_yet()
        if app.background.listed():
            runs_body(app)
        _beat(app, sequence, time.monotonic())
        return linked, None
    texts = filter_row(app, linked)
    linked = _at_the_start_of_others(texts, linked)
    zone = visitor_zone()
    admitted = where(texts, datetime.now(UTC), zone)
    decisions, refused, (real, simulated) = (
        activity.decision_count(admitted), activity.refused_count(admitted), totals(app, admitted),
    )  # fmt: skip
    if not replays:
        totals_row(decisions, real, simulated)
    view, live = view_bar(app, url, linked, refused)
    count = {DECISIONS: decisions, REFUSED: refused}.get(view, real.calls + simulated.calls)
    listing, row, replay_texts, question = Listing(admitted, count, linked, zone), "", Texts(), None
    if view == REPLAY:
        replay_texts, question = replay_body(app, url, listing)
    else:
        row = view_body(app, view, listing)
        parameter_changes(app, zone)
    if live:
        _beat(app, sequence, time.monotonic())
    number = st.session_state.get(PAGE, 1)
    place = {"row": row, "page": str(number) if number > 1 else "", "view": "" if view == CALLS else view}
    return {**texts, **replay_texts, **place, "live": "" if live else "off"}, question


def _at_the_start_of_others(texts: Texts, linked: Texts) -> Texts:
    """Go back to the first row without a choice if the filter has changed."""
    previous = st.session_state.setdefault(PICKED, picked(texts))
    st.session_state[PICKED] = picked(texts)
    if previous == picked(texts) or picked(texts) == picked(linked):
        return linked
    forget_place()
    return {name: text for name, text in linked.items() if name not in {"row", "page"}}
