"""Budgets of the day: what is used, reserved and left, and when each runs out at this pace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

import streamlit as st

from core.app import App
from core.services.govern.status import BudgetStatus, budgets
from core.shared import units
from dashboard.pages.govern.new_budget import budget_form
from dashboard.ui.text import as_html

AT_LIMIT = {
    "refuse": "at the limit: refused",
    "cheaper": "at the limit: cheaper tools only",
    "ask": "at the limit: a person decides",
}


def budgets_view(app: App) -> None:
    """A card for whoever a budget is for, with a bar for each limit, and the form for another budget."""
    now, found = app.settings.now(), budgets(app.governance, app.settings.now)
    if found:
        st.html(f'<div class="govern-budgets">{"".join(card_html(one, now) for one in cards(found))}</div>')
    elif app.governance.policy.budgets:
        st.info("No call counted against a budget today. A row appears with the first call.", icon=":material/savings:")
    else:
        st.info("There is no budget yet: agents may spend what they like. Set one below.", icon=":material/savings:")
    st.caption(
        "Days are UTC. What a call may use at most is reserved before it and settled after it, so that calls under way never exceed a "
        "budget. The strictest of those that are short decides; what a person lets go beyond one counts in all. "
        f"A call of a tool without a price counts as {units.price(app.governance.policy.unpriced_usd).replace('$', chr(92) + '$')}, "
        "which is assumed, not measured. Tokens are those of results as the client gets them."
    )
    budget_form(app)


def cards(found: Sequence[BudgetStatus]) -> list[list[BudgetStatus]]:
    """The limits of a budget for one client, catalog and server together; where least is left, first."""
    together = defaultdict[tuple[str, str, str, str], list[BudgetStatus]](list)
    for one in found:
        together[one.client, one.catalog, one.server, one.at_limit].append(one)
    return sorted(together.values(), key=lambda limits: min(one.left / max(one.limit, 1e-12) for one in limits))


def card_html(limits: Sequence[BudgetStatus], now: datetime) -> str:
    """Who it is for, and of each limit a bar of what is used and reserved, what is left, when it runs out."""
    one = limits[0]
    who = as_html(one.client or "all clients", 60)
    where = f" on {as_html(one.server, 60)}" if one.server else ""
    where += f" in {as_html(one.catalog, 60)}" if one.catalog else ""
    bars = "".join(_bar(limit, now) for limit in limits)
    return (
        f'<div class="govern-budget"><div><b>{who}</b>{where}<small>{AT_LIMIT[one.at_limit]}</small></div>{bars}</div>'
    )


def _bar(one: BudgetStatus, now: datetime) -> str:
    scale = max(one.limit, one.used + one.reserved, 1e-12)
    used, reserved = 100 * one.used / scale, 100 * one.reserved / scale
    over = f", {_amount(one, one.over)} of it let go by a person beyond a budget" if one.over else ""
    under_way = f" · {_amount(one, one.reserved)} reserved" if one.reserved else ""
    return (
        f'<div class="govern-use"><div class="govern-bar" role="img" aria-label="{used:.0f} % used"><i style="width:{used:.2f}%"></i>'
        f'<i class="reserved" style="width:{reserved:.2f}%"></i></div>'
        f"<small>{_amount(one, one.used)} of {_amount(one, one.limit)} used{over}{under_way}</small></div>"
        f'<div class="govern-left"><b>{_amount(one, one.left)} left</b><small>{_ends(one, now)}</small></div>'
    )


def _amount(one: BudgetStatus, value: float) -> str:
    return (
        units.price(value)
        if one.unit == "usd"
        else f"{value:,.0f} {one.unit if round(value) != 1 else one.unit.removesuffix('s')}"
    )


def _ends(one: BudgetStatus, now: datetime) -> str:
    """When it runs out, at the pace since the day's first call."""
    if one.runs_out_at is None:
        return "lasts for today at this pace"
    if one.runs_out_at <= now:
        return "used up until 00:00 UTC"
    return f"runs out at {one.runs_out_at:%H:%M} UTC at this pace"
