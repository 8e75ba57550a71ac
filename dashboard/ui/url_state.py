"""The state of a page in its address, and links to pages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from urllib.parse import quote

import streamlit as st

from dashboard.page_host import DeltaGenerator, StreamlitPage, moved_in_history

LAST_WRITTEN = "url:last written"  # the page and its texts
CHANGED = "url:changed"  # the question was changed without its widgets
QUESTION = "url:question"  # sub-task, hint, catalog, router and knobs as texts

KEPT, SEEN, UNKNOWN = ":kept", ":seen", ".unknown"
SHARED = "ask"  # every view of a question uses these session keys
OF_WORDS = ("q", "hint")
ASKED = (*OF_WORDS, "catalog", "network", "at_s")  # the texts of a question but for its router and knobs
OF_QUESTION = ("q", "hint", "catalog", "router", "knob", "network")


def ask_with(setting: Mapping[str, str]) -> None:
    """Let the question of all views have this setting, beside its sub-task and hint. Takes effect in the next run of the page."""
    question = st.session_state.get(QUESTION, {})
    st.session_state[QUESTION] = {**setting, **{name: question[name] for name in OF_WORDS if name in question}}
    st.session_state[CHANGED] = True
    words = {f"{SHARED}.{name}" for name in OF_WORDS}
    for key in map(str, list(st.session_state)):
        if key.startswith(f"{SHARED}.") and ":" not in key and key not in words:
            del st.session_state[key]


def variant_text(router: str, changed: Mapping[str, object]) -> str:
    """Returns a router and its changed parameters as one text.

    >>> variant_text("ehrr", {"k": 3, "billing": "a,b~c"})
    'ehrr~k=3~billing=a%2Cb%7Ec'
    """
    return "~".join(
        [router, *(f"{name}={quote(str(value), safe='').replace('~', '%7E')}" for name, value in changed.items())]
    )


def pages_state() -> dict[str, dict[str, str]]:
    """Returns the texts of the link of each visited page."""
    pages: dict[str, dict[str, str]] = {
        str(key).removesuffix(KEPT): dict(texts) for key, texts in st.session_state.items() if str(key).endswith(KEPT)
    }
    return {page: texts for page, texts in sorted(pages.items()) if texts}


def restore_pages(pages: Mapping[str, Mapping[str, str]]) -> None:
    """Set every page to its link. A page without a link begins anew. For `on_click`."""
    st.session_state.pop(QUESTION, None)
    for page in {*pages_state(), *pages}:
        st.session_state[f"{page}{KEPT}"] = dict(pages.get(page, {}))
        _forget(page)
    _forget(SHARED)


class UrlState:
    """Named texts of one page. Widget keys are `<page>.<name>`, and `ask.<name>` for the parts of a question.

    Read the texts with `begin`; a widget under `key(name)` starts from its text; `end` writes the URL. A page that `asks` takes
    over the question of the previous page. Its texts `of_answer` are dropped with their question.
    """

    def __init__(self, page: str, *, asks: bool = False, of_answer: Collection[str] = ()) -> None:
        self._page = page
        self._asks = asks
        self._of_answer = of_answer
        self._texts: dict[str, str] = st.session_state.setdefault(f"{page}{KEPT}", {})

    def key(self, name: str) -> str:
        """The session key of a widget. Views that ask share the widgets of the question."""
        return f"{SHARED if self._asks and name in OF_QUESTION else self._page}.{name}"

    @property
    def question(self) -> dict[str, str]:
        """The question of the last page that asked."""
        return dict(st.session_state.get(QUESTION, {}))

    @property
    def begins(self) -> bool:
        """Tells whether this is the first view of the visit that asks. The values of fields may come from a page that was open when the
        console was started again: a field must take its text as a default, which leaves them."""
        return QUESTION not in st.session_state

    def begin(self) -> dict[str, str]:
        """Returns the texts of the URL if it was changed from outside, else the texts of the last run.

        While a page stays open, only Back and Forward change its URL. A press on a busy machine comes with the URL before the last.
        Back to another page comes with the query of the page just left. It is ignored here.
        """
        url_texts = dict(st.query_params.items())
        writer, last_texts = st.session_state.get(LAST_WRITTEN, ("", {}))
        same = url_texts == last_texts
        if not same and (moved_in_history() if writer == self._page else url_texts):
            self._take(url_texts)
            if self._asks:
                _forget(SHARED)
                st.session_state.pop(f"{self._page}{SEEN}", None)
            st.session_state[LAST_WRITTEN] = (self._page, url_texts)
        elif self._asks and (st.session_state.pop(CHANGED, False) or writer != self._page):
            self._follow(here=writer == self._page)
        return dict(self._texts)

    def end(self, values: Mapping[str, str], question: Mapping[str, str] | None = None) -> None:
        """Store these texts, and put the texts that are not empty into the URL. `question` goes to the other pages."""
        texts = without_empty(values)
        self._texts.clear()
        self._texts.update(texts)
        if question is not None:
            st.session_state[QUESTION] = without_empty(question)
        if self._asks:
            st.session_state[f"{self._page}{SEEN}"] = self.question
        last_texts = st.session_state.get(LAST_WRITTEN, ("", texts))[1]
        if (
            dict(st.query_params.items()) != texts or last_texts != texts
        ):  # the browser's URL may be older than the last URL that was sent
            st.query_params.from_dict(texts)
        st.session_state[LAST_WRITTEN] = (self._page, texts)

    def follow(self, question: Mapping[str, str], *, here: bool = False) -> dict[str, str]:
        """Returns the texts with this question. Drops the texts `of_answer` if the page last saw another question. If it was changed
        `here`, on this page, another catalog drops them."""
        previous = st.session_state.get(f"{self._page}{SEEN}")
        if previous is not None and without_empty(question) != previous:
            stays = here and previous.get("catalog") == question.get("catalog")
            dropped = {*previous, *(() if stays else self._of_answer)}
            rest = {name: text for name, text in self._texts.items() if name not in dropped}
            self._take({**rest, **without_empty(question)})
        return dict(self._texts)

    def _follow(self, *, here: bool) -> None:
        """Take over a question that another page asked since this page was left, or a setting that was changed `here`."""
        if QUESTION in st.session_state:
            st.session_state.setdefault(f"{self._page}{SEEN}", {})
            self.follow(self.question, here=here)

    def _take(self, texts: Mapping[str, str]) -> None:
        self._texts.clear()
        self._texts.update(texts)
        _forget(self._page)


def select(
    where: DeltaGenerator,
    state: UrlState,
    linked: Mapping[str, str],
    name: str,
    label: str,
    options: Sequence[str],
    *,
    start: str = "",
    show: Callable[[str], str] = str,
    width: int = 220,
    note: str | None = None,
) -> str:
    """Draw a choice. It begins with the session's value, else the link's, else `start`, else the first option. `unknown_choice` tells of
    a link's value that is no option, until another option is chosen."""
    key, linked_value = state.key(name), linked.get(name, start)
    usual = start if start in options else options[0]
    if st.session_state.get(key) not in options:
        st.session_state[key] = linked_value if linked_value in options else usual
        if linked_value and linked_value not in options:
            st.session_state[f"{key}{UNKNOWN}"] = f"There is no {label.lower()} {linked_value}; this is {show(usual)}."
    chosen = where.selectbox(label, options, key=key, format_func=show, width=width, help=note)
    if chosen != usual:
        st.session_state.pop(f"{key}{UNKNOWN}", None)
    return chosen


def unknown_choice(state: UrlState, name: str) -> str:
    """Returns the sentence about a link's value that is no option of this choice, or ""."""
    return st.session_state.get(f"{state.key(name)}{UNKNOWN}", "")


def segments(
    state: UrlState,
    linked: Mapping[str, str],
    name: str,
    label: str,
    options: Sequence[str],
    show: Callable[[str], str] = str,
) -> str:
    """Draw a choice as a row of buttons. It begins with the session's value, else the link's, else the first option."""
    key, linked_value = state.key(name), linked.get(name, "")
    st.session_state.setdefault(key, linked_value if linked_value in options else options[0])
    chosen = st.segmented_control(
        label, options, key=key, format_func=show, required=True, label_visibility="collapsed"
    )
    return chosen or options[0]


def _forget(page: str) -> None:
    """Delete the session keys of the widgets of a page."""
    for key in [key for key in st.session_state if str(key).startswith(f"{page}.")]:
        del st.session_state[key]


def without_empty(texts: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in texts.items() if text}


_pages: dict[str, StreamlitPage] = {}


def register(pages: Mapping[str, StreamlitPage]) -> Mapping[str, StreamlitPage]:
    _pages.update(pages)
    return pages


def page_of(name: str) -> StreamlitPage:
    return _pages[name]


def open_page(name: str, **query: str) -> None:
    """Open a page by a link with these texts; empty texts are left out."""
    st.session_state.pop(LAST_WRITTEN, None)  # the query may equal this page's query; it is a link nevertheless
    st.switch_page(page_of(name), query_params=without_empty(query))
