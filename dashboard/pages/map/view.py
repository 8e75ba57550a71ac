"""The Map page: a catalog's tools in two dimensions, the sub-task and its candidates among them, neighbours on click."""

from __future__ import annotations

import streamlit as st

from core.domain.map import CatalogMap
from core.shared.errors import WayfareError
from dashboard.pages.map.charts.base import MapData
from dashboard.pages.map.charts.tool_map import CONFIG, tool_map
from dashboard.pages.map.display import Display, display_controls, groups, highlighted
from dashboard.pages.map.panel import chosen_row, click, panel
from dashboard.pages.map.progress import ready_map
from dashboard.pages.map.query import MapContent, linked_parameters, map_content, query_texts
from dashboard.session import current_app, first_catalog
from dashboard.ui.chart import chart
from dashboard.ui.navigation import open_page
from dashboard.ui.query_form import query_row
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState


def page() -> None:
    """Draw the page from the URL's state; the panel writes the state back."""
    app, state = current_app(), UrlState("map", asks=True, of_answer=("tool",))
    linked = state.begin()
    query = query_row(app, state, linked, first_catalog())
    parameters = linked_parameters(app, query, linked)
    texts = query_texts(query, parameters)
    try:
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            display = display_controls(state, linked, app.catalogs.catalog(query.catalog))
            st.space("stretch")
            if st.button("Open in Route", icon=":material/alt_route:", key="map:route"):
                open_page("route", **texts)
        drawn = ready_map(app, query.catalog)
        content = map_content(app, query, parameters, texts, {"by": display.by, "show": display.show})
    except WayfareError as error:
        state.end(texts, question=texts)
        st.error(escaped(str(error)), icon=":material/error:")
        return
    if not drawn.ids:
        state.end(content.texts, question=content.question)
        _no_tools(query.catalog)
        return
    grid = st.grid(3, min_column_width=390, gap="small")
    with grid.cell(column_span=2):
        _chart(drawn, content, display, linked.get("tool", ""))
    with grid.cell():
        panel(app, state, content)


def _chart(drawn: CatalogMap, content: MapContent, display: Display, linked_tool: str) -> None:
    catalog, lit = content.catalog, highlighted(content.catalog, display.show)
    figure = tool_map(
        MapData(
            drawn,
            catalog,
            groups(catalog, display.by),
            content.statistics.tools.price_usd,
            lit,
            content.decision,
            content.place,
            chosen_row(catalog, linked_tool),
        )
    )
    chart(figure, key="map:chart", choose=click, config=CONFIG)
    if display.show:
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
