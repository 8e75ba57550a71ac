"""Replay: recorded sub-tasks under other knobs or the recorded ones, with the statistics of their time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job
from core.domain import units
from core.domain.params import Parameters
from core.domain.untrusted_text import one_line
from core.lab.lab import RANKED
from core.lab.replayed import Chosen, Replayed, ReplayTotals
from dashboard.pages.lab.charts import replay_change
from dashboard.pages.lab.run import begin, result, start_button
from dashboard.ui.chart import chart
from dashboard.ui.table import Column, table
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState, select

REPLAY = "replay"
KNOBS, ROUTER, RECORDED = "knobs", "router", "recorded"
HOW = {
    KNOBS: "the recorded router and knobs, with the changed knobs of the sidebar",
    ROUTER: "the sidebar's router with its knobs",
    RECORDED: "the recorded router and knobs: shows the effect of catalog and labels",
}
DECISIONS, MOST, LISTED = 300, 5_000, 200


def replays(
    app: App, state: UrlState, linked: Mapping[str, str], catalog: str, router: str, parameters: Parameters
) -> dict[str, str]:
    """Draw the view. Returns the texts for the URL."""
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    how = select(
        row, state, linked, "how", "Decide again with", list(HOW), start=ROUTER, show=HOW.__getitem__, width=470
    )
    if state.key("last") not in st.session_state:
        text = linked.get("last", "")
        st.session_state[state.key("last")] = min(max(1, int(text)), MOST) if text.isdecimal() else DECISIONS
    last = int(
        row.number_input(
            "The newest", 1, MOST, key=state.key("last"), width=120, help="The number of recorded decisions."
        )
    )
    settings = {RECORDED: {}, KNOBS: parameters.changed(), ROUTER: parameters.values()}[how]
    if str(settings.get("n")) == RANKED:  # the Lab ranks more tools than a decision; tokens depend on it
        settings = {name: value for name, value in settings.items() if name != "n"}
    chosen = router if how == ROUTER else ""
    about = (catalog, chosen, repr(settings), last)
    start_button(
        row, "Replay", partial(_start, app, catalog, chosen, settings, last, about),
        key="lab:replay", icon=":material/replay:", type="primary",
    )  # fmt: skip
    st.caption(
        f"Recorded sub-tasks of {escaped(catalog)} are decided again, each with the statistics of its time. Nothing is called or "
        "recorded."
    )
    rows: tuple[Replayed, ...] | None = result(REPLAY, about)
    if rows is None:
        st.info("Choose the knobs, and press Replay.", icon=":material/replay:")
    else:
        knobs = {name: str(value) for name, value in parameters.changed().items()}
        _show(app, rows, {"catalog": catalog, "router": router, **knobs} if how == ROUTER else {})
    return {"how": "" if how == ROUTER else how, "last": "" if last == DECISIONS else str(last)}


def _start(app: App, catalog: str, router: str, settings: Mapping[str, object], last: int, about: object) -> None:
    def work(job: Job) -> tuple[Replayed, ...]:
        return app.replay.replay(catalog, router=router, settings=settings, decisions=last, progress=job.report)

    begin(REPLAY, "Deciding again", last, work, about)


def _show(app: App, rows: Sequence[Replayed], again: Mapping[str, str]) -> None:
    totals = ReplayTotals.of(rows)
    st.markdown(
        f"**{totals.changed:,} of {totals.decisions:,} have another winner**: {totals.refused:,} now have no winner, {totals.answered:,} "
        "have a winner only now."
    )
    sums = [
        ("price of the winners", units.price(totals.usd_then), units.price(totals.usd_now)),
        ("winners without a price", f"{totals.unpriced_then:,}", f"{totals.unpriced_now:,}"),
        ("expected time", f"{totals.s_then:,.2f} s", f"{totals.s_now:,.2f} s"),
        ("tokens of candidates", f"{totals.tokens_then:,}", f"{totals.tokens_now:,}"),
    ]
    of = f"sums over {totals.both:,} with two winners"
    table(pd.DataFrame(sums, columns=[of, "then", "now"]), key="lab:replay-sums", width=520)
    if totals.both:
        chart(replay_change(rows), key="lab:replay-chart")
    _table([row for row in rows if row.changed], {row.id: row.title for row in app.routing.routers()}, again)


def _table(changed: Sequence[Replayed], titles: Mapping[str, str], again: Mapping[str, str]) -> None:
    if not changed:
        st.success("All winners are unchanged.", icon=":material/check:")
        return
    newest = list(reversed(changed))[:LISTED]
    frame = pd.DataFrame([_line(row, titles, again) for row in newest])
    table(
        frame,
        (
            Column("sub-task", width=280),
            Column(
                "now",
                width="small",
                help="The sub-task on the Decision view, with the current statistics",
                link="open ↗",
            ),
        ),
        key="lab:replayed",
    )
    more = f" The newest {LISTED:,} of {len(changed):,} are listed." if len(changed) > LISTED else ""
    st.caption(f"Sub-tasks with another winner, the newest first; price of a call, expected seconds to success.{more}")


def _line(row: Replayed, titles: Mapping[str, str], again: Mapping[str, str]) -> dict[str, str]:
    link = {"now": f"/?{urlencode({'q': row.subtask, **again})}"} if again else {}
    return {
        "sub-task": one_line(row.subtask, 160), "when": f"{row.at:%Y-%m-%d %H:%M}",
        "router then": titles.get(row.router, one_line(row.router, 40)),
        "winner then": one_line(row.then.tool or "none", 80), "winner now": one_line(row.now.tool or "none", 80),
        "price": f"{_price(row.then)} → {_price(row.now)}", "time": f"{_seconds(row.then)} → {_seconds(row.now)}",
        **link,
    }  # fmt: skip


def _price(one: Chosen) -> str:
    return "–" if one.tool is None else units.price(one.usd)


def _seconds(one: Chosen) -> str:
    return "–" if one.s is None else f"{one.s:.2f} s"
