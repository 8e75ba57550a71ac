"""Stored runs of the Network page: their table, their selection, and their comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from pandas.io.formats.style import Styler

from core.app import App
from core.domain import units
from core.domain.errors import StoreError, WayfareError
from core.domain.lab_runs import SIMULATED, KeptRun, RunSteps
from dashboard.pages.network.charts.runs import RUN_COLOURS, failures_by_step, latency_against_success
from dashboard.pages.network.tables import HELPS, SPELLED
from dashboard.session import only
from dashboard.theme import MUTED
from dashboard.ui.chart import chart
from dashboard.ui.table import Column, listening_table
from dashboard.ui.text import cell_text, errors_shown, escaped, visitor_zone

ASPECTS: Mapping[str, Callable[[KeptRun], str]] = {
    "network": lambda run: run.profile.replace("_", " "), "catalog": lambda run: run.catalog,
    "tasks": lambda run: "" if run.tasks == run.catalog else run.tasks,
    "questions": lambda run: "raw questions" if run.raw_questions else "",
    "predicted": lambda run: f"predicted {run.predicted}" if run.predicted else "", "setting": lambda run: run.setting,
    "seed": lambda run: f"seed {run.seed}", "steps": lambda run: f"{run.steps:,} steps", "mode": lambda run: run.mode,
}  # fmt: skip
BY_SETTING = {"s", "t", "k"}  # parameters of the setting
PART = 36


def names(runs: Sequence[KeptRun], titles: Mapping[str, str]) -> tuple[str, ...]:
    """Returns a short name for each chosen run: its router and the differing settings and parameters."""
    differing = [aspect for aspect in ASPECTS.values() if len({aspect(run) for run in runs}) > 1]
    return tuple(
        " · ".join(
            cell_text(text, PART)
            for text in (
                titles.get(run.router, run.router),
                *(aspect(run) for aspect in differing),
                *_own_parameters(run, [other for other in runs if other.router == run.router]),
            )
            if text
        )
        for run in runs
    )


def _own_parameters(run: KeptRun, same_router: Sequence[KeptRun]) -> list[str]:
    return [
        f"{name}={value}"
        for name, value in run.parameters.items()
        if value is not None
        and name not in BY_SETTING
        and any(other.parameters.get(name) != value for other in same_router)
    ]


def not_by_step(run: KeptRun, first: KeptRun) -> str:
    """Returns why two runs cannot be compared step by step, or "" if their steps have equal queries and random draws."""
    reasons: list[str] = []
    for thing in ("catalog", "tasks"):
        if getattr(run, f"{thing}_fingerprint") != getattr(first, f"{thing}_fingerprint"):
            other, value = (cell_text(getattr(item, thing), 60) for item in (first, run))
            reasons.append(f"{thing} {value}, not {other}" if value != other else f"another content of {thing} {value}")
    reasons += [
        f"{thing.replace('_', '-')} {getattr(run, thing):,}, not {getattr(first, thing):,}"
        for thing in ("seed", "steps", "lead_in")
        if getattr(run, thing) != getattr(first, thing)
    ]
    return ", ".join(reasons)


def differences(run: KeptRun, first: KeptRun) -> str:
    return "; ".join(
        (
            _points(SPELLED["ssr"], run.ssr, first.ssr),
            _times(SPELLED["al"], run.al_ms, first.al_ms, lambda value: units.seconds(value / 1e3)),
            _points(SPELLED["fr"], run.fr, first.fr),
            _times(SPELLED["sl"], run.sl_ms, first.sl_ms, lambda value: units.seconds(value / 1e3)),
            _times("cost", run.cost_usd, first.cost_usd, units.price)
            if run.steps == first.steps
            else _times("cost a query", run.cost_usd / run.steps, first.cost_usd / first.steps, units.price),
        )
    )


def by_step(run: RunSteps, first: RunSteps) -> str:
    """Returns the differences of two runs over the same queries: servers and success.

    >>> def steps(rows, ok): return RunSteps(("a", "b"), (), *[np.array(rows)] * 3, np.zeros(3), np.zeros(3), np.array(ok))
    >>> by_step(steps([0, 1, -1], [True, True, False]), steps([0, 0, -1], [True, False, False]))
    'The same server at 66.7 % of the steps; success only here: 1, only in the first: 0.'
    """
    same = np.mean(_server_names(run) == _server_names(first))
    won, lost = int(np.sum(run.ok & ~first.ok)), int(np.sum(first.ok & ~run.ok))
    return (
        f"The same server at {units.share(float(same))} of the steps; success only here: {won:,}, "
        f"only in the first: {lost:,}."
    )


def _server_names(steps: RunSteps) -> np.ndarray:
    return np.array([*steps.servers, ""], dtype=object)[steps.server]  # -1 is the last: nowhere


def _points(name: str, value: float, first: float) -> str:
    """
    >>> _points("FR", 0.0, 0.45), _points("SSR", 0.991, 0.9911)
    ('FR 45.0 points lower (0 %, not 45 %)', 'SSR the same (99.1 %)')
    """
    change = (value - first) * 100
    if abs(change) < 0.05 or change != change:  # noqa: PLR0124 - NaN
        return f"{name} the same ({units.share(first)})"
    side = "higher" if change > 0 else "lower"
    return f"{name} {abs(change):.1f} points {side} ({units.share(value)}, not {units.share(first)})"


def _times(name: str, value: float, first: float, words: Callable[[float], str]) -> str:
    """
    >>> _times("AL", 20.0, 500.0, lambda ms: f"{ms:g} ms"), _times("AL", 1.2, 1.0, str), _times("cost", 0.0, 2.0, str)
    ('AL 25 times lower (20 ms, not 500 ms)', 'AL 20 % higher (1.2, not 1.0)', 'cost 0.0, not 2.0')
    """
    if value == first or words(value) == words(first):
        return f"{name} the same ({words(first)})"
    if min(value, first) <= 0:
        return f"{name} {words(value)}, not {words(first)}"
    side, ratio = ("higher", value / first) if value > first else ("lower", first / value)
    share = abs(value - first) / first
    by = f"{ratio:.3g} times" if ratio >= 2 else units.share(share)
    return f"{name} {by} {side} ({words(value)}, not {words(first)})"


ALONE, FIRST = "is chosen. Choose another run to compare.", "is the baseline of the others."


def compared_runs(app: App, runs: Sequence[KeptRun], names: Sequence[str]) -> None:
    steps = [_steps(app, run) for run in runs]
    grid = st.grid(2, min_column_width=340, gap="small")
    with grid.cell():
        _chart(latency_against_success(runs, names), "latency")
    with grid.cell():
        none = np.empty(0, dtype=np.bool_)
        _chart(failures_by_step([none if entry is None else entry.ok for entry in steps], names), "failures")
    for place, (run, name) in enumerate(zip(runs, names, strict=True)):
        sign = f':color[**{place + 1} {escaped(name)}**]{{foreground="{RUN_COLOURS[place]}"}}'
        lines = [_against_first(run, steps[place], runs[0], steps[0])] if place else []
        if steps[place] is None:
            lines.append(":orange[Its steps are damaged. Delete the run and make it again.]")
        intro = "" if place else f" {FIRST if len(runs) > 1 else ALONE}"
        st.markdown("  \n".join([f"{sign}{intro}", *lines]))


def _against_first(run: KeptRun, steps: RunSteps | None, first: KeptRun, of_first: RunSteps | None) -> str:
    """Returns Markdown: the differences of a run to the first, in total and step by step."""
    measures = escaped(f"{differences(run, first)}.", 600)
    if reason := not_by_step(run, first):
        return f"{measures}  \n:orange[Not comparable step by step:] {escaped(reason)}."
    if steps is None or of_first is None:
        return measures
    return f"{measures}  \n{escaped(by_step(steps, of_first))}"


def _steps(app: App, run: KeptRun) -> RunSteps | None:
    try:
        return app.store.scenario_runs.steps(run.id)
    except StoreError:
        return None


def _chart(figure: go.Figure, name: str) -> None:
    chart(figure, key=f"network.runs.chart.{name}")


COLUMNS = (
    Column("at", "when", width=120, format="YYYY-MM-DD HH:mm"), Column("network", width=105),
    Column("catalog", width=90), Column("router", width=85), Column("setting", "short-list", width=70),
    Column("seed", width=42), Column("steps", width=50), Column("mode", width=80), Column("ssr", SPELLED["ssr"], width=120, help=HELPS["ssr"]),
    Column("ee", SPELLED["ee"], width=100, help=HELPS["ee"]), Column("al_ms", SPELLED["al"], width=85, help=HELPS["al"]),
    Column("sl_ms", SPELLED["sl"], width=100, help=HELPS["sl"]), Column("fr", SPELLED["fr"], width=95, help=HELPS["fr"]),
    Column("cost_usd", "cost", width=60), Column("utility", width=60),
)  # fmt: skip


def runs_frame(runs: Sequence[KeptRun], titles: Mapping[str, str], zone: str) -> pd.DataFrame:
    """Returns a row for each run; shares in [0, 1], times in ms, money in USD."""
    return pd.DataFrame(
        {
            "at": pd.to_datetime([run.at for run in runs], utc=True).tz_convert(zone),
            "network": [cell_text(run.profile.replace("_", " ")) for run in runs],
            "catalog": [cell_text(run.catalog) for run in runs],
            "router": [cell_text(titles.get(run.router, run.router)) for run in runs],
            "setting": [cell_text(run.setting) for run in runs],
            "seed": [run.seed for run in runs],
            "steps": [run.steps for run in runs],
            "mode": [cell_text(run.mode) for run in runs],
            **{
                name: [getattr(run, name) for run in runs] for name in ("ssr", "ee", "al_ms", "sl_ms", "fr", "cost_usd")
            },
            "utility": pd.array([run.utility for run in runs], dtype="Float64"),
        }
    )


def runs_styler(frame: pd.DataFrame) -> Styler:
    style = frame.style
    style.format(
        {
            "ssr": units.share, "fr": units.share, "ee": "{:.3f}", "al_ms": "{:,.1f} ms", "sl_ms": "{:.2f} ms",
            "cost_usd": lambda usd: units.price(usd) if usd else "–", "utility": units.plain, "steps": "{:,}",
        },
        na_rep="–",
    )  # fmt: skip
    return style.map(lambda mode: f"color: {MUTED}" if mode == SIMULATED else "", subset=["mode"])


CHOSEN, TABLE, NOTICE = "network.runs", "network.runs.table", "network.runs.notice"
MOST = 6


def chosen_runs(linked: Mapping[str, str]) -> str:
    """Returns the ids of the chosen runs for the URL, at first the runs of the link."""
    st.session_state.setdefault(CHOSEN, [id_ for id_ in linked.get("runs", "").split(",") if id_][:MOST])
    return ",".join(st.session_state[CHOSEN])


def runs_table(runs: Sequence[KeptRun], titles: Mapping[str, str], count: int) -> None:
    ids = [run.id for run in runs]
    rows = sorted(ids.index(id_) for id_ in st.session_state[CHOSEN] if id_ in ids)
    if rows != sorted(_selected_rows()):
        st.session_state[TABLE] = {"selection": {"rows": rows, "columns": [], "cells": []}}
    note = "" if count <= len(runs) else f" These are the newest {len(runs):,} of {count:,}."
    st.caption(
        "Finished runs of this page and of `wayfare scenario`, the newest first. A repeated run replaces the earlier one. "
        f"Choose up to {MOST} to compare them.{note}"
    )
    listening_table(
        runs_styler(runs_frame(runs, titles, visitor_zone())), COLUMNS, key=TABLE, many=True, chosen=lambda: choose(ids), about="Stored scenario runs",
    )  # fmt: skip


def choose(ids: Sequence[str]) -> None:
    """Take over the selection of a table with these ids. For `on_select` and `on_click`."""
    selected = [ids[row] for row in _selected_rows() if row < len(ids)]
    st.session_state[CHOSEN], st.session_state[NOTICE] = chosen_after(st.session_state[CHOSEN], selected)


def chosen_after(before: Sequence[str], selected: Sequence[str]) -> tuple[list[str], str]:
    """Returns the chosen runs and a notice after a new selection. Their order stays, and the first run is the
    baseline.

    >>> chosen_after(["b", "c"], ["a", "b"])
    (['b', 'a'], '')
    """
    chosen = [id_ for id_ in before if id_ in selected]
    chosen += [id_ for id_ in selected if id_ not in chosen]
    notice = f"At most {MOST} runs can be compared. Further choices were dropped."
    return chosen[:MOST], notice if len(chosen) > MOST else ""


def chosen_from(runs: Sequence[KeptRun]) -> list[KeptRun]:
    by_id = {run.id: run for run in runs}
    ids: list[str] = st.session_state[CHOSEN]
    if missing := sum(id_ not in by_id for id_ in ids):
        st.caption(
            f":orange[{missing} of the {len(ids)} chosen runs {'is' if missing == 1 else 'are'} not in this list.]"
        )
    return [by_id[id_] for id_ in ids if id_ in by_id]


def _selected_rows() -> list[int]:
    return list(st.session_state[TABLE]["selection"]["rows"]) if TABLE in st.session_state else []


LISTED = 500


def earlier_runs(app: App, not_stored: str = "") -> None:
    """Draw the section of stored runs. `not_stored` is the reason why the run above is not stored."""
    store = app.store.scenario_runs
    st.markdown("**Earlier runs**")
    if not_stored:
        st.warning(f"These runs are not stored. {escaped(not_stored)}", icon=":material/database_off:")
    if notice := st.session_state.pop(NOTICE, ""):
        st.caption(f":orange[{notice}]")
    with errors_shown():
        runs = store.newest(LISTED)
        if not runs:
            st.caption("No run is stored yet. Finished runs of this page and of `wayfare scenario` are stored.")
            return
        titles = {router.id: router.title for router in app.routing.routers()}
        runs_table(runs, titles, store.count())
        chosen = chosen_from(runs)
        _actions(app, chosen)
        if chosen:
            compared_runs(app, chosen, names(chosen, titles))


def _actions(app: App, chosen: Sequence[KeptRun]) -> None:
    ids = [run.id for run in chosen]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.download_button(
            "CSV of the choice" if ids else "CSV of all",
            data=partial(app.store.scenario_runs.export, ids),  # pyright: ignore[reportArgumentType]
            file_name="wayfare-runs.csv",
            mime="text/csv",
            key="network.runs.csv",
            icon=":material/download:",
            on_click="ignore",
        )
        if not ids:
            return
        st.button("Clear the choice", key="network.runs.none", icon=":material/deselect:", on_click=choose, args=([],))
        with st.popover("Delete the choice", icon=":material/delete:"):
            noun = "this run" if len(ids) == 1 else f"these {len(ids)} runs"
            st.markdown(f"Delete {noun} from the store? They can be made again.")
            st.button("Yes, delete", key="network.runs.delete", **only("tune"), type="primary", icon=":material/delete:", on_click=_delete, args=(app, ids))  # fmt: skip


def _delete(app: App, ids: Sequence[str]) -> None:
    try:
        deleted = app.store.scenario_runs.remove(ids)
    except WayfareError as error:
        st.session_state[NOTICE] = escaped(str(error))
        return
    st.session_state[CHOSEN] = []
    st.session_state[NOTICE] = f"{deleted} {'run was' if deleted == 1 else 'runs were'} deleted."
