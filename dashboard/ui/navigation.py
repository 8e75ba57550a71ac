"""The pages by their URL path, so that any page can open another with its state in the URL."""

from __future__ import annotations

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from dashboard.ui.url_state import LAST_WRITTEN

_pages: list[StreamlitPage] = []


def register(*pages: StreamlitPage) -> list[StreamlitPage]:
    """Make pages known by their URL path; returns them for the navigation."""
    _pages[:] = pages
    return list(pages)


def open_page(url_path: str, **query: str) -> None:
    """Leave this page for another, with query parameters that say what to show there."""
    st.session_state.pop(LAST_WRITTEN, None)  # the query may equal the one of this page; it is a link all the same
    st.switch_page(next(page for page in _pages if (page.url_path or "route") == url_path), query_params=query)
