"""Calibration: labels, a fit on held-back folds, and the calibrations that are kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job
from core.domain import units
from core.domain.catalog import Catalog
from core.domain.feedback import Calibration, Label, catalog_fingerprint
from core.domain.untrusted_text import one_line
from core.lab.calibrations import CalibrationResult
from dashboard.pages.catalog import state
from dashboard.session import known_job, only, start_job
from dashboard.ui.catalog_frames import matching
from dashboard.ui.labels import labeller
from dashboard.ui.long_work import job_error, job_progress, share_of
from dashboard.ui.table import Column, choose_rows, frame_of, table, table_key
from dashboard.ui.text import counted, escaped, file_name
from dashboard.ui.url_state import open_page

JOB, NAME = "catalog:calibration.job", "catalog.calibration.keep.name"


def start(app: App, catalog: str) -> None:
    start_job(
        JOB,
        lambda job: app.calibrations.fit(catalog, progress=job.report),
        catalog,
        title=f"Fitting {catalog} to labels",
    )


def running(catalog: str) -> bool:
    job = known_job(JOB)
    return job is not None and job.about == catalog and job.under_way


def job_panel(app: App, catalog: str) -> None:
    """Show the progress of this operator's fit, then its result until it is kept or closed."""
    job = known_job(JOB)
    if job is None or job.about != catalog:
        return
    with st.container(border=True):
        if job.under_way:
            job_progress(job, _told)
        elif job.result is not None:
            _result(app, job.result)
        else:
            job_error(job, "The fit stopped unexpectedly ({}); nothing was kept. Press Calibrate again.")
            _close()


def _told(job: Job) -> tuple[float, str]:
    done, total = job.done, job.of
    if not total:
        text = "Reading the labels and trying fits to the first fold"
    elif done < total:
        text = f"{done} of {total} held-back folds are measured"
    else:
        text = "All folds are measured. Fitting all labels, and Tool Attention's threshold"
    return share_of(job), f"{text}, {job.elapsed_s:.0f} s. You can continue to work."


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
                words, key=f"catalog.calibration.keep.{key}", **only("tune"), type="primary" if apply else "secondary",
                on_click=_keep, args=(app, result, apply),
            )  # fmt: skip
        _close()


def _close() -> None:
    st.button("Close", key="catalog.calibration.close", on_click=lambda: st.session_state.pop(JOB, None))


def _keep(app: App, result: CalibrationResult, apply: bool) -> None:
    name = str(st.session_state.get(NAME) or "").strip()
    with state.errors_shown():
        calibration = app.calibrations.save(result, name, apply=apply, by=labeller())
        st.session_state.pop(JOB, None)
        state.say(f"Calibration {calibration.name} is kept{' and switched on' if apply else ''}.")


COLUMNS = (
    Column("says", width=80, cell=lambda label: "✓ right" if label.right else "✗ wrong"),
    Column("tool", width=260, cell=lambda label: one_line(label.tool, 200)),
    Column("sub-task", width=420, cell=lambda label: one_line(label.subtask, 400)),
    Column("server hint", width=120, cell=lambda label: one_line(label.server_hint, 200)),
    Column(
        "by", width=110, help="The source of the label, and the address of another machine.",
        cell=lambda label: one_line(f"{label.origin} {label.visitor}", 80),
    ),
    Column("at", width=150, format="YYYY-MM-DD HH:mm"),
)  # fmt: skip


def label_list(app: App, catalog: str, labels: Sequence[Label], query: str) -> None:
    st.markdown("##### Labels")
    if not labels:
        st.info(
            "There are no labels yet. Choose “right” or “wrong” at a candidate on the Decision view, or at the result of a call.",
            icon=":material/thumbs_up_down:",
        )
        if st.button("Open Decision", key="catalog.calibration.labels.route", icon=":material/alt_route:"):
            open_page("route", catalog=catalog)
        return
    matches = matching((f"{label.tool} {label.subtask} {label.server_hint}" for label in labels), query)
    matching_labels = [label for label, is_match in zip(labels, matches, strict=True) if is_match]
    if not matching_labels:
        st.info(f"None of {counted(len(labels), 'label')} matches the search.", icon=":material/search_off:")
        return
    rows = choose_rows(
        frame_of(matching_labels, COLUMNS),
        COLUMNS,
        key=table_key("labels", catalog, query, matching_labels[0].id, str(len(matching_labels))),
        about=f"Labels of {catalog}",
    )
    chosen = [matching_labels[row] for row in rows]
    st.button(
        f"Delete {counted(len(chosen), 'label')}" if chosen else "Choose rows to delete",
        key="catalog.calibration.labels.delete", icon=":material/delete:", **only("tune", disabled=not chosen, help="They no longer count from the next decision on."), on_click=_delete,
        args=(app, chosen),
    )  # fmt: skip


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
            "Calibrate", key="catalog.calibration.fit", icon=":material/tune:", type="primary", **only("tune", help=CALIBRATE_HELP, disabled=running(catalog.name)),
            on_click=start, args=(app, catalog.name),
        )  # fmt: skip
    if missing:
        st.caption(
            f"A fit needs {missing:,} more labelled sub-task{'s' if missing > 1 else ''} with a right tool. "
            "Labels count at once for decisions on similar sub-tasks, without a fit."
        )
    job_panel(app, catalog.name)
    kept_calibrations(app, catalog, active)
    label_list(app, catalog.name, labels, query)


PARTS = {"ranking": "ranking", "probability": "probability of fit", "threshold": "Tool Attention's θ"}
MEASURES = {  # measure: its part and its title
    "mrr": ("ranking", "MRR ↑"),
    "hit@1": ("ranking", "hit@1 ↑"),
    "hit@3": ("ranking", "hit@3 ↑"),
    "log_loss": ("probability", "log loss ↓"),
    "ece": ("probability", "calibration error ↓"),
    "f1": ("threshold", "F1 ↑"),
}
HELP = (
    "Each fold was ranked by a fit to the other folds. ↑: higher is better, ↓: lower is better. A part is taken if the 95 % interval "
    "of its change excludes 0: MRR for the ranking, log loss for the probability of fit, F1 for Tool Attention's threshold θ."
)


def measures_table(report: Mapping[str, Any], key: str) -> None:
    table(measures_frame(report), (Column("95 % interval of the change", width=180),), key=key)
    if thresholds := threshold_of(report):
        today, fitted, taken = thresholds
        end = "taken" if taken else "not taken"
        st.caption(f"Tool Attention's threshold θ: {today:.2f} in use, {fitted:.2f} fitted, {end}.")


def measures_frame(report: Mapping[str, Any]) -> pd.DataFrame:
    """Returns one row for each measure, with four decimals. Missing and unusable numbers are left out."""
    changes = {**_part(report, "measures"), "f1": _part(report, "threshold").get("f1")}
    rows: list[tuple[str, ...]] = []
    for name, (part, title) in MEASURES.items():
        before, after, low, high = (number(changes.get(name), column) for column in ("before", "after", "low", "high"))
        if before is None or after is None or low is None or high is None:
            continue
        rows.append(
            (
                PARTS[part], title, f"{before:.4f}", f"{after:.4f}", units.plain(after - before, 4, signed=True),
                f"{units.plain(low, 4, signed=True)} to {units.plain(high, 4, signed=True)}",
                "✓ taken" if part in _accepted(report) else "unchanged",
            )
        )  # fmt: skip
    columns = ["part", "measure", "before", "after", "change", "95 % interval of the change", "outcome"]
    return pd.DataFrame(rows, columns=columns)


def threshold_of(report: Mapping[str, Any]) -> tuple[float, float, bool] | None:
    """Returns Tool Attention's θ in use, the fitted one, and whether that was taken."""
    part = _part(report, "threshold")
    today, fitted = number(part, "today"), number(part.get("best"), "theta")
    return None if today is None or fitted is None else (today, fitted, part.get("accepted") is True)


def parts_taken(report: Mapping[str, Any]) -> str:
    return ", ".join(words for part, words in PARTS.items() if part in _accepted(report))


def _accepted(report: Mapping[str, Any]) -> list[Any]:
    parts = report.get("accepted")
    return parts if isinstance(parts, list) else []


def _part(report: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = report.get(name)
    return section if isinstance(section, dict) else {}


def number(found: object, name: str) -> float | None:
    """Returns a finite number of a JSON object, or None."""
    value = found.get(name) if isinstance(found, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


TURN = "catalog:calibration.imported"
SHOWN = 30


def kept_calibrations(app: App, catalog: Catalog, active: Calibration | None) -> None:
    calibrations = app.calibrations.of_catalog(catalog.name)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("##### Calibrations", width="content")
        st.space("stretch")
        st.button(
            "Undo", key="catalog.calibration.undo", icon=":material/undo:", on_click=state.acted, args=(lambda: app.calibrations.undo(catalog.name, by=labeller()),),
            **only("tune", disabled=not app.calibrations.can_undo(catalog.name), help="Back to the calibration before the last switch."),
        )  # fmt: skip
        with st.popover("Import", icon=":material/upload_file:"):
            _import(app, catalog.name)
    texts = catalog_fingerprint(catalog)
    _row(app, catalog.name, None, texts, on=active is None)
    for calibration in calibrations[:SHOWN]:
        _row(app, catalog.name, calibration, texts, on=active is not None and calibration.id == active.id)
    if len(calibrations) > SHOWN:
        st.caption(f"The {SHOWN} newest of {len(calibrations):,}; `wayfare calibrate --list` has them all.")


def _row(app: App, catalog: str, calibration: Calibration | None, texts: str, *, on: bool) -> None:
    key = f"catalog.calibration.kept.{calibration.id if calibration else 'shipped'}"
    with st.container(border=True, gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            title = "As shipped" if calibration is None else escaped(calibration.name, 80)
            st.markdown(f"**{title}** :small[:gray[{_about(texts, calibration)}]]", width="stretch")
            if on:
                st.badge("in force", icon=":material/check_circle:", color="green")
            else:
                name = "" if calibration is None else calibration.name
                st.button(
                    "Switch on",
                    key=f"{key}.on",
                    **only("tune"),
                    on_click=state.acted,
                    args=(lambda: app.calibrations.apply(name, catalog=catalog, by=labeller()),),
                )
            if calibration is not None:
                _export(app, calibration, key)
        if calibration is not None:
            _details(calibration, key)


def _about(texts: str, calibration: Calibration | None) -> str:
    if calibration is None:
        return "part of Wayfare; labels still count"
    words = [f"{calibration.labels:,} labelled sub-tasks", f"{calibration.at:%Y-%m-%d %H:%M}"]
    words += [parts] if (parts := parts_taken(calibration.report)) else []
    words += ["from a file"] if calibration.origin == "file" else []
    words += ["fitted to other tools or texts"] if calibration.catalog_fingerprint != texts else []
    return escaped(" · ".join(words))


def _export(app: App, calibration: Calibration, key: str) -> None:
    st.download_button(
        "Export", data=lambda: app.calibrations.export(calibration.catalog, calibration.name),
        file_name=f"{file_name(calibration.name, 'calibration')}.json", mime="application/json", key=f"{key}.export",
        icon=":material/download:", on_click="ignore",
    )  # fmt: skip


def _details(calibration: Calibration, key: str) -> None:
    theta = number(calibration.values, "theta")
    with st.expander("Before and after, on held-back folds", key=f"{key}.details"):
        st.caption(HELP)
        measures_table(calibration.report, f"{key}.measures")
        if theta is None:
            return
        st.caption(
            "θ is a knob of Tool Attention. Switching on does not change it; this button opens the Decision view with it."
        )
        if st.button(f"Route with Tool Attention at θ = {theta:.2f}", key=f"{key}.theta", icon=":material/alt_route:"):
            open_page("route", catalog=calibration.catalog, router="tool_attention", theta=f"{theta:g}")


def _import(app: App, catalog: str) -> None:
    turn = st.session_state.setdefault(TURN, 0)
    key = f"catalog.calibration.kept.file.{turn}"
    st.file_uploader("An exported file", type=["json"], key=key, **only("tune"), on_change=_read, args=(app, catalog, key), max_upload_size=50)  # fmt: skip
    st.caption("The calibration keeps its name and is not switched on.")


def _read(app: App, catalog: str, key: str) -> None:
    file = st.session_state.get(key)
    if file is None:
        return
    st.session_state[TURN] += 1  # an empty uploader for the next file
    with state.errors_shown():
        result = app.calibrations.import_file(file.getvalue(), source=file.name, catalog=catalog, by=labeller("file"))
        state.say(f"Calibration {result.name} is kept. Switch it on to use it.")
