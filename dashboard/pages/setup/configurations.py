"""The client configurations of this machine: the cost of their tools in tokens, and their import as a catalog."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job
from core.catalogs.catalog_editor import ImportReport
from core.domain.untrusted_text import visible
from core.gateway.endpoint import own_tokens
from core.governance.client_setup import TURNS, FoundConfiguration, found_configurations
from dashboard.session import known_job, start_job
from dashboard.ui.first_look import begin_first_look, first_look
from dashboard.ui.text import escaped
from dashboard.ui.url_state import open_page

JOB = "setup:import"
SHOWN_SERVERS = 8


def configurations(app: App, home: Path) -> None:
    """Draw a card for each configuration below a home folder."""
    st.markdown("**Configurations on this machine**")
    job = known_job(JOB)
    if job is not None:
        _import(app, job)
    found = found_configurations(app.catalogs, home)
    for number, one in enumerate(found):
        with st.container(border=True):
            _card(app, one, number, importing=job is not None and job.under_way)
    if not found:
        st.caption("No configuration of these clients with servers was found in the home folder of this console.")
    else:
        st.caption(
            "The files are only read. Counted with cl100k_base on the definitions, as the token meter of Decision."
        )


def _card(app: App, found: FoundConfiguration, number: int, *, importing: bool) -> None:
    home = str(Path.home())
    path = str(found.path).replace(home, "~", 1)
    st.markdown(f"**{escaped(found.client.title)}** :gray[{escaped(path, 200)}]")
    if found.problem:
        st.error(escaped(found.problem, 400), icon=":material/error:")
        return
    named = ", ".join(visible(name)[:60] for name in found.servers[:SHOWN_SERVERS])
    more = f" and {len(found.servers) - SHOWN_SERVERS} more" if len(found.servers) > SHOWN_SERVERS else ""
    beside = " beside Wayfare" if found.has_wayfare else ""
    count = len(found.servers)
    st.caption(f"{count} server{'s' * (count != 1)}{beside}: {escaped(named, 600)}{more}" if count else "Only Wayfare.")
    if found.known:
        _tokens(found)
    if found.others is not None and len(found.known) < count:
        missing = count - len(found.known)
        st.caption(
            f"The tools of {missing} server{'s' * (missing != 1)} are not known yet. An import starts the servers and asks them."
        )
        st.button(
            "Import as a catalog", key=f"setup:import-{number}", icon=":material/download:", disabled=importing,
            on_click=_begin, args=(app, found),
        )  # fmt: skip


def _tokens(found: FoundConfiguration) -> None:
    meter = found.meter(own_tokens())
    st.caption("Tokens of one turn, counted:")
    now, then = st.columns(2)
    now.metric(
        "Now", f"{meter.counted.definitions:,}", border=True,
        help=f"The definitions of {meter.counted.tools:,} tools, which the client sends in each turn.",
    )  # fmt: skip
    then.metric(
        "With Wayfare", f"{own_tokens():,}", f"{-meter.counted.saved_percent:.0f} %", delta_color="inverse", border=True,
        help="The definitions of Wayfare's own tools. The answers of its searches come on top.",
    )  # fmt: skip
    projected = meter.projected
    st.caption(
        f"Projected for {TURNS} equal turns: {projected.all_tools.tokens:,} tokens now, {projected.decision.tokens:,} with Wayfare."
    )


def _begin(app: App, found: FoundConfiguration) -> None:
    """Start the import of a catalog named like the client. It follows the file."""
    name, path = found.client.id, found.path

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
    refused = [one for one in report.discoveries if one.error]
    st.success(
        f"The catalog **{escaped(report.catalog, 80)}** has {report.servers:,} servers with {report.tools:,} tools.",
        icon=":material/check_circle:",
    )
    for one in refused[:SHOWN_SERVERS]:
        st.warning(escaped(f"{one.name}: {one.error}", 300), icon=":material/error:")
    first_look(app, report.catalog, "setup")
    if st.button("Open the Catalog page", key="setup:open-catalog", icon=":material/inventory_2:"):
        open_page("catalog", catalog=report.catalog)


@st.fragment(run_every=1)
def _progress(job: Job) -> None:
    if not job.under_way:
        st.rerun()
    st.info(f"Asking the servers for their tools since {job.elapsed_s:.0f} s.", icon=":material/hourglass_empty:")
