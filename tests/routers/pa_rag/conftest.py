"""PA-RAG with a scripted planner over a catalog with a decoy."""

from __future__ import annotations

import pytest

from core.domain.catalog import Server
from core.routers.pa_rag import PaRag
from tests.routers import scripted, worlds
from tests.routers.pa_rag.case import PARTS, TOOLS, WHOLE

PaRag = scripted.published(PaRag)


@pytest.fixture
def planner():
    """Takes the whole apart where it is asked to, and calls it complex; keeps what it was asked."""
    return scripted.Planner(parts={WHOLE: PARTS})


@pytest.fixture
def context():
    """One vector for everything sees the news alone; each part by itself sees its own server. The bank has a decoy: the tool
    that is nearest to the news on a server that has nothing to do with them."""
    catalog = worlds.catalog(
        *(
            Server(name, f"A {name} server.", tools=tuple(worlds.tool(t, description=t) for t in tools))
            for name, tools in TOOLS.items()
        )
    )
    news = {"bank::search": 0.7, "web::search": 0.65, "web::crawl": 0.6, "mail::send": 0.2}
    mail = {"mail::send": 0.7, "mail::draft": 0.62, "web::search": 0.1}
    servers = {"find the news": {"web": 0.7, "mail": 0.3, "bank": 0.1}, "mail them to Bo": {"mail": 0.8, "web": 0.2}}
    texts = {
        WHOLE: news | servers["find the news"],
        "find the news": news | servers["find the news"],
        "mail them to Bo": mail | servers["mail them to Bo"],
        "nothing": {},
    }
    return scripted.context(catalog, {"match": texts, ("tools", "full"): texts}, tokens=100)


@pytest.fixture
def route(planner, context):
    """Decide with the hand-made planner; k = 1 and no reranker unless said."""

    def decide(text, **values):
        chosen = PaRag.parameters().replaced({"k": 1, "reranker": "none", "n": 1} | values)
        return PaRag({"rules": planner}).route(text, context, chosen)

    return decide
