"""Judgment sets: import and export."""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.domain.errors import WayfareError
from core.lab.judgments import Format
from dashboard.ui.judging import set_and_judge
from dashboard.ui.text import escaped, file_name

TAKEN = "lab:judgments-taken"
FORMATS: dict[Format, tuple[str, str]] = {
    "jsonl": ("JSON Lines: every judgment", "jsonl"),
    "csv": ("CSV: every judgment", "csv"),
    "tasks": ("labelled tasks to measure routers", "tasks.jsonl"),
}


def judgments_view(app: App, catalog: str) -> None:
    """Draw the choice of a set, and its files."""
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    set_name, judge = set_and_judge(row, app, catalog, "lab")
    st.caption(
        "*grade…* on Decision, Compare and Call grades a tool for the sub-task. A set measures routers: choose it as tasks. Of several "
        "judges the median counts. A sub-task without a tool above grade 0 is left out, because the other tools were not judged."
    )
    columns = st.grid(2, min_column_width=360, gap="medium")
    with columns.cell():
        _import(app, catalog, set_name, judge)
    with columns.cell():
        _export(app, catalog, set_name)


def _import(app: App, catalog: str, set_name: str, judge: str) -> None:
    file = st.file_uploader(
        "Judgments: JSON Lines or CSV", key="lab:judgments-file",
        help='JSON Lines: {"subtask": "read a file", "tool": "server::tool", "grade": 3, "judge": "ann"}. CSV: the same names in its '
        "first line.",
    )  # fmt: skip
    st.caption(
        f"The judgments go into “{escaped(set_name, 60)}”. Those without a judge count as those of {escaped(judge, 60)}."
    )
    st.button(
        "Import", key="lab:judgments-import", icon=":material/upload:", disabled=file is None, on_click=_taken,
        help="Choose a file first." if file is None else None,
        args=(app, catalog, set_name, judge, b"" if file is None else file.getvalue(), "" if file is None else file.name),
    )  # fmt: skip
    said: tuple[bool, str] | None = st.session_state.pop(TAKEN, None)
    if said is not None:
        (st.success if said[0] else st.error)(said[1])


def _taken(app: App, catalog: str, set_name: str, judge: str, data: bytes, name: str) -> None:
    try:
        found = app.judgments.import_(data, source=name, catalog=catalog, set_name=set_name, judge=judge)
    except WayfareError as error:
        st.session_state[TAKEN] = (False, f"Nothing was imported. {escaped(str(error), 400)}")
        return
    absent = f" {found.not_in_catalog:,} are for tools that are not in the catalog." if found.not_in_catalog else ""
    st.session_state[TAKEN] = (True, f"{found.added:,} judgments added, {found.known:,} known.{absent}")


def _export(app: App, catalog: str, set_name: str) -> None:
    if set_name not in app.judgments.sets(catalog):
        st.caption("There are no judgments in this set yet.")
        return
    form: Format = st.selectbox(
        "Export as", list(FORMATS), key="lab:judgments-format", format_func=lambda one: FORMATS[one][0]
    )
    st.download_button(
        "Download judgments", app.judgments.export(catalog, set_name, form), icon=":material/download:",
        file_name=file_name(f"{set_name}.{FORMATS[form][1]}", "judgments"), mime="text/plain", key="lab:judgments-save",
        on_click="ignore",
    )  # fmt: skip
