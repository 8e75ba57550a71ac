"""The replay of a day: the calls of an agent as they were, and the same questions under the present knobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import pandas as pd
import streamlit as st

from core.app import App
from core.domain import units
from core.domain.catalog import tool_id
from core.domain.errors import WayfareError
from core.domain.events import PAUSE_MINUTES, ActivityFilter, OutcomeEvent
from core.domain.params import Parameters
from core.domain.untrusted_text import one_line
from core.importers.calls import read_calls
from core.lab.replay import Replayed, ReplayTotals
from dashboard.page_host import DeltaGenerator
from dashboard.pages.activity.charts import day
from dashboard.pages.activity.totals import Listing
from dashboard.session import first_catalog, job_about, known_job, start_job
from dashboard.theme import REJECTED
from dashboard.ui.chart import chart
from dashboard.ui.knobs import knob_panel, read_knobs, reset_and_history, start_knobs
from dashboard.ui.long_work import job_progress, share_of
from dashboard.ui.presets import preset_choice
from dashboard.ui.question import DEFAULT_ROUTER
from dashboard.ui.table import Column, table
from dashboard.ui.text import counted, errors_shown, escaped, origin_words, outcome_words
from dashboard.ui.url_state import ASKED, SHARED, UrlState, ask_with, select
from dashboard.ui.variants import read_variant, variant_text

FILE, EVERY = "file", "every:"
JOB, WAITS_S = "activity:replay", 1.5
MOST, LISTED = 1_000, 300
SHAPE = (
    'JSON Lines with `time`, `session`, `question`, `tool` ("server::tool"), `ok`, `latency_s` and `price_usd`, or the activity that '
    "mcpproxy-go exports. Nothing of it is stored."
)
Texts = dict[str, str]
Session = dict[str, Any]  # a row of `Activity.sessions`


@dataclass(frozen=True, slots=True)
class _View:
    """The view with its row of choices, and the router and the knobs of the sidebar."""

    app: App
    state: UrlState
    shown: Listing
    line: DeltaGenerator
    router: str
    parameters: Parameters

    @property
    def changed(self) -> Texts:
        return {name: str(value) for name, value in self.parameters.changed().items()}


def replay_body(app: App, state: UrlState, shown: Listing) -> tuple[Texts, Texts]:
    """Draw the view. Returns the texts for the URL, and the question with the router and the knobs of the sidebar."""
    router, parameters = _knobs(app, state, shown.linked)
    line = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    view = _View(app, state, shown, line, router, parameters)
    sessions: list[Session] = app.store.activity.sessions(shown.admitted).to_dict("records")
    words = {row["id"]: _session_words(row, shown.zone) for row in sessions}
    words |= {
        f"{EVERY}{row['catalog']}": f"all of {one_line(row['catalog'], 40)} that the filter admits" for row in sessions
    }
    words[FILE] = "a file of another gateway's calls"
    chosen = select(
        line, state, shown.linked, "session", "Replay", list(words), show=words.__getitem__, width=430,
        note=f"The questions of one client without a pause above {PAUSE_MINUTES} minutes. Calls without a search have no question to decide again.",
    )  # fmt: skip
    with errors_shown():
        if chosen == FILE:
            _file(view)
        else:
            _log(view, _where(sessions, chosen, shown.admitted))
    default = (router, view.changed) == (DEFAULT_ROUTER, {})
    texts = {
        "session": "" if chosen == next(iter(words)) else chosen,
        "with": "" if default else variant_text(router, view.changed),
    }
    return texts, {name: text for name, text in state.question.items() if name in ASKED} | {
        "router": router,
        **view.changed,
    }


def _knobs(app: App, state: UrlState, linked: Mapping[str, str]) -> tuple[str, Parameters]:
    """Draw router and knobs of the question, which are those of Ask. A link brings them to a window that has no question."""
    asked = state.asked_with
    if not state.question and linked.get("with"):
        variant = read_variant(app, linked["with"])
        asked = {"router": variant.router, **{name: str(value) for name, value in variant.parameters.changed().items()}}
    titles = {router.id: router.title for router in app.routing.routers()}
    router, key = asked.get("router", DEFAULT_ROUTER), state.key("router")
    defaults, prefix = app.routing.parameters(router), f"{SHARED}.knob.{router}"
    start_knobs(defaults, asked, prefix)
    st.session_state[key] = router

    def take() -> None:
        ask_with(st.session_state[key], {})

    with st.sidebar:
        st.selectbox("Router", list(titles), key=key, format_func=titles.__getitem__, on_change=take)
        reset_and_history(defaults, prefix)
        preset_choice(defaults, prefix)
        knob_panel(defaults, prefix, ())
    return router, read_knobs(defaults, prefix)


def _session_words(row: Session, zone: str) -> str:
    name = one_line(row["client"], 30) or origin_words(row["origin"])
    since, until = (row[end].tz_convert(zone) for end in ("since", "until"))
    return f"{name}, {since:%d %b %H:%M} to {until:%H:%M}, {counted(row['decisions'], 'question')} ({one_line(row['catalog'], 30)})"


def _where(sessions: Sequence[Session], chosen: str, admitted: ActivityFilter) -> ActivityFilter:
    if chosen.startswith(EVERY):
        return replace(admitted, catalog=chosen.removeprefix(EVERY))
    row = next(one for one in sessions if one["id"] == chosen)
    named = {name: row[name] for name in ("catalog", "origin", "client")}
    until = row["until"].to_pydatetime() + timedelta(microseconds=1)  # not included
    return replace(admitted, **named, since=row["since"].to_pydatetime(), until=until)


def _log(view: _View, where: ActivityFilter) -> None:
    catalog, values = str(where.catalog), view.parameters.values()
    again = partial(view.app.replay.replay, catalog, where=where, router=view.router, settings=values, decisions=MOST)
    _show(view, catalog, again, (where, view.router, repr(values)))


def _file(view: _View) -> None:
    catalogs = [info.name for info in view.app.catalogs.infos()]
    catalog = select(view.line, view.state, {}, "file_catalog", "Catalog", catalogs, start=first_catalog(), width=170)
    file = st.file_uploader(SHAPE, type=["jsonl", "json", "ndjson", "txt"], key=view.state.key("file"))
    if file is None:
        return
    recorded = read_calls(file.getvalue(), source=one_line(file.name, 80), catalog=catalog)
    if lonely := sum(isinstance(event, OutcomeEvent) and event.decision_id is None for event in recorded):
        st.caption(f"Left out: {counted(lonely, 'call')} before any question of their session.")
    again = partial(view.app.replay.replay_calls, recorded, view.router, view.parameters, decisions=MOST)
    _show(view, catalog, again, (file.file_id, catalog, view.router, repr(view.parameters)))


def _show(view: _View, catalog: str, again: Callable[..., tuple[Replayed, ...]], about: tuple[object, ...]) -> None:
    """Draw the result, or how far it is. Raises WayfareError."""
    about = (*about, view.app.store.activity.latest_sequence())
    job = job_about(JOB, about)
    if job is None:
        start_job(JOB, lambda job: again(progress=job.report), about)
        job = known_job(JOB)
    if job is not None and not job.wait(WAITS_S):
        job_progress(
            job, lambda job: (share_of(job), f"Deciding again: {job.done:,} of {job.of:,}"), stop=f"{JOB}.stop"
        )
        return
    if job is None or job.about != about:  # an earlier setting was under way
        st.rerun()
    if job.error is not None and not isinstance(job.error, WayfareError):
        raise WayfareError("The replay was stopped. Change a knob, or choose another session.")
    rows: tuple[Replayed, ...] = job.future.result()
    totals, of_file = ReplayTotals.of(rows), not rows[0].router
    changed = f"{totals.changed:,} of {counted(totals.decisions, 'question')} have another first candidate"
    st.markdown(f"#### {escaped(totals.headline)}: {changed}")
    chart(day(rows, view.shown.zone), key=f"{JOB}:day")
    then = "tool called" if of_file else "first then"
    columns = ["figure", "measured", f"projected, {'called tools' if of_file else 'then'}", "projected, now"]
    table(
        pd.DataFrame(totals.words(), columns=columns),
        (Column("measured", width=230),),
        key="activity.replay.sums",
        width=860,
    )
    st.caption(_rules(totals, of_file=of_file))
    only = st.toggle("Only differences", key="activity.replay.only")
    asked = {"catalog": catalog, "router": view.router, **view.changed}
    _table([row for row in rows if row.changed or row.lost or not only], asked, view.shown.zone, then)


def _rules(totals: ReplayTotals, *, of_file: bool) -> str:
    low, high = (escaped(units.price(value)) for value in (totals.difference_low_usd, totals.difference_high_usd))
    mean = f" The mean difference of a question is between {low} and {high} (95 % interval, bootstrap)."
    return (
        "**Measured** is what the calls did and cost. **Projected** is the money to one success, payment of a call ÷ its estimated success, if the "
        f"first candidate is called and fits; {'both sides by the estimates of now' if of_file else 'by the estimates of the time of each question'}. "
        f"A question counts if a call answered it, the answer is not lost, and both sides have a price.{mean if totals.compared > 1 else ''} "
        "An answer is **lost** if the tool that was called and succeeded is in the catalog and no candidate now. Another candidate may answer as "
        "well: more cannot be lost."
    )


def _table(rows: Sequence[Replayed], asked: Mapping[str, str], zone: str, then: str) -> None:
    if not rows:
        st.success("No differences.", icon=":material/check:")
        return
    frame = pd.DataFrame([_line(row, asked, zone, then) for row in rows[-LISTED:]])
    table(
        frame.style.map(lambda words: f"color: {REJECTED}" if words == "lost" else "", subset=["answer now"]),
        (
            Column("question", width=230), Column("calls", width=290), Column(then, width=170), Column("first now", width=170),
            Column("answer now", help="The place among the candidates now of the tool that answered."),
            Column("money to one success", width=150), Column("then", width="small", help="The recorded decision.", link="open ↗"),
            Column("now", width="small", help="The question on the Decision view, with the present statistics.", link="open ↗"),
        ),
        key="activity.replay.table",
    )  # fmt: skip
    if len(rows) > LISTED:
        st.caption(f"The newest {LISTED:,} of {len(rows):,} are listed.")


def _line(row: Replayed, asked: Mapping[str, str], zone: str, then: str) -> Texts:
    recorded = {"then": f"/activity?{urlencode({'view': 'decisions', 'row': row.decision_id})}"} if row.router else {}
    again = {name: text for name, text in {"q": row.subtask, "hint": row.server_hint, **asked}.items() if text}
    return {
        "time": f"{row.at.astimezone(ZoneInfo(zone)):%H:%M:%S}", "question": one_line(row.subtask, 160),
        "calls": "; ".join(_call_words(call) for call in row.calls) or "not called",
        then: one_line(row.then.tool or "none", 80), "first now": one_line(row.now.tool or "none", 80), "answer now": _place(row),
        "money to one success": " → ".join(units.price(one.projected_usd) if one.tool else "–" for one in (row.then, row.now)),
        **recorded, "now": f"/?{urlencode(again)}",
    }  # fmt: skip


def _call_words(call: OutcomeEvent) -> str:
    tool = one_line(tool_id(call.server, call.tool), 60)
    return f"{outcome_words(call.kind)} {tool} {units.seconds(call.latency_s)} {units.price(call.price_usd)}"


def _place(row: Replayed) -> str:
    if row.answer is None:
        return "no answer then"
    lost = "not in the catalog" if row.absent else "lost"
    return f"{row.offered.index(row.answer) + 1} of {len(row.offered)}" if row.answer in row.offered else lost
