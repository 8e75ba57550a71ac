"""Page state that survives a change of page and stands in the URL.

Widgets forget their value when their page is left, so it is stored beside them; the URL is written after the run, and
read when it was changed from outside (a shared link, the back button).
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

LAST_WRITTEN = "url:last written"  # by which page, and what
BEHIND = "url:behind"

KEPT = ":kept"


def url_may_be_behind() -> None:
    """Marks the browser's URL as outdated: call it in callbacks that may run before the browser has received the last URL."""
    st.session_state[BEHIND] = True


def pages_state() -> dict[str, dict[str, str]]:
    """What the link of each visited page says."""
    found: dict[str, dict[str, str]] = {
        str(key).removesuffix(KEPT): dict(texts) for key, texts in st.session_state.items() if str(key).endswith(KEPT)
    }
    return {page: texts for page, texts in sorted(found.items()) if texts}


def restore_pages(pages: Mapping[str, Mapping[str, str]]) -> None:
    """Have every page show what these links say; one without a link begins anew. For `on_click`."""
    for page in {*pages_state(), *pages}:
        st.session_state[f"{page}{KEPT}"] = dict(pages.get(page, {}))
        for key in [k for k in st.session_state if str(k).startswith(f"{page}.")]:
            del st.session_state[key]


class UrlState:
    """Named texts of one page. Widget keys are `<page>.<name>`.

    Read the texts with `begin`; a widget under `key(name)` starts from its text; `end` writes the URL.
    """

    def __init__(self, page: str) -> None:
        self._page = page
        self._texts: dict[str, str] = st.session_state.setdefault(f"{page}{KEPT}", {})

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
        behind = st.session_state.pop(BEHIND, False) and writer == self._page
        if arrived and not ours and not left_over and not behind:
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
        written = st.session_state.get(LAST_WRITTEN, ("", texts))[1]
        if (
            dict(st.query_params.items()) != texts or written != texts
        ):  # what the browser said may be older than what it was told
            st.query_params.from_dict(texts)
        st.session_state[LAST_WRITTEN] = (self._page, texts)
