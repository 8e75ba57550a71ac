"""Snapshots: the states of all pages, kept under a name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pandas as pd
import streamlit as st

from core.app import App
from core.domain.errors import WayfareError
from core.domain.lab_runs import ConsoleState, Snapshot, differences
from core.domain.untrusted_text import one_line
from dashboard.session import only
from dashboard.ui.table import table
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState, pages_state, restore_pages, select

SAID = "lab:snapshot-said"
FILE = "lab:snapshot-file"
NOW = "\x00"  # never the name of a snapshot
SHOWN = ("q", "catalog", "router", "profile")


def snapshots(app: App, state: UrlState, linked: Mapping[str, str], catalog: str) -> dict[str, str]:
    _said()
    st.caption(
        "A snapshot keeps the state of every page (query, catalog, router, knobs, filters, network), the active calibrations and the "
        "saved networks. Restoring a snapshot sets all of them again. Catalogs, labels and calls do not change."
    )
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    row.text_input("Name", key="lab:snapshot-name", placeholder="before the new prices", width=300, max_chars=80)
    row.button(
        "Keep the current state", key="lab:snapshot-save", **only("tune"), icon=":material/photo_camera:", type="primary",
        on_click=_save, args=(app, catalog),
    )  # fmt: skip
    stored = app.snapshots.all()
    with st.expander("Import from a file", expanded=False):
        st.file_uploader("An exported snapshot", type="json", key=FILE, **only("tune"), on_change=_import, args=(app,))
    if not stored:
        st.info("No snapshot is kept yet. Enter a name and press the button.", icon=":material/photo_camera:")
        return {}
    frame = pd.DataFrame([_snapshot_line(snapshot) for snapshot in stored])
    table(frame, key="lab:snapshots")
    names = [snapshot.name for snapshot in stored]
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    chosen = select(row, state, linked, "snapshot", "Snapshot", names, show=lambda name: one_line(name, 60), width=260)
    key = state.key("snapshot")
    row.button("Restore", key="lab:snapshot-return", **only("tune"), icon=":material/history:", on_click=_return, args=(app, key))  # fmt: skip
    row.download_button(
        "Export", app.snapshots.export(chosen), file_name="wayfare-snapshot.json", mime="application/json", key="lab:snapshot-export",
        icon=":material/download:", on_click="ignore",
    )  # fmt: skip
    row.button("Remove", key="lab:snapshot-remove", **only("tune"), icon=":material/delete:", on_click=_remove, args=(app, key))  # fmt: skip
    with_ = select(
        st.container(), state, linked, "beside", "Compare with", [NOW, *(name for name in names if name != chosen)], width=260,
        show=lambda name: "the current state" if name == NOW else one_line(name, 60),
    )  # fmt: skip
    states = {snapshot.name: snapshot.state for snapshot in stored}
    other = app.snapshots.state(pages_state(), catalog) if with_ == NOW else states[with_]
    _compare(chosen, states[chosen], "now" if with_ == NOW else with_, other)
    return {"snapshot": chosen, "beside": "" if with_ == NOW else with_}


def _compare(name: str, state: ConsoleState, other_name: str, other: ConsoleState) -> None:
    changes = [
        difference
        for difference in differences(state, other)
        if (difference.where, difference.name) not in {("lab", "view"), ("lab", "snapshot"), ("lab", "beside")}
    ]
    if not changes:
        st.success("No differences.", icon=":material/check:")
        return
    rows = [
        {
            "page": one_line(difference.where, 40),
            "setting": one_line(difference.name, 60),
            one_line(name, 40): one_line(difference.one, 160) or "–",
            f"{one_line(other_name, 40)} ": one_line(difference.other, 160) or "–",
        }
        for difference in changes
    ]
    table(rows, key="lab:snapshot-difference")
    st.caption(
        "A dash is the default, or a page that was not visited. Catalogs are compared by their fingerprint for routing."
    )


def _snapshot_line(snapshot: Snapshot) -> dict[str, str]:
    pages = snapshot.state.pages
    values = {name: next((texts[name] for texts in pages.values() if texts.get(name)), "") for name in SHOWN}
    return {
        "name": one_line(snapshot.name, 80),
        "kept": f"{snapshot.at:%Y-%m-%d %H:%M}",
        "query": one_line(values["q"], 80) or "–",
        "catalogs": ", ".join(one_line(name, 40) for name in snapshot.state.catalogs),
        "router": values["router"] or "EHRR",
        "network": values["profile"] or "–",
        "calibrations": f"{sum(bool(text) for text in snapshot.state.calibrations.values()):,}",
        "pages": ", ".join(pages),
    }


def _save(app: App, catalog: str) -> None:
    name = st.session_state["lab:snapshot-name"]
    with _told():
        snapshot = app.snapshots.save(name, app.snapshots.state(pages_state(), catalog))
        st.session_state[SAID] = ("success", f"Kept as {snapshot.name}.")
        st.session_state["lab:snapshot-name"] = ""


@contextmanager
def _told() -> Iterator[None]:
    """Tell a WayfareError of the block in the next run."""
    try:
        yield
    except WayfareError as error:
        st.session_state[SAID] = ("error", str(error))


def _import(app: App) -> None:
    file = st.session_state[FILE]
    if file is None:
        return
    with _told():
        snapshot = app.snapshots.import_file(file.getvalue(), source=file.name)
        st.session_state[SAID] = ("success", f"Imported as {snapshot.name}.")


def _return(app: App, key: str) -> None:
    name = str(st.session_state[key])  # it may be newer than the drawn buttons
    with _told():
        state = app.snapshots.restore(name)
        restore_pages({**state.pages, "lab": {**state.pages.get("lab", {}), "view": "Snapshots", "snapshot": name}})
        remarks = " ".join(state.remarks)
        st.session_state[SAID] = ("warning" if remarks else "success", f"{name} is restored. {remarks}".strip())


def _remove(app: App, key: str) -> None:
    name = str(st.session_state[key])
    app.snapshots.remove(name)
    st.session_state[SAID] = ("success", f"{name} is removed.")


def _said() -> None:
    kind, sentence = st.session_state.pop(SAID, ("", ""))
    if kind == "error":
        st.error(escaped(sentence, 600), icon=":material/error:")
    elif kind == "warning":
        st.warning(escaped(sentence, 900), icon=":material/warning:")
    elif kind:
        st.success(escaped(sentence, 600), icon=":material/check:")
