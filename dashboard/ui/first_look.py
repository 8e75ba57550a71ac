"""The end of a first start with one's own servers: the tools that would not be found, the reasons, and a button that writes requests.

Once a catalog is imported, its texts are embedded and its example requests are asked in the background. The Catalog page, Setup and
the Decision view without a sub-task show the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job, Stopped
from core.domain import units
from core.domain.errors import WayfareError
from core.domain.feedback import By
from core.domain.findings import Findable, ToolFound
from core.learning.request_writing import RequestWriter, WritingRun, writing_endpoint
from core.learning.requests import MODEL
from core.planning.base import MODEL as MODEL_SETTING
from core.planning.base import Watch
from dashboard.session import only
from dashboard.ui.labels import labeller
from dashboard.ui.long_work import job_progress, share_of
from dashboard.ui.text import counted, escaped, reason_of
from dashboard.ui.url_state import open_page

LOOK, WRITE = "first look", "requests"
CLOSED, FOLD = "first look:closed", "catalog:requests.open"
NAMED, MOST_ASKED = 5, 10_000  # tools that are named; requests that a first look asks, 40 s


def begin_first_look(app: App, catalog: str) -> Job:
    """Embed the texts of a catalog and ask its requests, in the background. Returns at once."""
    return app.background.start(
        _key(LOOK, catalog), lambda job: _look(app, catalog, job), catalog, title=f"First look at {catalog}"
    )


def _key(kind: str, catalog: str) -> str:
    return f"{kind} of {catalog}"


def _look(app: App, catalog: str, job: Job) -> None:
    app.catalogs.prepare(catalog, job.report)
    count = sum(len(requests) for requests in app.requests.of_catalog(catalog).values())
    if count <= MOST_ASKED and app.findable.can_estimate(catalog):
        app.findable.estimate(catalog, job.report)


def first_look(app: App, catalog: str, place: str, *, begins: bool = False) -> None:
    """Draw the result of the first look at a catalog until it is closed. Draws nothing without a look. If `begins`, it starts the look at a
    catalog that is not shipped."""
    closed: set[str] = st.session_state.setdefault(CLOSED, set())
    if catalog in closed or not app.catalogs.catalog(catalog).tools:
        return
    job = app.background.of(_key(LOOK, catalog), catalog)
    if job is None and begins and catalog in app.catalogs.stored():
        job = begin_first_look(app, catalog)
    if job is None:
        return
    with st.container(border=True, gap="small", key=f"first-look-{place}"):
        if work_panel(app, catalog, place):
            return
        if job.error is not None and not isinstance(job.error, Stopped):
            st.warning(f"It is not known which tools would be found: {reason_of(job.error)}", icon=":material/info:")
        else:
            estimate, _ = app.findable.latest(catalog)
            _found(app, catalog, estimate)
        with st.container(horizontal=True, vertical_alignment="center"):
            write_button(app, catalog, place)
            if st.button("Open Findable", key=f"{place}.first.open", icon=":material/troubleshoot:"):
                open_page("catalog", catalog=catalog, view="findable")
            st.button("Close", key=f"{place}.first.close", type="tertiary", on_click=closed.add, args=(catalog,))


def _found(app: App, catalog: str, estimate: Findable | None) -> None:
    tools, lacking = app.catalogs.catalog(catalog).tools, len(app.requests.lacking(catalog))
    if estimate is None and app.findable.can_estimate(catalog):
        st.markdown(f"Which tools of {escaped(catalog, 80)} would be found is not estimated yet: *Findable* does it.")
        return
    if estimate is None:
        subject = f"None of the {counted(len(tools), 'tool')} of" if lacking == len(tools) else "No tool of"
        st.markdown(
            f"**{subject} {escaped(catalog, 80)} has {'' if lacking == len(tools) else 'two '}example requests**, so nobody knows which of "
            "them agents and people would find. An example request is what somebody says who needs exactly that tool. Requests tell what "
            "is found, and decisions use them."
        )
        return
    if estimate.seldom:
        st.markdown(
            f"**{len(estimate.seldom):,} of {counted(len(tools), 'tool')} of {escaped(catalog, 80)} will hardly be found**, and this is why:"
        )
        st.markdown("\n".join(f"- {_why(tool)}" for tool in estimate.seldom[:NAMED]))
        if (more := len(estimate.seldom) - NAMED) > 0:
            st.caption(f"and {more:,} more on Findable")
    else:
        st.markdown(
            f"**Every tool of {escaped(catalog, 80)} that has requests will be found**: about {units.share(estimate.hit_3)} of requests find "
            "theirs among three."
        )
    if lacking:
        st.caption(f"Of {counted(lacking, 'tool')} nothing is known, because no request in force is theirs.")


def _why(tool: ToolFound) -> str:
    """Returns how often a tool is found, and the tool that is found instead; escaped."""
    other, times = tool.taken_for[0]
    return (
        f"**{escaped(tool.tool, 120)}**: {tool.found} of its {tool.of} requests find it among three; {times} find "
        f"{escaped(other, 120)} first"
    )


def _under_way(job: Job, words: str) -> bool:
    """Draw the progress of a job. Returns whether it is under way."""

    def told(job: Job) -> tuple[float, str]:
        run: WritingRun | None = job.reported[0] if job.reported else None
        return share_of(job), f"{words}. {'' if run is None else escaped(run.words()) + '. '}You can continue to work."

    if job.under_way:
        job_progress(job, told, stop=f"first.stop.{id(job)}")
        return True
    return False


# A model writes the missing requests. Without a model, there is a prompt for any model.


def writing_model(app: App) -> str:
    return app.settings.environment.get(MODEL_SETTING, "").strip()


def write_button(app: App, catalog: str, place: str) -> None:
    """Draw the button that has the configured model write the requests that a catalog lacks, after an estimate. Without a model, or for
    tools that are seldom found, it leads to the prompt for any model. Draws nothing if neither is the case."""
    model, lacking, (estimate, _) = writing_model(app), app.requests.lacking(catalog), app.findable.latest(catalog)
    if not lacking and (estimate is None or not estimate.seldom):
        return
    if not (model and lacking):
        words = "Write requests by a prompt" if lacking else "Write more requests"
        if st.button(words, key=f"{place}.write.prompt", icon=":material/edit_note:", type="primary"):
            st.session_state[FOLD] = True
            open_page("catalog", catalog=catalog, view="findable")
        return
    with st.popover(
        f"Let {escaped(model, 60)} write requests", icon=":material/edit_note:", type="primary", key=f"{place}.write", on_change="rerun"
    ) as popover:  # fmt: skip
        if popover.open:
            _estimate(app, catalog, model, app.requests.missing(catalog), place)


def _estimate(app: App, catalog: str, model: str, lacking: Sequence[Mapping[str, Any]], place: str) -> None:
    try:
        endpoint = writing_endpoint(app.settings.environment)
        with st.spinner("Estimating…"):
            estimate = RequestWriter(endpoint, endpoint.price_usd).estimate(lacking)
    except WayfareError as error:
        st.error(escaped(str(error), 400))
        return
    st.markdown(
        f"{counted(len(lacking), 'tool')} without requests. {escaped(model, 60)} would take about: {estimate.words()}."
    )
    limit = None
    if estimate.usd is not None:
        limit = st.number_input(
            "Stop before more than, USD", 0.0, None, round(2 * estimate.usd, 4), 0.01, format="%.4f", key=f"{place}.write.limit"
        )  # fmt: skip
    st.caption("The definitions of these tools go to the model. What it writes counts at once and can be taken back.")
    st.button(
        "Begin", key=f"{place}.write.begin", **only("tune"), type="primary", icon=":material/play_arrow:", on_click=_begin, args=(app, catalog, limit, place)
    )  # fmt: skip


def _begin(app: App, catalog: str, limit_usd: float | None, place: str) -> None:
    by = labeller()
    st.session_state[f"{place}.write"] = False  # close it
    app.background.start(
        _key(WRITE, catalog),
        lambda job: _write(app, catalog, limit_usd, by, job),
        catalog,
        title=f"Writing example requests for {catalog}",
    )


def _write(app: App, catalog: str, limit_usd: float | None, by: By, job: Job) -> WritingRun:
    def keep(requests: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        return asdict(
            app.requests.add(catalog, [(0, tool, texts) for tool, texts in requests.items()], source=MODEL, by=by)
        )

    endpoint = writing_endpoint(app.settings.environment)
    run = WritingRun(RequestWriter(endpoint, endpoint.price_usd), keep, limit_usd, watch=Watch(job.stop))
    job.reported.append(run)
    run.write(app.requests.missing(catalog), lambda: job.report(run.done, run.of))
    begin_first_look(app, catalog)
    return run


def work_panel(app: App, catalog: str, place: str) -> bool:
    """Draw the progress or the result of a model that writes requests, and the progress of the look at a catalog. Returns whether work
    is under way."""
    look = app.background.of(_key(LOOK, catalog), catalog)
    return _writing(app, catalog, place) or (
        look is not None and _under_way(look, "Looking which tools would be found")
    )


def _writing(app: App, catalog: str, place: str) -> bool:
    job = app.background.of(_key(WRITE, catalog), catalog)
    if job is None:
        return False
    if _under_way(job, "The model writes requests"):
        return True
    run: WritingRun | None = job.reported[0] if job.reported else None
    with st.container(horizontal=True, vertical_alignment="center"):
        failed = job.error is not None and not isinstance(job.error, Stopped)
        if run is not None:
            ending = f" {run.stopped}" if run.stopped else " You stopped it." if isinstance(job.error, Stopped) else ""
            st.markdown(
                f"{':orange[:material/warning:]' if run.failed or failed else ':green[:material/check_circle:]'} "
                f"{counted(run.requests, 'request')} of {counted(run.tools, 'tool')} were written.{escaped(ending, 500)}",
                width="stretch",
            )
        if failed and job.error is not None:
            st.error(f"Writing ended: {reason_of(job.error)}")
        st.button("OK", key=f"{place}.write.ok", type="tertiary", on_click=app.background.forget, args=(job,))
    return False
