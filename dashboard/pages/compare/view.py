"""The Compare page: one sub-task, several routers beside each other, and what differs between two of them."""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.domain.decision import Decision
from core.services.decide.whatif import Asked
from core.shared.errors import WayfareError
from dashboard.pages.compare.body import compared
from dashboard.pages.compare.outcomes import outcomes
from dashboard.session import current_app, first_catalog
from dashboard.ui.index_progress import show_preparing
from dashboard.ui.planner_usage import planner_usage
from dashboard.ui.query_form import QueryForm, example_subtasks, query_row
from dashboard.ui.text import escaped
from dashboard.ui.token_meter import read_meter, start_meter, token_meter
from dashboard.ui.url_state import UrlState
from dashboard.ui.variants import Variant, choose_variants, linked_knobs
from dashboard.ui.whatif_layer import supposed

ASKED_HERE = ("q", "hint", "catalog")  # the rest of the question is one of the variants


def page() -> None:
    """Draw the page from the URL's state, and write the state back."""
    app, state = current_app(), UrlState("compare", asks=True)
    linked = state.begin()
    query = query_row(app, state, linked, first_catalog(), choose_router=False)
    elsewhere = {name: text for name, text in state.question.items() if name not in ASKED_HERE}
    knobs = linked_knobs(app, linked) or elsewhere
    variants = choose_variants(app, state, linked, knobs)
    start_meter(state, linked)
    assumed = read_meter(state)
    texts = {name: text for name, text in query.texts(first_catalog()).items() if text}
    state.end(
        {**texts, "with": ",".join(variant.text for variant in variants), **assumed.texts()},
        question={**texts, **knobs},
    )
    if not query.subtask:
        _empty_page(state, query)
        return
    try:
        show_preparing(app, query.catalog, decides=True)
    except WayfareError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return
    decided = [(variant, _decision(app, query, variant)) for variant in variants]
    done = [(variant, decision) for variant, decision in decided if decision is not None]
    if not done:
        st.info("Choose the routers to compare.", icon=":material/compare_arrows:")
        return
    names, decisions = [variant.name for variant, _ in done], tuple(decision for _, decision in done)
    compared(app, tuple(variant for variant, _ in done), decisions, texts)
    st.markdown("##### What each costs in tokens")
    token_meter(state, assumed, names, decisions)
    outcomes(app, query.catalog, tuple(variant for variant, _ in done))
    planner_usage(app)


def _empty_page(state: UrlState, query: QueryForm) -> None:
    st.markdown("#### Where would each router go?")
    st.markdown(
        "Type what is needed. Each chosen router decides on it, and you see where they agree, what each one dropped and "
        "why, and what each costs in tokens."
    )
    example_subtasks(state, query.catalog)


def _decision(app: App, query: QueryForm, variant: Variant) -> Decision | None:
    """To compare is only to look: nothing is recorded; what is supposed counts."""
    try:
        return app.what_if.decision(
            Asked(query.subtask, variant.parameters, query.catalog, variant.router, query.hint, supposed(query.catalog))
        )
    except WayfareError as error:
        st.error(f"{escaped(variant.name)}: {escaped(str(error))}", icon=":material/error:")
        return None
