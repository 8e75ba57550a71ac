"""The Network page: two routers through the same network, step by step, and how fast each leaves a failing server."""

from __future__ import annotations

import streamlit as st

from core.shared.errors import WayfareError
from dashboard.pages.network.choice import choose_run
from dashboard.pages.network.job import finished_timeline, forget, other_live_run
from dashboard.pages.network.player import player
from dashboard.pages.network.runs.selection import chosen_runs
from dashboard.pages.network.runs.view import earlier_runs
from dashboard.session import current_app
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState


def page() -> None:
    """Draw the page from the URL's state, and write the state back."""
    app, state = current_app(), UrlState("network")
    linked = state.begin()
    try:
        choice = choose_run(app, state, linked)
        texts = {**choice.texts(), "runs": chosen_runs(linked)}
        other_live_run(app, choice)
        timeline = finished_timeline(app, choice)
    except WayfareError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        st.button("Try again", key="network:retry", icon=":material/replay:", on_click=forget, args=(app,))
        return
    if timeline is None:
        state.end({**texts, "step": linked.get("step", "")})
    else:
        player(state, timeline, texts, linked)
    earlier_runs(app, "" if timeline is None else timeline.not_stored)
