"""What a stored search found: its Pareto front, what mattered, slices, parallel coordinates, and the point that is applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from core.app import App
from core.domain.lab_runs import Sweep
from core.lab.sweep import OBJECTIVES, SECONDS, SOLVED, USD, Axis
from dashboard.pages.lab.charts.study import importance_bars, parallel, pareto, slices
from dashboard.pages.lab.fields import select
from dashboard.pages.lab.run import Chosen
from dashboard.pages.lab.sweep_result import CHOSEN_ON_THE_SAME, OBJECTIVE_WORDS, apply_point, values_text
from dashboard.ui.chart import chart
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState


def search_result(
    app: App, state: UrlState, linked: Mapping[str, str], chosen: Chosen, sweep: Sweep, axes: Sequence[Axis]
) -> dict[str, str]:
    """All of it; what it puts into the URL."""
    document = app.sweeps.document(sweep.id)
    points, front = document["points"], document["front"]
    if not points:
        st.info("Nothing of this search is stored yet.", icon=":material/travel_explore:")
        return {}
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    objective = select(
        row, state, linked, "objective", "Objective", list(OBJECTIVES), show=OBJECTIVE_WORDS.__getitem__, width=330
    )
    down = OBJECTIVES[objective] == "minimize"
    best = sorted(
        points, key=lambda one: (one["number"] not in front, one[objective] if down else -one[objective], one["number"])
    )
    known = {str(one["number"]): one for one in best}
    key = f"point.{sweep.id}"
    number = select(
        row, state, linked, key, "Trial, those on the front first", list(known), width=330,
        show=lambda one: f"{known[one][objective]:.4g} at {values_text(known[one]['values'])}", note="Or click on it in a chart.",
    )  # fmt: skip
    point = known[number]

    def choose(one: str) -> None:
        st.session_state[state.key(key)] = one

    columns = st.grid(2, min_column_width=420, gap="small")
    with columns.cell():
        chart(pareto(points, front, point["number"]), key="lab:pareto", choose=choose)
    with columns.cell():
        shares = app.sweeps.importances(axes, points, objective)
        if shares:
            chart(importance_bars(shares, objective=OBJECTIVE_WORDS[objective]), key="lab:importances")
        else:
            st.caption("The importance of each knob appears after ten trials, if their objectives differ.")
    chart(parallel(points, axes, front, point["number"]), key="lab:parallel", choose=choose)
    chart(
        slices(points, axes, objective, point["number"], name=OBJECTIVE_WORDS[objective]),
        key="lab:slices",
        choose=choose,
    )
    st.caption(
        f"{len(front):,} of {len(points):,} trials are on the front of success, money and time. Trial {point['number']:,}: "
        f"{escaped(values_text(point['values']), 300)}: solved {point[SOLVED]:.3f}, {point[USD]:.5f} USD and {point[SECONDS]:.2f} s a "
        f"task, expected from declared figures. {CHOSEN_ON_THE_SAME}"
    )
    apply_point(app, chosen, sweep.id, point)
    return {"objective": objective}
