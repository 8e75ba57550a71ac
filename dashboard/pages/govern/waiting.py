"""Calls that wait for an approval, and definitions that are held."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import streamlit as st

from core.app import App
from core.domain import units
from core.domain.errors import WayfareError
from core.domain.events import ApprovalChange, made_by
from core.domain.untrusted_text import visible
from core.governance.definitions import HeldDefinition
from core.governance.status import servers
from dashboard.session import only, origin
from dashboard.ui.calling import held_words, what_changed
from dashboard.ui.table import table
from dashboard.ui.text import escaped

SAID = "govern:said"
LONGEST_TEXT = 2000


def do(action: Callable[[], object], sentence: str) -> None:
    try:
        action()
    except WayfareError as error:
        st.session_state[SAID] = ("error", str(error))
        return
    st.session_state[SAID] = ("success", sentence)


def said() -> None:
    kind, sentence = st.session_state.pop(SAID, ("", ""))
    if kind == "error":
        st.error(escaped(sentence, 600), icon=":material/error:")
    elif kind and sentence:
        st.toast(escaped(sentence, 300), icon=":material/check:")


def held_definitions(app: App) -> int:
    """Draw a card for each held definition. Returns their number."""
    found = app.governance.definitions.held()
    for one in found:
        with st.container(border=True):
            _card(app, one)
    return len(found)


def _card(app: App, held: HeldDefinition) -> None:
    tool, key = held.tool, f"{held.catalog}-{held.tool.id}"
    about, buttons = st.columns([3, 1.2], vertical_alignment="top")
    with about:
        new = held.known_since is None
        state = (
            f"was denied by {escaped(made_by(held.denied_by), 100)}"
            if held.denied_by
            else "is new"
            if new
            else "changed"
        )
        st.markdown(f"**{escaped(tool.id, 120)}** {state}  \n{held_words(held)}, so it cannot be called.")
        st.caption(f"catalog {escaped(held.catalog, 60)}")
    with buttons.container(horizontal=True, horizontal_alignment="right", gap="small"):
        worse = any(finding.severity == "error" for finding in held.new_findings)
        st.button("Approve", key=f"govern:definition-approve-{key}", **only("approve"), type="secondary" if worse else "primary", icon=":material/check:",
            on_click=_decide_definition, args=(app, held, True))  # fmt: skip
        st.button("Deny", key=f"govern:definition-deny-{key}", type="primary" if worse else "secondary", icon=":material/close:",
            **only("approve", disabled=bool(held.denied_by)), on_click=_decide_definition, args=(app, held, False))  # fmt: skip
    what_changed(held)
    if new and tool.description:
        st.caption("Its description:")
        st.text(visible(tool.description)[:LONGEST_TEXT])


def _decide_definition(app: App, held: HeldDefinition, approve: bool) -> None:
    decided = "approved: agents may call it" if approve else "denied: the tool stays held back"
    do(
        lambda: app.governance.definitions.decide(held.catalog, held.tool.id, approve=approve, origin=origin()),
        f"The definition of {held.tool.id} is {decided}.",
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
    for one in waiting:
        _call(app, one.change, now)
    held = held_definitions(app)
    _paused(app, now)
    if not waiting and not held:
        _nothing(app)
    _recent(app)


def _call(app: App, call: ApprovalChange, now: datetime) -> None:
    who = f" ({escaped(made_by(call.origin), 100)})" if ":" in call.origin else ""
    left_s = max(0.0, (call.expires_at - now).total_seconds())
    with st.container(border=True, key=f"govern-call-{call.id}"):
        about, buttons = st.columns([3, 1.2], vertical_alignment="top")
        with about:
            st.markdown(
                f"**{escaped(f'{call.server}::{call.tool}', 120)}** for **{escaped(call.client, 80)}**{who}  \n"
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
    for one in servers(app.governance):
        if one.state == "open":
            st.warning(
                f"**{escaped(one.server, 80)}** of catalog {escaped(one.catalog, 60)} is paused until {now + timedelta(seconds=one.wait_s):%H:%M:%S} UTC, because its last {one.failures} calls "
                "were lost. Then one call tries it.",
                icon=":material/power_off:",
            )
        elif one.state == "half-open":
            st.info(
                f"**{escaped(one.server, 80)}** of catalog {escaped(one.catalog, 60)} is tried again with the next call.",
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
    policy = app.governance.policy
    changed = replace(policy, approvals=replace(policy.approvals, writes=True))
    do(lambda: app.governance.set_policy(changed, origin=origin()), "Calls of tools that may write now wait for you.")


def _recent(app: App) -> None:
    found = app.governance.approvals.recent(RECENT)
    if not found:
        return
    with st.expander(f"Recently decided or expired: {len(found)}", icon=":material/history:"):
        rows = [
            {
                "when, UTC": f"{one.change.at:%Y-%m-%d %H:%M:%S}",
                "client": visible(one.change.client),
                "tool": visible(f"{one.change.server}::{one.change.tool}"),
                "": STATES[one.state],
                "decided by": visible(made_by(one.decided)) if one.decided else "–",
                "arguments": visible(one.change.arguments_json)[:200],
            }
            for one in found
        ]
        table(rows, key="govern:recent")
