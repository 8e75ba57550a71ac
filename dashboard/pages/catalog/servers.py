"""The controls and the sign-in of a server, and the changes of the file that a catalog follows."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import streamlit as st

from core.app import App
from core.catalogs.server_sign_ins import ServerSignIn
from core.domain.catalog import FOLLOW, Catalog, Discovery, Follow, Server
from core.domain.errors import CatalogError, WayfareError
from core.domain.people import person
from core.domain.settings import launched, own_url
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from dashboard.pages.catalog import state
from dashboard.pages.catalog.connection_job import connection_lines, start_change
from dashboard.session import only
from dashboard.ui.question import redraw_all
from dashboard.ui.text import counted, escaped, visitor_zone

FOLLOW_WORDS: dict[Follow, str] = {"show": "Show changes", "take": "Take them at once", "off": "Do not look"}
MOST_SHOWN = 12
EVERY_S = 5


@st.fragment(run_every=EVERY_S)
def file_panel(app: App, catalog: str) -> None:
    """Draw the file that the catalog follows, and its changes with buttons. Looks again every few seconds."""
    followed_file = app.followed.of(catalog)
    if followed_file is None:
        return
    report = app.followed.look(catalog)
    if report is not None and report.problem:
        st.warning(escaped(report.problem, 400), icon=":material/draft:")
    elif report is not None and report.changes:
        with st.container(border=True):
            st.markdown(f"**The file has changed:** {escaped(followed_file.where, 300)}")
            lines = [
                f"- **{escaped(change.server, 80)}** {change.kind}"
                + (f": {escaped(change.words, 300)}" if change.words else "")
                for change in report.changes
            ]
            more = len(lines) - MOST_SHOWN
            st.markdown("\n".join([*lines[:MOST_SHOWN], *([f"- and {more:,} more"] if more > 0 else [])]))
            with st.container(horizontal=True, vertical_alignment="center"):
                shown = report.shown  # in the keys, so that no press is about changes that came after it
                st.button(
                    "Take", key=f"catalog.file.take.{shown}", **only("administer"), type="primary", icon=":material/check:",
                    on_click=_change, args=(app, catalog, partial(app.followed.take, catalog, shown)),
                )  # fmt: skip
                st.button(
                    "Ignore", key=f"catalog.file.ignore.{shown}", on_click=_ignore, args=(app, catalog, shown),
                    **only("administer", help="The catalog stays as it is. Only later changes are shown."),
                )  # fmt: skip
                st.caption(
                    "New and changed servers are started and asked for their tools. Prices, labels and statistics stay."
                )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(f":material/draft: Follows {escaped(followed_file.where, 200)}", width="content")
        with st.popover("Changes of the file", type="tertiary"):
            key = f"catalog.file.follow.{catalog}"
            st.session_state.setdefault(key, followed_file.follow)
            st.radio(
                "Changes of the file", FOLLOW, key=key, **only("administer"), format_func=lambda choice: FOLLOW_WORDS[choice], label_visibility="collapsed",
                on_change=lambda: app.followed.set_follow(catalog, st.session_state[key]),
            )  # fmt: skip


def off_panel(app: App, catalog: Catalog) -> None:
    if not catalog.off:
        return
    with st.container(border=True):
        st.markdown(
            f"**{counted(len(catalog.off), 'server')} switched off.** Neither offered nor called. Statistics and values stay."
        )
        for server in catalog.off:
            never_started = server.connection is not None and server.connection.quarantined and not server.tools
            if server.connection is not None and never_started:
                st.caption(f"{escaped(server.name, 80)} was never started. Switched on, it starts or is reached as:")
                st.code(connection_lines(server.connection), language=None, wrap_lines=True)
            with st.container(horizontal=True):
                st.button(
                    f"Switch on {escaped(server.name, 60)}", key=f"catalog.on.{server.name}", **only("administer"), icon=":material/toggle_on:",
                    on_click=_change, args=(app, catalog.name, _enabled(app, catalog.name, server.name), (server,)),
                )  # fmt: skip
                if never_started:
                    st.button(
                        "Remove", key=f"catalog.off.remove.{server.name}", icon=":material/delete:", **only("administer"), on_click=_edit,
                        args=(app.servers.remove, catalog.name, server.name, "is removed"),
                    )  # fmt: skip


def _enabled(app: App, catalog: str, name: str) -> Callable[[], tuple[Discovery, ...]]:
    def work() -> tuple[Discovery, ...]:
        discovery = app.servers.enable(catalog, name)
        return () if discovery is None else (discovery,)

    return work


def server_controls(app: App, catalog: str, server: Server) -> None:
    if catalog in SHIPPED_CATALOGS:
        return
    name = server.name
    with st.container(horizontal=True):
        if server.connection is not None:
            st.button(
                "Ask for its tools", key="catalog.server.discover", icon=":material/sync:", on_click=_change,
                args=(app, catalog, lambda: (app.servers.discover(catalog, name),), (server,)),
                **only("administer", help="Takes its tools live again. The other servers stay as they are."),
            )  # fmt: skip
            st.button(
                "Restart", key="catalog.server.restart", icon=":material/restart_alt:", on_click=_change,
                args=(app, catalog, lambda: _restarted(app, catalog, server), (server,)),
                **only("administer", help="Ends its session and its process, and connects again."),
            )  # fmt: skip
        st.button(
            "Switch off", key="catalog.server.off", icon=":material/toggle_off:", on_click=_edit,
            args=(app.servers.disable, catalog, name, "is switched off. Its statistics and values stay"),
            **only("administer", help="It is neither offered nor called until you switch it on."),
        )  # fmt: skip
        with st.popover("Remove", icon=":material/delete:"):
            st.markdown(f"Remove **{escaped(name)}** with its values? Recorded calls stay.")
            st.button(
                "Yes, remove it", key="catalog.server.remove", **only("administer"), type="primary", on_click=_edit,
                args=(app.servers.remove, catalog, name, "is removed"),
            )  # fmt: skip


def _change(
    app: App, catalog: str, work: Callable[[], tuple[Discovery, ...]], servers: tuple[Server, ...] = ()
) -> None:
    with state.errors_shown():
        start_change(app, catalog, work, servers)
    redraw_all()


def _ignore(app: App, catalog: str, shown: str) -> None:
    with state.errors_shown():
        app.followed.ignore(catalog, shown)
    redraw_all()


def _restarted(app: App, catalog: str, server: Server) -> tuple[Discovery, ...]:
    app.servers.restart(catalog, server.name)
    return (Discovery(server.name, server),)


def _edit(work: Callable[[str, str], None], catalog: str, name: str, done: str) -> None:
    with state.errors_shown():
        work(catalog, name)
        state.say(f"{name} {done}.")


@state.dialog("server", "Add a server", "add", "medium")
def server_dialog(app: App, catalog: str) -> None:
    st.caption(f"It is added to {escaped(catalog)}; the other servers stay as they are.")
    name = st.text_input("Name", key="catalog.import.server", placeholder="such as git, or io.github.user/server")
    how = st.text_input(
        "Command or address", key="catalog.import.command", placeholder="uvx mcp-server-git, or https://example.org/mcp"
    )
    variables = st.text_area(
        "Variables, or headers of an address", key="catalog.import.given", placeholder="GITHUB_TOKEN=…", height=100,
        help="One NAME=VALUE a line. What may be a secret is kept encrypted, and never shown again.",
    )  # fmt: skip
    with st.container(horizontal=True):
        added = st.button(
            "Add and ask for its tools",
            type="primary",
            key="catalog.import.add",
            **only("administer", disabled=not (name and how)),
        )
        published = st.button(
            "Fetch from the MCP Registry", key="catalog.import.registry", icon=":material/cloud_download:", disabled=not name or bool(how or variables),
            help=f"Asks {escaped(app.settings.registry)} for the server of this name, such as io.github.user/server. It is held, switched off, until you switch it on.",
        )  # fmt: skip
    if not (added or published):
        return
    try:
        if published:
            remarks = [note.text for note in app.servers.hold(catalog, name.strip()).notes]
            state.say(f"{name.strip()} is held: {'; '.join(remarks)}. It is not started before you switch it on.")
        else:
            imported = app.catalog_editor.read(_document(name.strip(), how.strip(), variables), "the new server")
            start_change(app, catalog, lambda: (app.servers.add(catalog, imported),), imported.servers)
    except WayfareError as error:
        st.error(escaped(str(error), 400), icon=":material/error:")
        return
    state.close_dialog()
    st.rerun()


def _document(name: str, how: str, variables: str) -> str:
    pairs = [line.partition("=") for line in variables.splitlines() if line.strip()]
    if any(not sign or not variable.strip() for variable, sign, _ in pairs):
        raise CatalogError("Write each variable or header in a line of its own, as NAME=VALUE.")
    values = {variable.strip(): value.strip() for variable, _, value in pairs}
    if how.startswith(("http://", "https://")):
        return json.dumps({"mcpServers": {name: {"url": how, "headers": values}}})
    try:
        command, *arguments = shlex.split(how)
    except ValueError:
        raise CatalogError("The command has a quotation mark without its other half; close it.") from None
    return json.dumps({"mcpServers": {name: {"command": command, "args": arguments, "env": values}}})


def add_button(catalog: str) -> None:
    shipped = catalog in SHIPPED_CATALOGS
    st.button(
        "Add a server…", key="catalog.add", icon=":material/add:", on_click=state.open_dialog, args=("server",), **only("administer", disabled=shipped, help="This catalog is part of Wayfare and stays." if shipped else "Adds one server by its command or address."),
    )  # fmt: skip


LOOPBACK = ("localhost", "127.0.0.1", "::1")


def waiting_sign_ins(app: App, catalog: str) -> None:
    rows = [row for row in app.sign_ins.list(catalog, person().name) if row.state in {"needed", "waiting", "refused"}]
    if not rows:
        return
    with st.container(border=True):
        st.markdown(
            "**Servers that ask who you are.** You sign in at their own page; Wayfare keeps the token encrypted."
        )
        for sign_in in rows:
            _row(app, catalog, sign_in, "catalog.sign_in")


def sign_in_panel(app: App, catalog: str, server: str) -> None:
    """Draw the sign-in of one server, if it is reached over HTTP without a header of its own."""
    sign_in = next((sign_in for sign_in in app.sign_ins.list(catalog, person().name) if sign_in.server == server), None)
    if sign_in is not None:
        _row(app, catalog, sign_in, "catalog.detail.sign_in")


def _row(app: App, catalog: str, sign_in: ServerSignIn, prefix: str) -> None:
    if sign_in.state == "waiting":
        _waiting(app, catalog, sign_in.server, f"{prefix}.{sign_in.server}")
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{escaped(sign_in.server, 80)}** {_words(sign_in)}", width="stretch")
        if sign_in.state == "signed in":
            _button(app, catalog, sign_in, prefix, "Sign out", ":material/logout:")
        else:
            kind = "Sign in" if sign_in.state in {"needed", "unknown"} and not sign_in.about else "Sign in again"
            _button(app, catalog, sign_in, prefix, kind, ":material/login:")
            _button(app, catalog, sign_in, prefix, "Use a token", ":material/key:")


@st.fragment(run_every=1)
def _waiting(app: App, catalog: str, server: str, key: str) -> None:
    """Draw the link to the server's page until the sign-in has ended."""
    login = app.sign_ins.of(catalog, server, person().name)
    if login.state != "waiting":
        st.rerun()
    host = urlsplit(login.address).netloc
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{escaped(server, 80)}** waits for you at {escaped(host, 80)}.", width="stretch")
        st.link_button("Open its page", login.address, type="primary", icon=":material/open_in_new:", key=f"{key}.open")


def _words(row: ServerSignIn) -> str:
    if row.state == "signed in":
        end = "" if row.until is None else f" until {row.until.astimezone(ZoneInfo(visitor_zone())):%Y-%m-%d %H:%M}"
        return f":green[Signed in]{end}{', then renewed without you' if end and row.renews else ''}."
    if row.state == "unknown":
        return "Nobody is signed in. If the server asks for a sign-in, begin it here."
    about = f" {escaped(row.about, 300)}" if row.about else ""
    return f"{':red[Not signed in.]' if row.state == 'refused' else ':orange[Sign-in needed.]'}{about}"


def _button(app: App, catalog: str, sign_in: ServerSignIn, prefix: str, label: str, icon: str) -> None:
    server, logins = sign_in.server, app.sign_ins
    begin, sign_out = (logins.begin_own, logins.sign_out_own) if sign_in.person else (logins.begin, logins.sign_out)
    work: dict[str, Callable[[], object]] = {
        "Sign out": lambda: sign_out(catalog, server),
        "Use a token": lambda: app.values.send_header(catalog, server, "Authorization"),
    }
    about = "For a server that takes a token in its header Authorization: a field for it appears in its details."
    st.button(
        label, key=f"{prefix}.{label}.{server}", icon=icon, on_click=state.toasted,
        args=(work.get(label, lambda: begin(catalog, server, _console())),),
        **only("call" if sign_in.person and label != "Use a token" else "administer", help=about if label == "Use a token" else None),
    )  # fmt: skip


def _console() -> str:
    """Returns the address of this console for the operator's browser. An authorization server takes https or loopback."""
    parts = urlsplit(st.context.url or "")
    if parts.scheme == "https" or parts.hostname in LOOPBACK:
        return f"{parts.scheme}://{parts.netloc}{urlsplit(launched().public_url).path}"
    return own_url()
