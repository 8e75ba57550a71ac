"""The Compare page: one sub-task, several routers beside each other, and what differs between two of them."""

from __future__ import annotations

import streamlit as st

from core.console import Console
from core.domain.decision import Decision
from core.errors import WayfareError
from core.lab.comparison import agreement, winners
from dashboard.charts.agreement import agreement_map
from dashboard.session import console, first_catalog
from dashboard.widgets.chart import chart
from dashboard.widgets.compare_cards import card
from dashboard.widgets.compare_tables import difference, placings_table
from dashboard.widgets.compare_variants import Variant, choose_variants
from dashboard.widgets.planner_usage import planner_usage
from dashboard.widgets.preparing import show_preparing
from dashboard.widgets.question import Question, examples, question
from dashboard.widgets.text import escaped
from dashboard.widgets.token_meter import read_meter, start_meter, token_meter
from dashboard.widgets.url_state import UrlState


def page() -> None:
    """Draw the page from the URL's state, and write the state back."""
    opened, state = console(), UrlState("compare")
    kept = state.begin()
    asked = question(opened, state, kept, first_catalog(), choose_router=False)
    variants = choose_variants(opened, state, kept)
    start_meter(opened, state, kept)
    assumed = read_meter(state)
    texts = {name: text for name, text in asked.texts(first_catalog()).items() if text}
    state.end({**texts, "with": ",".join(variant.text for variant in variants), **assumed.texts()})
    if not asked.subtask:
        examples(opened, state, asked.catalog)
        return
    try:
        show_preparing(opened, asked.catalog)
    except WayfareError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return
    decided = [(variant, _decision(opened, asked, variant)) for variant in variants]
    done = [(variant, decision) for variant, decision in decided if decision is not None]
    if not done:
        st.info("Choose the routers to compare.", icon=":material/compare_arrows:")
        return
    names, decisions = [variant.name for variant, _ in done], tuple(decision for _, decision in done)
    _compared(opened, tuple(variant for variant, _ in done), decisions, texts)
    st.markdown("##### What each costs in tokens")
    token_meter(opened, state, assumed, names, decisions)
    planner_usage(opened)


def _decision(opened: Console, asked: Question, variant: Variant) -> Decision | None:
    """To compare is to look: no decision of an agent, so nothing is recorded."""
    try:
        return opened.route(
            asked.subtask,
            catalog=asked.catalog,
            router=variant.router,
            parameters=variant.parameters,
            server_hint=asked.hint,
            record=False,
        )
    except WayfareError as error:
        st.error(f"{escaped(variant.name)}: {escaped(str(error))}", icon=":material/error:")
        return None


def _compared(
    opened: Console, variants: tuple[Variant, ...], decisions: tuple[Decision, ...], texts: dict[str, str]
) -> None:
    favourite, votes = next(iter(winners(decisions).items()))
    said = f"choose {escaped(favourite, 90)}" if favourite else "find no candidate"
    st.markdown(f"**{votes} of {len(decisions)}** {said}.")
    rows = max(len(decision.stages) for decision in decisions)
    grid = st.grid(len(decisions), min_column_width=250, gap="xsmall")
    for variant, decision in zip(variants, decisions, strict=True):
        with grid.cell():
            card(variant, decision, texts, rows=rows)
    if len(decisions) < 2:
        return
    below = st.grid(3, min_column_width=330, gap="small")
    with below.cell(column_span=2):
        placings_table(variants, decisions)
    with below.cell():
        names = [variant.name for variant in variants]
        chart(agreement_map(names, agreement(decisions)), key="compare:agreement")
    difference(opened, variants, decisions)
