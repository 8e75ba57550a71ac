"""The Govern page: waiting calls, budgets, clients and the policy, updated live."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import streamlit as st

import dashboard
from core.app import App
from core.domain import units
from core.domain.catalog import definition_text
from core.domain.documents import digest
from core.domain.errors import WayfareError
from core.domain.events import ApprovalChange, made_by
from core.domain.untrusted_text import visible
from core.governance.definitions import HeldDefinition
from core.governance.policy import Policy, from_toml, to_toml
from core.governance.status import BudgetStatus, budgets, clients_today, servers
from dashboard.pages.govern.budgets import OF, TEXT, budgets_view, change, clients_view, do, said
from dashboard.pages.govern.lists import lists
from dashboard.session import current_app, only, origin
from dashboard.ui.calling import held_words, what_changed
from dashboard.ui.table import table
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState, segments

LONGEST_TEXT = 2000


def held_definitions(app: App) -> int:
    """Draw a card for each held definition. Returns their number."""
    definitions = app.governance.definitions.held()
    for definition in definitions:
        with st.container(border=True):
            _card(app, definition)
    return len(definitions)


def _card(app: App, definition: HeldDefinition) -> None:
    tool = definition.tool
    key = f"{definition.catalog}-{tool.id}-{digest(definition_text(tool))[:12]}"  # no press is about a later definition
    about, buttons = st.columns([3, 1.2], vertical_alignment="top")
    with about:
        new = definition.known_since is None
        state = (
            f"was denied by {escaped(made_by(definition.denied_by), 100)}"
            if definition.denied_by
            else "is new"
            if new
            else "changed"
        )
        st.markdown(f"**{escaped(tool.id, 120)}** {state}  \n{held_words(definition)}, so it cannot be called.")
        st.caption(f"catalog {escaped(definition.catalog, 60)}")
    with buttons.container(horizontal=True, horizontal_alignment="right", gap="small"):
        worse = any(finding.severity == "error" for finding in definition.new_findings)
        st.button("Approve", key=f"govern:definition-approve-{key}", **only("approve"), type="secondary" if worse else "primary", icon=":material/check:",
            on_click=_decide_definition, args=(app, definition, True))  # fmt: skip
        st.button("Deny", key=f"govern:definition-deny-{key}", type="primary" if worse else "secondary", icon=":material/close:",
            **only("approve", disabled=bool(definition.denied_by)), on_click=_decide_definition, args=(app, definition, False))  # fmt: skip
    what_changed(definition)
    if new and tool.description:
        st.caption("Its description:")
        st.text(visible(tool.description)[:LONGEST_TEXT])


def _decide_definition(app: App, definition: HeldDefinition, approve: bool) -> None:
    decided = "approved: agents may call it" if approve else "denied: the tool stays held back"
    do(
        lambda: app.governance.definitions.decide(
            definition.catalog, definition.tool.id, approve=approve, origin=origin(), shown=definition.tool
        ),
        f"The definition of {definition.tool.id} is {decided}.",
    )


STATES = {
    "approved": "✓ approved, not used yet",
    "used": "✓ approved and called",
    "denied": "✗ denied",
    "expired": "· expired",
}
RECENT = 20


def waiting_view(app: App) -> None:
    waiting, now = app.governance.waiting(), app.settings.now()
    if _any_waits(app):
        row = st.container(horizontal=True, gap="small", vertical_alignment="center")
        row.button("Notify me on this desktop", key="govern:notify", type="tertiary", icon=":material/notifications:")
        row.caption("Your browser asks first, at an address of this machine or over HTTPS. It tells while one of these pages is open.")  # fmt: skip
    for approval in waiting:
        _call(app, approval.change, now)
    held_count = held_definitions(app)
    _paused(app, now)
    if not waiting and not held_count:
        _nothing(app)
    _recent(app)


def _call(app: App, call: ApprovalChange, now: datetime) -> None:
    author = f" ({escaped(made_by(call.origin), 100)})" if ":" in call.origin else ""
    left_s = max(0.0, (call.expires_at - now).total_seconds())
    with st.container(border=True, key=f"govern-call-{call.id}"):
        about, buttons = st.columns([3, 1.2], vertical_alignment="top")
        with about:
            st.markdown(
                f"**{escaped(f'{call.server}::{call.tool}', 120)}** for **{escaped(call.client, 80)}**{author}  \n"
                f"Waits because {escaped(call.reasons, 300)}\\."
            )
            st.caption(
                f"{escaped(units.price(call.price_usd))} a call · catalog {escaped(call.catalog, 60)} · expires in {left_s / 60:.0f} min · "
                f"number {call.id}"
            )
        with buttons.container(horizontal=True, horizontal_alignment="right", gap="small"):
            st.button("Approve", key=f"govern:approve-{call.id}", **only("approve"), type="primary", icon=":material/check:",
                on_click=_decide, args=(app, call, True))  # fmt: skip
            st.button("Deny", key=f"govern:deny-{call.id}", **only("approve"), icon=":material/close:", on_click=_decide, args=(app, call, False))  # fmt: skip
        if call.arguments_json != "{}":
            st.code(visible(call.arguments_json), language="json", wrap_lines=True)


def _decide(app: App, call: ApprovalChange, approve: bool) -> None:
    name, valid_s = f"{call.server}::{call.tool}", app.governance.policy.approvals.valid_s
    done = f"approved: {call.client} may make it once within {valid_s / 60:.0f} min" if approve else "denied"
    do(lambda: app.governance.decide(call.id, approve=approve, origin=origin()), f"The call of {name} is {done}.")


def _paused(app: App, now: datetime) -> None:
    for server in servers(app.governance):
        if server.state == "open":
            st.warning(
                f"**{escaped(server.server, 80)}** of catalog {escaped(server.catalog, 60)} is paused until {now + timedelta(seconds=server.wait_s):%H:%M:%S} UTC, because its last {server.failures} calls "
                "were lost. Then one call tries it.",
                icon=":material/power_off:",
            )
        elif server.state == "half-open":
            st.info(
                f"**{escaped(server.server, 80)}** of catalog {escaped(server.catalog, 60)} is tried again with the next call.",
                icon=":material/power:",
            )


def _any_waits(app: App) -> bool:
    rules = app.governance.policy.approvals
    return rules.writes or rules.new or rules.above_usd is not None


def _nothing(app: App) -> None:
    if _any_waits(app):
        st.success(
            "No call waits for a person. Calls that need you appear here by themselves.", icon=":material/check_circle:"
        )
        return
    st.info(
        "No call waits, because the policy needs no approvals. Choose under **Policy** which calls need a person, "
        "or begin with calls that may write.",
        icon=":material/front_hand:",
    )
    st.button("Let calls that may write wait", key="govern:begin", **only("administer"), icon=":material/front_hand:", on_click=_begin, args=(app,))  # fmt: skip


def _begin(app: App) -> None:
    change(app, lambda policy: with_value(policy, "writes", True), "Calls of tools that may write now wait for you.")


def _recent(app: App) -> None:
    recent = app.governance.approvals.recent(RECENT)
    if not recent:
        return
    with st.expander(f"Recently decided or expired: {len(recent)}", icon=":material/history:"):
        rows = [
            {
                "when, UTC": f"{approval.change.at:%Y-%m-%d %H:%M:%S}",
                "client": visible(approval.change.client),
                "tool": visible(f"{approval.change.server}::{approval.change.tool}"),
                "": STATES[approval.state],
                "decided by": visible(made_by(approval.decided)) if approval.decided else "–",
                "arguments": visible(approval.change.arguments_json)[:200],
            }
            for approval in recent
        ]
        table(rows, key="govern:recent")


def policy_view(app: App) -> None:
    policy = app.governance.policy
    approvals, rest = st.columns(2, gap="medium")
    with approvals.container(border=True, height="stretch"):
        st.markdown("**Calls that wait for a person**")
        _switch(app, "Calls of tools that may write", "writes", policy.approvals.writes,
            "Every tool without a read-only hint.")  # fmt: skip
        _switch(
            app, "Calls of tools that are new here", "new", policy.approvals.new, "Tools that no agent has called yet."
        )
        _number(
            app, "Calls dearer than, USD", "above_usd", policy.approvals.above_usd,
            "Empty: a price never makes a call wait.",
        )  # fmt: skip
        st.caption(
            f"A call waits {policy.approvals.wait_s / 60:.0f} min; approved, it may be made once within {policy.approvals.valid_s / 60:.0f} min. "
            f"The agent's request stays open for {policy.approvals.hold_s:g} s; after that it calls again."
        )
        _switch(app, "The person at the agent's client may approve", "client_may_approve", policy.approvals.client_may_approve,
            "The client asks its own person, where it can (MCP elicitation). Off is safer: the client could answer by itself, "
            "because it is the program that wants the call.")  # fmt: skip
    with rest.container(border=True, height="stretch"):
        st.markdown("**Held-back tools, and access**")
        _switch(app, "Tools whose definition changed are held back", "changed_definitions", policy.changed_definitions,
            "Changes since the first call of an agent, or since a person's approval.")  # fmt: skip
        _switch(app, "New tools in which Lint finds an error wait for a person", "new_with_lint_errors", policy.new_with_lint_errors,
            "Once there is a client of the endpoint. Tools that were called before are not affected.")  # fmt: skip
        _switch(app, "Searches leave out tools in which Lint finds an error", "lint_errors", policy.lint_errors == "hidden",
            "Off: they come last, with the reason. Tools with a definition that a person approved are not affected.")  # fmt: skip
        _switch(app, "Every client needs a token", "tokens", policy.tokens == "always",
            "Off: only clients of other machines. The Clients view shows the rights of requests without a token.")  # fmt: skip
        _number(
            app, "Requests a minute of a client", "per_minute", policy.per_minute or None,
            "The requests of one minute may come at once. Empty: no limit.",
        )  # fmt: skip
        st.caption(
            f"After {policy.breaker.failures} lost calls in a row a server is paused for {policy.breaker.open_s:g} s, then one call tries it. "
            "A failed try doubles the pause."
        )
    lists(app)
    _text(app, policy)


def _text(app: App, policy: Policy) -> None:
    text = to_toml(policy)
    if st.session_state.get(TEXT) in (None, st.session_state.get(OF)):  # an edited text stays
        st.session_state[TEXT] = st.session_state[OF] = text
    with st.expander("The whole policy as TOML: lists of tools, times, budgets", icon=":material/description:"):
        st.text_area("Policy", key=TEXT, height=420, label_visibility="collapsed", persist_state="session")
        row = st.container(horizontal=True, gap="small", vertical_alignment="center")
        row.button("Apply", key="govern:policy-apply", **only("administer"), type="primary", icon=":material/check:", on_click=_apply, args=(app,))  # fmt: skip
        row.download_button("Export", text, file_name="wayfare-policy.toml", mime="application/toml", key="govern:policy-export",
            icon=":material/download:", on_click="ignore")  # fmt: skip
        row.caption(f"{_since(app)}Every change is sealed in the log. `wayfare audit` verifies it.")


def _since(app: App) -> str:
    change = app.governance.policy_change
    if change is None:
        return ""
    return f"In force since {change.at:%Y-%m-%d %H:%M} UTC, by {escaped(made_by(change.origin), 100)}. "


def _apply(app: App) -> None:
    typed, of = st.session_state[TEXT], st.session_state.get(OF)

    def apply() -> None:
        if of != (present := to_toml(app.governance.policy)):
            if typed == of:
                raise WayfareError("The policy was changed meanwhile; this is the present text.")
            st.session_state[OF] = present  # a second press is deliberate
            raise WayfareError(
                "The policy was changed meanwhile; Export gives it. Apply again to put this text in its place."
            )
        app.governance.set_policy(from_toml(typed), origin=origin())
        st.session_state[OF] = typed

    do(apply, "The policy is in force.")


def _switch(app: App, label: str, name: str, value: bool, about: str) -> None:
    key = f"govern:policy-{name}"
    st.session_state[key] = value
    st.toggle(label, key=key, **only("administer", help=about), on_change=_changed, args=(app, name))


def _number(app: App, label: str, name: str, value: float | None, about: str) -> None:
    key = f"govern:policy-{name}"
    st.session_state[key] = value
    st.number_input(
        label, 0.0, key=key, **only("administer", help=about), placeholder="no limit", on_change=_changed, args=(app, name), format="%.4g",
        width=260,
    )  # fmt: skip


def _changed(app: App, name: str) -> None:
    value: Any = st.session_state[f"govern:policy-{name}"]
    change(app, lambda policy: with_value(policy, name, value))


def with_value(policy: Policy, name: str, value: Any) -> Policy:
    """Returns the policy with the value of a control."""
    if name in {"writes", "new", "above_usd", "client_may_approve"}:
        return replace(policy, approvals=replace(policy.approvals, **{name: value}))
    if name == "tokens":
        return replace(policy, tokens="always" if value else "elsewhere")
    if name == "lint_errors":
        return replace(policy, lint_errors="hidden" if value else "last")
    return replace(policy, **{name: value or 0.0 if name == "per_minute" else value})


WAITING, BUDGETS, CLIENTS, POLICY = VIEWS = ("Waiting", "Budgets", "Clients", "Policy")
DRAW = {WAITING: waiting_view, BUDGETS: budgets_view, CLIENTS: clients_view, POLICY: policy_view}
CSS = Path(dashboard.__file__).parent / "assets" / "govern.css"
EVERY_S = 2.0


def page() -> None:
    app, state = current_app(), UrlState("govern")
    linked = state.begin()
    st.html(CSS)
    snapshot = _state(app)  # read before drawing, so that the next beat draws later changes
    try:
        _headline(app)
        view = segments(state, linked, "view", "View", VIEWS)
        with st.container():  # always drawn, so that the parts below keep their place
            said()
        DRAW[view](app)
    except WayfareError as error:
        st.error(escaped(str(error), 400), icon=":material/error:")
        view = WAITING
    _beat(app, snapshot, view != POLICY)
    state.end({"view": "" if view == WAITING else view})


def _headline(app: App) -> None:
    governance = app.governance
    paused = [server for server in servers(governance) if server.state != "closed"]
    figures = (
        ("Calls waiting", f"{len(governance.waiting())}", "Calls of agents that need the decision of a person."),
        ("Tools held back", f"{len(governance.definitions.changed())}", "Tools with another definition than the one that was used or approved, and new ones with a Lint error."),
        ("Tightest budget", _tightest(budgets(governance, app.settings.now)), "The daily budget with the smallest remaining share."),
        ("Servers paused", f"{len(paused)}", "Servers that are paused after lost calls."),
        ("Clients today", f"{len(clients_today(governance, app.settings.now))}", "Clients with a call today (UTC), with or without a token."),
    )  # fmt: skip
    with st.container(horizontal=True, gap="small", key="govern-headline"):
        for label, value, about in figures:
            st.metric(label, value, help=about, border=True, width=140)


def _tightest(statuses: tuple[BudgetStatus, ...]) -> str:
    shares = [status.left / status.limit if status.limit else 0.0 for status in statuses]
    return f"{min(shares) * 100:.0f} % left" if shares else "no budget"


def _state(app: App) -> tuple[object, ...]:
    """Returns the state behind the page, in a form that is cheap to compare."""
    governance = app.governance
    limits = tuple(
        (status.client, status.server, status.unit, status.used, status.reserved)
        for status in budgets(governance, app.settings.now)
    )
    paused = tuple((server.catalog, server.server, server.state) for server in servers(governance))
    now = app.settings.now()
    waiting = tuple((entry.change.id, (entry.change.expires_at - now).seconds // 60) for entry in governance.waiting())
    names = tuple(client.name for client in governance.clients.all() if not client.revoked)
    today = clients_today(governance, app.settings.now)
    return limits, paused, waiting, governance.definitions.changed(), names, today, governance.policy.digest


@st.fragment(run_every=EVERY_S)
def _beat(app: App, snapshot: tuple[object, ...], live: bool) -> None:
    """Redraw the page when its state changes. The Policy view is not redrawn, so that its form stays."""
    if live and _state(app) != snapshot:
        st.rerun()
