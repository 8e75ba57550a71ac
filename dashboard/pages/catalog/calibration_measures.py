"""The measures of a calibration, and the list of the calibrations that are kept."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from core.app import App
from core.domain import units
from core.domain.catalog import Catalog
from core.domain.feedback import Calibration, catalog_fingerprint
from dashboard.pages.catalog import state
from dashboard.ui.labels import labeller
from dashboard.ui.table import Column, table
from dashboard.ui.text import escaped, file_name
from dashboard.ui.url_state import open_page

PARTS = {"ranking": "ranking", "probability": "probability of fit", "threshold": "Tool Attention's θ"}
MEASURES = {  # part, name, what it is
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


class Threshold(NamedTuple):
    """Tool Attention's θ: in use, fitted, and whether the fit was taken."""

    today: float
    fitted: float
    taken: bool


def measures_table(report: Mapping[str, Any], key: str) -> None:
    """Draw the table and the line about Tool Attention's threshold."""
    table(measures_frame(report), (Column("95 % interval of the change", width=180),), key=key)
    theta = threshold_of(report)
    if theta is not None:
        end = "taken" if theta.taken else "not taken"
        st.caption(f"Tool Attention's threshold θ: {theta.today:.2f} in use, {theta.fitted:.2f} fitted, {end}.")


def measures_frame(report: Mapping[str, Any]) -> pd.DataFrame:
    """Returns one row for each measure, with four decimals. Missing and unusable numbers are left out."""
    found = {**_part(report, "measures"), "f1": _part(report, "threshold").get("f1")}
    accepted = report.get("accepted")
    taken = [str(part) for part in accepted] if isinstance(accepted, list) else []
    rows: list[tuple[str, ...]] = []
    for name, (part, title) in MEASURES.items():
        change = found.get(name)
        numbers = [number(change, column) for column in ("before", "after", "low", "high")]
        before, after, low, high = numbers
        if before is None or after is None or low is None or high is None:
            continue
        rows.append(
            (
                PARTS[part], title, f"{before:.4f}", f"{after:.4f}", units.plain(after - before, 4, signed=True),
                f"{units.plain(low, 4, signed=True)} to {units.plain(high, 4, signed=True)}", "✓ taken" if part in taken else "unchanged",
            )
        )  # fmt: skip
    columns = ["part", "measure", "before", "after", "change", "95 % interval of the change", "outcome"]
    return pd.DataFrame(rows, columns=columns)


def threshold_of(report: Mapping[str, Any]) -> Threshold | None:
    """Returns θ of a report, or None."""
    part = _part(report, "threshold")
    today, fitted = number(part, "today"), number(part.get("best"), "theta")
    return None if today is None or fitted is None else Threshold(today, fitted, part.get("accepted") is True)


def parts_taken(report: Mapping[str, Any]) -> str:
    """Returns the parts that were taken."""
    accepted = report.get("accepted")
    return ", ".join(PARTS[part] for part in PARTS if isinstance(accepted, list) and part in accepted)


def _part(report: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = report.get(name)
    return found if isinstance(found, dict) else {}


def number(found: object, name: str) -> float | None:
    """Returns a finite number of a JSON object, or None."""
    value = found.get(name) if isinstance(found, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


TURN = "catalog:calibration.imported"
SHOWN = 30


def kept_calibrations(app: App, catalog: Catalog, active: Calibration | None) -> None:
    """List the shipped calibration and all kept ones, newest first, with switches."""
    kept = app.calibrations.of_catalog(catalog.name)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("##### Calibrations", width="content")
        st.space("stretch")
        st.button(
            "Undo", key="catalog.calibration.undo", icon=":material/undo:", on_click=_undo, args=(app, catalog.name),
            disabled=not app.calibrations.can_undo(catalog.name), help="Back to the calibration before the last switch.",
        )  # fmt: skip
        with st.popover("Import", icon=":material/upload_file:"):
            _import(app, catalog.name)
    texts = catalog_fingerprint(catalog)
    _row(app, catalog.name, None, texts, on=active is None)
    for calibration in kept[:SHOWN]:
        _row(app, catalog.name, calibration, texts, on=active is not None and calibration.id == active.id)
    if len(kept) > SHOWN:
        st.caption(f"The {SHOWN} newest of {len(kept):,}; `wayfare calibrate --list` has them all.")


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
                st.button("Switch on", key=f"{key}.on", on_click=_apply, args=(app, catalog, name))
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
    st.file_uploader(
        "An exported file", type=["json"], key=key, on_change=_read, args=(app, catalog, key), max_upload_size=50
    )
    st.caption("The calibration keeps its name and is not switched on.")


def _read(app: App, catalog: str, key: str) -> None:
    file = st.session_state.get(key)
    if file is None:
        return
    st.session_state[TURN] += 1  # an empty uploader for the next file
    with state.errors_shown():
        found = app.calibrations.import_file(file.getvalue(), source=file.name, catalog=catalog, by=labeller("file"))
        state.say(f"Calibration {found.name} is kept. Switch it on to use it.")


def _apply(app: App, catalog: str, name: str) -> None:
    with state.errors_shown():
        app.calibrations.apply(name, catalog=catalog, by=labeller())


def _undo(app: App, catalog: str) -> None:
    with state.errors_shown():
        app.calibrations.undo(catalog, by=labeller())
