"""Events and catalogs for the tests of statistics."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from core.domain.catalog import Catalog, Server, Tool
from core.domain.events import OutcomeEvent, Override

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="session")
def event():
    """Makes one outcome, by default a success of one second over an open connection."""

    def make(server="a", tool="x", kind="ok", latency_s=1.0, connect_s=None, *, simulated=False):
        return OutcomeEvent(
            id="1", at=START, decision_id=None, catalog="c", server=server, tool=tool, kind=kind, latency_s=latency_s,
            connect_s=connect_s, attempts=1, price_usd=None, simulated=simulated, error="", origin="console",
        )  # fmt: skip

    return make


@pytest.fixture(scope="session")
def edit():
    """Makes one override. Later calls make later events."""
    count = 0

    def make(server, tool, value):
        nonlocal count
        count += 1
        field = "price_usd" if tool else "ask_usd"
        return Override("c", server, tool, field, value, START + timedelta(seconds=count))

    return make


@pytest.fixture(scope="session")
def two_servers():
    """Server a declares everything, server b nothing; a has tools x and y, b has z."""
    a = Server(
        "a", conn_s=0.2, call_s=0.5, success=0.8, success_variance=0.04, post_accept_failure=0.1, ask_usd=0.01,
        tools=(
            Tool("a", "x", latency_s=0.4, success=0.7, price_usd=0.003),
            Tool("a", "y", latency_s=0.6, success=0.9, price_usd=0.005),
        ),
    )  # fmt: skip
    return Catalog("c", (a, Server("b", tools=(Tool("b", "z"),))))
