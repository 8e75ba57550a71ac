"""The Network page: two routers through the same simulated network, step by step, and how fast each leaves and comes back."""

from __future__ import annotations

import streamlit as st

from core.errors import WayfareError
from dashboard.session import console
from dashboard.widgets.network_choice import choice
from dashboard.widgets.network_job import forget, ready_story
from dashboard.widgets.network_moment import told
from dashboard.widgets.network_runs import chosen_runs, earlier_runs
from dashboard.widgets.text import escaped
from dashboard.widgets.url_state import UrlState


def page() -> None:
    """Draw the page from the URL's state, and write the state back."""
    opened, state = console(), UrlState("network")
    kept = state.begin()
    try:
        chosen = choice(opened, state, kept)
        texts = {**chosen.texts(), "runs": chosen_runs(kept)}
        story = ready_story(opened, chosen)
    except WayfareError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        st.button("Try again", key="network:retry", icon=":material/replay:", on_click=forget)
        return
    if story is None:
        state.end({**texts, "step": kept.get("step", "")})
    else:
        told(state, story, texts, kept)
    earlier_runs(opened, "" if story is None else story.unkept)
