"""The calibration view: how much is labelled, a fit with its measures, the calibrations that are kept, and the labels."""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.domain.catalog import Catalog
from dashboard.pages.catalog.calibration.job import job_panel, running, start
from dashboard.pages.catalog.calibration.kept import kept_calibrations
from dashboard.pages.catalog.calibration.label_list import label_list
from dashboard.ui.text import escaped

HELP = (
    "Fits the weights of the signals, how far labels reach, the probability of fit and Tool Attention's threshold to the labels of "
    "this catalog. It is judged on held-back folds: labels that the fit has not seen. What gains no more than noise stays as it is."
)


def calibration_body(app: App, catalog: Catalog, query: str) -> None:
    """Draw it; `query` filters the labels."""
    labels, active = app.feedback.labels(catalog.name), app.calibrations.active(catalog.name)
    missing = app.calibrations.missing(catalog.name)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.metric(
            "Labels", f"{len(labels):,}", width="content",
            help="What was said of tools: on the Route page, on a call's result, or on the command line.",
        )  # fmt: skip
        st.metric(
            "Labelled sub-tasks", f"{len(app.feedback.queries(catalog.name)):,}", width="content",
            help="A fit needs sub-tasks with a right tool of this catalog.",
        )  # fmt: skip
        st.metric(
            "Calibration in force", "as shipped" if active is None else escaped(active.name, 30), width="content",
            help="What every decision on this catalog uses.",
        )  # fmt: skip
        st.space("stretch")
        st.button(
            "Calibrate", key="catalog.calibration.fit", icon=":material/tune:", type="primary", help=HELP,
            disabled=running(catalog.name), on_click=start, args=(app, catalog.name),
        )  # fmt: skip
    if missing:
        st.caption(
            f"A fit needs {missing:,} more labelled sub-task{'s' if missing > 1 else ''} with a right tool. "
            "Labels count for the next decisions on like sub-tasks at once, without any fit."
        )
    job_panel(app, catalog.name)
    kept_calibrations(app, catalog, active)
    label_list(app, catalog.name, labels, query)
