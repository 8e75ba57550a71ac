"""Each router with a clock that stands still, and a catalog with something to choose from."""

from datetime import UTC, datetime

import pytest

from core.domain.catalog import Server
from core.routers import ROUTERS
from tests.routers import worlds

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture(params=list(ROUTERS))
def router(request):
    """Each router with a clock that stands still."""
    return ROUTERS[request.param](clock=lambda: 0.0, now=lambda: NOON)


@pytest.fixture
def busy():
    """Seven servers of three tools, some of them dear; similarities all differ."""
    servers = [
        Server(f"s{s}", tools=tuple(worlds.tool(f"t{t}", price_usd=0.01 * t * s, latency_s=0.1 * t) for t in range(3)))
        for s in range(7)
    ]
    catalog = worlds.catalog(*servers)
    of_server = {server.name: 0.9 - 0.1 * row for row, server in enumerate(catalog.servers)}
    return worlds.context(catalog, of_server, {tool.id: 0.95 - 0.02 * row for row, tool in enumerate(catalog.tools)})
