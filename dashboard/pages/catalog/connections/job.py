"""Discovery in the background: servers are asked while the page stays usable, then a report of what each replied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd
import streamlit as st

from core.app import App
from core.domain.catalog import Discovery, Imported
from core.services.background_jobs import Job
from core.services.decide.catalog_editor import ImportReport
from core.shared.errors import WayfareError
from dashboard.pages.catalog import state
from dashboard.pages.catalog.imports.documents import counted
from dashboard.session import known_job, start_job
from dashboard.ui.choice_table import table_height
from dashboard.ui.text import escaped

JOB = "catalog:job"


@dataclass(frozen=True)
class Asked:
    """The servers of an import, and the name that their catalog gets."""

    imported: Imported = field(repr=False)
    name: str
    source: str


def start(app: App, imported: Imported, name: str, source: str) -> None:
    """Begin to ask every server of an import for its tools."""
    start_job(JOB, lambda _: app.catalog_editor.discover(imported, name, source), Asked(imported, name, source))


def running() -> bool:
    """Whether a discovery of this operator is under way."""
    job = known_job(JOB)
    return job is not None and job.under_way


def job_panel(app: App) -> None:
    """The discovery of this operator: progress while it runs, then the report until it is closed."""
    job = known_job(JOB)
    if job is None:
        return
    with st.container(border=True):
        if job.under_way:
            _progress(app, job)
        else:
            _report(job)


@st.fragment(run_every=1)
def _progress(app: App, job: Job) -> None:
    if not job.under_way:
        st.rerun()
    asked: Asked = job.about
    names = {server.name for server in asked.imported.servers}
    states = [one for one in app.pool.states() if one.catalog == asked.name and one.server in names]
    settled = sum(one.state in {"ready", "failed"} for one in states)
    total = len(names)
    st.progress(
        min(settled / total, 1.0),
        f"Asking {counted(total, 'server')} for their tools: {settled:,} connected or refused, {job.elapsed_s:.0f} s. "
        "You can go on working; a server that does not answer is given up after 30 s.",
    )


def _report(job: Job) -> None:
    try:
        report: ImportReport = job.future.result()
    except WayfareError as error:
        st.error(escaped(str(error), 300), icon=":material/error:")
        with st.expander("What each server replied"):
            st.text(str(error).replace("; ", "\n"))
        _buttons(job, again=True)
    except Exception as error:  # noqa: BLE001 - a fault of ours: its text could hold what must not show
        st.error(f"Discovery stopped unexpectedly ({type(error).__name__}); nothing was stored. Try again.")
        _buttons(job, again=True)
    else:
        _result(report.discoveries, report.catalog, report.tools)
        _buttons(job, again=any(found.server is None for found in report.discoveries), show=report.catalog)


def _result(discoveries: Sequence[Discovery], catalog: str, tools: int) -> None:
    answered = sum(found.server is not None for found in discoveries)
    summary = f"{answered:,} of {counted(len(discoveries), 'server')} answered with {counted(tools, 'tool')}."
    rest = "" if answered == len(discoveries) else " The others are left out."
    st.markdown(f":green[:material/check_circle:] **{escaped(catalog)}**: {summary}{rest}")
    frame = report_frame(discoveries)
    height = table_height(min(len(frame), 8))
    st.dataframe(frame, hide_index=True, height=height, column_config=REPORT_COLUMNS, placeholder="–")


def _buttons(job: Job, *, again: bool, show: str = "") -> None:
    with st.container(horizontal=True):
        if show:
            st.button("Show the catalog", key="catalog.job.show", type="primary", on_click=_show, args=(show,))
        if again:
            known = (job.about.imported, job.about.name, job.about.source)
            st.button("Try again…", key="catalog.job.again", on_click=state.open_connect, args=known)
        st.button("Close the report", key="catalog.job.close", on_click=_forget)


def report_frame(discoveries: Sequence[Discovery]) -> pd.DataFrame:
    """What each server replied; `connect_s` is empty for a session that was open already."""
    return pd.DataFrame(
        {
            "server": [found.name for found in discoveries],
            "result": ["✗ failed" if found.server is None else "✓ answered" for found in discoveries],
            "tools": [None if found.server is None else len(found.server.tools) for found in discoveries],
            "connect_s": [found.connect_s for found in discoveries],
            "error": [found.error for found in discoveries],
        }
    ).astype({"tools": "Int64", "connect_s": "float64"})


REPORT_COLUMNS = {
    "server": st.column_config.TextColumn("server", width=170),
    "result": st.column_config.TextColumn("result", width=96),
    "tools": st.column_config.NumberColumn("tools", width=60),
    "connect_s": st.column_config.NumberColumn(
        "connect", format="%.3g s", width=80, help="Seconds to open the session. Empty: it was open already."
    ),
    "error": st.column_config.TextColumn("what went wrong", width=700),
}


def _show(catalog: str) -> None:
    state.go_to(catalog)
    _forget()


def _forget() -> None:
    st.session_state.pop(JOB, None)
