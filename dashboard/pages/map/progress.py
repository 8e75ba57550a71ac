"""The progress of drawing a map for the first time: in the background, so that the page can be left meanwhile."""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.domain.map import CatalogMap
from dashboard.ui.index_progress import show_preparing

POLL_S = 0.2
START_S, EACH_THOUSAND_S, MOST_S = 1.5, 1.6, 8.0  # about what one core takes


def ready_map(app: App, catalog: str) -> CatalogMap:
    """The map, at once where it was drawn before; else progress until it is. Raises WayfareError as the catalog does."""
    show_preparing(app, catalog)
    job = app.background.start(f"map of {catalog}", lambda _: app.maps.map(catalog))
    tools, place = len(app.catalogs.catalog(catalog).tools), st.empty()
    while not job.wait(POLL_S):
        place.progress(*_progress(tools, job.elapsed_s))
    place.empty()
    app.background.forget(job)
    drawn: CatalogMap = job.future.result()
    return drawn


def _progress(tools: int, elapsed_s: float) -> tuple[float, str]:
    """How far it is, by what it usually takes, and the sentence.

    >>> _progress(10_000, 4.0)
    (0.5, 'Drawing the map of 10,000 tools for the first time: 4 s of about 8 s. It goes on when you leave this page.')
    """
    expected_s = min(START_S + EACH_THOUSAND_S * tools / 1000, MOST_S)
    return min(elapsed_s / expected_s, 0.95), (
        f"Drawing the map of {tools:,} tools for the first time: {elapsed_s:.0f} s of about {expected_s:.0f} s. "
        "It goes on when you leave this page."
    )
