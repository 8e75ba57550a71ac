"""Five servers that search the web in five wordings of a few words, three other servers, and a matcher by words only.

As NetMCP built its testbed (section V-A): one text, rephrased, so that words find all five.
"""

from __future__ import annotations

import numpy as np

from core.domain.catalog import Catalog, Server, Tool
from core.domain.decision import Fit
from core.domain.tasks import Task
from core.relevance.lexical import LexicalIndex
from core.relevance.text_views import full, profile
from core.routers.context import Match, RoutingContext
from core.routers.projection import StatisticsProjection

FIGURES = {"conn_s": 0.3, "call_s": 0.9, "success": 0.95, "success_variance": 0.0, "post_accept_failure": 0.0}
SEARCH = ("alpha", "bravo", "carol", "delta", "echo")
TEXTS = (
    "Web search over the whole web, fresh results for any question.",
    "Runs a web search and returns fresh results for a question.",
    "Fresh results of a web search for any question that you ask.",
    "Any question gets a web search with fresh results.",
    "A web search that returns results for any question.",
)
OTHERS = {
    "mailbox": "Send a letter to a colleague.",
    "ledger": "Add up the invoices of a month.",
    "easel": "Draw a picture of a house.",
}


def catalog() -> Catalog:
    """The servers, each with one tool, all with equal figures."""
    texts = dict(zip(SEARCH, TEXTS, strict=True)) | OTHERS
    return Catalog(
        "searching",
        tuple(
            Server(
                name, text, category="search" if name in SEARCH else "", ask_usd=0.001, **FIGURES,
                tools=(Tool(name, "run", text, price_usd=0.001, latency_s=0.5, success=1.0),),
            )
            for name, text in texts.items()
        ),
    )  # fmt: skip


class Words:
    """Compares by common words only; keeps every query."""

    def __init__(self, catalog: Catalog) -> None:
        self._indices = {
            "servers": LexicalIndex([profile(server) for server in catalog.servers]),
            "tools": LexicalIndex([full(tool) for tool in catalog.tools]),
        }
        self.asked: list[str] = []

    def match(self, query, server_hint, parameters):
        return Match(self._indices["servers"].coverage(query), self._indices["tools"].coverage(query))

    def fit(self, text, hint):
        self.asked.append(text)
        servers, tools = (self._indices[layer].coverage(text) for layer in ("servers", "tools"))
        return Fit(tools, servers, 1.0 - float(tools.max()), tools, {"words": tools.astype(np.float32)}), 0.0

    def likeness(self, rows):
        return np.eye(len(rows))

    def embed(self, text):
        return np.zeros(2, dtype=np.float32)

    def bm25(self, layer, text):
        self.asked.append(text)
        return self._indices[layer].scores(text).astype(np.float64)


def context() -> RoutingContext:
    """The routing context of the catalog."""
    world = catalog()
    return RoutingContext.of(world, StatisticsProjection(world).snapshot(), Words(world), np.full(len(world.tools), 10))


def tasks(count: int = 6) -> list[Task]:
    """Questions that each of the five servers can answer."""
    relevant = tuple(f"{name}::run" for name in SEARCH)
    return [
        Task(f"t{n}", "web search for fresh results", question=f"who was number {n}", relevant=relevant)
        for n in range(count)
    ]
