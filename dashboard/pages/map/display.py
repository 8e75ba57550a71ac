"""How the map is displayed: what colours mean, and which tools are highlighted. Owns the keys `map.by` and `map.show`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from dashboard.ui.catalog_frames import matching, tool_text
from dashboard.ui.url_state import UrlState

CATEGORY, SERVER = "category", "server"
NO_CATEGORY = "no category"


@dataclass(frozen=True, slots=True)
class Display:
    """`by` is category or server; `show` is empty, `category: x`, `server: x`, or words to look for."""

    by: str
    show: str


def display_controls(state: UrlState, linked: Mapping[str, str], catalog: Catalog) -> Display:
    """The two controls."""
    kinds = [CATEGORY, SERVER] if any(server.category for server in catalog.servers) else [SERVER]
    for name, start in (("by", linked.get("by", kinds[0])), ("show", linked.get("show") or None)):
        st.session_state.setdefault(state.key(name), start)
    if st.session_state[state.key("by")] not in kinds:
        st.session_state[state.key("by")] = kinds[0]
    by = st.segmented_control(
        "Colour by", kinds, key=state.key("by"), required=True, format_func=str.capitalize,
        help="Colour and symbol of a tool. Next to each other on the map, groups differ in colour.",
    )  # fmt: skip
    options = [f"{CATEGORY}: {name}" for name in sorted({s.category for s in catalog.servers if s.category})]
    options += [f"{SERVER}: {server.name}" for server in catalog.servers]
    show = st.selectbox(
        "Highlight", options, key=state.key("show"), index=None, accept_new_options=True, width=330,
        placeholder="Everything. Choose, or type words to look for",
        help="A category, a server, or any words of names and descriptions; all other tools turn grey.",
    )  # fmt: skip
    return Display(by or kinds[0], show or "")


def groups(catalog: Catalog, by: str) -> list[str]:
    """The group of each tool (T,)."""
    if by == SERVER:
        return [tool.server for tool in catalog.tools]
    of_server = {server.name: server.category or NO_CATEGORY for server in catalog.servers}
    return [of_server[tool.server] for tool in catalog.tools]


def highlighted(catalog: Catalog, show: str) -> NDArray[np.bool_]:
    """Which tools are highlighted (T,); all where nothing is named."""
    kind, _, name = show.partition(": ")
    if kind in {CATEGORY, SERVER} and name:
        return np.array([group == name for group in groups(catalog, kind)], dtype=bool)
    return np.array(matching(map(tool_text, catalog.tools), show), dtype=bool)
