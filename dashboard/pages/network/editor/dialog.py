"""The dialog that edits a network: which server has which state, the states' values, a preview, and saving it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from core.app import App
from core.domain.catalog import Server
from core.lab.scenarios.records import Curve, curves
from core.lab.scenarios.simulation import LEAD_IN
from core.network.draft import Draft, Row, varied
from core.network.states import STEP_S
from core.network.traces import Traces
from dashboard.pages.network.charts.latency_preview import latency_preview
from dashboard.pages.network.editor.parts import parts, server_table
from dashboard.pages.network.editor.saving import saving_row
from dashboard.pages.network.editor.state import OPEN, Editing, close_editor
from dashboard.ui.chart import chart
from dashboard.ui.text import escaped

STEPS_SHOWN = 300


def editor(app: App, catalog: str, seed: int, usual: str) -> None:
    """The dialog, where it is open; `usual` is the profile to go to where the edited one is deleted."""
    if OPEN in st.session_state:
        _dialog(app, catalog, seed, usual)


@st.dialog("Edit the network", width="large", icon=":material/tune:", on_dismiss=close_editor)
def _dialog(app: App, catalog: str, seed: int, usual: str) -> None:
    editing: Editing | None = st.session_state.get(OPEN)
    if editing is None:
        st.rerun()
    servers = app.catalogs.catalog(app.catalogs.open(catalog).name).servers
    st.caption(
        f"The state of every server of {escaped(catalog)}: the one given by hand, else that of the first rule it meets, "
        "else one drawn at random, else that of all others. States that are named together act together."
    )
    grid = st.grid(2, min_column_width=400, gap="medium")
    left, right = grid.cell(), grid.cell()
    with right:
        draft, wanted, problem = parts(editing, sorted({server.category for server in servers} - {""}))
    with left:
        draft, rows, problem = server_table(editing, draft, servers, seed, problem)
        elsewhere = len(
            {name for name, states in draft.servers.items() if states} - {server.name for server in servers}
        )
        if elsewhere:
            st.caption(f"{elsewhere:,} more by hand for servers of other catalogs: they stay.")
    if problem:
        st.error(escaped(problem), icon=":material/error:")
    else:
        _preview(draft, rows, servers, seed)
    saving_row(editing, None if problem else draft, usual)
    if wanted and not problem:
        more, name = draft.another(wanted)
        editing.begin(more, st.session_state[editing.key("name")], st.session_state[editing.key("about")])
        st.session_state[editing.key("state")] = name
        st.rerun()


def _preview(draft: Draft, rows: Sequence[Row], servers: Sequence[Server], seed: int) -> None:
    shown = preview_curves(draft, rows, servers, seed)
    chart(latency_preview(shown, STEP_S), key="network:chart:preview")


def preview_curves(draft: Draft, rows: Sequence[Row], servers: Sequence[Server], seed: int) -> tuple[Curve, ...]:
    """The curves of a few servers, as a simulation with this seed has them from its first query on."""
    assigned = draft.profile("preview").assign(servers, seed)
    states = {name: assigned[name] for name in varied(rows)}
    traces = Traces.of(states, LEAD_IN + STEPS_SHOWN, seed=seed)
    named = {row.server: row.applies for row in rows}
    found = curves(replace(traces, latency_s=traces.latency_s[:, LEAD_IN:]), states)
    return tuple(replace(curve, states=(named[curve.server],)) for curve in found)
