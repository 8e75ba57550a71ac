"""Files to upload or text to paste, read once for as long as they stay the same."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from core.app import App
from dashboard.pages.catalog.imports.documents import PASTED, Document, Reading, fingerprint, read_documents
from dashboard.ui.text import escaped

WAY, FILES, TEXT, READ = "catalog.import.way", "catalog.import.files", "catalog.import.text", "catalog:import.read"
UPLOAD, PASTE = "Upload files", "Paste text"
PROBLEMS_SHOWN = 500


class Read(NamedTuple):
    """Documents by their fingerprint with what they gave; remembered while the dialog is open."""

    mark: str
    documents: tuple[Document, ...]
    reading: Reading


def source_widgets(app: App, placeholder: str) -> Read | None:
    """Let the operator hand documents over; None while there are none."""
    way = st.segmented_control(
        "From", (UPLOAD, PASTE), default=UPLOAD, key=WAY, required=True, label_visibility="collapsed"
    )
    documents = _pasted(placeholder) if way == PASTE else _uploaded()
    if not documents:
        st.session_state.pop(READ, None)
        return None
    mark = fingerprint(documents)
    known: Read | None = st.session_state.get(READ)
    if known is None or known.mark != mark:
        with st.spinner("Reading and checking every entry…", show_time=True):
            known = Read(mark, documents, read_documents(app, documents))
        st.session_state[READ] = known
    return known


def problems(reading: Reading) -> None:
    """Why documents were not taken: one sentence, and the list to unfold."""
    st.error(escaped(reading.sentence, 600), icon=":material/error:")
    if len(reading.problems) > 1:
        with st.expander(f"All {len(reading.problems):,} problems"):
            st.text("\n".join(f"• {problem[:600]}" for problem in reading.problems[:PROBLEMS_SHOWN]))
            if len(reading.problems) > PROBLEMS_SHOWN:
                st.caption(f"The first {PROBLEMS_SHOWN} are listed; the others show once these are mended.")


def _uploaded() -> tuple[Document, ...]:
    files = st.file_uploader(
        "Files", type=["json", "jsonc", "toml"], accept_multiple_files=True, key=FILES, label_visibility="collapsed"
    )
    return tuple(Document(file.name, file.getvalue()) for file in files)


def _pasted(placeholder: str) -> tuple[Document, ...]:
    text = st.text_area("Text", key=TEXT, height=190, placeholder=placeholder, label_visibility="collapsed")
    st.button("Check it", icon=":material/fact_check:", key="catalog.import.check")
    return (Document(PASTED, text),) if text.strip() else ()
