"""Replay: recorded sub-tasks under other knobs or the recorded ones, with the statistics of their time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job
from core.domain import units
from core.domain.errors import WayfareError
from core.domain.lab_runs import ConsoleState, Snapshot, differences
from core.domain.params import Parameters
from core.domain.untrusted_text import one_line
from core.lab.lab import RANKED
from core.lab.replay import Chosen, Replayed, ReplayTotals
from dashboard.pages.lab.charts import replay_change
from dashboard.pages.lab.run import begin, result, start_button
from dashboard.ui.chart import chart
from dashboard.ui.rights import only
from dashboard.ui.table import Column, table
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState, pages_state, restore_pages, select

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


SAID = "lab:snapshot-said"
FILE = "lab:snapshot-file"
NOW = "\x00"  # never the name of a snapshot
SHOWN = ("q", "catalog", "router", "profile")


def snapshots(app: App, state: UrlState, linked: Mapping[str, str], catalog: str) -> dict[str, str]:
    """Draw the view. Returns the texts for the URL."""
    _said()
    st.caption(
        "A snapshot keeps the state of every page (query, catalog, router, knobs, filters, network), the active calibrations and the "
        "saved networks. Restoring a snapshot sets all of them again. Catalogs, labels and calls do not change."
    )
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    row.text_input("Name", key="lab:snapshot-name", placeholder="before the new prices", width=300, max_chars=80)
    row.button(
        "Keep the current state", key="lab:snapshot-save", **only("tune"), icon=":material/photo_camera:", type="primary",
        on_click=_save, args=(app, catalog),
    )  # fmt: skip
    found = app.snapshots.all()
    with st.expander("Import from a file", expanded=False):
        st.file_uploader("An exported snapshot", type="json", key=FILE, **only("tune"), on_change=_import, args=(app,))
    if not found:
        st.info("No snapshot is kept yet. Enter a name and press the button.", icon=":material/photo_camera:")
        return {}
    frame = pd.DataFrame([_snapshot_line(one) for one in found])
    table(frame, key="lab:snapshots")
    names = [one.name for one in found]
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    chosen = select(row, state, linked, "snapshot", "Snapshot", names, show=lambda one: one_line(one, 60), width=260)
    key = state.key("snapshot")
    row.button("Restore", key="lab:snapshot-return", **only("tune"), icon=":material/history:", on_click=_return, args=(app, key))  # fmt: skip
    row.download_button(
        "Export", app.snapshots.export(chosen), file_name="wayfare-snapshot.json", mime="application/json", key="lab:snapshot-export",
        icon=":material/download:", on_click="ignore",
    )  # fmt: skip
    row.button("Remove", key="lab:snapshot-remove", **only("tune"), icon=":material/delete:", on_click=_remove, args=(app, key))  # fmt: skip
    with_ = select(
        st.container(), state, linked, "beside", "Compare with", [NOW, *(name for name in names if name != chosen)], width=260,
        show=lambda one: "the current state" if one == NOW else one_line(one, 60),
    )  # fmt: skip
    states = {one.name: one.state for one in found}
    other = app.snapshots.state(pages_state(), catalog) if with_ == NOW else states[with_]
    _compare(chosen, states[chosen], "now" if with_ == NOW else with_, other)
    return {"snapshot": chosen, "beside": "" if with_ == NOW else with_}


def _compare(name: str, one: ConsoleState, other_name: str, other: ConsoleState) -> None:
    found = [
        one
        for one in differences(one, other)
        if (one.where, one.name) not in {("lab", "view"), ("lab", "snapshot"), ("lab", "beside")}
    ]
    if not found:
        st.success("No differences.", icon=":material/check:")
        return
    rows = [
        {
            "page": one_line(each.where, 40),
            "setting": one_line(each.name, 60),
            one_line(name, 40): one_line(each.one, 160) or "–",
            f"{one_line(other_name, 40)} ": one_line(each.other, 160) or "–",
        }
        for each in found
    ]
    table(rows, key="lab:snapshot-difference")
    st.caption(
        "A dash is the default, or a page that was not visited. Catalogs are compared by their fingerprint for routing."
    )


def _snapshot_line(snapshot: Snapshot) -> dict[str, str]:
    pages = snapshot.state.pages
    shown = {name: next((texts[name] for texts in pages.values() if texts.get(name)), "") for name in SHOWN}
    return {
        "name": one_line(snapshot.name, 80),
        "kept": f"{snapshot.at:%Y-%m-%d %H:%M}",
        "query": one_line(shown["q"], 80) or "–",
        "catalogs": ", ".join(one_line(name, 40) for name in snapshot.state.catalogs),
        "router": shown["router"] or "EHRR",
        "network": shown["profile"] or "–",
        "calibrations": f"{sum(bool(text) for text in snapshot.state.calibrations.values()):,}",
        "pages": ", ".join(pages),
    }


def _save(app: App, catalog: str) -> None:
    name = st.session_state["lab:snapshot-name"]
    with _told():
        kept = app.snapshots.save(name, app.snapshots.state(pages_state(), catalog))
        st.session_state[SAID] = ("success", f"Kept as {kept.name}.")
        st.session_state["lab:snapshot-name"] = ""


@contextmanager
def _told() -> Iterator[None]:
    """Tell a WayfareError of the block in the next run."""
    try:
        yield
    except WayfareError as error:
        st.session_state[SAID] = ("error", str(error))


def _import(app: App) -> None:
    file = st.session_state[FILE]
    if file is None:
        return
    with _told():
        kept = app.snapshots.import_file(file.getvalue(), source=file.name)
        st.session_state[SAID] = ("success", f"Imported as {kept.name}.")


def _return(app: App, key: str) -> None:
    name = str(st.session_state[key])  # it may be newer than the drawn buttons
    with _told():
        found = app.snapshots.restore(name)
        restore_pages({**found.pages, "lab": {**found.pages.get("lab", {}), "view": "Snapshots", "snapshot": name}})
        remarks = " ".join(found.remarks)
        st.session_state[SAID] = ("warning" if remarks else "success", f"{name} is restored. {remarks}".strip())


def _remove(app: App, key: str) -> None:
    name = str(st.session_state[key])
    app.snapshots.remove(name)
    st.session_state[SAID] = ("success", f"{name} is removed.")


def _said() -> None:
    """Show the result of the last button."""
    kind, sentence = st.session_state.pop(SAID, ("", ""))
    if kind == "error":
        st.error(escaped(sentence, 600), icon=":material/error:")
    elif kind == "warning":
        st.warning(escaped(sentence, 900), icon=":material/warning:")
    elif kind:
        st.success(escaped(sentence, 600), icon=":material/check:")
