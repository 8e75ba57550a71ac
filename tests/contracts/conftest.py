"""A catalog with something to choose from."""

import pytest

from core.domain.catalog import Server
from tests.routers import worlds


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
