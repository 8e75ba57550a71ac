"""The Setup page: choose a client, copy its text, and see its first request arrive."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job
from core.catalogs.catalog_editor import ImportReport
from core.domain.untrusted_text import visible
from core.gateway.endpoint import own_tokens
from core.governance.client_setup import (
    CLIENTS,
    TURNS,
    FoundConfiguration,
    SetupClient,
    Way,
    client_of,
    found_configurations,
    target_of,
    visits_of,
)
from core.governance.clients import ANONYMOUS, Visit
from dashboard.session import current_app, first_catalog, known_job, only, origin, start_job
from dashboard.ui.first_look import begin_first_look, first_look
from dashboard.ui.text import error_kept, escaped, kept_error
from dashboard.ui.url_state import UrlState, open_page, select

JOB = "setup:import"
SHOWN_SERVERS = 8


def configurations(app: App, home: Path) -> None:
    st.markdown("**Configurations on this machine**")
    job = known_job(JOB)
    if job is not None:
        _import(app, job)
    configs = found_configurations(app.catalogs, home)
    for number, config in enumerate(configs):
        with st.container(border=True):
            _card(app, config, number, importing=job is not None and job.under_way)
    if not configs:
        st.caption("No configuration of these clients with servers was found in the home folder of this console.")
    else:
        st.caption(
            "The files are only read. Counted with cl100k_base on the definitions, as the token meter of Decision."
        )


def _card(app: App, config: FoundConfiguration, number: int, *, importing: bool) -> None:
    home = str(Path.home())
    path = str(config.path).replace(home, "~", 1)
    st.markdown(f"**{escaped(config.client.title)}** :gray[{escaped(path, 200)}]")
    if config.problem:
        st.error(escaped(config.problem, 400), icon=":material/error:")
        return
    names = ", ".join(visible(name)[:60] for name in config.servers[:SHOWN_SERVERS])
    more = f" and {len(config.servers) - SHOWN_SERVERS} more" if len(config.servers) > SHOWN_SERVERS else ""
    beside = " beside Wayfare" if config.has_wayfare else ""
    count = len(config.servers)
    st.caption(f"{count} server{'s' * (count != 1)}{beside}: {escaped(names, 600)}{more}" if count else "Only Wayfare.")
    if config.known:
        _tokens(config)
    if config.others is not None and len(config.known) < count:
        missing = count - len(config.known)
        st.caption(
            f"The tools of {missing} server{'s' * (missing != 1)} are not known yet. An import starts the servers and asks them."
        )
        st.button(
            "Import as a catalog", key=f"setup:import-{number}", icon=":material/download:", **only("administer", disabled=importing),
            on_click=_begin, args=(app, config),
        )  # fmt: skip


def _tokens(config: FoundConfiguration) -> None:
    meter = config.meter(own_tokens())
    st.caption("Tokens of one turn, counted:")
    left, right = st.columns(2)
    left.metric(
        "Now", f"{meter.counted.definitions:,}", border=True,
        help=f"The definitions of {meter.counted.tools:,} tools, which the client sends in each turn.",
    )  # fmt: skip
    right.metric(
        "With Wayfare", f"{own_tokens():,}", f"{-meter.counted.saved_percent:.0f} %", delta_color="inverse", border=True,
        help="The definitions of Wayfare's own tools. The answers of its searches come on top.",
    )  # fmt: skip
    projected = meter.projected
    st.caption(
        f"Projected for {TURNS} equal turns: {projected.all_tools.tokens:,} tokens now, {projected.decision.tokens:,} with Wayfare."
    )


def _begin(app: App, config: FoundConfiguration) -> None:
    """Start the import of a catalog named like the client. The catalog follows the file."""
    name, path = config.client.id, config.path

    def discover(_: Job) -> ImportReport:
        report = app.catalog_editor.discover_file(path, name)
        begin_first_look(app, report.catalog)
        return report

    start_job(JOB, discover, name, title=f"Discovering {name}")


def _import(app: App, job: Job) -> None:
    if job.under_way:
        _progress(job)
        return
    if job.error is not None:
        st.error(escaped(str(job.error), 600), icon=":material/error:")
        return
    report: ImportReport = job.result
    if report.catalog not in app.catalogs.stored():  # it was removed since
        return
    refused = [discovery for discovery in report.discoveries if discovery.error]
    st.success(
        f"The catalog **{escaped(report.catalog, 80)}** has {report.servers:,} servers with {report.tools:,} tools.",
        icon=":material/check_circle:",
    )
    for discovery in refused[:SHOWN_SERVERS]:
        st.warning(escaped(f"{discovery.name}: {discovery.error}", 300), icon=":material/error:")
    first_look(app, report.catalog, "setup")
    if st.button("Open the Catalog page", key="setup:open-catalog", icon=":material/inventory_2:"):
        open_page("catalog", catalog=report.catalog)


@st.fragment(run_every=1)
def _progress(job: Job) -> None:
    if not job.under_way:
        st.rerun()
    st.info(f"Asking the servers for their tools since {job.elapsed_s:.0f} s.", icon=":material/hourglass_empty:")


TOKEN, SINCE, PROBLEM = "setup:token", "setup:since", "setup:problem"
WAY_WORDS = {"http": "HTTP: the running console", "stdio": "stdio: the client starts a command"}
EVERY_S = 2.0


def page() -> None:
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
    id_ = select(row, state, linked, "client", "Client", list(CLIENTS), show=lambda key: CLIENTS[key].title, width=190)
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
        row.button("Make a token", key="setup:make-token", **only("administer"), icon=":material/key:", on_click=_make, args=(app, name))  # fmt: skip
        kept_error(PROBLEM)


def _make(app: App, name: str) -> None:
    with error_kept(PROBLEM):
        token = app.governance.clients.make(name.strip(), origin=origin())
        if not token:
            raise ValueError(f"{ANONYMOUS!r} is for requests without a token; choose another name.")
        st.session_state[TOKEN] = (name.strip(), token)


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
            first = min(visit.first for visit in visits)
            st.caption(f"{escaped(client.title)} came first at {first:%Y-%m-%d %H:%M:%S} UTC.")
        elif (visit := _came(app, client, since)) is None:
            _waiting(app, client, since)
        else:
            token = f" with the token of {escaped(visit.token, 80)}" if visit.token else ""
            st.success(
                f"It came at {visit.last:%H:%M:%S} UTC, as **{escaped(visit.name, 80)}**{token}.",
                icon=":material/check_circle:",
            )


def _token_client() -> str:
    return st.session_state.get(TOKEN, ("", ""))[0]


def _check(app: App, client: SetupClient) -> None:
    st.session_state[f"{SINCE}-{client.id}"] = app.settings.now()


def _came(app: App, client: SetupClient, since: datetime) -> Visit | None:
    visits = visits_of(app.governance.visits, client, _token_client())
    return next((visit for visit in visits if visit.last is not None and visit.last >= since), None)


@st.fragment(run_every=EVERY_S)
def _waiting(app: App, client: SetupClient, since: datetime) -> None:
    """Wait for a request of this client after `since`, and name the others that came meanwhile."""
    if _came(app, client, since) is not None:
        st.rerun()
    new = [visit.name for visit in app.governance.visits.all() if visit.last is not None and visit.last >= since]
    others = ", ".join(visible(name)[:80] for name in new)
    more = f" Meanwhile came: {escaped(others, 400)}." if others else ""
    st.info(
        f"Waiting for the first request since {since:%H:%M:%S} UTC. Start {escaped(client.title)} now.{more}",
        icon=":material/hourglass_empty:",
    )
