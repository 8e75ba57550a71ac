"""The wait for a catalog that nobody has asked yet: its texts are embedded once, and one sees how far that is."""

from __future__ import annotations

import streamlit as st

from core.console import Console

TEXT = "Reading the catalog for the first time: its texts are embedded once."


def show_preparing(console: Console, catalog: str) -> None:
    """Nothing where the catalog is ready; else a bar until it is. Raises WayfareError as the catalog does."""
    if console.library.is_prepared(catalog):
        return
    bar = st.progress(0.0, text=TEXT)

    def show(done: int, total: int) -> None:
        bar.progress(done / max(1, total), text=f"{TEXT} {done:,} of {total:,}")

    console.library.prepare(catalog, show)
    bar.empty()
