"""The lists beside the map: what is nearest, with exact similarities. A chosen row becomes the chosen tool."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from streamlit.column_config import NumberColumn, TextColumn

from core.domain.catalog import Catalog
from core.domain.decision import Decision
from core.domain.map import Neighbour, Placement
from dashboard.theme import CHOSEN_SIGN
from dashboard.ui.catalog_frames import M_USD

LISTED = 20

COSINE = (
    "Exact cosine of the two texts' vectors; 1 is the same meaning. The map draws it as well as two dimensions can."
)
COLUMNS = {
    "rank": TextColumn("★", help="Place among the candidates.", width=40),
    "tool": TextColumn("tool", width=148),
    "server": TextColumn("server", width=96),
    "cosine": NumberColumn("cosine", help=COSINE, format="%.3f", width=58),
    "similarity": NumberColumn("Sim", help="What the router makes of it: EHRR (1) with its weights and contrast.", format="%.3f", width=50),
    "price_musd": NumberColumn("price", help="Price of one call. Empty: unpriced.", format="%.3g m$", width=78),
}  # fmt: skip


def nearest_frame(catalog: Catalog, decision: Decision, place: Placement) -> pd.DataFrame:
    """The candidates, and then the tools that are most similar to the sub-task; the index is the tool's row."""
    similarity = decision.tools.similarity
    by_similarity = np.lexsort((-place.cosine, -similarity)).tolist()
    rows = list(dict.fromkeys([*decision.candidates, *by_similarity[:LISTED]]))
    ranks = {row: f"{CHOSEN_SIGN} {rank}" for rank, row in enumerate(decision.candidates, start=1)}
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
    """The nearest tools of a tool, best first; the index is the tool's row."""
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
    """The other servers that have a tool of the same name, whatever its case."""
    name = catalog.tools[row].name.casefold()
    return [tool.server for place, tool in enumerate(catalog.tools) if place != row and tool.name.casefold() == name]
