"""The Map page: a catalog's tools in two dimensions, the sub-task and its candidates among them, neighbours on click."""

from __future__ import annotations

import streamlit as st

from core.domain.map import CatalogMap
from core.errors import WayfareError
from dashboard.charts.map_base import Shown
from dashboard.charts.tool_map import CONFIG, tool_map
from dashboard.pages import open_page
from dashboard.session import console, first_catalog
from dashboard.widgets.chart import chart
from dashboard.widgets.map_look import Look, groups, highlighted, look
from dashboard.widgets.map_panel import chosen_row, click, panel
from dashboard.widgets.map_question import Seen, parameters, question_texts, seen
from dashboard.widgets.map_wait import ready_map
from dashboard.widgets.question import question
from dashboard.widgets.text import escaped
from dashboard.widgets.url_state import UrlState


def page() -> None:
    """Draw the page from the URL's state; the panel writes the state back."""
    opened, state = console(), UrlState("map")
    kept = state.begin()
    asked = question(opened, state, kept, first_catalog())
    chosen = parameters(opened, asked, kept)
    texts = question_texts(asked, chosen)
    try:
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            looking = look(state, kept, opened.library.catalog(asked.catalog))
            st.space("stretch")
            if st.button("Open in Route", icon=":material/alt_route:", key="map:route"):
                open_page("route", **texts)
        drawn = ready_map(opened, asked.catalog)
        shown = seen(opened, asked, chosen, {**texts, "by": looking.by, "show": looking.show})
    except WayfareError as error:
        state.end(texts)
        st.error(escaped(str(error)), icon=":material/error:")
        return
    if not drawn.ids:
        state.end(shown.texts)
        _no_tools(asked.catalog)
        return
    grid = st.grid(3, min_column_width=390, gap="small")
    with grid.cell(column_span=2):
        _chart(drawn, shown, looking, kept.get("tool", ""))
    with grid.cell():
        panel(opened, state, shown)


def _chart(drawn: CatalogMap, shown: Seen, looking: Look, linked: str) -> None:
    catalog, lit = shown.catalog, highlighted(shown.catalog, looking.show)
    figure = tool_map(
        Shown(
            drawn,
            catalog,
            groups(catalog, looking.by),
            shown.statistics.tools.price_usd,
            lit,
            shown.decision,
            shown.place,
            chosen_row(catalog, linked),
        )
    )
    chart(figure, key="map:chart", choose=click, config=CONFIG)
    if looking.show:
        st.caption(f"{int(lit.sum()):,} of {len(lit):,} tools are highlighted; the others are grey.")
    st.caption(
        "Distances on the map are approximate, the lists have the exact similarities: of a tool's ten nearest, "
        f"{drawn.kept:.0%} are among its ten nearest here. The axes mean nothing. Scroll to zoom, drag to move."
    )


def _no_tools(catalog: str) -> None:
    st.info(
        f"Catalog {escaped(catalog, 80)} has no tools yet, so there is nothing to draw.", icon=":material/inventory_2:"
    )
    if st.button("Open the Catalog page", key="map:empty"):
        open_page("catalog", catalog=catalog)
