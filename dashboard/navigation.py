"""The views of the console in three groups, and the bar that leads to them from every view.

The page host has a top bar of its own. It hides what is in its menus, and in a narrow window it folds everything away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from types import ModuleType

import streamlit as st

from core.domain.people import person
from core.domain.untrusted_text import visible
from dashboard.page_host import StreamlitPage
from dashboard.ui.frame import ask
from dashboard.ui.question import Question
from dashboard.ui.url_state import page_of, register

LAST = "navigation:last"  # the view that was seen last, by group


@dataclass(frozen=True, slots=True)
class View:
    """A view. Its `folder` of dashboard/pages is its address, too."""

    folder: str
    title: str
    icon: str


VIEWS: Mapping[str, tuple[View, ...]] = {
    "Ask": (
        View("route", "Decision", "alt_route"), View("whatif", "What if", "tune"), View("compare", "Compare", "compare_arrows"),
        View("map", "Map", "scatter_plot"), View("call", "Call", "play_arrow"), View("agent", "Agent", "conversion_path"),
    ),
    "Measure": (View("lab", "Lab", "science"), View("network", "Network", "network_check"), View("papers", "Papers", "article")),
    "Operate": (
        View("catalog", "Catalog", "inventory_2"), View("govern", "Govern", "shield_person"), View("activity", "Activity", "timeline"),
        View("setup", "Setup", "cable"),
    ),
}  # fmt: skip
FIRST = "route"


def group_of(folder: str) -> str:
    """Returns the group of a view.

    >>> group_of("whatif"), group_of("govern")
    ('Ask', 'Operate')
    """
    return next(group for group, views in VIEWS.items() if folder in {view.folder for view in views})


@dataclass(frozen=True, slots=True)
class Chosen:
    folder: str
    title: str
    draw: Callable[[], None]


def choose_view() -> Chosen:
    questions = list[Question]()  # drawn outside the page, because the host keeps what the console's script draws
    pages = register({view.folder: _page(view, questions) for views in VIEWS.values() for view in views})
    page = st.navigation(list(pages.values()), position="hidden")
    folder = page.url_path or FIRST

    def draw(*question: Question) -> None:
        questions.extend(question)
        page.run()

    return Chosen(folder, page.title, lambda: framed(folder, draw))


def framed(folder: str, draw: Callable[..., None]) -> None:
    """Draw a view, and its question above if it asks for one. Without a tool to choose, draw only the question."""
    asks = getattr(_module(folder), "ASKS", None)
    if asks is None:
        draw()
    elif (question := ask(asks)) is not None:
        draw(question)


def _module(folder: str) -> ModuleType:
    return import_module(f"dashboard.pages.{folder}.view")


def _page(view: View, questions: Sequence[Question]) -> StreamlitPage:
    """Returns a page for the page host. The modules of the view are imported when it is first shown."""
    return st.Page(
        lambda: _module(view.folder).page(*questions), title=view.title, url_path=view.folder,
        default=view.folder == FIRST,
    )  # fmt: skip


def bar(folder: str) -> None:
    """Draw the groups, and the views of the group of this view. A group leads to its last seen view."""
    group = group_of(folder)
    last = {**{name: views[0].folder for name, views in VIEWS.items()}, **st.session_state.get(LAST, {}), group: folder}
    st.session_state[LAST] = last
    with st.container(horizontal=True, gap="small", key="navigation"):
        with st.container(horizontal=True, gap="xxsmall", width="content", key="navigation-groups"):
            for name in VIEWS:
                st.page_link(page_of(last[name]), label=name)
        with st.container(horizontal=True, gap="xxsmall", width="content", key="navigation-views"):
            for view in VIEWS[group]:
                st.page_link(page_of(view.folder), label=view.title, icon=f":material/{view.icon}:")


def signed_in_bar() -> None:
    user = person()
    if user.name:
        text = f"{escape(visible(user.name))} ({', '.join(user.roles)})"
        st.html(
            f'<div class="wayfare-signed-in">{text} is signed in · <a href="./sign-out" target="_self">Sign out</a></div>'
        )
