"""Several decisions on one sub-task beside each other: a card each, where each tool ended, agreement, and the differences."""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.domain.decision import Decision
from core.lab.stored_runs import agreement, winners
from dashboard.pages.compare.cards import card
from dashboard.pages.compare.charts.agreement import agreement_map
from dashboard.pages.compare.tables import difference, places_table
from dashboard.ui.chart import chart
from dashboard.ui.text import escaped
from dashboard.ui.variants import Variant
from dashboard.ui.whatif_layer import badge


def compared(app: App, variants: tuple[Variant, ...], decisions: tuple[Decision, ...], texts: dict[str, str]) -> None:
    """All of it; `texts` are what a link to the query carries."""
    favourite, votes = next(iter(winners(decisions).items()))
    choice = f"choose {escaped(favourite, 90)}" if favourite else "find no candidate"
    st.markdown(f"**{votes} of {len(decisions)}** {choice}.{badge(decisions[0].catalog)}")
    grid = st.grid(len(decisions), min_column_width=250, gap="xsmall")
    for variant, decision in zip(variants, decisions, strict=True):
        with grid.cell():
            card(variant, decision, texts)
    if len(decisions) < 2:
        return
    below = st.grid(3, min_column_width=330, gap="small")
    with below.cell(column_span=2):
        places_table(app, variants, decisions)
    with below.cell():
        names = [variant.name for variant in variants]
        chart(agreement_map(names, agreement(decisions)), key="compare:agreement")
    difference(variants, decisions)
