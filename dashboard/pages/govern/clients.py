"""Clients: their tokens and scopes, a new token, and revoking one at once."""

from __future__ import annotations

from functools import partial

import streamlit as st

from core.app import App
from core.domain.errors import WayfareError
from core.governance.clients import ANONYMOUS, Client
from core.governance.scope import Scope
from core.governance.status import clients_today
from dashboard.pages.govern.waiting import SAID, do
from dashboard.session import origin
from dashboard.ui.text import escaped

TOKEN = "govern:token"  # noqa: S105 - the session key of a new token until the visitor has copied it


def clients_view(app: App) -> None:
    """Draw the list, and the form for another client."""
    _new_token(app)
    found = app.governance.clients.all()
    for client in found:
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
    named = {ANONYMOUS, *(client.name for client in found)}
    strangers = sorted(clients_today(app.governance, app.settings.now) - named)
    if strangers:
        st.caption(
            f"Clients of today without a token, by the names that they sent: {escaped(', '.join(strangers), 600)}."
        )
    revoked = [client.name for client in found if client.revoked]
    if revoked:
        st.caption(f"Revoked: {escaped(', '.join(revoked), 600)}.")


def _new_token(app: App) -> None:
    name, token = st.session_state.get(TOKEN, ("", ""))
    if not token:
        return
    with st.container(border=True):
        st.markdown(f"**The token of {escaped(name, 80)}**, is shown only once. Only its hash is stored.")
        st.code(token, language=None)
        known = app.governance.clients.in_force(name)
        st.caption(
            "It signs in to the pages at `/sign-in`. Sign-in is needed with `--sign-in`, or when the console is bound to another address than this machine's."
            if known is not None and known.scope.pages
            else f"{escaped(app.governance.admission.without_token_words(), 600)}  \nA client sends it as `Authorization: Bearer …` to the address `/mcp`; `wayfare mcp` takes it from the variable `WAYFARE_TOKEN`."
        )
        st.button("I have copied it", key="govern:token-copied", icon=":material/check:", on_click=_forget)


def _forget() -> None:
    st.session_state.pop(TOKEN, None)


def _line(app: App, client: Client) -> None:
    with st.container(border=True, key=f"govern-client-{client.name}"):
        about, scope, action = st.columns([2, 4, 1.2], vertical_alignment="center")
        seen = "no request since the start" if client.seen is None else f"last request at {client.seen:%H:%M:%S} UTC"
        about.markdown(f"**{escaped(client.name, 80)}**  \n:gray[{escaped(seen)}]")
        scope.markdown(
            f"May use {escaped(client.scope.words(), 400)}  \n:gray[since {client.since:%Y-%m-%d %H:%M} UTC]"
        )
        action.button("Revoke", key=f"govern:revoke-{client.name}", icon=":material/block:", width="stretch",
            on_click=_revoke, args=(app, client.name))  # fmt: skip


def _revoke(app: App, name: str) -> None:
    do(partial(app.governance.clients.revoke, name, origin=origin()), f"{name} is revoked. Its token no longer works.")


def _form(app: App) -> None:
    catalogs = [info.name for info in app.catalogs.infos()]
    with st.form("govern:client", border=True):
        st.markdown("**A new client, or an operator**")
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
        row.checkbox(
            "Operator of these pages", key="govern:client-pages", width="content",
            help="The token signs in to the pages with all rights. It does not work at /mcp. The fields about tools are ignored.",
        )  # fmt: skip
        row.form_submit_button("Make a token", type="primary", icon=":material/key:", on_click=_make, args=(app,))


def _make(app: App) -> None:
    given = {
        name: st.session_state[f"govern:client-{name}"]
        for name in ("name", "catalogs", "servers", "tools", "rate", "read", "improve", "pages")
    }
    scope = Scope(
        tuple(given["catalogs"]), tuple(given["servers"].split()), tuple(given["tools"].split()), given["read"],
        given["rate"], improve=given["improve"],
    )  # fmt: skip
    try:
        chosen = Scope(pages=True) if given["pages"] else scope
        token = app.governance.clients.make(given["name"].strip(), chosen, origin=origin())
    except WayfareError as error:
        st.session_state[SAID] = ("error", str(error))
        return
    if token:  # `anonymous` has none
        st.session_state[TOKEN] = (given["name"].strip(), token)
    else:
        st.session_state[SAID] = ("success", app.governance.admission.without_token_words())
