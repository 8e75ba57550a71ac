"""The Setup page: choose a client, copy its text, and see its first request arrive."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import streamlit as st

from core.app import App
from core.domain.errors import WayfareError
from core.domain.untrusted_text import visible
from core.governance.client_setup import target_of, visits_of
from core.governance.client_texts import CLIENTS, SetupClient, Way, client_of
from core.governance.clients import ANONYMOUS, Visit
from dashboard.pages.setup.configurations import configurations
from dashboard.session import current_app, first_catalog, origin
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState, open_page, select

TOKEN, SINCE, PROBLEM = "setup:token", "setup:since", "setup:problem"
WAY_WORDS = {"http": "HTTP: the running console", "stdio": "stdio: the client starts a command"}
EVERY_S = 2.0


def page() -> None:
    """Draw the page from the URL's state, and write the state back."""
    app, state = current_app(), UrlState("setup")
    linked = state.begin()
    st.markdown("#### Connect a client\nGive your MCP client one server, Wayfare, in place of all others.")
    grid = st.grid(5, min_column_width=170, gap="large")
    with grid.cell(column_span=3):
        client, way, catalog = _choices(app, state, linked)
        _text(app, client, way, catalog)
        _first_request(app, client)
    with grid.cell(column_span=2):
        configurations(app, Path.home())
    state.end({"client": client.id, "over": way, "catalog": "" if catalog == first_catalog() else catalog})


def _choices(app: App, state: UrlState, linked: dict[str, str]) -> tuple[SetupClient, Way, str]:
    row = st.container(horizontal=True, gap="small", vertical_alignment="bottom")
    id_ = select(row, state, linked, "client", "Client", list(CLIENTS), show=lambda one: CLIENTS[one].title, width=190)
    client = client_of(id_)
    way = select(row, state, linked, "over", "Over", client.ways, show=WAY_WORDS.__getitem__, width=290)
    names = [info.name for info in app.catalogs.infos()]
    catalog = select(row, state, linked, "catalog", "Catalog", names, start=first_catalog(), width=190)
    return client, "stdio" if way == "stdio" else "http", catalog


def _text(app: App, client: SetupClient, way: Way, catalog: str) -> None:
    if why := app.catalogs.without_tools(catalog):
        st.warning(f"{escaped(why)} A client finds nothing in it.", icon=":material/inventory_2:")
        if st.button("Open the Catalog page", key="setup:no tools"):
            open_page("catalog", catalog=catalog)
    name, token = st.session_state.get(TOKEN, ("", ""))
    target = target_of(app.settings, catalog, token)
    st.markdown(f"**{client.where}**")
    st.code(client.text(way, target), language=None, wrap_lines=True)
    if token:
        st.warning(
            f"The text has the token of {escaped(name, 80)}. It is shown only here and now: only its hash is stored.",
            icon=":material/key:",
        )
        st.button("I have copied it", key="setup:token-copied", icon=":material/check:", on_click=_forget)
    st.caption(f"{escaped(client.note)} Checked: {escaped(client.checked)}.")
    if not token:
        _token_form(app, client)


def _token_form(app: App, client: SetupClient) -> None:
    with st.expander("With a token", icon=":material/key:"):
        st.caption(
            f"{escaped(app.governance.admission.without_token_words(), 600)} "
            "A token gives the client a name and a scope of its own; Govern changes the scope later."
        )
        row = st.container(horizontal=True, gap="small", vertical_alignment="bottom")
        name = row.text_input("Name of the client", client.id, key=f"setup:name-{client.id}", max_chars=80, width=220)
        row.button("Make a token", key="setup:make-token", icon=":material/key:", on_click=_make, args=(app, name))
        if problem := st.session_state.pop(PROBLEM, ""):
            st.error(escaped(problem, 400), icon=":material/error:")


def _make(app: App, name: str) -> None:
    try:
        token = app.governance.clients.make(name.strip(), origin=origin())
    except WayfareError as error:
        st.session_state[PROBLEM] = str(error)
        return
    if token:
        st.session_state[TOKEN] = (name.strip(), token)
    else:
        st.session_state[PROBLEM] = f"{ANONYMOUS!r} is for requests without a token; choose another name."


def _forget() -> None:
    st.session_state.pop(TOKEN, None)


def _first_request(app: App, client: SetupClient) -> None:
    st.markdown("**Has it come?**")
    row = st.container(horizontal=True, gap="small", vertical_alignment="center")
    row.button(
        "Check", key="setup:check", type="primary", icon=":material/wifi_find:", on_click=_check, args=(app, client)
    )
    visits = visits_of(app.governance.visits, client, _token_client())
    since: datetime | None = st.session_state.get(f"{SINCE}-{client.id}")
    with row.container():
        if since is None and not visits:
            st.caption(f"No request of {escaped(client.title)} has come yet. Press *Check*, then start it.")
        elif since is None:
            first = min(one.first for one in visits)
            st.caption(f"{escaped(client.title)} came first at {first:%Y-%m-%d %H:%M:%S} UTC.")
        elif (came := _came(app, client, since)) is None:
            _waiting(app, client, since)
        else:
            token = f" with the token of {escaped(came.token, 80)}" if came.token else ""
            st.success(
                f"It came at {came.last:%H:%M:%S} UTC, as **{escaped(came.name, 80)}**{token}.",
                icon=":material/check_circle:",
            )


def _token_client() -> str:
    return st.session_state.get(TOKEN, ("", ""))[0]


def _check(app: App, client: SetupClient) -> None:
    st.session_state[f"{SINCE}-{client.id}"] = app.settings.now()


def _came(app: App, client: SetupClient, since: datetime) -> Visit | None:
    visits = visits_of(app.governance.visits, client, _token_client())
    return next((one for one in visits if one.last is not None and one.last >= since), None)


@st.fragment(run_every=EVERY_S)
def _waiting(app: App, client: SetupClient, since: datetime) -> None:
    """Wait for a request of this client after `since`, and name the others that came meanwhile."""
    if _came(app, client, since) is not None:
        st.rerun()
    new = [one.name for one in app.governance.visits.all() if one.last is not None and one.last >= since]
    others = ", ".join(visible(name)[:80] for name in new)
    more = f" Meanwhile came: {escaped(others, 400)}." if others else ""
    st.info(
        f"Waiting for the first request since {since:%H:%M:%S} UTC. Start {escaped(client.title)} now.{more}",
        icon=":material/hourglass_empty:",
    )
