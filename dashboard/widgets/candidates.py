"""The candidates as cards: price, expected time, success, schema tokens, and the way to a call."""

from __future__ import annotations

import streamlit as st

from core import units
from core.domain.decision import Decision, ToolRow
from dashboard.pages import open_page
from dashboard.widgets.text import escaped

FIGURES = "Price a call, expected seconds until success, chance that one attempt succeeds, tokens of the definition."


def candidate_cards(decision: Decision, *, height: int) -> None:
    """One card a candidate, best first."""
    with st.container(height=height, border=False, gap="xsmall"):
        st.markdown("**4 · Candidates**", help=FIGURES)
        for row in decision.candidates:
            _card(decision, decision.tool_at(row))


def _card(decision: Decision, tool: ToolRow) -> None:
    server, name = tool.tool.split("::", 1)
    best = tool.rank == 1
    with st.container(border=True, gap="xxsmall"):
        title, button = st.columns([3, 1.15], vertical_alignment="center", gap="xxsmall")
        title.markdown(
            f"{':violet[★] ' if best else ''}**{escaped(name, 40)}**  \n"
            f":small[:gray[{escaped(server, 40)}] · U **{tool.utility:.3f}**]"
        )
        kind = "primary" if best else "secondary"
        if button.button("Call", key=f"route:call:{tool.tool}", type=kind, width="stretch"):
            open_page("call", catalog=decision.catalog, tool=tool.tool, decision=decision.id)
        figures = (
            units.price(tool.price_usd), units.seconds(tool.time_cost_s), units.share(tool.success), f"{tool.tokens:,} tokens",
        )  # fmt: skip
        st.markdown(f":small[{' · '.join(escaped(figure) for figure in figures)}]")
