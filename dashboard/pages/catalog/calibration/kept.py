"""The calibrations of a catalog: which one is in force, switching, one step back, and files out and in.

Owns the keys `catalog.calibration.kept*` and `catalog:calibration.imported`.
"""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.domain.catalog import Catalog
from core.domain.feedback import Calibration, catalog_fingerprint
from core.shared.errors import WayfareError
from dashboard.pages.catalog import state
from dashboard.pages.catalog.calibration.measures import HELP, measures_table, number, parts_taken
from dashboard.ui.labels import labeller
from dashboard.ui.navigation import open_page
from dashboard.ui.text import escaped, file_name

TURN = "catalog:calibration.imported"
SHOWN = 30


def kept_calibrations(app: App, catalog: Catalog, active: Calibration | None) -> None:
    """What decisions can use: what Wayfare comes with, and every calibration, newest first."""
    kept = app.calibrations.of_catalog(catalog.name)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("##### Calibrations", width="content")
        st.space("stretch")
        st.button(
            "Undo", key="catalog.calibration.undo", icon=":material/undo:", on_click=_undo, args=(app, catalog.name),
            disabled=not app.calibrations.can_undo(catalog.name), help="Back to what was in force before the last switch.",
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
        return "what Wayfare comes with; labels still count"
    words = [f"{calibration.labels:,} labelled sub-tasks", f"{calibration.at:%Y-%m-%d %H:%M}"]
    words += [parts] if (parts := parts_taken(calibration.report)) else []
    words += ["from a file"] if calibration.origin == "file" else []
    words += ["fitted to other tools or texts"] if calibration.catalog_fingerprint != texts else []
    return escaped(" · ".join(words))


def _export(app: App, calibration: Calibration, key: str) -> None:
    st.download_button(
        "Export",
        data=lambda: app.calibrations.export(calibration.catalog, calibration.name),
        file_name=f"{file_name(calibration.name, 'calibration')}.json",
        mime="application/json",
        key=f"{key}.export",
        icon=":material/download:",
        on_click="ignore",
    )


def _details(calibration: Calibration, key: str) -> None:
    theta = number(calibration.values, "theta")
    with st.expander("Before and after, on held-back folds", key=f"{key}.details"):
        st.caption(HELP)
        measures_table(calibration.report, f"{key}.measures")
        if theta is None:
            return
        st.caption(
            "θ is a knob of Tool Attention, which switching on does not move: this opens the Route page with it."
        )
        if st.button(f"Route with Tool Attention at θ = {theta:.2f}", key=f"{key}.theta", icon=":material/alt_route:"):
            open_page("route", catalog=calibration.catalog, router="tool_attention", theta=f"{theta:g}")


def _import(app: App, catalog: str) -> None:
    turn = st.session_state.setdefault(TURN, 0)
    key = f"catalog.calibration.kept.file.{turn}"
    st.file_uploader(
        "A file that Export wrote",
        type=["json"],
        key=key,
        on_change=_read,
        args=(app, catalog, key),
        max_upload_size=50,
    )
    st.caption("It is kept under the name that it has, and not switched on.")


def _read(app: App, catalog: str, key: str) -> None:
    file = st.session_state.get(key)
    if file is None:
        return
    st.session_state[TURN] += 1  # an empty uploader for the next file
    try:
        found = app.calibrations.import_file(file.getvalue(), source=file.name, catalog=catalog, by=labeller("file"))
    except WayfareError as error:
        state.say(str(error), done=False)
        return
    state.say(f"Calibration {found.name} is kept; switch it on where you want it.")


def _apply(app: App, catalog: str, name: str) -> None:
    try:
        app.calibrations.apply(name, catalog=catalog, by=labeller())
    except WayfareError as error:
        state.say(str(error), done=False)


def _undo(app: App, catalog: str) -> None:
    try:
        app.calibrations.undo(catalog, by=labeller())
    except WayfareError as error:
        state.say(str(error), done=False)
