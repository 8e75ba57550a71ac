"""Calibration: labels, a fit on held-back folds, and the calibrations that are kept."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job
from core.domain.catalog import Catalog
from core.domain.errors import WayfareError
from core.domain.feedback import Label
from core.domain.untrusted_text import one_line
from core.lab.calibrations import CalibrationResult
from dashboard.pages.catalog import state
from dashboard.pages.catalog.calibration_measures import HELP, kept_calibrations, measures_table
from dashboard.session import known_job, start_job
from dashboard.ui.catalog_frames import matching
from dashboard.ui.labels import labeller
from dashboard.ui.table import Column, choose_rows, table_key
from dashboard.ui.text import counted, escaped
from dashboard.ui.url_state import open_page

JOB, NAME = "catalog:calibration.job", "catalog.calibration.keep.name"
POLL_S = 0.5


def start(app: App, catalog: str) -> None:
    """Begin a fit to the labels of a catalog. For `on_click`."""
    start_job(
        JOB,
        lambda job: app.calibrations.fit(catalog, progress=job.report),
        catalog,
        title=f"Fitting {catalog} to labels",
    )


def running(catalog: str) -> bool:
    """Tells whether a fit of this operator runs for this catalog."""
    job = known_job(JOB)
    return job is not None and job.about == catalog and job.under_way


def job_panel(app: App, catalog: str) -> None:
    """Show the progress of this operator's fit, then its result until it is kept or closed."""
    job = known_job(JOB)
    if job is None or job.about != catalog:
        return
    with st.container(border=True):
        if job.under_way:
            _progress(job)
            return
        try:
            result: CalibrationResult = job.future.result()
        except WayfareError as error:
            st.warning(escaped(str(error), 600), icon=":material/info:")
            _close()
        except Exception as error:  # noqa: BLE001 - a fit runs in its own thread; every error is shown on the page
            st.error(f"The fit stopped unexpectedly ({type(error).__name__}); nothing was kept. Press Calibrate again.")
            _close()
        else:
            _result(app, result)


@st.fragment(run_every=POLL_S)
def _progress(job: Job) -> None:
    if not job.under_way:
        st.rerun()
    done, total = job.done, job.of
    if not total:
        text = "Reading the labels and trying fits to the first fold"
    elif done < total:
        text = f"{done} of {total} held-back folds are measured"
    else:
        text = "All folds are measured. Fitting all labels, and Tool Attention's threshold"
    st.progress(done / total if total else 0.0, f"{text}, {job.elapsed_s:.0f} s. You can continue to work.")


def _result(app: App, result: CalibrationResult) -> None:
    left_out = f", {result.fit.passed_over:,} without a right tool left out" if result.fit.passed_over else ""
    st.markdown(f"##### A fit to {result.fit.labels:,} labelled sub-tasks{left_out}", help=HELP)
    measures_table(result.report(), "catalog.calibration.measures")
    if result.sampled:
        st.caption(result.sampled)
    if result.fit.remark:
        st.markdown(escaped(result.fit.remark, 600))
    if not result.accepted:
        st.warning("No part improved beyond noise, so there is nothing to keep.", icon=":material/info:")
        _close()
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input("Name", key=NAME, placeholder="the next number", max_chars=80, width=220)
        for key, words, apply in (("on", "Keep and switch on", True), ("only", "Keep", False)):
            st.button(
                words, key=f"catalog.calibration.keep.{key}", type="primary" if apply else "secondary",
                on_click=_keep, args=(app, result, apply),
            )  # fmt: skip
        _close()


def _close() -> None:
    st.button("Close", key="catalog.calibration.close", on_click=lambda: st.session_state.pop(JOB, None))


def _keep(app: App, result: CalibrationResult, apply: bool) -> None:
    name = str(st.session_state.get(NAME) or "").strip()
    with state.errors_shown():
        kept = app.calibrations.save(result, name, apply=apply, by=labeller())
        st.session_state.pop(JOB, None)
        state.say(f"Calibration {kept.name} is kept{' and switched on' if apply else ''}.")


COLUMNS = (
    Column("says", width=80),
    Column("tool", width=260),
    Column("sub-task", width=420),
    Column("server hint", width=120),
    Column("by", width=110, help="The source of the label, and the address of another machine."),
    Column("at", width=150, format="YYYY-MM-DD HH:mm"),
)


def label_list(app: App, catalog: str, labels: Sequence[Label], query: str) -> None:
    """Draw the labels, newest first, with a button that deletes the chosen ones."""
    st.markdown("##### Labels")
    if not labels:
        st.info(
            "There are no labels yet. Choose “right” or “wrong” at a candidate on the Decision view, or at the result of a call.",
            icon=":material/thumbs_up_down:",
        )
        if st.button("Open Decision", key="catalog.calibration.labels.route", icon=":material/alt_route:"):
            open_page("route", catalog=catalog)
        return
    meant = matching((f"{one.tool} {one.subtask} {one.server_hint}" for one in labels), query)
    shown = [label for label, found in zip(labels, meant, strict=True) if found]
    if not shown:
        st.info(f"None of {counted(len(labels), 'label')} matches the search.", icon=":material/search_off:")
        return
    rows = choose_rows(
        label_frame(shown),
        COLUMNS,
        key=table_key("labels", catalog, query, shown[0].id, str(len(shown))),
        about=f"Labels of {catalog}",
    )
    chosen = [shown[row] for row in rows]
    st.button(
        f"Delete {counted(len(chosen), 'label')}" if chosen else "Choose rows to delete",
        key="catalog.calibration.labels.delete", icon=":material/delete:", disabled=not chosen, on_click=_delete,
        args=(app, chosen), help="They no longer count from the next decision on.",
    )  # fmt: skip


def label_frame(labels: Sequence[Label]) -> pd.DataFrame:
    """One row a label."""
    return pd.DataFrame(
        {
            "says": ["✓ right" if label.right else "✗ wrong" for label in labels],
            "tool": [one_line(label.tool, 200) for label in labels],
            "sub-task": [one_line(label.subtask, 400) for label in labels],
            "server hint": [one_line(label.server_hint, 200) for label in labels],
            "by": [one_line(f"{label.origin} {label.visitor}", 80) for label in labels],
            "at": pd.to_datetime([label.at for label in labels], utc=True),
        }
    )


def _delete(app: App, chosen: Sequence[Label]) -> None:
    with state.errors_shown():
        for label in chosen:
            app.feedback.retract(label.id, by=labeller())
        state.say(f"{counted(len(chosen), 'label')} deleted.")


CALIBRATE_HELP = (
    "Fits the weights of the signals, how far labels reach, the probability of fit and Tool Attention's threshold to the labels of "
    "this catalog. It is judged on held-back folds: labels that the fit has not seen. What gains no more than noise stays as it is."
)


def calibration_body(app: App, catalog: Catalog, query: str) -> None:
    """Draw the calibration view. `query` filters the labels."""
    labels, active = app.feedback.labels(catalog.name), app.calibrations.active(catalog.name)
    missing = app.calibrations.missing(catalog.name)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.metric(
            "Labels", f"{len(labels):,}", width="content",
            help="Labels of tools from the Decision view, results of calls, and the command line.",
        )  # fmt: skip
        st.metric(
            "Labelled sub-tasks", f"{len(app.feedback.queries(catalog.name)):,}", width="content",
            help="A fit needs sub-tasks with a right tool of this catalog.",
        )  # fmt: skip
        st.metric(
            "Calibration in force", "as shipped" if active is None else escaped(active.name, 30), width="content",
            help="The calibration that every decision on this catalog uses.",
        )  # fmt: skip
        st.space("stretch")
        st.button(
            "Calibrate", key="catalog.calibration.fit", icon=":material/tune:", type="primary", help=CALIBRATE_HELP,
            disabled=running(catalog.name), on_click=start, args=(app, catalog.name),
        )  # fmt: skip
    if missing:
        st.caption(
            f"A fit needs {missing:,} more labelled sub-task{'s' if missing > 1 else ''} with a right tool. "
            "Labels count at once for decisions on similar sub-tasks, without a fit."
        )
    job_panel(app, catalog.name)
    kept_calibrations(app, catalog, active)
    label_list(app, catalog.name, labels, query)
