"""Clients and budgets: their limits and their use today, and forms to add them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

import streamlit as st

from core.app import App
from core.domain import units
from core.domain.documents import digest
from core.domain.errors import WayfareError
from core.domain.people import ROLES
from core.governance.budgets import AT_LIMIT, EACH, Budget
from core.governance.clients import ANONYMOUS, Client
from core.governance.policy import Policy, Scope, from_toml, to_toml
from core.governance.status import BudgetStatus, budgets, clients_today
from dashboard.session import only, origin
from dashboard.ui.table import PLAIN
from dashboard.ui.text import as_html, escaped

SAID = "govern:said"
TOKEN = "govern:token"  # noqa: S105 - the session key of a new token until the visitor has copied it


TEXT = "govern:policy-text"
OF = "govern:policy-text-of"
"""The policy that the text shows or changes."""


def do(action: Callable[[], object], sentence: str) -> None:
    try:
        action()
    except WayfareError as error:
        st.session_state[SAID] = ("error", str(error))
        return
    st.session_state[SAID] = ("success", sentence)


def put(app: App, changed: Callable[[Policy], Policy]) -> None:
    """Change the policy in force, and the policy of the typed text in the same way. Raises WayfareError."""
    with app.governance.lock:
        before = to_toml(app.governance.policy)
        app.governance.set_policy(changed(app.governance.policy), origin=origin())
        after = to_toml(app.governance.policy)
    if st.session_state.get(OF) == before:
        with suppress(WayfareError):  # the text cannot be read yet
            st.session_state[TEXT] = to_toml(changed(from_toml(st.session_state[TEXT])))
            st.session_state[OF] = after


def change(app: App, changed: Callable[[Policy], Policy], sentence: str = "The policy is in force.") -> None:
    do(lambda: put(app, changed), sentence)


def said() -> None:
    kind, sentence = st.session_state.pop(SAID, ("", ""))
    if kind == "error":
        st.error(escaped(sentence, 600), icon=":material/error:")
    elif kind and sentence:
        st.toast(escaped(sentence, 300), icon=":material/check:")


def clients_view(app: App) -> None:
    _new_token(app)
    clients = app.governance.clients.all()
    for client in clients:
        if not client.revoked:
            _line(app, client)
    if app.governance.clients.any_client:
        st.info(escaped(app.governance.admission.without_token_words(), 600), icon=":material/no_encryption:")
    else:
        st.info(
            "No client has a token. On this machine none is needed. A token gives a client a scope and a name of its own. "
            "With a limited scope, requests without a token are refused until the client `anonymous` has a scope.",
            icon=":material/key:",
        )
    _form(app)
    names = {ANONYMOUS, *(client.name for client in clients)}
    strangers = sorted(clients_today(app.governance, app.settings.now) - names)
    if strangers:
        st.caption(
            f"Clients of today without a token, by the names that they sent: {escaped(', '.join(strangers), 600)}."
        )
    revoked = [client.name for client in clients if client.revoked]
    if revoked:
        st.caption(f"Revoked: {escaped(', '.join(revoked), 600)}.")


def _new_token(app: App) -> None:
    name, token = st.session_state.get(TOKEN, ("", ""))
    if not token:
        return
    with st.container(border=True):
        st.markdown(f"**The token of {escaped(name, 80)}**, is shown only once. Only its hash is stored.")
        st.code(token, language=None)
        client = app.governance.clients.in_force(name)
        st.caption(
            "It signs in to the pages at `/sign-in`. Sign-in is needed with `--sign-in`, or when the console is bound to another address than this machine's."
            if client is not None and client.scope.pages
            else f"{escaped(app.governance.admission.without_token_words(), 600)}  \nA client sends it as `Authorization: Bearer …` to the address `/mcp`; `wayfare mcp` takes it from the variable `WAYFARE_TOKEN`."
        )
        st.button("I have copied it", key="govern:token-copied", icon=":material/check:", on_click=_forget)


def _forget() -> None:
    st.session_state.pop(TOKEN, None)


def _line(app: App, client: Client) -> None:
    with st.container(border=True, key=f"govern-client-{client.name}"):
        about, scope, action = st.columns([2, 4, 1.2], vertical_alignment="center")
        usage = "no request since the start" if client.seen is None else f"last request at {client.seen:%H:%M:%S} UTC"
        about.markdown(f"**{escaped(client.name, 80)}**  \n:gray[{escaped(usage)}]")
        scope.markdown(
            f"May use {escaped(client.scope.words(), 400)}  \n:gray[since {client.since:%Y-%m-%d %H:%M} UTC]"
        )
        action.button("Revoke", key=f"govern:revoke-{client.name}", **only("administer"), icon=":material/block:", width="stretch",
            on_click=_revoke, args=(app, client.name))  # fmt: skip


def _revoke(app: App, name: str) -> None:
    do(partial(app.governance.clients.revoke, name, origin=origin()), f"{name} is revoked. Its token no longer works.")


def _form(app: App) -> None:
    catalogs = [info.name for info in app.catalogs.infos()]
    with st.form("govern:client", border=True):
        st.markdown("**A new client, or a person at these pages**")
        row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
        row.text_input(
            "Name", key="govern:client-name", max_chars=80, width=180, placeholder="claude-code",
            help="The name `anonymous` is for requests of this machine without a token. It has only a scope.",
        )  # fmt: skip
        row.multiselect("Catalogs", catalogs, key="govern:client-catalogs", placeholder="all", width=220)
        row.text_input("Servers", key="govern:client-servers", placeholder="all, or files* mail", width=200,
            help="Names or patterns with * and ?, separated by spaces.")  # fmt: skip
        row.text_input("Tools", key="govern:client-tools", placeholder="all, or files::read*", width=200,
            help="server::tool, or patterns with * and ?, separated by spaces.")  # fmt: skip
        row.number_input(
            "Requests a minute", 0.0, value=None, key="govern:client-rate", placeholder="as in the policy", width=170
        )
        row.checkbox("Only read-only tools", key="govern:client-read", width="content")
        row.checkbox(
            "May write example requests", key="govern:client-improve", width="content",
            help="The client sees two more tools and the prompt improve_catalog at /mcp. They write example requests of the tools that it may use.",
        )  # fmt: skip
        row.multiselect(
            "Roles at these pages", list(ROLES), key="govern:client-roles", placeholder="none: a client", width=220,
            help="The token signs in to the pages and does not work at /mcp. The fields about tools are ignored. A viewer sees every view. "
            "An operator may also change knobs and labels, and call tools. An approver approves. An admin may do everything.",
        )  # fmt: skip
        row.form_submit_button("Make a token", type="primary", icon=":material/key:", on_click=_make, args=(app,), **only("administer"))  # fmt: skip


def _make(app: App) -> None:
    form = {
        name: st.session_state[f"govern:client-{name}"]
        for name in ("name", "catalogs", "servers", "tools", "rate", "read", "improve", "roles")
    }
    scope = Scope(
        tuple(form["catalogs"]), tuple(form["servers"].split()), tuple(form["tools"].split()), form["read"],
        form["rate"], improve=form["improve"],
    )  # fmt: skip
    try:
        chosen = Scope(pages=True, roles=tuple(form["roles"])) if form["roles"] else scope
        token = app.governance.clients.make(form["name"].strip(), chosen, origin=origin())
    except WayfareError as error:
        st.session_state[SAID] = ("error", str(error))
        return
    if token:  # `anonymous` has none
        st.session_state[TOKEN] = (form["name"].strip(), token)
    else:
        st.session_state[SAID] = ("success", app.governance.admission.without_token_words())


AT_LIMIT_WORDS = {"refuse": "refuse", "cheaper": "cheaper tools only", "ask": "ask a person"}
EACH_CLIENT, ALL_CLIENTS = "each client separately", "all clients together"
ALL_CATALOGS, EACH_CATALOG = "all catalogs together", "each catalog separately"
ALL_SERVERS, EACH_SERVER = "all servers together", "each server separately"


def budget_form(app: App) -> None:
    if app.governance.policy.budgets:
        with st.container(border=True, gap=None):
            for number, budget in enumerate(app.governance.policy.budgets):
                line = st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute")
                line.markdown(escaped(words(budget), 300))
                key = f"govern:budget-remove-{number}-{digest(repr(budget))[:12]}"  # no press is about a later budget
                line.button("Remove", key=key, **only("administer"), icon=":material/delete:", type="tertiary",
                    on_click=_remove, args=(app, budget))  # fmt: skip
    clients = dict.fromkeys([*(entry.name for entry in app.governance.clients.all() if not entry.revoked), ANONYMOUS])
    catalogs = [info.name for info in app.catalogs.infos()]
    servers = [server.name for server in app.catalogs.catalog(app.settings.catalog).servers[:PLAIN]]  # others are typed
    with st.form("govern:budget", border=True):
        st.markdown("**A daily budget**")
        scope = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
        scope.selectbox(
            "For", [EACH_CLIENT, ALL_CLIENTS, *clients], key="govern:budget-client", width=200, accept_new_options=True
        )
        scope.selectbox(
            "In", [ALL_CATALOGS, EACH_CATALOG, *catalogs], key="govern:budget-catalog", width=200,
            accept_new_options=True,
        )  # fmt: skip
        scope.selectbox(
            "On", [ALL_SERVERS, EACH_SERVER, *servers], key="govern:budget-server", width=200, accept_new_options=True,
            help="A server by its name. With all catalogs together, its calls in all of them count together.",
        )  # fmt: skip
        row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
        row.number_input(
            "USD", 0.0, value=None, key="govern:budget-usd", width=140, placeholder="no limit", format="%.4g"
        )
        row.number_input("Calls", 0, value=None, key="govern:budget-calls", width=140, placeholder="no limit")
        row.number_input("Tokens", 0, value=None, key="govern:budget-tokens", width=140, placeholder="no limit")
        row.selectbox(
            "At the limit", AT_LIMIT, key="govern:budget-at", width=180, format_func=AT_LIMIT_WORDS.__getitem__
        )
        row.form_submit_button("Set it", type="primary", icon=":material/add:", on_click=_add, args=(app,), **only("administer"))  # fmt: skip


def words(budget: Budget) -> str:
    """Returns a budget as a sentence.

    >>> words(Budget(catalog="work", server="files", usd=1.5, at_limit="ask"))
    'For each client separately, in work, on files: $1.5 a day; at the limit ask a person.'
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
    form: dict[str, Any] = {
        name: st.session_state[f"govern:budget-{name}"]
        for name in ("client", "catalog", "server", "usd", "calls", "tokens", "at")
    }
    if form["usd"] is form["calls"] is form["tokens"] is None:
        st.session_state[SAID] = ("error", "A budget needs a limit: USD, calls or tokens.")
        return
    budget = Budget(
        client=_named(form["client"], EACH_CLIENT, ALL_CLIENTS),
        catalog=_named(form["catalog"], EACH_CATALOG, ALL_CATALOGS),
        server=_named(form["server"], EACH_SERVER, ALL_SERVERS), usd=form["usd"], calls=form["calls"],
        tokens=form["tokens"], at_limit=form["at"],
    )  # fmt: skip
    change(app, lambda policy: replace(policy, budgets=(*policy.budgets, budget)), "The budget is set.")


def _named(choice: str | None, each: str, together: str) -> str:
    """Returns the value of a choice: a name, "" for all together, or `EACH`."""
    if choice == each:
        return EACH
    return "" if choice is None or choice == together else choice


def _remove(app: App, budget: Budget) -> None:
    def without(policy: Policy) -> Policy:
        budgets = [*policy.budgets]
        with suppress(ValueError):  # it is removed already
            budgets.remove(budget)
        return replace(policy, budgets=tuple(budgets))

    change(app, without, "The budget is removed.")


LIMIT_NOTES = {
    "refuse": "at the limit: refused",
    "cheaper": "at the limit: cheaper tools only",
    "ask": "at the limit: a person decides",
}


def budgets_view(app: App) -> None:
    now, statuses = app.settings.now(), budgets(app.governance, app.settings.now)
    if statuses:
        st.html(f'<div class="govern-budgets">{"".join(card_html(limits, now) for limits in cards(statuses))}</div>')
    elif app.governance.policy.budgets:
        st.info("No call counted against a budget today. A row appears with the first call.", icon=":material/savings:")
    else:
        st.info(
            "There is no budget yet, so agents may spend without a limit. Set one below.", icon=":material/savings:"
        )
    st.caption(
        "Days are UTC. The maximum use of a call is reserved before it and settled after it, so running calls never exceed a "
        "budget. The strictest exhausted budget decides. A call that a person allows beyond a budget counts in all budgets. "
        f"A call of a tool without a price counts as {units.price(app.governance.policy.unpriced_usd).replace('$', chr(92) + '$')}, "
        "an assumption. Tokens are those of the results that the client receives."
    )
    budget_form(app)


def cards(found: Sequence[BudgetStatus]) -> list[list[BudgetStatus]]:
    """Returns the limits of each budget for one client, catalog and server, the tightest first."""
    together = defaultdict[tuple[str, str, str, str], list[BudgetStatus]](list)
    for status in found:
        together[status.client, status.catalog, status.server, status.at_limit].append(status)
    return sorted(together.values(), key=lambda limits: min(limit.left / max(limit.limit, 1e-12) for limit in limits))


def card_html(limits: Sequence[BudgetStatus], now: datetime) -> str:
    status = limits[0]
    who = as_html(status.client or "all clients", 60)
    where = f" on {as_html(status.server, 60)}" if status.server else ""
    where += f" in {as_html(status.catalog, 60)}" if status.catalog else ""
    bars = "".join(_bar(limit, now) for limit in limits)
    return f'<div class="govern-budget"><div><b>{who}</b>{where}<small>{LIMIT_NOTES[status.at_limit]}</small></div>{bars}</div>'


def _bar(status: BudgetStatus, now: datetime) -> str:
    scale = max(status.limit, status.used + status.reserved, 1e-12)
    used, reserved = 100 * status.used / scale, 100 * status.reserved / scale
    over = f", {_amount(status, status.over)} of it allowed by a person beyond a budget" if status.over else ""
    under_way = f" · {_amount(status, status.reserved)} reserved" if status.reserved else ""
    return (
        f'<div class="govern-use"><div class="govern-bar" role="img" aria-label="{used:.0f} % used"><i style="width:{used:.2f}%"></i>'
        f'<i class="reserved" style="width:{reserved:.2f}%"></i></div>'
        f"<small>{_amount(status, status.used)} of {_amount(status, status.limit)} used{over}{under_way}</small></div>"
        f'<div class="govern-left"><b>{_amount(status, status.left)} left</b><small>{_ends(status, now)}</small></div>'
    )


def _amount(status: BudgetStatus, value: float) -> str:
    return (
        units.price(value)
        if status.unit == "usd"
        else f"{value:,.0f} {status.unit if round(value) != 1 else status.unit.removesuffix('s')}"
    )


def _ends(status: BudgetStatus, now: datetime) -> str:
    """Returns when a budget runs out at the pace since the first call of the day."""
    if status.runs_out_at is None:
        return "lasts for today at this pace"
    if status.runs_out_at <= now:
        return "used up until 00:00 UTC"
    return f"runs out at {status.runs_out_at:%H:%M} UTC at this pace"
