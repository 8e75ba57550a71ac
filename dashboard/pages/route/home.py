"""The Route page without a query: three examples that differ in kind, and what to look at."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from core.app import App
from core.importers.shipped_catalogs import SAMPLE
from dashboard.pages.route.plan import ONE
from dashboard.ui.query_form import fill
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState


class Example(NamedTuple):
    """A sub-task that shows something of its own; `winners` are the tools that are right, step by step."""

    icon: str
    title: str
    subtask: str
    about: str
    winners: tuple[frozenset[str], ...]
    planner: str = ""


EXAMPLES = (
    Example(
        ":material/target:", "One tool stands out", "convert 300 miles to kilometres",
        "Of all tools of the catalog one fits. Press Call: its server runs on this machine.",
        (frozenset({"unit-exchange::convert_units"}),),
    ),
    Example(
        ":material/balance:", "Two can do it", "report today's air quality in Kraków",
        "Both fit; time, reliability and price decide. Raise “Time matters”, and the quicker one wins.",
        (frozenset({"weather-now::air_quality", "Barometer::airQualityIndex"}),),
    ),
    Example(
        ":material/account_tree:", "Several steps", "get today's weather in Oslo, translate it into French and send it to Bo by mail",
        "Taken apart into three steps, each routed by itself, with what they take together.",
        (
            frozenset({"weather-now::current_weather"}),
            frozenset({"language-tutor::translate_text"}),
            frozenset({"mail-room::mail.send", "Pigeonhole::send_letter"}),
        ),
        planner="rules",
    ),
)  # fmt: skip
LOOK_AT = (
    (":material/arrow_right_alt:", "**From left to right:** servers, auction, tools, candidates. What was dropped, and why."),
    (":material/tune:", "**At the left:** the knobs. Every chart follows while you move them; the rest is under Advanced."),
    (":material/play_arrow:", "**Call** makes the call. What is learnt from it counts in the next decision."),
)  # fmt: skip


def home(app: App, state: UrlState, catalog: str) -> None:
    """What can be done here, and where to begin."""
    st.markdown("#### Which tool should a sub-task go to?")
    info = next(info for info in app.catalogs.infos() if info.name == catalog)
    st.markdown(
        f"Type what is needed. Wayfare ranks the {info.servers:,} servers and {info.tools:,} tools of the catalog "
        f"{escaped(catalog)}, weighs similarity against time, reliability and price, and shows every number."
    )
    if catalog == SAMPLE:
        _example_cards(state)
    for icon, text in LOOK_AT:
        st.markdown(f":violet[{icon}] {text}")


def _example_cards(state: UrlState) -> None:
    grid = st.grid(len(EXAMPLES), min_column_width=260, gap="small")
    for number, example in enumerate(EXAMPLES):
        with grid.cell(), st.container(border=True, height="stretch", gap="xsmall"):
            st.markdown(f":violet[{example.icon}] **{example.title}**")
            pressed = st.button(
                escaped(example.subtask, 120), key=f"{state.key('example')}:{number}", icon=":material/north_east:",
                on_click=fill, args=({state.key("q"): example.subtask, state.key("plan"): example.planner or ONE},),
                type="primary" if number == 0 else "secondary", width="stretch",
            )  # fmt: skip
            if pressed:
                st.rerun()  # the field that was filled stands outside the fragment that holds this button
            st.caption(example.about)
