"""The wait for a catalog that nobody has asked yet: its texts are embedded once, and one sees how far that is."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait

import streamlit as st

from core.console import Console

TEXT = "Reading the catalog for the first time: its texts are embedded once."
LOOK_S = 0.2


def show_preparing(console: Console, catalog: str) -> None:
    """Nothing where the catalog is ready; else a bar until it is. Raises WayfareError as the catalog does.

    The work is done in the background, so that the page can be used or left meanwhile, even where another catalog is
    being embedded first; who asks again waits for the same work.
    """
    if console.library.is_prepared(catalog):
        return
    bar = st.progress(0.0, text=TEXT)
    counts: list[tuple[int, int]] = []
    pool = ThreadPoolExecutor(1, thread_name_prefix="wayfare-prepare")
    future = pool.submit(console.library.prepare, catalog, lambda done, total: counts.append((done, total)))
    pool.shutdown(wait=False)
    while not wait([future], LOOK_S).done:
        done, total = counts[-1] if counts else (0, 0)
        bar.progress(done / max(1, total), text=f"{TEXT} {done:,} of {total:,}" if total else TEXT)
    future.result()
    bar.empty()
