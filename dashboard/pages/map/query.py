"""The query on the map: the router's parameters as the Route page has them, and the decision that they give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from core.app import App
from core.domain.catalog import Catalog
from core.domain.decision import Decision
from core.domain.map import Placement
from core.domain.params import Parameters
from core.domain.statistics import Statistics
from dashboard.session import first_catalog
from dashboard.ui.knobs import read_knobs, reset_knobs, start_knobs
from dashboard.ui.query_form import QueryForm
from dashboard.ui.text import escaped


@dataclass(frozen=True, slots=True)
class MapContent:
    """What the map shows; decision and place are None without a sub-task. `texts` are what the URL carries of it, with the
    `question`."""

    catalog: Catalog
    statistics: Statistics
    decision: Decision | None
    place: Placement | None
    question: Mapping[str, str]
    texts: Mapping[str, str]


def linked_parameters(app: App, query: QueryForm, linked: Mapping[str, str]) -> Parameters:
    """The router's defaults, or those of a link from the Route page; the page says what differs."""
    defaults, prefix = app.routing.parameters(query.router), f"map.knob.{query.router}"
    for problem in start_knobs(defaults, linked, prefix):
        st.warning(f"The link was not taken whole: {escaped(problem)}", icon=":material/link_off:")
    found = read_knobs(defaults, prefix)
    if changed := found.changed():
        with st.container(horizontal=True, vertical_alignment="center"):
            texts = ", ".join(f"{name} = {value}" for name, value in changed.items())
            st.caption(f"Knobs as on the Route page: {escaped(texts)}", width="content")
            st.button(
                "Use the defaults", key="map:defaults", type="tertiary", on_click=reset_knobs, args=(defaults, prefix)
            )
    return found


def query_texts(query: QueryForm, parameters: Parameters) -> dict[str, str]:
    """What a link carries of the query; the Route page understands it too."""
    texts = {**query.texts(first_catalog()), **{name: str(value) for name, value in parameters.changed().items()}}
    return {name: text for name, text in texts.items() if text}


def map_content(
    app: App, query: QueryForm, parameters: Parameters, question: Mapping[str, str], shown: Mapping[str, str]
) -> MapContent:
    """The catalog with the decision on the sub-task; it is only looked at, so it is not recorded."""
    texts = {**question, **shown}
    catalog, statistics = app.catalogs.catalog(query.catalog), app.catalogs.statistics(query.catalog, parameters)
    if not (query.subtask and catalog.tools):
        return MapContent(catalog, statistics, None, None, question, texts)
    decision = app.routing.route(
        query.subtask,
        catalog=query.catalog,
        router=query.router,
        parameters=parameters,
        server_hint=query.hint,
        record=False,
    )
    return MapContent(catalog, statistics, decision, app.maps.place(query.catalog, query.subtask), question, texts)
