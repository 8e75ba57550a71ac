"""The replay of a day: the calls of an agent as they were, and the same questions under the present knobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import pandas as pd
import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Stopped
from core.domain import units
from core.domain.catalog import tool_id
from core.domain.errors import WayfareError
from core.domain.events import PAUSE_MINUTES, ActivityFilter, OutcomeEvent
from core.domain.params import Parameters
from core.domain.untrusted_text import one_line
from core.importers.tasks import read_calls
from core.lab.replay import Replayed, ReplayTotals
from dashboard.page_host import DeltaGenerator
from dashboard.pages.activity.charts import day
from dashboard.pages.activity.totals import Listing
from dashboard.session import first_catalog, job_about, known_job, start_job
from dashboard.theme import REJECTED
from dashboard.ui.chart import chart
from dashboard.ui.frame import moved, standing_question
from dashboard.ui.knobs import knob_panel
from dashboard.ui.long_work import job_progress, share_of
from dashboard.ui.presets import preset_choice, read_variant, variant_text
from dashboard.ui.question import DEFAULT_ROUTER, Question
from dashboard.ui.table import Column, table
from dashboard.ui.text import counted, errors_shown, escaped, origin_words, outcome_words
from dashboard.ui.url_state import ASKED, UrlState, ask_with, select

FILE, EVERY = "file", "every:"
JOB, WAITS_S = "activity:replay", 1.5
SHAPE = (
    'JSON Lines with `time`, `session`, `question`, `tool` ("server::tool"), `ok`, `latency_s` and `price_usd`, or the activity that '
    "mcpproxy-go exports. Nothing of it is stored."
)
Texts = dict[str, str]
Session = dict[str, Any]  # a row of `Activity.sessions`
Again = Callable[..., tuple[Replayed, ...]]
Found = tuple[object, str, Again]  # a key, a catalog, and the work


def replay_body(app: App, state: UrlState, shown: Listing) -> tuple[Texts, Texts]:
    """Draw the view. Returns the texts for the URL, and the question with the router and the knobs of the sidebar."""
    question = _question(app, state, shown.linked)
    router, parameters = question.form.router, question.parameters
    changes = {name: str(value) for name, value in parameters.changed().items()}
    line = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    sessions: list[Session] = app.store.activity.sessions(shown.admitted).to_dict("records")
    words = {row["id"]: _session_words(row, shown.zone) for row in sessions}
    words |= {
        f"{EVERY}{row['catalog']}": f"all of {one_line(row['catalog'], 40)} that the filter admits" for row in sessions
    }
    words[FILE] = "a file of another gateway's calls"
    choice = select(
        line, state, shown.linked, "session", "Replay", list(words), show=words.__getitem__, width=430,
        note=f"The questions of one client without a pause above {PAUSE_MINUTES} minutes. Calls without a search have no question to decide again.",
    )  # fmt: skip
    with errors_shown():
        if choice == FILE:
            source = _file(app, state, line, router, parameters)
        else:
            criteria = _where(sessions, choice, shown.admitted)
            work = partial(
                app.replay.replay, str(criteria.catalog), where=criteria, router=router, settings=parameters.values()
            )
            source = criteria, str(criteria.catalog), work
        if source is not None and (rows := _decided(app, source[2], (source[0], router, repr(parameters)))):
            _show(rows, {"catalog": source[1], "router": router, **changes}, shown.zone)
    default = router == DEFAULT_ROUTER and not changes
    texts = {
        "session": "" if choice == next(iter(words)) else choice,
        "with": "" if default else variant_text(router, changes),
    }
    return texts, question.texts


def _question(app: App, state: UrlState, linked: Mapping[str, str]) -> Question:
    """Draw the state of the console with its router and knobs. A link brings them to a window that has no question."""
    if not state.question and linked.get("with"):
        variant = read_variant(app, linked["with"])
        ask_with(
            {"router": variant.router, **{name: str(value) for name, value in variant.parameters.changed().items()}}
        )
    question = standing_question(app, "activity", ("catalog", "network", "at_s"))
    titles, key = {router.id: router.title for router in app.routing.routers()}, state.key("router")
    st.session_state[key] = question.form.router

    def other_router() -> None:
        texts = {name: text for name, text in state.question.items() if name in ASKED}
        ask_with({**texts, "router": st.session_state[key]})

    with st.sidebar:
        st.selectbox("Router", list(titles), key=key, format_func=titles.__getitem__, on_change=other_router)
        preset_choice(question.defaults, question.prefix)
        knob_panel(question.defaults, question.prefix, (), moved=partial(moved, question))
    return question


def _session_words(row: Session, zone: str) -> str:
    name = one_line(row["client"], 30) or origin_words(row["origin"])
    since, until = (row[end].tz_convert(zone) for end in ("since", "until"))
    return f"{name}, {since:%d %b %H:%M} to {until:%H:%M}, {counted(row['decisions'], 'question')} ({one_line(row['catalog'], 30)})"


def _where(sessions: Sequence[Session], choice: str, admitted: ActivityFilter) -> ActivityFilter:
    if choice.startswith(EVERY):
        return replace(admitted, catalog=choice.removeprefix(EVERY))
    row = next(row for row in sessions if row["id"] == choice)
    fields = {name: row[name] for name in ("catalog", "origin", "client")}
    until = row["until"].to_pydatetime() + timedelta(microseconds=1)  # not included
    return replace(admitted, **fields, since=row["since"].to_pydatetime(), until=until)


def _file(app: App, state: UrlState, line: DeltaGenerator, router: str, parameters: Parameters) -> Found | None:
    """Draw the choice of a file and of a catalog, whose tools can be called now."""
    catalogs = [info.name for info in app.catalogs.infos()]
    catalog = select(line, state, {}, "file_catalog", "Decide in catalog", catalogs, start=first_catalog(), width=170)
    file = st.file_uploader(SHAPE, type=["jsonl", "json", "ndjson", "txt"], key=state.key("file"))
    if file is None:
        return None
    events = read_calls(file.getvalue(), source=one_line(file.name, 80), catalog=catalog)
    if lonely := sum(isinstance(event, OutcomeEvent) and event.decision_id is None for event in events):
        st.caption(f"Left out: {counted(lonely, 'call')} before any question of their session.")
    return (file.file_id, catalog), catalog, partial(app.replay.replay_calls, events, router, parameters)


def _decided(app: App, work: Again, about: tuple[object, ...]) -> tuple[Replayed, ...]:
    """Returns the result. While it is computed, returns nothing and draws the progress. Raises WayfareError."""
    about = (*about, app.store.activity.latest_sequence())
    job = job_about(JOB, about)
    if job is None:
        start_job(JOB, lambda job: work(progress=job.report), about)
        job = known_job(JOB)
    if job is not None and not job.wait(WAITS_S):
        job_progress(job, lambda job: (share_of(job), "Deciding again"), stop=f"{JOB}.stop")
        return ()
    if job is None or job.about != about:  # an earlier setting was under way
        st.rerun()
    if isinstance(job.error, Stopped):
        raise WayfareError("The replay was stopped. Change a knob, or choose another session.")
    return job.future.result()


def _show(rows: Sequence[Replayed], texts: Mapping[str, str], zone: str) -> None:
    totals, of_file = ReplayTotals.of(rows), not rows[0].router
    summary = f"{totals.changed:,} of {counted(totals.decisions, 'question')} have another first candidate"
    st.markdown(f"#### {escaped(totals.headline)}: {summary}")
    chart(day(rows, zone), key=f"{JOB}:day")
    columns = ["figure", "measured", f"projected, {'called tools' if of_file else 'then'}", "projected, now"]
    sums = pd.DataFrame(totals.words(), columns=columns)
    table(sums, (Column("measured", width=230), Column("projected, now", width=240)), key=f"{JOB}:sums", width=960)
    st.caption(_rules(totals, of_file=of_file))
    only_changed = st.toggle("Only differences", key="activity.replay.only")
    first = f"{'tool called' if of_file else 'first candidate then'} → now"
    lines = [_line(row, texts, zone, first) for row in rows if row.changed or row.lost or not only_changed]
    if not lines:
        st.success("No differences.", icon=":material/check:")
        return
    table(
        pd.DataFrame(lines).style.map(lambda words: f"color: {REJECTED}" if words == "lost" else "", subset=["answer now"]),
        (
            Column("question", width=200), Column("calls", width=250), Column(first, width=200),
            Column("answer now", width=90, help="The place among the candidates now of the tool that answered."),
            Column("money to one success", "to one success", width=130), Column("then", width=64, help="The recorded decision.", link="open ↗"),
            Column("now", width=64, help="The question on the Decision view, with the present statistics.", link="open ↗"),
        ),
        key="activity.replay.table",
    )  # fmt: skip


def _rules(totals: ReplayTotals, *, of_file: bool) -> str:
    low, high = (escaped(units.price(value)) for value in totals.difference_usd)
    mean = f" The mean difference of a question is between {low} and {high} (95 % interval, bootstrap)."
    return (
        "**Measured** is what the calls did and cost. **Projected** is the money to one success, payment of a call ÷ its estimated success, if the "
        f"first candidate is called and fits; {'both sides by the estimates of now' if of_file else 'by the estimates of the time of each question'}. "
        f"A question counts if a call answered it, the answer is not lost, and both sides have a price.{mean if low != high else ''} "
        "An answer is **lost** if the tool that was called and succeeded is in the catalog and none of the at most n candidates now: "
        "another one may answer as well, and an agent may miss one that is still offered."
    )


def _line(row: Replayed, texts: Mapping[str, str], zone: str, first: str) -> Texts:
    link = {"then": f"./activity?{urlencode({'view': 'decisions', 'row': row.decision_id})}"} if row.router else {}
    query = {name: text for name, text in {"q": row.subtask, "hint": row.server_hint, **texts}.items() if text}
    return {
        "time": f"{row.at.astimezone(ZoneInfo(zone)):%H:%M:%S}", "question": one_line(row.subtask, 160),
        "calls": "; ".join(_call_words(call) for call in row.calls) or "not called",
        first: " → ".join(dict.fromkeys(one_line(decision.tool or "none", 80) for decision in (row.then, row.now))), "answer now": _place(row),
        "money to one success": " → ".join(units.price(decision.projected_usd) if decision.tool else "–" for decision in (row.then, row.now)),
        **link, "now": f"./?{urlencode(query)}",
    }  # fmt: skip


def _call_words(call: OutcomeEvent) -> str:
    tool = one_line(tool_id(call.server, call.tool), 60)
    return f"{outcome_words(call.kind).removesuffix(' ok')} {tool} {units.seconds(call.latency_s)} {units.price(call.price_usd)}"


def _place(row: Replayed) -> str:
    if row.answer is None:
        return "no answer then"
    absence = "not in the catalog" if row.absent else "lost"
    return f"{row.offered.index(row.answer) + 1} of {len(row.offered)}" if row.answer in row.offered else absence
