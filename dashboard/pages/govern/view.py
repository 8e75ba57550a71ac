"""The Govern page: waiting calls, budgets, clients and the policy, updated live."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

import dashboard
from core.app import App
from core.domain.errors import WayfareError
from core.governance.status import BudgetStatus, budgets, clients_today, servers
from dashboard.pages.govern.budgets import budgets_view
from dashboard.pages.govern.clients import clients_view
from dashboard.pages.govern.policy import policy_view
from dashboard.pages.govern.waiting import said, waiting_view
from dashboard.session import current_app
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState

WAITING, BUDGETS, CLIENTS, POLICY = VIEWS = ("Waiting", "Budgets", "Clients", "Policy")
DRAW = {WAITING: waiting_view, BUDGETS: budgets_view, CLIENTS: clients_view, POLICY: policy_view}
CSS = Path(dashboard.__file__).parent / "assets" / "govern.css"
EVERY_S = 2.0


def page() -> None:
    """Draw the page from the URL's state, and write the state back."""
    app, state = current_app(), UrlState("govern")
    linked = state.begin()
    st.html(CSS)
    seen = _state(app)  # before anything is drawn: later changes are drawn by the next beat
    try:
        _headline(app)
        key = state.key("view")
        st.session_state.setdefault(key, linked.get("view") if linked.get("view") in VIEWS else WAITING)
        view = st.segmented_control("View", VIEWS, key=key, required=True, label_visibility="collapsed") or WAITING
        said()
        DRAW[view](app)
    except WayfareError as error:
        st.error(escaped(str(error), 400), icon=":material/error:")
        view = WAITING
    _beat(app, seen, view != POLICY)
    state.end({"view": "" if view == WAITING else view})


def _headline(app: App) -> None:
    """Draw the counts of waiting calls, held-back tools and paused servers, and the tightest budget."""
    governance = app.governance
    paused = [one for one in servers(governance) if one.state != "closed"]
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


def _tightest(found: tuple[BudgetStatus, ...]) -> str:
    shares = [one.left / one.limit if one.limit else 0.0 for one in found]
    return f"{min(shares) * 100:.0f} % left" if shares else "no budget"


def _state(app: App) -> tuple[object, ...]:
    """Returns the state behind the page, in a form that is cheap to compare."""
    governance = app.governance
    limits = tuple(
        (one.client, one.server, one.unit, one.used, one.reserved) for one in budgets(governance, app.settings.now)
    )
    paused = tuple((one.catalog, one.server, one.state) for one in servers(governance))
    now = app.settings.now()
    waiting = tuple((one.change.id, (one.change.expires_at - now).seconds // 60) for one in governance.waiting())
    names = tuple(one.name for one in governance.clients.all() if not one.revoked)
    today = clients_today(governance, app.settings.now)
    return limits, paused, waiting, governance.definitions.changed(), names, today, governance.policy.digest


@st.fragment(run_every=EVERY_S)
def _beat(app: App, seen: tuple[object, ...], live: bool) -> None:
    """Redraw the page when its state changes. The Policy view is not redrawn, so that its form stays."""
    if live and _state(app) != seen:
        st.rerun()
