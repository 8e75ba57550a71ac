"""Fields of the Lab page that begin with what a link says, and keep a usable value when their options change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard.ui.url_state import UrlState


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
    """One of several; `start` where neither the session nor the link has one of them, by default the first."""
    key = state.key(name)
    if st.session_state.get(key) not in options:
        wanted = linked.get(name, start)
        st.session_state[key] = wanted if wanted in options else start if start in options else options[0]
    return where.selectbox(label, options, key=key, format_func=show, width=width, help=note)


def choose_some(
    state: UrlState,
    linked: Mapping[str, str],
    name: str,
    label: str,
    options: Sequence[str],
    *,
    start: Sequence[str] = (),
    show: Callable[[str], str] = str,
    most: int | None = None,
    note: str | None = None,
) -> tuple[str, ...]:
    """Some of several, in the link parted by commas; those that are no option are left out."""
    key = state.key(name)
    wanted: Sequence[str] = st.session_state.get(key, linked[name].split(",") if linked.get(name) else start)
    st.session_state[key] = [one for one in wanted if one in options][:most]
    return tuple(st.multiselect(label, options, key=key, format_func=show, max_selections=most, help=note))
