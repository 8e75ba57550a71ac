"""Beside the map: the chosen tool with its neighbours, or what is nearest to the sub-task. Owns the key `map.tool`."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.app import App
from core.domain.catalog import Catalog
from core.importers.shipped_catalogs import starting_subtasks
from core.routers.why import why
from core.shared import units
from dashboard.pages.map.lists import COLUMNS, namesakes, nearest_frame, neighbour_frame
from dashboard.pages.map.query import MapContent
from dashboard.ui.choice_table import choice_table, table_key
from dashboard.ui.navigation import open_page
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState

PANEL, TOOL = "map:panel", "map.tool"
LONG, LONGEST = 420, 20_000
NAMED, EXAMPLES = 6, 4


def chosen_row(catalog: Catalog, linked: str) -> int | None:
    """The row of the chosen tool, which is the linked one at first; None where there is none in this catalog."""
    return catalog.tool_row.get(st.session_state.setdefault(TOOL, linked))


def click(tool: str) -> None:
    """Choose the tool of the point that was clicked, none for the sub-task's star; the map stays as it is."""
    st.session_state[TOOL] = tool
    st.rerun(PANEL)


@st.fragment(key=PANEL)
def panel(app: App, state: UrlState, content: MapContent) -> None:
    """The chosen tool, or the nearest of the sub-task, or how to begin."""
    row = chosen_row(content.catalog, "")
    chosen = "" if row is None else content.catalog.tools[row].id
    state.end({**content.texts, "tool": chosen}, question=content.question)
    if row is not None:
        _tool(app, content, row)
    elif content.decision is not None and content.place is not None:
        st.markdown("##### Nearest to the sub-task")
        st.caption(escaped(content.decision.reason, 300))
        _choose(content, nearest_frame(content.catalog, content.decision, content.place), "the sub-task")
        st.caption("Candidates first, then by similarity. Choose a row, or click a point of the map.")
    else:
        st.markdown("##### Which tools can stand in for one another?")
        st.markdown(
            "Click a point: its description, its price and its nearest tools are shown here. Type above what is needed, "
            "and the map shows where that lies and which tools the router takes."
        )
        for number, text in enumerate(starting_subtasks(content.catalog.name, EXAMPLES)):
            st.button(
                escaped(text, 90),
                key=f"map:example:{number}",
                icon=":material/north_east:",
                on_click=_ask,
                args=(state.key("q"), text),
            )


def _tool(app: App, content: MapContent, row: int) -> None:
    tool = content.catalog.tools[row]
    server = content.catalog.servers[content.catalog.server_row[tool.server]]
    title, close = st.columns([8, 1], vertical_alignment="center")
    title.markdown(f"##### {escaped(tool.name, 120)}")
    close.button(
        "", key="map:close", icon=":material/close:", help="Back to the list", on_click=_forget, type="tertiary"
    )
    st.caption(" · ".join(escaped(text, 80) for text in (tool.title, tool.server, server.category) if text))
    if tool.description.strip():
        with st.container(height=150 if len(tool.description) > LONG else "content", border=False):
            st.text(tool.description[:LONGEST])
    else:
        st.caption("The catalog says nothing about this tool: it is found by its name alone.")
    st.markdown("  ·  ".join(f":gray[{name}] **{escaped(value)}**" for name, value in _numbers(content, row)))
    if content.decision is not None:
        st.caption(escaped(why(content.decision, tool.id), 400))
    with st.container(horizontal=True, gap="small"):
        if st.button("Call", key="map:call", icon=":material/play_arrow:", type="primary"):
            open_page("call", catalog=content.catalog.name, tool=tool.id)
        if st.button("Open in catalog", key="map:catalog", icon=":material/inventory_2:"):
            open_page("catalog", catalog=content.catalog.name, view="tools", tool=tool.id)
    if others := namesakes(content.catalog, row):
        named = ", ".join(escaped(name, 60) for name in others[:NAMED])
        more = f" and {len(others) - NAMED:,} more" if len(others) > NAMED else ""
        st.warning(f"Tools of the same name: on {named}{more}.", icon=":material/content_copy:")
    found = app.maps.neighbours(content.catalog.name, tool.id)
    if found:
        st.markdown("**Nearest tools**")
        _choose(content, neighbour_frame(content.catalog, found, content.statistics.tools.price_usd), tool.id)


def _numbers(content: MapContent, row: int) -> list[tuple[str, str]]:
    numbers = [("price", units.price(float(content.statistics.tools.price_usd[row])))]
    if content.decision is None or content.place is None:
        return numbers
    return [
        *numbers,
        ("cosine with the sub-task", f"{float(content.place.cosine[row]):.3f}"),
        ("Sim", f"{float(content.decision.tools.similarity[row]):.3f}"),
    ]


def _choose(content: MapContent, frame: pd.DataFrame, about: str) -> None:
    row = choice_table(
        frame,
        {name: COLUMNS[name] for name in frame.columns},
        labels=frame.index.tolist(),
        key=table_key("map", *map(str, frame.index), about),
        chosen=None,
        about=f"Tools nearest to {about}",
    )
    if row is not None:
        st.session_state[TOOL] = content.catalog.tools[row].id
        st.rerun()  # the map marks it too


def _forget() -> None:
    st.session_state[TOOL] = ""
    st.rerun()  # the map forgets it too


def _ask(key: str, text: str) -> None:
    st.session_state[key] = text
    st.rerun()
