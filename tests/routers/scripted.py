"""A planner with scripted replies, and a matcher that looks texts up in tables written by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.domain.catalog import Catalog
from core.domain.params import knob
from core.planning.base import Complexity, Selection, SubQuery, ToolRequest
from core.routers.base import AnyRouter
from core.routers.context import Match, RoutingContext
from core.routers.parameters import FIT, SIMILARITY, VIEW_WEIGHTS
from core.routers.projection import StatisticsProjection

TOKENS = 10  # of each tool's definition


class Planner:
    """Scripted answers by the text of the question. Without a scripted answer it returns the question."""

    def __init__(self, name="toy", *, predict=None, parts=None, rewrite=None, expand=None, request=None, select=None):
        self.name = name
        self._predict, self._parts, self._rewrite = predict or {}, parts or {}, rewrite or {}
        self._expand, self._request, self._select = expand or {}, request or {}, select or {}
        self.judged = []

    def predict_tool(self, question):
        return self._predict.get(question, question)

    def complexity(self, question, servers):
        """Complex if the question has scripted parts. Keeps its questions."""
        self.judged.append((question, tuple(servers)))
        return Complexity("complex", 0.9, ("2 requests",)) if question in self._parts else Complexity("simple", 0.1)

    def decompose(self, question, limit=8):
        return self._parts.get(question, (SubQuery(question),))

    def rewrite(self, question):
        return self._rewrite.get(question, question)

    def expand(self, question, count=3):
        return self._expand.get(question, ())[:count]

    def request(self, question):
        return self._request.get(question, ToolRequest(question, question))

    def summarise(self, server):
        return server

    def select(self, question, cards, count):
        """The scripted cards; the first cards if none of them is scripted."""
        offered = tuple(card.id for card in cards)
        tools = self._select.get(question, offered[:count])
        ids = tuple(name for name in tools if name in offered) if tools else ()
        return Selection(ids if ids or not tools else offered[:count], f"Told to take {len(tools)}.")


class Matcher:
    """`tables[place][text]` are numbers by server's name or tool's id, 0 if missing.

    A place is ("bm25", layer), (layer, view), or "own" for a router's own texts. An embedding is the text itself.
    """

    def __init__(self, catalog: Catalog, tables: Mapping[object, Mapping[str, Mapping[str, float]]]) -> None:
        self._tables = tables
        self._names = {"servers": [s.name for s in catalog.servers], "tools": [t.id for t in catalog.tools]}
        self.own: set[tuple[str, ...]] = set()

    def match(self, query, server_hint, parameters):
        return Match(self._row("servers", "match", query), self._row("tools", "match", query))

    def embed(self, text):
        return text

    def cosines(self, layer, view, vector):
        return self._row(layer, (layer, view), vector)

    def cosines_of(self, texts, vector):
        self.own.add(texts)
        return self._row("servers" if len(texts) == len(self._names["servers"]) else "tools", "own", vector)

    def bm25(self, layer, text):
        return self._row(layer, ("bm25", layer), text)

    def tokens(self, texts):
        return [np.zeros((0, 4), dtype=np.float32) for _ in texts]

    def _row(self, layer, place, text):
        scores = self._tables.get(place, {}).get(text, {})
        return np.array([scores.get(name, 0.0) for name in self._names[layer]], dtype=np.float64)


def context(catalog: Catalog, tables, *, tokens: int = TOKENS) -> RoutingContext:
    """The routing context of a catalog with a matcher of tables."""
    counts = np.full(len(catalog.tools), tokens, dtype=np.int64)
    return RoutingContext.of(catalog, StatisticsProjection(catalog).snapshot(), Matcher(catalog, tables), counts)


def names(decision) -> list[str]:
    """The candidates, best first."""
    return [decision.tools.ids[row] for row in decision.candidates]


def dropped(decision) -> dict[str, str]:
    """The reason of each dropped tool."""
    rows = map(decision.tool_at, range(len(decision.tools.ids)))
    return {row.tool: row.dropped_by.value for row in rows if row.dropped_by is not None}


def published(router: type[AnyRouter]) -> type[Any]:
    """The router with the retrieval of its paper as the default."""
    choice = knob(VIEW_WEIGHTS, group=SIMILARITY, label="Similarity measure", help="", choices=(FIT, VIEW_WEIGHTS))
    fields = {"similarity": choice, "__annotations__": {"similarity": str}, "__module__": router.__module__}
    parameters = dataclass(frozen=True)(type(router.parameters.__name__, (router.parameters,), fields))
    return type(router.__name__, (router,), {"parameters": parameters, "__doc__": router.__doc__})
