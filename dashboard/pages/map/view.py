"""The Map page: the tools of a catalog by meaning, with a decision on them, and a panel with the chosen tool or the nearest tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core.app import App
from core.domain import units
from core.domain.catalog import Catalog
from core.domain.decision import Decision
from core.domain.errors import UnknownNameError, WayfareError
from core.domain.statistics import CatalogMap, Neighbour, Placement, Statistics
from core.importers.shipped_catalogs import starting_queries
from core.routers.why import why
from dashboard.pages.map.charts import CONFIG, MapData, tool_map
from dashboard.pages.map.density import MOST_POINTS, Pointed, View
from dashboard.session import here
from dashboard.theme import CHOSEN_SIGN
from dashboard.ui.catalog_frames import M_USD, matching_rows
from dashboard.ui.chart import chart
from dashboard.ui.labels import asked_like_line
from dashboard.ui.long_work import show_preparing
from dashboard.ui.question import Asks, Question
from dashboard.ui.table import PLAIN, Column, choice_table, frame_of, table_key
from dashboard.ui.text import counted, escaped
from dashboard.ui.url_state import UrlState, open_page

CATEGORY, SERVER = "category", "server"
NO_CATEGORY = "no category"
VIEW, PANEL, TOOL = "map:view", "map:panel", "map.tool"
ASKS = Asks("map", of_answer=("tool",))


@dataclass(frozen=True, slots=True)
class MapContent:
    """The content of the page. Decision and place are None without a sub-task. `texts` are the texts of the URL, with the `question`."""

    catalog: Catalog
    statistics: Statistics
    decision: Decision | None
    place: Placement | None
    question: Mapping[str, str]
    texts: Mapping[str, str]


def page(question: Question) -> None:
    """Draw the view. Its panel writes the URL."""
    app, state, query, texts = question.app, question.state, question.form, question.texts
    try:
        catalog = app.catalogs.catalog(query.catalog)
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            by, show = display_controls(state, question.linked, catalog)
        catalog_map = ready_map(app, query.catalog)
        decision, place = None, None
        if query.query and catalog.tools:
            decision = app.routing.preview(replace(question.asked, supposed=()))  # the real figures
            place = app.maps.place(query.catalog, query.query)
        statistics = app.catalogs.statistics(query.catalog, question.parameters)
        content = MapContent(catalog, statistics, decision, place, texts, {**texts, "by": by, "show": show})
    except WayfareError as error:
        state.end(texts, question=texts)
        st.error(escaped(str(error)), icon=":material/error:")
        return
    grid = st.grid(3, min_column_width=390, gap="small")
    with grid.cell(column_span=2):
        _chart(catalog_map, content, by, show, question.linked)
    with grid.cell():
        panel(app, state, content)


def display_controls(state: UrlState, linked: Mapping[str, str], catalog: Catalog) -> tuple[str, str]:
    """Draw the controls. Returns the groups, category or server, and the highlight: "", `category: x`, `server: x`, or words."""
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
    options += [f"{SERVER}: {server.name}" for server in catalog.servers[:PLAIN]]  # words find all other servers
    show = st.selectbox(
        "Highlight", options, key=state.key("show"), index=None, accept_new_options=True, width=330,
        placeholder="Everything. Choose, or enter words",
        help="A category, a server, or words of names and descriptions. All other tools turn grey.",
    )  # fmt: skip
    return by or kinds[0], show or ""


def groups(catalog: Catalog, by: str) -> list[str]:
    if by == SERVER:
        return [tool.server for tool in catalog.tools]
    of_server = {server.name: server.category or NO_CATEGORY for server in catalog.servers}
    return [of_server[tool.server] for tool in catalog.tools]


def highlighted(catalog: Catalog, show: str) -> NDArray[np.bool_]:
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
    catalog_map: CatalogMap = job.future.result()
    return catalog_map


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


def _chart(catalog_map: CatalogMap, content: MapContent, by: str, show: str, linked: Mapping[str, str]) -> None:
    catalog, lit = content.catalog, highlighted(content.catalog, show)
    name, stored = st.session_state.get(VIEW, ("", None))
    view = View.of(stored if name == catalog.name else None)
    data = MapData(
        catalog_map, catalog, groups(catalog, by), content.statistics.tools.price_usd, lit, content.decision,
        content.place, chosen_row(catalog, linked), view,
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
    if show:
        st.caption(f"{int(lit.sum()):,} of {len(lit):,} tools are highlighted; the others are grey.")
    if catalog_map.landmarks is not None:
        st.caption(
            f"Arranged are {catalog_map.landmarks:,} tools, drawn by chance, because arranging all would take minutes. Each other tool lies among "
            "the ones that it is most similar to by name and description, so the map tells groups, and lists tell what is nearest."
        )
    near = (
        f": of the ten nearest tools of a tool, {catalog_map.kept:.0%} are among its ten nearest on the map"
        if len(catalog_map.ids) > 11
        else ""
    )
    st.caption(
        f"Distances on the map are approximate{near}. Lists have the exact similarities. The axes have no meaning. Scroll to zoom, drag to "
        "move."
    )


def _look(view: object) -> None:
    name, _ = st.session_state[VIEW]
    st.session_state[VIEW] = (name, view)


def density_words(points: Pointed, tools: int) -> str:
    """Returns a sentence on the drawn points and the way to see others.

    >>> density_words(Pointed(np.arange(3), 40_000, dense=True), 100_000)
    'Colour says how many of 100,000 tools lie at a place. Zoom in: 2,000 or fewer in sight become points that can be clicked; now 40,000 are.'
    """
    if points.in_sight <= MOST_POINTS:
        return f"{counted(points.in_sight, 'tool')} in sight {'is a point' if points.in_sight == 1 else 'are points'}; colour says how many lie at a place."
    return (
        f"Colour says how many of {tools:,} tools lie at a place. Zoom in: {MOST_POINTS:,} or fewer in sight become points that can be clicked; "
        f"now {points.in_sight:,} are."
    )


LISTED = 20

COSINE = "Exact cosine of the two vectors; 1 means equal meaning. Distances on the map approximate it."


def _columns(catalog: Catalog, cosine: NDArray[np.floating] | Mapping[int, float]) -> tuple[Column, ...]:
    """Returns the columns of each list; a row of a list is the row of a tool in the catalog."""
    return (
        Column("tool", width=148, cell=lambda row: catalog.tools[row].name),
        Column("server", width=96, cell=lambda row: catalog.tools[row].server),
        Column("cosine", width=58, help=COSINE, format="%.3f", cell=cosine.__getitem__),
    )


def _nearest(content: MapContent, decision: Decision, place: Placement) -> None:
    """Draw the candidates, then the tools most similar to the sub-task."""
    similarity = decision.tools.similarity
    by_similarity = np.lexsort((-place.cosine, -similarity)).tolist()
    rows = list(dict.fromkeys([*decision.candidates, *by_similarity[:LISTED]]))
    ranks = {
        row: f"{CHOSEN_SIGN} {rank}" if rank == 1 else str(rank)
        for rank, row in enumerate(decision.candidates, start=1)
    }
    columns = (
        Column("rank", "★", width=40, help="Rank among the candidates.", cell=lambda row: ranks.get(row, "")),
        *_columns(content.catalog, place.cosine),
        Column(
            "similarity", "Sim", width=50, help="The similarity of the router: EHRR (1) with weights and contrast.",
            format="%.3f", cell=similarity.__getitem__,
        ),
    )  # fmt: skip
    _choose(content, rows, columns, "the sub-task")


def _neighbours(content: MapContent, neighbours: Sequence[Neighbour], tool: str) -> None:
    cosines = {content.catalog.tool_row[neighbour.tool]: neighbour.cosine for neighbour in neighbours}
    prices = content.statistics.tools.price_usd
    price = Column(
        "price_musd", "price", width=78, help="Price of one call. Empty: unpriced.", format="%.3g", unit="m$",
        cell=lambda row: prices[row] * M_USD,
    )  # fmt: skip
    _choose(content, [*cosines], (*_columns(content.catalog, cosines), price), tool)


def namesakes(catalog: Catalog, row: int) -> list[str]:
    """Returns the other servers with a tool of the same name, ignoring case."""
    name = catalog.tools[row].name.casefold()
    return [tool.server for place, tool in enumerate(catalog.tools) if place != row and tool.name.casefold() == name]


LONG, LONGEST = 420, 20_000
NAMED, EXAMPLES = 6, 4


def chosen_row(catalog: Catalog, linked: Mapping[str, str]) -> int | None:
    return catalog.tool_row.get(st.session_state.setdefault(TOOL, linked.get("tool", "")))


def click(name: str) -> None:
    """Choose the tool of the clicked point, or none for the star. The map is not redrawn."""
    st.session_state[TOOL] = name
    st.rerun(PANEL)


@st.fragment(key=PANEL)
def panel(app: App, state: UrlState, content: MapContent) -> None:
    if not _in_force(app, content.catalog):
        st.rerun()  # it was changed or removed since the map was drawn
    row = chosen_row(content.catalog, {})
    tool_id = "" if row is None else content.catalog.tools[row].id
    state.end({**content.texts, "tool": tool_id}, question=content.question)
    if row is not None:
        _tool(app, content, row)
    elif content.decision is not None and content.place is not None:
        st.markdown("##### Nearest to the sub-task")
        st.caption(escaped(content.decision.reason, 300))
        _nearest(content, content.decision, content.place)
        st.caption("Candidates first, then by similarity. Choose a row, or click a point of the map.")
    else:
        st.markdown("##### Which tools are alike?")
        st.markdown(
            "Click a point for its description, its price and its nearest tools. Enter a sub-task above, "
            "and the map shows its place and the tools that the router takes."
        )
        for number, text in enumerate(starting_queries(content.catalog.name, EXAMPLES)):
            st.button(
                escaped(text, 90), key=f"map:example:{number}", icon=":material/north_east:", on_click=_ask,
                args=(state.key("q"), text),
            )  # fmt: skip


def _in_force(app: App, catalog: Catalog) -> bool:
    with suppress(UnknownNameError):
        return app.catalogs.catalog(catalog.name) is catalog
    return False


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
        st.caption("The catalog has no description of this tool. Only its name can be found.")
    st.markdown("  ·  ".join(f":gray[{name}] **{escaped(value)}**" for name, value in _numbers(content, row)))
    if content.decision is not None:
        st.caption(escaped(why(content.decision, tool.id), 400))
        asked_like_line(app, content.decision, tool.id)
    with st.container(horizontal=True, gap="small"):
        if st.button("Call", key="map:call", icon=":material/play_arrow:", type="primary"):
            open_page("call", **{**content.question, "catalog": content.catalog.name, "tool": tool.id})
        if st.button("Open in catalog", key="map:catalog", icon=":material/inventory_2:"):
            open_page("catalog", catalog=content.catalog.name, view="tools", tool=tool.id)
    if others := namesakes(content.catalog, row):
        servers = ", ".join(escaped(name, 60) for name in others[:NAMED])
        more = f" and {len(others) - NAMED:,} more" if len(others) > NAMED else ""
        st.warning(f"Tools of the same name: on {servers}{more}.", icon=":material/content_copy:")
    neighbours = app.maps.neighbours(content.catalog.name, tool.id)
    if neighbours:
        st.markdown("**Nearest tools**")
        _neighbours(content, neighbours, tool.id)


def _numbers(content: MapContent, row: int) -> list[tuple[str, str]]:
    numbers = [("price", units.price(float(content.statistics.tools.price_usd[row])))]
    if content.decision is None or content.place is None:
        return numbers
    return [
        *numbers,
        ("cosine with the sub-task", f"{float(content.place.cosine[row]):.3f}"),
        ("Sim", f"{float(content.decision.tools.similarity[row]):.3f}"),
    ]


def _choose(content: MapContent, rows: list[int], columns: Sequence[Column], about: str) -> None:
    row = choice_table(
        frame_of(rows, columns).set_axis(rows), columns, labels=rows, key=table_key("map", *map(str, rows), about),
        about=f"Tools nearest to {about}",
    )  # fmt: skip
    if row is not None:
        st.session_state[TOOL] = content.catalog.tools[row].id
        st.rerun()  # the map marks it, too


def _forget() -> None:
    st.session_state[TOOL] = ""
    st.rerun()  # the map forgets it, too


def _ask(key: str, text: str) -> None:
    st.session_state[key] = text
    st.rerun()
