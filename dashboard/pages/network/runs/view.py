"""Earlier runs, from here and from `wayfare scenario`: a table, up to six of them compared, deleted, exported.

Owns the keys `network.runs*`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from core.app import App
from core.domain.lab_runs import KeptRun
from core.shared.errors import WayfareError
from dashboard.pages.network.runs.compared import compared_runs
from dashboard.pages.network.runs.selection import CHOSEN, NOTICE, choose, chosen_from, runs_table
from dashboard.pages.network.runs.words import names
from dashboard.ui.text import escaped

LISTED = 500


def earlier_runs(app: App, not_stored: str = "") -> None:
    """The section below the run; `not_stored` says why the run above could not be stored."""
    store = app.store.scenario_runs
    st.markdown("**Earlier runs**")
    if not_stored:
        st.warning(f"These runs are not stored. {escaped(not_stored)}", icon=":material/database_off:")
    if notice := st.session_state.pop(NOTICE, ""):
        st.caption(f":orange[{notice}]")
    try:
        runs = store.newest(LISTED)
        if not runs:
            st.caption("None is stored: a run is stored when it is finished, here or by `wayfare scenario`.")
            return
        titles = {router.id: router.title for router in app.routing.routers()}
        runs_table(runs, titles, store.count())
        chosen = chosen_from(runs)
        _actions(app, chosen)
        if chosen:
            compared_runs(app, chosen, names(chosen, titles))
    except WayfareError as error:
        st.error(escaped(str(error)), icon=":material/error:")


def _actions(app: App, chosen: Sequence[KeptRun]) -> None:
    ids = [run.id for run in chosen]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.download_button(
            "CSV of the chosen" if ids else "CSV of all",
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
        with st.popover("Delete the chosen", icon=":material/delete:"):
            which = "this run" if len(ids) == 1 else f"these {len(ids)} runs"
            st.markdown(f"Delete {which} from the store? The same can be run again.")
            st.button(
                "Yes, delete", key="network.runs.delete", type="primary", icon=":material/delete:",
                on_click=_delete, args=(app, ids),
            )  # fmt: skip


def _delete(app: App, ids: Sequence[str]) -> None:
    try:
        deleted = app.store.scenario_runs.remove(ids)
    except WayfareError as error:
        st.session_state[NOTICE] = escaped(str(error))
        return
    st.session_state[CHOSEN] = []
    st.session_state[NOTICE] = f"{deleted} {'run was' if deleted == 1 else 'runs were'} deleted."
