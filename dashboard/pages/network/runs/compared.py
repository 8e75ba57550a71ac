"""The chosen runs beside each other: two charts, and how each did against the first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from core.app import App
from core.domain.lab_runs import KeptRun, RunSteps
from core.shared.errors import StoreError
from dashboard.pages.network.charts.run_comparison import RUN_COLOURS, failures_by_step, latency_against_success
from dashboard.pages.network.runs.words import by_step, differences, not_by_step
from dashboard.ui.chart import chart
from dashboard.ui.text import escaped

ALONE, FIRST = "is chosen; choose another run to compare it with.", "is what the others are compared with."


def compared_runs(app: App, runs: Sequence[KeptRun], names: Sequence[str]) -> None:
    """The charts of these runs, and a line for each."""
    steps = [_steps(app, run) for run in runs]
    grid = st.grid(2, min_column_width=340, gap="small")
    with grid.cell():
        _chart(latency_against_success(runs, names), "latency")
    with grid.cell():
        none = np.empty(0, dtype=np.bool_)
        _chart(failures_by_step([none if one is None else one.ok for one in steps], names), "failures")
    for place, (run, name) in enumerate(zip(runs, names, strict=True)):
        sign = f':color[**{place + 1} {escaped(name)}**]{{foreground="{RUN_COLOURS[place]}"}}'
        lines = [_against_first(run, steps[place], runs[0], steps[0])] if place else []
        if steps[place] is None:
            lines.append(":orange[Its steps are damaged: delete the run and make it again.]")
        intro = "" if place else f" {FIRST if len(runs) > 1 else ALONE}"
        st.markdown("  \n".join([f"{sign}{intro}", *lines]))


def _against_first(run: KeptRun, steps: RunSteps | None, first: KeptRun, of_first: RunSteps | None) -> str:
    """Markdown: the measures of a run against the first, and what happened at the same steps."""
    measures = escaped(f"{differences(run, first)}.", 600)
    if reason := not_by_step(run, first):
        return f"{measures}  \n:orange[Not comparable step by step:] {escaped(reason)}."
    if steps is None or of_first is None:
        return measures
    return f"{measures}  \n{escaped(by_step(steps, of_first))}"


def _steps(app: App, run: KeptRun) -> RunSteps | None:
    """None where they are damaged: the measures are still there."""
    try:
        return app.store.scenario_runs.steps(run.id)
    except StoreError:
        return None


def _chart(figure: go.Figure, name: str) -> None:
    chart(figure, key=f"network.runs.chart.{name}")
