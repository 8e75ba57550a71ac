"""Which tool of which catalog, for which decision; in the URL. Owns the keys `call.url.*`."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.console import Console
from core.domain.catalog import Catalog, Server, Tool
from core.domain.decision import Decision
from dashboard.pages import open_page
from dashboard.widgets.text import escaped
from dashboard.widgets.url_state import UrlState


@dataclass(frozen=True, slots=True)
class Target:
    """The tool on the page. `decision` is None where the page was opened without one or Wayfare was restarted since."""

    catalog: Catalog
    server: Server
    tool: Tool
    decision: Decision | None

    @property
    def key(self) -> tuple[str, str]:
        """What a call on the page belongs to."""
        return self.catalog.name, self.tool.id


def choose_target(console: Console, first_catalog: str) -> Target | None:
    """The selectors at the top of the page; None where no tool is chosen yet, and then it is said what to do."""
    state = UrlState("call.url")
    kept = state.begin()
    where, which, back = st.columns([1.3, 4.2, 1.3], vertical_alignment="bottom")
    names = [info.name for info in console.catalogs()]
    asked = kept.get("catalog", first_catalog)
    catalog = console.library.catalog(_selected(where, state.key("catalog"), names, asked, first_catalog))
    decision = _decision(console, kept.get("decision", ""), catalog.name)
    tool_id = _tool(which, state, kept.get("tool", ""), catalog, decision)
    if back.button("Back to Route", icon=":material/arrow_back:", width="stretch", key="call.back"):
        open_page("route")
    same = catalog.name == asked
    kept_decision = kept.get("decision", "") if same else ""
    state.end({"catalog": catalog.name, "tool": tool_id or "", "decision": kept_decision})
    _notes(kept, catalog, names, decision is None and kept_decision != "")
    if not catalog.tools:
        st.info(f"Catalog {escaped(catalog.name, 80)} has no tools yet.", icon=":material/inventory_2:")
        if st.button("Open the Catalog page", key="call.catalog"):
            open_page("catalog", catalog=catalog.name)
        return None
    if tool_id is None:
        st.info(
            "No tool is chosen yet: choose one above, or let the router choose it on the Route page.",
            icon=":material/touch_app:",
        )
        return None
    tool = catalog.tools[catalog.tool_row[tool_id]]
    return Target(catalog, catalog.servers[catalog.server_row[tool.server]], tool, decision)


def _selected(place: DeltaGenerator, key: str, names: list[str], asked: str, first: str) -> str:
    if st.session_state.get(key) not in names:
        st.session_state[key] = asked if asked in names else first if first in names else names[0]
    return place.selectbox("Catalog", names, key=key)


def _tool(
    place: DeltaGenerator, state: UrlState, asked: str, catalog: Catalog, decision: Decision | None
) -> str | None:
    candidates = [decision.tools.ids[row] for row in decision.candidates] if decision else []
    ranks = {name: rank for rank, name in enumerate((c for c in candidates if c in catalog.tool_row), start=1)}
    options = [*ranks, *(name for name in catalog.tool_row if name not in ranks)]
    key = state.key("tool")
    if st.session_state.get(key) not in catalog.tool_row:
        st.session_state[key] = asked if asked in catalog.tool_row else None

    def label(name: str) -> str:
        title = catalog.tools[catalog.tool_row[name]].title
        rank = f"★ {ranks[name]}  " if name in ranks else ""
        return f"{rank}{name}{f' – {title}' if title else ''}"

    return place.selectbox(
        "Tool", options, index=None, key=key, format_func=label, placeholder="Type a part of a server's or tool's name",
        help="★ marks the candidates of the decision that this page was opened from, in their order.",
    )  # fmt: skip


def _decision(console: Console, decision_id: str, catalog: str) -> Decision | None:
    decision = console.decision(decision_id) if decision_id else None
    return decision if decision is not None and decision.catalog == catalog else None


def _notes(kept: dict[str, str], catalog: Catalog, names: list[str], forgotten: bool) -> None:
    """What the link asked for and is not there."""
    asked, tool = kept.get("catalog", catalog.name), kept.get("tool", "")
    if asked not in names:
        st.warning(
            f"There is no catalog {escaped(asked, 80)}; this is {escaped(catalog.name, 80)}.",
            icon=":material/link_off:",
        )
    elif asked == catalog.name and tool and tool not in catalog.tool_row:
        st.warning(
            f"Catalog {escaped(catalog.name, 80)} has no tool {escaped(tool, 120)}; choose another.",
            icon=":material/link_off:",
        )
    if forgotten:
        st.caption(
            "The decision behind this link is no longer in memory: Wayfare was restarted, or decided much since. "
            "The call works without it."
        )
