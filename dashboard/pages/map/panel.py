"""The panel beside the map: the query, its candidates, and the selected tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from core.app import App
from core.decisions.routing import Asked
from core.domain import units
from core.domain.catalog import Catalog
from core.domain.decision import Decision
from core.domain.findings import Confused, Findable
from core.domain.params import Parameters
from core.domain.statistics import Neighbour, Placement, Statistics
from core.importers.shipped_catalogs import starting_subtasks
from core.routers.why import why
from dashboard.pages.map.traces import SEPARATOR
from dashboard.theme import CHOSEN_SIGN
from dashboard.ui.catalog_frames import M_USD
from dashboard.ui.labels import asked_like_line
from dashboard.ui.question import QueryForm
from dashboard.ui.table import Column, choice_table, table_key
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState, open_page

LISTED = 20

COSINE = "Exact cosine of the two vectors; 1 means equal meaning. Distances on the map approximate it."
COLUMNS = (
    Column("rank", "★", width=40, help="Rank among the candidates."),
    Column("tool", width=148),
    Column("server", width=96),
    Column("cosine", width=58, help=COSINE, format="%.3f"),
    Column(
        "similarity", "Sim", width=50, help="The similarity of the router: EHRR (1) with weights and contrast.",
        format="%.3f",
    ),
    Column("price_musd", "price", width=78, help="Price of one call. Empty: unpriced.", format="%.3g", unit="m$"),
)  # fmt: skip


def nearest_frame(catalog: Catalog, decision: Decision, place: Placement) -> pd.DataFrame:
    """Returns the candidates, then the tools most similar to the sub-task. The index is the row of the tool."""
    similarity = decision.tools.similarity
    by_similarity = np.lexsort((-place.cosine, -similarity)).tolist()
    rows = list(dict.fromkeys([*decision.candidates, *by_similarity[:LISTED]]))
    ranks = {
        row: f"{CHOSEN_SIGN} {rank}" if rank == 1 else str(rank)
        for rank, row in enumerate(decision.candidates, start=1)
    }
    return pd.DataFrame(
        {
            "rank": [ranks.get(row, "") for row in rows],
            "tool": [catalog.tools[row].name for row in rows],
            "server": [catalog.tools[row].server for row in rows],
            "cosine": place.cosine[rows],
            "similarity": similarity[rows],
        },
        index=rows,
    )


def neighbour_frame(catalog: Catalog, found: Sequence[Neighbour], price_usd: np.ndarray) -> pd.DataFrame:
    """Returns the nearest tools of a tool, best first. The index is the row of the tool."""
    rows = [catalog.tool_row[neighbour.tool] for neighbour in found]
    tools = [catalog.tools[row] for row in rows]
    return pd.DataFrame(
        {
            "tool": [tool.name for tool in tools],
            "server": [tool.server for tool in tools],
            "cosine": [neighbour.cosine for neighbour in found],
            "price_musd": price_usd[rows] * M_USD,
        },
        index=rows,
    )


def namesakes(catalog: Catalog, row: int) -> list[str]:
    """Returns the other servers with a tool of the same name, ignoring case."""
    name = catalog.tools[row].name.casefold()
    return [tool.server for place, tool in enumerate(catalog.tools) if place != row and tool.name.casefold() == name]


@dataclass(frozen=True, slots=True)
class MapContent:
    """The content of the page. Decision and place are None without a sub-task, `found` without edges. `texts` are those of the
    URL, with the `question`."""

    catalog: Catalog
    statistics: Statistics
    decision: Decision | None
    place: Placement | None
    question: Mapping[str, str]
    texts: Mapping[str, str]
    found: Findable | None = None


def map_content(
    app: App, query: QueryForm, parameters: Parameters, question: Mapping[str, str], shown: Mapping[str, str]
) -> MapContent:
    """Returns the catalog with a decision on the sub-task that is not recorded."""
    texts = {**question, **shown}
    catalog, statistics = app.catalogs.catalog(query.catalog), app.catalogs.statistics(query.catalog, parameters)
    if not (query.subtask and catalog.tools):
        return MapContent(catalog, statistics, None, None, question, texts)
    decision = app.routing.preview(Asked(query.subtask, parameters, query.catalog, query.router, query.hint))
    return MapContent(catalog, statistics, decision, app.maps.place(query.catalog, query.subtask), question, texts)


PANEL, TOOL, OTHER = "map:panel", "map.tool", "map.other"
LONG, LONGEST, SHORT = 420, 20_000, 300
NAMED, EXAMPLES = 6, 4
KIND_WORDS = {
    "opposite": ":orange[**Opposites by their names**]: whoever meant one would call the other.",
    "mutual": "**Taken for each other.** If they do the same, say so in *Findable*.",
    "one way": "**One hides the other.** Their descriptions may need the difference.",
}


def chosen_row(catalog: Catalog, linked: Mapping[str, str]) -> int | None:
    """Returns the row of the chosen tool, at first the linked one, or None."""
    st.session_state.setdefault(OTHER, linked.get("other", ""))
    return catalog.tool_row.get(st.session_state.setdefault(TOOL, linked.get("tool", "")))


def click(name: str) -> None:
    """Choose the tool of the clicked point, both tools of a clicked edge, or none for the star. The map is not redrawn."""
    st.session_state[TOOL], _, st.session_state[OTHER] = name.partition(SEPARATOR)
    st.rerun(PANEL)


@st.fragment(key=PANEL)
def panel(app: App, state: UrlState, content: MapContent) -> None:
    """Draw the chosen tool, the nearest tools of the sub-task, or the first steps."""
    row = chosen_row(content.catalog, {})
    chosen = "" if row is None else content.catalog.tools[row].id
    pair = _chosen_pair(content, chosen)
    state.end(
        {**content.texts, "tool": chosen, "other": st.session_state[OTHER] if pair else ""}, question=content.question
    )
    if pair is not None:
        _pair(content, pair)
    elif row is not None:
        _tool(app, content, row)
    elif content.decision is not None and content.place is not None:
        st.markdown("##### Nearest to the sub-task")
        st.caption(escaped(content.decision.reason, 300))
        _choose(content, nearest_frame(content.catalog, content.decision, content.place), "the sub-task")
        st.caption("Candidates first, then by similarity. Choose a row, or click a point of the map.")
    else:
        st.markdown("##### Which tools are alike?")
        st.markdown(
            "Click a point for its description, its price and its nearest tools. Enter a sub-task above, "
            "and the map shows its place and the tools that the router takes."
        )
        for number, text in enumerate(starting_subtasks(content.catalog.name, EXAMPLES)):
            st.button(
                escaped(text, 90), key=f"map:example:{number}", icon=":material/north_east:", on_click=_ask,
                args=(state.key("q"), text),
            )  # fmt: skip


def _chosen_pair(content: MapContent, chosen: str) -> Confused | None:
    names = {chosen, st.session_state[OTHER]}
    known = content.found is not None and len(names) == 2 and names <= content.catalog.tool_row.keys()
    pairs = content.found.confused() if content.found is not None and known else ()
    return next((pair for pair in pairs if {pair.one, pair.other} == names), None)


def _pair(content: MapContent, pair: Confused) -> None:
    """Draw a pair of tools with the requests that find the wrong one of the two."""
    title, close = st.columns([8, 1], vertical_alignment="center")
    title.markdown("##### Two tools that are confused")
    close.button(
        "", key="map:close", icon=":material/close:", help="Back to the list", on_click=_forget, type="tertiary"
    )
    st.markdown(KIND_WORDS[pair.kind])
    of = {} if content.found is None else {one.tool: one for one in content.found.tools}
    for tool, other in ((pair.one, pair.other), (pair.other, pair.one)):
        with st.container(border=True, gap="xsmall"):
            if st.button(escaped(tool, 80), key=f"map:pair:{tool}", type="tertiary", help="Show this tool"):
                click(tool)
            st.caption(escaped(content.catalog.tools[content.catalog.tool_row[tool]].description, SHORT))
            missed = [miss.text for miss in of[tool].missed if miss.taken_for == other] if tool in of else []
            st.markdown(
                f"**{len(missed)} of {of[tool].of if tool in of else 0}** of its requests find the other one first"
                + (":" if missed else ".")
            )
            st.markdown("\n".join(f"- :small[“{escaped(text, 160)}”]" for text in missed[:NAMED]))
    if st.button("Open Findable", key="map:findable", icon=":material/troubleshoot:"):
        open_page("catalog", catalog=content.catalog.name, view="findable")


def _confused(content: MapContent, tool: str) -> None:
    """Draw how often a tool and others are taken for each other."""
    pairs = content.found.confused() if content.found is not None else ()
    those = [pair for pair in pairs if tool in {pair.one, pair.other}]
    if those:
        st.markdown("**Confused with other tools**")
        said = [sentence for pair in those[:NAMED] for sentence in pair.sentences]
        st.markdown("\n".join(f"- :small[{escaped(sentence, 300)}]" for sentence in said))


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
        named = ", ".join(escaped(name, 60) for name in others[:NAMED])
        more = f" and {len(others) - NAMED:,} more" if len(others) > NAMED else ""
        st.warning(f"Tools of the same name: on {named}{more}.", icon=":material/content_copy:")
    _confused(content, tool.id)
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
        frame, [one for one in COLUMNS if one.name in frame.columns], labels=frame.index.tolist(),
        key=table_key("map", *map(str, frame.index), about), chosen=None, about=f"Tools nearest to {about}",
    )  # fmt: skip
    if row is not None:
        st.session_state[TOOL], st.session_state[OTHER] = content.catalog.tools[row].id, ""
        st.rerun()  # the map marks it, too


def _forget() -> None:
    st.session_state[TOOL] = st.session_state[OTHER] = ""
    st.rerun()  # the map forgets it, too


def _ask(key: str, text: str) -> None:
    st.session_state[key] = text
    st.rerun()
