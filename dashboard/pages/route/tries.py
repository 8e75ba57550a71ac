"""The order of tries: what to call first, what next, and when to stop, with what it is expected to bring and to cost."""

from __future__ import annotations

import streamlit as st

from core.domain.tries import PlannedTry, TryPlan
from core.shared import units
from dashboard.ui.text import escaped

HELP = (
    "Each try succeeds with P = p_fit · (1 − pfail) · r and costs its price, its time in money, and (1 − P) · w. The order is the "
    "one with the largest expected value, sum of reached · (P · V − cost)."
)


def order_of_tries(plan: TryPlan, *, height: int) -> None:
    """The tries one below the other, what the whole order is expected to give, and what the next tool would need."""
    with st.container(height=height, border=False, gap="xsmall"):
        st.markdown("**2 · Order of tries**", help=HELP)
        for number, one in enumerate(plan.tries, 1):
            _try(number, one)
        st.markdown(
            f":small[Together **{units.share(plan.success)}** solved, **{escaped(units.price(plan.usd))}** and "
            f"**{units.seconds(plan.time_s)}** expected; worth **{escaped(units.price(plan.value_usd))}** at "
            f"V = {escaped(units.price(plan.worth_usd))}.]"
        )
        if plan.next_tool is not None and plan.next_worth_usd is not None:
            st.markdown(
                f":small[:gray[{escaped(plan.next_tool, 60)} is worth a try from V = "
                f"{escaped(units.price(plan.next_worth_usd))} on.]]"
            )


def _try(number: int, one: PlannedTry) -> None:
    reached = "" if number == 1 else f" · reached {units.share(one.reached)}"
    st.progress(
        min(1.0, one.chance),
        text=f"{number}. **{escaped(one.tool, 50)}** {units.share(one.chance)}{reached} · cost "
        f"{escaped(units.price(one.cost_usd))}",
    )
