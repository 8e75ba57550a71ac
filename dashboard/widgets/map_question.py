"""What the map is asked, and what it shows: the question with the router's parameters, as the Route page has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from core.console import Console
from core.domain.catalog import Catalog
from core.domain.decision import Decision
from core.domain.map import Placement
from core.domain.params import Parameters
from core.domain.statistics import Statistics
from dashboard.session import first_catalog
from dashboard.widgets.knobs import read_knobs, reset_knobs, start_knobs
from dashboard.widgets.question import Question
from dashboard.widgets.text import escaped


@dataclass(frozen=True, slots=True)
class Seen:
    """What the map shows; decision and place are None without a sub-task. `texts` are what the URL carries of it."""

    catalog: Catalog
    statistics: Statistics
    decision: Decision | None
    place: Placement | None
    texts: Mapping[str, str]


def parameters(console: Console, asked: Question, kept: Mapping[str, str]) -> Parameters:
    """The router's defaults, or what a link from the Route page says; what differs stands on the page."""
    defaults, prefix = console.parameters(asked.router), f"map.knob.{asked.router}"
    for problem in start_knobs(defaults, kept, prefix):
        st.warning(f"The link was not taken whole: {escaped(problem)}", icon=":material/link_off:")
    found = read_knobs(defaults, prefix)
    if changed := found.changed():
        with st.container(horizontal=True, vertical_alignment="center"):
            said = ", ".join(f"{name} = {value}" for name, value in changed.items())
            st.caption(f"Knobs as on the Route page: {escaped(said)}", width="content")
            st.button(
                "Use the defaults", key="map:defaults", type="tertiary", on_click=reset_knobs, args=(defaults, prefix)
            )
    return found


def question_texts(asked: Question, chosen: Parameters) -> dict[str, str]:
    """What a link carries of the question; the Route page understands it too."""
    texts = {**asked.texts(first_catalog()), **{name: str(value) for name, value in chosen.changed().items()}}
    return {name: text for name, text in texts.items() if text}


def seen(console: Console, asked: Question, chosen: Parameters, texts: Mapping[str, str]) -> Seen:
    """The catalog with the decision on the sub-task; to look at it is no decision of the agent's: it is not recorded."""
    catalog, statistics = console.library.catalog(asked.catalog), console.statistics(asked.catalog, chosen)
    if not (asked.subtask and catalog.tools):
        return Seen(catalog, statistics, None, None, texts)
    decision = console.route(
        asked.subtask,
        catalog=asked.catalog,
        router=asked.router,
        parameters=chosen,
        server_hint=asked.hint,
        record=False,
    )
    return Seen(catalog, statistics, decision, console.desk.place(asked.catalog, asked.subtask), texts)
