"""Sign-ins to servers that ask for one: above the table for those that wait for a person, and in the details of a server."""

from __future__ import annotations

from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import streamlit as st

from core.app import App
from core.catalogs.server_sign_ins import ServerSignIn
from core.domain.errors import WayfareError
from core.domain.settings import launched
from dashboard.ui.text import escaped, visitor_zone

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def waiting_sign_ins(app: App, catalog: str) -> None:
    """Draw a row for each server that waits for a person to sign in."""
    found = [one for one in app.sign_ins.list(catalog) if one.state in {"needed", "waiting", "refused"}]
    if not found:
        return
    with st.container(border=True):
        st.markdown(
            "**Servers that ask who you are.** You sign in at their own page; Wayfare keeps the token encrypted."
        )
        for one in found:
            _row(app, catalog, one, "catalog.sign_in")


def sign_in_panel(app: App, catalog: str, server: str) -> None:
    """Draw the sign-in of one server, if it is reached over HTTP without a header of its own."""
    one = next((one for one in app.sign_ins.list(catalog) if one.server == server), None)
    if one is not None:
        _row(app, catalog, one, "catalog.detail.sign_in")


def _row(app: App, catalog: str, one: ServerSignIn, prefix: str) -> None:
    if one.state == "waiting":
        _waiting(app, catalog, one.server, f"{prefix}.{one.server}")
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{escaped(one.server, 80)}** {_words(one)}", width="stretch")
        if one.state == "signed in":
            _button(app, catalog, one.server, prefix, "Sign out", ":material/logout:")
        else:
            kind = "Sign in" if one.state in {"needed", "unknown"} and not one.about else "Sign in again"
            _button(app, catalog, one.server, prefix, kind, ":material/login:")
            _button(app, catalog, one.server, prefix, "Use a token", ":material/key:")


@st.fragment(run_every=1)
def _waiting(app: App, catalog: str, server: str, key: str) -> None:
    """Draw the link to the server's page until the sign-in has ended."""
    one = app.sign_ins.of(catalog, server)
    if one.state != "waiting":
        st.rerun()
    host = urlsplit(one.address).netloc
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{escaped(server, 80)}** waits for you at {escaped(host, 80)}.", width="stretch")
        st.link_button("Open its page", one.address, type="primary", icon=":material/open_in_new:", key=f"{key}.open")


def _words(one: ServerSignIn) -> str:
    if one.state == "signed in":
        ends = "" if one.until is None else f" until {one.until.astimezone(ZoneInfo(visitor_zone())):%Y-%m-%d %H:%M}"
        return f":green[Signed in]{ends}{', then renewed without you' if ends and one.renews else ''}."
    if one.state == "unknown":
        return "Nobody is signed in. If the server asks for a sign-in, begin it here."
    about = f" {escaped(one.about, 300)}" if one.about else ""
    return f"{':red[Not signed in.]' if one.state == 'refused' else ':orange[Sign-in needed.]'}{about}"


def _button(app: App, catalog: str, server: str, prefix: str, label: str, icon: str) -> None:
    work = {"Sign out": _sign_out, "Use a token": _use_token}.get(label, _begin)
    about = "For a server that takes a token in its header Authorization: a field for it appears in its details."
    st.button(
        label, key=f"{prefix}.{label}.{server}", icon=icon, on_click=work, args=(app, catalog, server),
        help=about if label == "Use a token" else None,
    )  # fmt: skip


def _begin(app: App, catalog: str, server: str) -> None:
    """Begin a sign-in. If it fails, its row says why."""
    try:
        app.sign_ins.begin(catalog, server, _console())
    except WayfareError as error:
        st.toast(escaped(str(error)), icon=":material/error:")


def _sign_out(app: App, catalog: str, server: str) -> None:
    try:
        app.sign_ins.sign_out(catalog, server)
    except WayfareError as error:
        st.toast(escaped(str(error)), icon=":material/error:")


def _use_token(app: App, catalog: str, server: str) -> None:
    try:
        app.values.send_header(catalog, server, "Authorization")
    except WayfareError as error:
        st.toast(escaped(str(error)), icon=":material/error:")


def _console() -> str:
    """The address of this console that the operator's browser can reach: an authorization server takes https or loopback."""
    parts = urlsplit(st.context.url or "")
    if parts.scheme == "https" or parts.hostname in LOOPBACK:
        return f"{parts.scheme}://{parts.netloc}"
    return launched().url
