"""Page state that survives a change of page and stands in the URL.

Widgets forget their value when their page is left, so it is stored beside them; the URL is written after the run, and
read when it was changed from outside (a shared link, the back button).
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

LAST_WRITTEN = "url:last written"  # by which page, and what


class UrlState:
    """Named texts of one page. Widget keys are `<page>.<name>`.

    Read the texts with `begin`; a widget under `key(name)` starts from its text; `end` writes the URL.
    """

    def __init__(self, page: str) -> None:
        self._page = page
        self._texts: dict[str, str] = st.session_state.setdefault(f"{page}:kept", {})

    def key(self, name: str) -> str:
        """The session key of a widget."""
        return f"{self._page}.{name}"

    def begin(self) -> dict[str, str]:
        """The current texts: from the URL where it was changed from outside, else those of the last run.

        The browser's Back opens a page with the query of the page just left: that one is for another page.
        """
        arrived = dict(st.query_params.items())
        writer, written = st.session_state.get(LAST_WRITTEN, ("", {}))
        ours = arrived == written and writer == self._page
        left_over = arrived == written and writer != self._page
        if arrived and not ours and not left_over:
            self._texts.clear()
            self._texts.update(arrived)
            st.session_state[LAST_WRITTEN] = (self._page, arrived)
            for key in [k for k in st.session_state if str(k).startswith(f"{self._page}.")]:
                del st.session_state[key]
        return dict(self._texts)

    def end(self, values: Mapping[str, str]) -> None:
        """Store these texts, and put those that are not empty into the URL."""
        texts = {name: value for name, value in values.items() if value}
        self._texts.clear()
        self._texts.update(texts)
        if dict(st.query_params.items()) != texts:
            st.query_params.from_dict(texts)
        st.session_state[LAST_WRITTEN] = (self._page, texts)
