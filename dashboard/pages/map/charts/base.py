"""What every part of the map's chart is drawn from, and what its traces have in common."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.domain.decision import Decision
from core.domain.map import CatalogMap, Placement
from dashboard.pages.map.charts.marks import shrinking, size_px
from dashboard.ui.charts.base import label

HOVER_CHARACTERS = 64


@dataclass(frozen=True, slots=True)
class MapData:
    """What is shown of a map: the group and price of each tool (T,), NaN: unpriced; which are highlighted (T,); the
    decision with the place of its sub-task, and the chosen tool's row, where there are."""

    drawn: CatalogMap
    catalog: Catalog
    groups: Sequence[str]
    price_usd: NDArray[np.float64]
    lit: NDArray[np.bool_]
    decision: Decision | None = None
    place: Placement | None = None
    chosen: int | None = None

    def sizes_px(self) -> list[float]:
        """The diameter of each tool's symbol (T,)."""
        shrunk = shrinking(len(self.groups))
        return [shrunk * size_px(price) for price in self.price_usd.tolist()]


def wrapped(text: str) -> str:
    """A stranger's text in lines for a hover box, escaped.

    >>> wrapped("<i>" * 2)
    '&lt;i&gt;&lt;i&gt;'
    """
    return "<br>".join(label(line, HOVER_CHARACTERS) for line in textwrap.wrap(text, HOVER_CHARACTERS))


def still(mode: str) -> dict[str, Any]:
    """A trace that cannot be pointed at, and that does not fade when a tool is chosen."""
    same = {"marker": {"opacity": 1}}
    return {
        "type": "scatter",
        "mode": mode,
        "hoverinfo": "skip",
        "showlegend": False,
        "selected": same,
        "unselected": same,
    }
