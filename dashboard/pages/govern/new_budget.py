"""Setting a budget, and taking one away."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from core.app import App
from core.governance.budgets import AT_LIMIT, EACH, Budget
from core.services.govern.clients import ANONYMOUS
from dashboard.pages.govern.said import SAID, do
from dashboard.session import origin
from dashboard.ui.text import escaped

AT_LIMIT_WORDS = {"refuse": "refuse", "cheaper": "cheaper tools only", "ask": "ask a person"}
EACH_CLIENT, ALL_CLIENTS = "each client by itself", "all clients together"
ALL_CATALOGS, EACH_CATALOG = "all catalogs together", "each catalog by itself"
ALL_SERVERS, EACH_SERVER = "all servers together", "each server by itself"


def budget_form(app: App) -> None:
    """A line for each that is set, and a form for one more."""
    if app.governance.policy.budgets:
        with st.container(border=True, gap=None):
            for number, budget in enumerate(app.governance.policy.budgets):
                line = st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute")
                line.markdown(escaped(words(budget), 300))
                line.button("Remove", key=f"govern:budget-remove-{number}", icon=":material/delete:", type="tertiary",
                    on_click=_remove, args=(app, budget))  # fmt: skip
    known = dict.fromkeys([*(one.name for one in app.governance.clients.all() if not one.revoked), ANONYMOUS])
    catalogs = [one.name for one in app.catalogs.infos()]
    servers = [server.name for server in app.catalogs.catalog(app.settings.catalog).servers]
    with st.form("govern:budget", border=True):
        st.markdown("**A budget of the day**")
        whose = st.container(horizontal=True, gap="small")
        whose.selectbox(
            "For", [EACH_CLIENT, ALL_CLIENTS, *known], key="govern:budget-client", width=200, accept_new_options=True
        )
        whose.selectbox(
            "In",
            [ALL_CATALOGS, EACH_CATALOG, *catalogs],
            key="govern:budget-catalog",
            width=200,
            accept_new_options=True,
        )
        whose.selectbox(
            "On",
            [ALL_SERVERS, EACH_SERVER, *servers],
            key="govern:budget-server",
            width=200,
            accept_new_options=True,
            help="A server by its name; where all catalogs are together, its calls in all of them count together.",
        )
        row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
        row.number_input(
            "USD", 0.0, value=None, key="govern:budget-usd", width=140, placeholder="no limit", format="%.4g"
        )
        row.number_input("Calls", 0, value=None, key="govern:budget-calls", width=140, placeholder="no limit")
        row.number_input("Tokens", 0, value=None, key="govern:budget-tokens", width=140, placeholder="no limit")
        row.selectbox(
            "At the limit", AT_LIMIT, key="govern:budget-at", width=180, format_func=AT_LIMIT_WORDS.__getitem__
        )
        row.form_submit_button("Set it", type="primary", icon=":material/add:", on_click=_add, args=(app,))


def words(budget: Budget) -> str:
    """A budget in a sentence.

    >>> words(Budget(catalog="work", server="files", usd=1.5, at_limit="ask"))
    'For each client by itself, in work, on files: $1.5 a day; at the limit ask a person.'
    """
    who = {EACH: EACH_CLIENT, "": ALL_CLIENTS}.get(budget.client, budget.client)
    where = {EACH: f", {EACH_CATALOG}", "": ""}.get(budget.catalog, f", in {budget.catalog}")
    where += {EACH: f", {EACH_SERVER}", "": ""}.get(budget.server, f", on {budget.server}")
    limits = [f"${budget.usd:g}"] if budget.usd is not None else []
    limits += [
        f"{value:,} {unit}" for unit, value in (("calls", budget.calls), ("tokens", budget.tokens)) if value is not None
    ]
    return f"For {who}{where}: {' and '.join(limits)} a day; at the limit {AT_LIMIT_WORDS[budget.at_limit]}."


def _add(app: App) -> None:
    given: dict[str, Any] = {
        name: st.session_state[f"govern:budget-{name}"]
        for name in ("client", "catalog", "server", "usd", "calls", "tokens", "at")
    }
    if given["usd"] is given["calls"] is given["tokens"] is None:
        st.session_state[SAID] = ("error", "Give the budget a limit: USD, calls or tokens.")
        return
    budget = Budget(
        client=_named(given["client"], EACH_CLIENT, ALL_CLIENTS),
        catalog=_named(given["catalog"], EACH_CATALOG, ALL_CATALOGS),
        server=_named(given["server"], EACH_SERVER, ALL_SERVERS),
        usd=given["usd"],
        calls=given["calls"],
        tokens=given["tokens"],
        at_limit=given["at"],
    )
    policy = app.governance.policy
    do(
        lambda: app.governance.set_policy(replace(policy, budgets=(*policy.budgets, budget)), origin=origin()),
        "The budget is set.",
    )


def _named(choice: str | None, each: str, together: str) -> str:
    """What a budget has for a choice: a name, all together, or each by itself."""
    if choice == each:
        return EACH
    return "" if choice is None or choice == together else choice


def _remove(app: App, budget: Budget) -> None:
    policy = app.governance.policy
    kept = tuple(one for one in policy.budgets if one is not budget)
    do(lambda: app.governance.set_policy(replace(policy, budgets=kept), origin=origin()), "The budget is removed.")
