"""Earlier runs, from here and from `wayfare scenario`: a table, up to six of them compared, deleted, exported.

Owns the keys `network.runs*`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from core.console import Console
from core.domain.scenario_run import KeptRun, RunSteps
from core.errors import StoreError, WayfareError
from core.store import ScenarioRuns
from dashboard.charts.network_runs import RUN_COLOURS, failures_by_step, latency_against_success
from dashboard.widgets.activity_words import visitor_zone
from dashboard.widgets.chart import chart
from dashboard.widgets.network_runs_frame import COLUMNS, runs_frame, runs_styler
from dashboard.widgets.network_runs_words import by_step, differences, names, not_by_step
from dashboard.widgets.text import escaped

CHOSEN, TABLE, NOTICE = "network.runs", "network.runs.table", "network.runs.notice"
MOST, LISTED = 6, 500
ALONE, FIRST = "is chosen; choose another run to compare it with.", "is what the others are compared with."
TABLE_PX, MOST_ROWS = 388, 11


def chosen_runs(kept: Mapping[str, str]) -> str:
    """The chosen runs as the URL carries them; `kept` is what it said."""
    st.session_state.setdefault(CHOSEN, [id_ for id_ in kept.get("runs", "").split(",") if id_][:MOST])
    return ",".join(st.session_state[CHOSEN])


def earlier_runs(console: Console, unkept: str = "") -> None:
    """The section below the story; `unkept` says why the story's runs could not be stored."""
    store = console.store.scenario_runs
    st.markdown("**Earlier runs**")
    if unkept:
        st.warning(f"These runs are not stored. {escaped(unkept)}", icon=":material/database_off:")
    if said := st.session_state.pop(NOTICE, ""):
        st.caption(f":orange[{said}]")
    try:
        runs = store.newest(LISTED)
        if not runs:
            st.caption("None is stored: a run is stored when it is finished, here or by `wayfare scenario`.")
            return
        titles = {router.id: router.title for router in console.routers()}
        _table(runs, titles, store.count())
        chosen = _found(runs)
        _actions(store, chosen)
        if chosen:
            _compared(store, chosen, names(chosen, titles))
    except WayfareError as error:
        st.error(escaped(str(error)), icon=":material/error:")


def _table(runs: Sequence[KeptRun], titles: Mapping[str, str], count: int) -> None:
    ids = [run.id for run in runs]
    wanted = sorted(ids.index(id_) for id_ in st.session_state[CHOSEN] if id_ in ids)
    if wanted != sorted(_rows()):
        st.session_state[TABLE] = {"selection": {"rows": wanted, "columns": [], "cells": []}}
    part = "" if count <= len(runs) else f" These are the newest {len(runs):,} of {count:,}."
    st.caption(
        "Finished runs, from here and from `wayfare scenario`, the newest first; the same run made again takes the earlier "
        f"one's place. Choose up to {MOST} to compare them.{part}"
    )
    st.dataframe(
        runs_styler(runs_frame(runs, titles, visitor_zone())),
        key=TABLE,
        column_config=COLUMNS,
        hide_index=True,
        height=TABLE_PX if len(runs) > MOST_ROWS else "content",
        placeholder="–",
        on_select=lambda: _choose(ids),
        selection_mode="multi-row",
        alt="Stored scenario runs",
    )


def _choose(ids: Sequence[str]) -> None:
    """The order of choosing stays: the others are compared with the first."""
    now = [ids[row] for row in _rows() if row < len(ids)]
    before = [id_ for id_ in st.session_state[CHOSEN] if id_ in now]
    found = before + [id_ for id_ in now if id_ not in before]
    st.session_state[CHOSEN] = found[:MOST]
    if len(found) > MOST:
        st.session_state[NOTICE] = f"At most {MOST} runs are compared at once; what was chosen beyond was not taken."


def _rows() -> list[int]:
    return list(st.session_state[TABLE]["selection"]["rows"]) if TABLE in st.session_state else []


def _found(runs: Sequence[KeptRun]) -> list[KeptRun]:
    of = {run.id: run for run in runs}
    wanted: list[str] = st.session_state[CHOSEN]
    if missing := sum(id_ not in of for id_ in wanted):
        st.caption(
            f":orange[{missing} of the {len(wanted)} chosen runs {'is' if missing == 1 else 'are'} not in this list.]"
        )
    return [of[id_] for id_ in wanted if id_ in of]


def _actions(store: ScenarioRuns, chosen: Sequence[KeptRun]) -> None:
    ids = [run.id for run in chosen]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.download_button(
            "CSV of the chosen" if ids else "CSV of all",
            data=partial(store.export, ids),  # pyright: ignore[reportArgumentType]
            file_name="wayfare-runs.csv",
            mime="text/csv",
            key="network.runs.csv",
            icon=":material/download:",
            on_click="ignore",
        )
        if not ids:
            return
        st.button("Clear the choice", key="network.runs.none", icon=":material/deselect:", on_click=_choose, args=([],))
        with st.popover("Delete the chosen", icon=":material/delete:"):
            which = "this run" if len(ids) == 1 else f"these {len(ids)} runs"
            st.markdown(f"Delete {which} from the store? The same can be run again.")
            st.button(
                "Yes, delete", key="network.runs.delete", type="primary", icon=":material/delete:",
                on_click=_delete, args=(store, ids),
            )  # fmt: skip


def _delete(store: ScenarioRuns, ids: Sequence[str]) -> None:
    try:
        deleted = store.remove(ids)
    except WayfareError as error:
        st.session_state[NOTICE] = escaped(str(error))
        return
    st.session_state[CHOSEN] = []
    st.session_state[NOTICE] = f"{deleted} {'run was' if deleted == 1 else 'runs were'} deleted."


def _compared(store: ScenarioRuns, runs: Sequence[KeptRun], called: Sequence[str]) -> None:
    steps = [_steps(store, run) for run in runs]
    grid = st.grid(2, min_column_width=340, gap="small")
    with grid.cell():
        _chart(latency_against_success(runs, called), "latency")
    with grid.cell():
        nothing = np.empty(0, dtype=np.bool_)
        _chart(failures_by_step([nothing if one is None else one.ok for one in steps], called), "failures")
    for place, (run, name) in enumerate(zip(runs, called, strict=True)):
        sign = f':color[**{place + 1} {escaped(name)}**]{{foreground="{RUN_COLOURS[place]}"}}'
        said = [_against(run, steps[place], runs[0], steps[0])] if place else []
        if steps[place] is None:
            said.append(":orange[Its steps are damaged: delete the run and make it again.]")
        intro = "" if place else f" {FIRST if len(runs) > 1 else ALONE}"
        st.markdown("  \n".join([f"{sign}{intro}", *said]))


def _against(run: KeptRun, steps: RunSteps | None, first: KeptRun, of_first: RunSteps | None) -> str:
    """Markdown: the measures of a run against the first, and what happened at the same steps."""
    said = escaped(f"{differences(run, first)}.", 600)
    if reason := not_by_step(run, first):
        return f"{said}  \n:orange[Not comparable step by step:] {escaped(reason)}."
    if steps is None or of_first is None:
        return said
    return f"{said}  \n{escaped(by_step(steps, of_first))}"


def _steps(store: ScenarioRuns, run: KeptRun) -> RunSteps | None:
    """None where they are damaged: the measures are still there."""
    try:
        return store.steps(run.id)
    except StoreError:
        return None


def _chart(figure: go.Figure, name: str) -> None:
    chart(figure, key=f"network.runs.chart.{name}")
