"""A fit in the background: its progress, then its measures and the way to keep it, or why nothing is kept.

Owns the keys `catalog:calibration.job` and `catalog.calibration.keep*`.
"""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.services.background_jobs import Job
from core.services.learn.calibrations import CalibrationResult
from core.shared.errors import WayfareError
from dashboard.pages.catalog import state
from dashboard.pages.catalog.calibration.measures import HELP, measures_table
from dashboard.session import known_job, start_job
from dashboard.ui.labels import labeller
from dashboard.ui.text import escaped

JOB, NAME = "catalog:calibration.job", "catalog.calibration.keep.name"
POLL_S = 0.5


def start(app: App, catalog: str) -> None:
    """Begin a fit to the labels of a catalog; for `on_click`."""
    start_job(JOB, lambda job: app.calibrations.fit(catalog, progress=job.report), catalog)


def running(catalog: str) -> bool:
    """Whether a fit of this operator is under way for this catalog."""
    job = known_job(JOB)
    return job is not None and job.about == catalog and job.under_way


def job_panel(app: App, catalog: str) -> None:
    """This operator's fit of this catalog: progress, then the result until it is kept or closed."""
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
        except Exception as error:  # noqa: BLE001 - a fit runs in its own thread; any error belongs on the page
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
        text = f"{done} of {total} held-back folds are judged"
    else:
        text = "All folds are judged; fitting the whole, and Tool Attention's threshold"
    st.progress(done / total if total else 0.0, f"{text}, {job.elapsed_s:.0f} s. You can go on working.")


def _result(app: App, result: CalibrationResult) -> None:
    left_out = f", {result.fit.passed_over:,} without a right tool left out" if result.fit.passed_over else ""
    st.markdown(f"##### A fit to {result.fit.labels:,} labelled sub-tasks{left_out}", help=HELP)
    measures_table(result.report(), "catalog.calibration.measures")
    if result.fit.remark:
        st.markdown(escaped(result.fit.remark, 600))
    if not result.accepted:
        st.warning("Nothing gained beyond noise, so there is nothing to keep.", icon=":material/info:")
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
    try:
        kept = app.calibrations.save(result, name, apply=apply, by=labeller())
    except WayfareError as error:
        state.say(str(error), done=False)
        return
    st.session_state.pop(JOB, None)
    state.say(f"Calibration {kept.name} is kept{' and switched on' if apply else ''}.")
