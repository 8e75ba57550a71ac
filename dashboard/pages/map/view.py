"""The Map page: the tools of a catalog by meaning, with a decision on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core.app import App
from core.domain.catalog import Catalog
from core.domain.errors import WayfareError
from core.domain.statistics import CatalogMap
from dashboard.pages.map.charts import CONFIG, MapData, tool_map
from dashboard.pages.map.panel import MapContent, chosen_row, click, map_content, panel
from dashboard.pages.map.traces import LEAST_TIMES, MOST_POINTS, Pointed, View, drawn_edges
from dashboard.session import here
from dashboard.ui.catalog_frames import matching_rows
from dashboard.ui.chart import chart
from dashboard.ui.long_work import show_preparing
from dashboard.ui.question import Asks, Question
from dashboard.ui.table import PLAIN
from dashboard.ui.text import counted, escaped
from dashboard.ui.url_state import UrlState

CATEGORY, SERVER = "category", "server"
NO_CATEGORY = "no category"
ON = "on"
VIEW = "map:view"


@dataclass(frozen=True, slots=True)
class Display:
    """`by` is category or server. `show` is "", `category: x`, `server: x`, or words to search. `edges` tells whether tools that are
    taken for each other are joined."""

    by: str
    show: str
    edges: bool


def display_controls(state: UrlState, linked: Mapping[str, str], catalog: Catalog, *, estimated: bool) -> Display:
    """Draw the controls. Only a catalog with an estimate of *Findable* has edges."""
    kinds = [CATEGORY, SERVER] if any(server.category for server in catalog.servers) else [SERVER]
    for name, start in (("by", linked.get("by", kinds[0])), ("show", linked.get("show") or None)):
        st.session_state.setdefault(state.key(name), start)
    if st.session_state[state.key("by")] not in kinds:
        st.session_state[state.key("by")] = kinds[0]
    by = st.segmented_control(
        "Colour by", kinds, key=state.key("by"), required=True, format_func=str.capitalize,
        help="The meaning of colour and symbol. Neighbouring groups differ in colour.",
    )  # fmt: skip
    options = [f"{CATEGORY}: {name}" for name in sorted({s.category for s in catalog.servers if s.category})]
    options += [f"{SERVER}: {server.name}" for server in catalog.servers[:PLAIN]]  # of others, words find the tools
    show = st.selectbox(
        "Highlight", options, key=state.key("show"), index=None, accept_new_options=True, width=330,
        placeholder="Everything. Choose, or enter words",
        help="A category, a server, or words of names and descriptions. All other tools turn grey.",
    )  # fmt: skip
    st.session_state.setdefault(state.key("edges"), linked.get("edges") == ON)
    edges = st.toggle(
        "Confused tools", key=state.key("edges"), disabled=not estimated,
        help="Joins tools of which one is found in the other's place, as the example requests tell."
        if estimated else "Nothing is estimated for this catalog yet: *Findable* on the Catalog page does it.",
    )  # fmt: skip
    return Display(by or kinds[0], show or "", edges and estimated)


def groups(catalog: Catalog, by: str) -> list[str]:
    """Returns the group of each tool (T,)."""
    if by == SERVER:
        return [tool.server for tool in catalog.tools]
    of_server = {server.name: server.category or NO_CATEGORY for server in catalog.servers}
    return [of_server[tool.server] for tool in catalog.tools]


def highlighted(catalog: Catalog, show: str) -> NDArray[np.bool_]:
    """Returns the highlighted tools (T,), all without a choice."""
    kind, _, name = show.partition(": ")
    if kind in {CATEGORY, SERVER} and name:
        return np.array([group == name for group in groups(catalog, kind)], dtype=bool)
    lit = np.zeros(len(catalog.tools), dtype=bool)
    lit[matching_rows(catalog, show)] = True
    return lit


POLL_S = 0.2
START_S, EACH_THOUSAND_S, EACH_FURTHER_THOUSAND_S = 1.5, 1.6, 0.04  # on one core: tools that are arranged, and others


def ready_map(app: App, catalog: str) -> CatalogMap:
    """Returns the map, and shows progress while it is made. Raises WayfareError if the catalog cannot be prepared."""
    show_preparing(app, catalog)
    job = app.background.start(
        f"map of {catalog}", lambda _: app.maps.map(catalog), title=f"Map of {catalog}", link=here()
    )
    tools, place, embedded_s = len(app.catalogs.catalog(catalog).tools), st.empty(), 0.0
    while not job.wait(POLL_S):
        if (step := app.startup.step) is not None and step.total:  # the texts of a map that have no vector yet
            embedded_s = job.elapsed_s
            place.progress(step.done / step.total, f"{step} {LEAVE}")
        else:
            place.progress(*_progress(tools, app.maps.landmarks(tools) or tools, job.elapsed_s - embedded_s))
    place.empty()
    app.background.forget(job)
    drawn: CatalogMap = job.future.result()
    return drawn


LEAVE = "You can leave this page meanwhile."


def _progress(tools: int, arranged: int, elapsed_s: float) -> tuple[float, str]:
    """Returns the estimated share of progress, and a sentence.

    >>> _progress(100_000, 2000, 4.31)
    (0.5, 'Drawing the map of 100,000 tools for the first time: 4 s of about 9 s. You can leave this page meanwhile.')
    >>> _progress(1_000, 1000, 9.0)[1]
    'Drawing the map of 1,000 tools for the first time: 9 s, usually 3 s. You can leave this page meanwhile.'
    """
    expected_s = START_S + (EACH_THOUSAND_S * arranged + EACH_FURTHER_THOUSAND_S * (tools - arranged)) / 1000
    usual = f"s of about {expected_s:.0f} s" if elapsed_s <= expected_s else f"s, usually {expected_s:.0f} s"
    return min(round(elapsed_s / expected_s, 2), 0.95), (
        f"Drawing the map of {tools:,} tools for the first time: {elapsed_s:.0f} {usual}. {LEAVE}"
    )


ASKS = Asks("map", of_answer=("tool", "other"))


def page(question: Question) -> None:
    """Draw the view. Its panel writes the URL."""
    app, state, query, texts = question.app, question.state, question.query, question.texts
    try:
        catalog, (found, current) = app.catalogs.catalog(query.catalog), app.findable.latest(query.catalog)
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            display = display_controls(state, question.linked, catalog, estimated=found is not None)
        drawn = ready_map(app, query.catalog)
        shown = {"by": display.by, "show": display.show, "edges": ON if display.edges else ""}
        content = map_content(app, query, question.parameters, texts, shown)
        content = replace(content, found=found if display.edges else None)
    except WayfareError as error:
        state.end(texts, question=texts)
        st.error(escaped(str(error)), icon=":material/error:")
        return
    grid = st.grid(3, min_column_width=390, gap="small")
    with grid.cell(column_span=2):
        _chart(drawn, content, display, question.linked)
        if display.edges and not current:
            st.caption(
                ":orange[The catalog, its requests or its equal sets have changed since the estimate of confused tools.]"
            )
    with grid.cell():
        panel(app, state, content)


def _chart(drawn: CatalogMap, content: MapContent, display: Display, linked: Mapping[str, str]) -> None:
    catalog, lit = content.catalog, highlighted(content.catalog, display.show)
    pairs = content.found.confused(LEAST_TIMES) if content.found is not None else ()
    shown = {tool.id for tool, here in zip(catalog.tools, lit.tolist(), strict=True) if here} if pairs else set[str]()
    edges = drawn_edges(pairs, shown)
    of, told = st.session_state.get(VIEW, ("", None))
    view = View.of(told if of == catalog.name else None)
    data = MapData(
        drawn, catalog, groups(catalog, display.by), content.statistics.tools.price_usd, lit, content.decision,
        content.place, chosen_row(catalog, linked), edges, view,
    )  # fmt: skip
    chart(
        tool_map(data),
        key="map:chart",
        choose=click,
        config=CONFIG,
        seen=_look if data.points.dense else None,
        view=view,
    )
    st.session_state[VIEW] = (catalog.name, view)
    if data.points.dense:
        st.caption(density_words(data.points, len(catalog.tools)))
    if display.edges:
        st.caption(
            f"{len(edges):,} of {len(pairs):,} pairs are joined of which at least {LEAST_TIMES} requests find the wrong tool. Point at the "
            "middle of a line, or click it."
        )
    if display.show:
        st.caption(f"{int(lit.sum()):,} of {len(lit):,} tools are highlighted; the others are grey.")
    if drawn.landmarks is not None:
        st.caption(
            f"Arranged are {drawn.landmarks:,} tools, drawn by chance, because arranging all would take minutes. Each other tool lies among "
            "the ones that it is most similar to by name and description, so the map tells groups, and lists tell what is nearest."
        )
    near = (
        f": of the ten nearest tools of a tool, {drawn.kept:.0%} are among its ten nearest on the map"
        if len(drawn.ids) > 11
        else ""
    )
    st.caption(
        f"Distances on the map are approximate{near}. Lists have the exact similarities. The axes have no meaning. Scroll to zoom, drag to "
        "move."
    )


def _look(view: object) -> None:
    """Keep the part of the map that came into sight."""
    of, _ = st.session_state[VIEW]
    st.session_state[VIEW] = (of, view)


def density_words(points: Pointed, tools: int) -> str:
    """Returns what is drawn as points and how to see others, in one sentence.

    >>> density_words(Pointed(np.arange(3), 40_000, dense=True), 100_000)
    'Colour says how many of 100,000 tools lie at a place. Zoom in: 2,000 or fewer in sight become points that can be clicked; now 40,000 are.'
    """
    if points.in_sight <= MOST_POINTS:
        return f"{counted(points.in_sight, 'tool')} in sight {'is a point' if points.in_sight == 1 else 'are points'}; colour says how many lie at a place."
    return (
        f"Colour says how many of {tools:,} tools lie at a place. Zoom in: {MOST_POINTS:,} or fewer in sight become points that can be clicked; "
        f"now {points.in_sight:,} are."
    )
