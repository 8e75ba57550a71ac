"""The values that a connection needs, and the background job that connects servers."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import pandas as pd
import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job
from core.catalogs.catalog_editor import OWN, ImportReport
from core.domain.catalog import Connection, Discovery, Imported, Server, ServerId
from core.domain.errors import WayfareError
from core.domain.people import Right, person
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from dashboard.pages.catalog import state
from dashboard.session import known_job, only, start_job
from dashboard.ui.first_look import begin_first_look
from dashboard.ui.long_work import job_progress
from dashboard.ui.table import Column, frame_of, table
from dashboard.ui.text import counted, escaped
from dashboard.ui.url_state import open_page

JOB, SHOWN = "catalog:job", "catalog:job.shown"


def start(app: App, request: state.Connecting) -> None:
    def discover(_: Job) -> ImportReport:
        report = app.catalog_editor.discover(request.imported, request.name, request.source)
        begin_first_look(app, report.catalog)
        return report

    start_job(JOB, discover, request, title=f"Discovering {request.name}")


def start_change(
    app: App, catalog: str, work: Callable[[], tuple[Discovery, ...]], servers: tuple[Server, ...] = ()
) -> None:
    """Begin a change of some servers of a catalog. `work` returns their discoveries. Raises WayfareError while another job runs."""
    check_idle()

    def change(_: Job) -> ImportReport:
        discoveries, imported = work(), Imported(OWN, servers)
        current = app.catalogs.catalog(catalog)
        return ImportReport(catalog, len(current.servers), len(current.tools), imported, 0, discoveries)

    request = state.Connecting(Imported(OWN, servers), catalog, whole=False)
    start_job(JOB, change, request, title=f"Connecting servers of {catalog}")


def check_idle() -> None:
    job = known_job(JOB)
    if job is not None and job.under_way:
        raise WayfareError("Another discovery is running. Wait for its report.")


def job_panel(app: App) -> None:
    """Show the progress of this operator's discovery, then its report until it is closed."""
    job = known_job(JOB)
    if job is None:
        return
    if not job.under_way and (connected := _connected(job)) and st.session_state.get(SHOWN) is not job:
        st.session_state[SHOWN] = job
        state.go_to(connected)
        st.rerun()
    with st.container(border=True):
        if job.under_way:
            job_progress(job, partial(_told, app))
        else:
            _report(job)


def _connected(job: Job) -> str:
    """Returns the name of the catalog that a discovery made, "" if it made none or changed one."""
    return job.result.catalog if job.about.whole and job.result is not None else ""


def _told(app: App, job: Job) -> tuple[float, str]:
    names = {server.name for server in job.about.imported.servers}
    states = [session for session in app.pool.states() if session.catalog == job.about.name and session.server in names]
    settled = sum(session.state in {"ready", "failed"} for session in states)
    total, starting = len(names), sum(session.state == "connecting" for session in states)
    return min(settled / total, 1.0) if total else 0.0, (
        f"Asking {counted(total, 'server') if total else 'the changed servers'} for their tools: {settled:,} connected or refused, {starting:,} still starting, "
        f"{job.elapsed_s:.0f} s. You can continue to work. A first start may take a minute; then a server without an answer is skipped."
    )


def _report(job: Job) -> None:
    try:
        report: ImportReport = job.future.result()
    except WayfareError as error:
        st.error(escaped(str(error), 300), icon=":material/error:")
        with st.expander("Replies of the servers"):
            st.text(str(error).replace("; ", "\n"))
        _buttons(job, again=job.about.whole)
    except Exception as error:  # noqa: BLE001 - our error: its text could contain a secret
        st.error(f"Discovery stopped unexpectedly ({type(error).__name__}); nothing was stored. Try again.")
        _buttons(job, again=job.about.whole)
    else:
        whole: bool = job.about.whole
        _result(report.discoveries, report.catalog, report.tools if whole else None)
        failed = any(discovery.server is None for discovery in report.discoveries)
        _buttons(job, again=failed and whole, made=_connected(job))


def _result(discoveries: Sequence[Discovery], catalog: str, tools: int | None) -> None:
    if not discoveries:
        st.markdown(f":green[:material/check_circle:] **{escaped(catalog)}** is changed.")
        return
    if tools is None:
        tools = sum(len(discovery.server.tools) for discovery in discoveries if discovery.server is not None)
    answered = sum(not discovery.error for discovery in discoveries)
    summary = f"{answered:,} of {counted(len(discoveries), 'server')} answered with {counted(tools, 'tool')}."
    unchanged = sum(discovery.kept for discovery in discoveries)
    waiting = sum(discovery.unauthorized and not discovery.kept for discovery in discoveries)
    rest = " The other servers are left out." if any(discovery.server is None for discovery in discoveries) else ""
    rest += f" {counted(waiting, 'server')} asked who you are: open the catalog to sign in." if waiting else ""
    rest += f" {counted(unchanged, 'server')} did not answer: the earlier tools stay." if unchanged else ""
    st.markdown(f":green[:material/check_circle:] **{escaped(catalog)}**: {summary}{rest}")
    table(report_frame(discoveries), REPORT_COLUMNS, most=8)


def _buttons(job: Job, *, again: bool, made: str = "") -> None:
    with st.container(horizontal=True):
        if made and st.button("Ask these servers", key="catalog.job.ask", type="primary", icon=":material/alt_route:"):
            _forget()
            open_page("route", catalog=made)
        if again:
            st.button("Try again…", key="catalog.job.again", **only("administer"), on_click=state.open_dialog, args=("connect", job.about))  # fmt: skip
        st.button("Close the report", key="catalog.job.close", on_click=_forget)


def _result_words(discovery: Discovery) -> str:
    if discovery.kept:
        return "· kept as before"
    if discovery.unauthorized:
        return "○ sign-in"
    return "✗ failed" if discovery.server is None else "○ needs a value" if discovery.error else "✓ answered"


REPORT_COLUMNS = (
    Column("server", width=170, cell=lambda discovery: discovery.name),
    Column("result", width=96, cell=_result_words),
    Column("tools", width=60, cell=lambda discovery: None if discovery.server is None else len(discovery.server.tools)),
    Column(
        "connect_s", "connect", width=80, help="Seconds to open the session. Empty: it was already open.",
        format="%.3g", unit="s",
    ),
    Column(
        "error", width=700,
        cell=lambda discovery: " ".join([discovery.error, *discovery.refused, *discovery.notes]).strip(),
    ),
)  # fmt: skip


def report_frame(discoveries: Sequence[Discovery]) -> pd.DataFrame:
    """Returns the reply of each server. `connect_s` is empty for a session that was already open."""
    return frame_of(discoveries, REPORT_COLUMNS).astype({"tools": "Int64", "connect_s": "float64"})


def _forget() -> None:
    st.session_state.pop(JOB, None)


_REFERENCE = re.compile(r"\$\{(?:(?:env|input|secret):)?(?P<name>[^{}]+?)(?::-[^{}]*)?\}")
_PLAIN = re.compile(r"[\w@%+=:,./${}~-]+")


def command_line(connection: Connection) -> str:
    """The command with its arguments, or the address. Values are references, never secrets.

    >>> command_line(Connection("stdio", command="${python}", args=("-m", "x y", "a;b")))
    "${python} -m 'x y' 'a;b'"
    """
    if connection.transport != "stdio":
        return _argument(connection.url)
    return " ".join(_argument(argument) for argument in (connection.command, *connection.args))


def connection_lines(connection: Connection) -> str:
    lines = [command_line(connection)]
    if connection.cwd:
        lines.append(f"in {_argument(connection.cwd)}")
    lines += [f"{_argument(name)}={_argument(value)}" for name, value in connection.env.items()]
    lines += [f"{_argument(name)}: {_argument(value)}" for name, value in connection.headers.items()]
    return "\n".join(lines)


def reference_name(reference: str) -> str:
    """Returns the name in a reference.

    >>> reference_name("${input:key}"), reference_name("${HOME:-/}"), reference_name("${secret:web/KEY}")
    ('key', 'HOME', 'web/KEY')
    """
    match = _REFERENCE.fullmatch(reference)
    return match["name"] if match else reference


def _argument(text: str) -> str:
    if not text.isprintable():
        return json.dumps(text)
    return text if _PLAIN.fullmatch(text) else shlex.quote(text)


PREFIX = "catalog.import.value."
KEPT = " An empty field keeps the entered value."
OWN_PREFIX = "catalog.detail.value."


class Wanted(NamedTuple):
    """A value that can be entered: its name in references, its description, its servers, and the servers that lack it."""

    name: str
    what: str
    servers: tuple[str, ...]
    lacking: tuple[str, ...]


def wanted_values(app: App, catalog: str, imported: Imported, holder: ServerId | None = None) -> tuple[Wanted, ...]:
    """Returns the references without a value, and the references with a value that was entered for this catalog. With a `holder`, only
    the references to a person's own values."""
    descriptions = {prompt.id: prompt.description for prompt in imported.prompts}
    own = {value.name for value in app.values.list(catalog, holder.person) if value.person} if holder else set[str]()
    users: dict[str, list[str]] = {}
    lacking: dict[str, list[str]] = {}
    for server in imported.servers:
        key = holder or ServerId(catalog, server.name)
        missing = [reference_name(reference) for reference in app.vault.missing(key, server.connection)]
        replaceable = [reference_name(reference) for reference in app.vault.replaceable(key, server.connection)]
        for name in dict.fromkeys((*missing, *replaceable)):
            if name not in imported.secrets and (name in own or not key.person):
                users.setdefault(name, []).append(server.name)
                lacking.setdefault(name, []).extend([server.name] if name in missing else [])
    return tuple(
        Wanted(name, descriptions.get(name, ""), tuple(servers), tuple(lacking[name]))
        for name, servers in users.items()
    )


def value_fields(app: App, wanted: tuple[Wanted, ...], prefix: str = PREFIX) -> None:
    """Draw a password field for each value. Their keys begin with `prefix`."""
    if not wanted:
        return
    lacking = sum(bool(value.lacking) for value in wanted)
    head = (
        f"{counted(lacking, 'value')} to enter."
        if lacking
        else "All values are entered. A new value replaces the old one."
    )
    st.markdown(f"**{head}** {escaped(app.vault.note or app.vault.where, 400)}")
    for start in range(0, len(wanted), 2):
        for place, (column, item) in enumerate(zip(st.columns(2), wanted[start : start + 2], strict=False), start):
            with column:
                _field(item, f"{prefix}{place}")


def values_given(wanted: tuple[Wanted, ...], prefix: str = PREFIX) -> dict[str, str]:
    pairs = ((item.name, st.session_state.get(f"{prefix}{place}", "")) for place, item in enumerate(wanted))
    return {name: value for name, value in pairs if value}


def own_values(app: App, catalog: str, server: Server) -> None:
    """Draw a form for the values of one server that calls of this person use, and the list of stored values."""
    holder = app.vault.holder(ServerId(catalog, server.name), person().name)
    _known_values(app, catalog, server)
    values = wanted_values(app, catalog, Imported("catalog", (server,)), holder)
    _whose(app, holder)
    if not values:
        return

    def keep() -> None:
        entries = values_given(values, prefix)
        if not holder.person:
            app.catalog_editor.keep_secrets(catalog, [server], entries)
        for name, value in entries.items() if holder.person else ():
            app.values.put_own(catalog, server.name, name, value)

    prefix = f"{OWN_PREFIX}{catalog}::{server.name}."
    with st.form(f"{prefix}form", clear_on_submit=True):
        value_fields(app, values, prefix)
        st.form_submit_button(
            "Keep them", key=f"{prefix}keep", **only("call" if holder.person else "administer"), icon=":material/key:", 
            on_click=state.toasted, args=(keep,),
        )  # fmt: skip
    st.caption("The next call uses the new value. A session with the old value is closed.")


def _whose(app: App, holder: ServerId) -> None:
    """Say whose sign-in and values calls use. Without a sign-in to the pages there is one person, and nothing to tell apart."""
    if holder.person:
        others = [name for name in app.vault.persons(holder) if name != holder.person]
        more = f" So have {escaped(', '.join(others), 300)}." if others else ""
        st.caption(
            f":material/person: Each person has their own sign-in and secrets here. These are yours alone.{more}"
        )
    elif person().name or app.governance.policy.is_per_person(holder.server):
        st.caption(f":material/group: Sign-in and secrets: {escaped(app.vault.whose(holder), 300)}.")


def _known_values(app: App, catalog: str, server: Server) -> None:
    values = [value for value in app.values.list(catalog, person().name) if value.server == server.name]
    stored = [value for value in values if value.state in {"kept", "written"}]
    if not stored or catalog in SHIPPED_CATALOGS:
        return
    with st.expander(f"{counted(len(stored), 'value')} kept or written out"):
        for value in stored:
            prefix, name = f"{OWN_PREFIX}{catalog}::{server.name}::{value.name}", value.short_name
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                if value.state == "written":
                    about = f"Written out: {value.written}" + (f" ({value.kind})" if value.kind else "")
                    st.markdown(f"**{escaped(name, 80)}** {escaped(about, 200)}", width="stretch")
                    _value_button(app.values.hide, "Hide it", f"{prefix}.hide", catalog, server.name, name)
                else:
                    since = f"kept since {value.set_at:%Y-%m-%d}" if value.set_at else "kept"
                    st.markdown(f"**{escaped(name, 80)}** Secret, {since}", width="stretch")
                    if value.person:
                        _value_button(
                            app.values.remove_own, "Remove", f"{prefix}.remove", catalog, server.name, name, "call"
                        )
                        continue
                    if name in (server.connection.env if server.connection else {}):
                        _value_button(app.values.show, "No secret", f"{prefix}.show", catalog, server.name, name)
                    _value_button(app.values.remove, "Remove", f"{prefix}.remove", catalog, server.name, name)
        st.caption(
            "A variable is written out if it is plainly no secret, such as a path, a number or a region. You can overrule this."
        )


def _value_button(
    work: Callable[[str, str, str], None],
    label: str,
    key: str,
    catalog: str,
    server: str,
    name: str,
    right: Right = "administer",
) -> None:
    st.button(label, key=key, **only(right), on_click=state.toasted, args=(lambda: work(catalog, server, name),))


def _field(item: Wanted, key: str) -> None:
    servers = ", ".join(item.servers[:4]) + ("…" if len(item.servers) > 4 else "")
    st.text_input(
        escaped(item.name, 80), type="password", key=key,
        help=escaped(f"{item.what} Needed by {servers}.{'' if item.lacking else KEPT}".strip(), 300),
        placeholder=(item.what[:60] or None) if item.lacking else "entered", autocomplete="off",
    )  # fmt: skip
