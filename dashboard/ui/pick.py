"""A choice among many names: a search on the server's side sends the browser a few of them, not all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import streamlit as st

from dashboard.ui.catalog_frames import matching
from dashboard.ui.text import escaped

PLAIN = 1_000  # so many names are sent as a whole
FOUND = 50  # names that a search sends


def pick(
    label: str,
    names: Collection[str],
    *,
    key: str,
    first: Sequence[str] = (),
    show: Callable[[str], str] = str,
    changed: Callable[..., None] | None = None,
    args: tuple[Any, ...] = (),
    placeholder: str = "Type a part of a name",
    **look: Any,
) -> str | None:
    """Draw a choice and return the chosen name, or None. `changed` is called after a choice, with `args`.

    Up to `PLAIN` names are one list. Of more, the browser gets those of `first`, and the first `FOUND` that have the typed words.
    `names` is a dictionary's keys or a set where it is long.
    """
    if len(names) <= PLAIN:
        options = list(dict.fromkeys([*first, *names]))
        return st.selectbox(
            label, options, index=None, key=key, format_func=show, placeholder=placeholder, on_change=changed, args=args,
            **look,
        )  # fmt: skip
    words = st.session_state.get(f"{key}:words", "")
    chosen: str = st.session_state.get(key) or ""
    found, more = matches(names, words)
    kept: list[str] = [chosen] if chosen in names else []
    options: list[str] = list(dict.fromkeys([*kept, *(first if not words else ()), *found]))
    picked: str | None = st.selectbox(
        label, options, index=None, key=key, format_func=show, placeholder=f"Enter words to search {len(names):,} names",
        accept_new_options=True, on_change=_chosen, args=(key, names, first, changed, args), **look,
    )  # fmt: skip
    if words:
        said = f"{len(found):,}{' or more' if more else ''}" if found else "None"
        st.caption(
            f"{said} of {len(names):,} names have “{escaped(words, 80)}”. Choose one in the list, or enter other words."
        )
    return picked


def matches(names: Collection[str], words: str) -> tuple[list[str], bool]:
    """Returns the first `FOUND` names that have these words, and whether there are more.

    >>> matches(["files::read", "mail::send"], "READ")
    (['files::read'], False)
    """
    found: list[str] = []
    for name in names:
        if matching([name], words)[0]:
            if len(found) == FOUND:
                return found, True
            found.append(name)
    return found, False


def _chosen(
    key: str, names: Collection[str], first: Sequence[str], changed: Callable[..., None] | None, args: tuple[Any, ...]
) -> None:
    """Take a name as the choice, and other words as a search. Words that only one name has choose it."""
    value: str | None = st.session_state[key]
    st.session_state[f"{key}:words"] = ""
    if value is not None and value not in names and value not in first:
        found, more = matches(names, value)
        st.session_state[f"{key}:words"] = value if len(found) != 1 or more else ""
        value = st.session_state[key] = found[0] if len(found) == 1 else None
        if value is None:
            return
    if changed is not None:
        changed(*args)
