"""Checks for every decision of every router, and equality of two decisions."""

import json
from dataclasses import fields
from datetime import UTC, datetime

import numpy as np

from core.domain.decision import Decision
from core.domain.trace import DROPS, KEPT
from core.routers import ROUTERS
from tests.cases import each

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
each_router = each("router", [kind(clock=lambda: 0.0, now=lambda: NOON) for kind in ROUTERS.values()])
"""Runs a test with each router, whose clock stands still; they share the other fixtures."""


def columns(decision: Decision):
    """Every column of both traces by name."""
    traces = {"servers": decision.servers, "tools": decision.tools}
    return {(name, f.name): getattr(trace, f.name) for name, trace in traces.items() for f in fields(trace)}


def same(first: Decision, second: Decision) -> bool:
    first_columns, second_columns = columns(first), columns(second)
    arrays = [name for name in first_columns if isinstance(first_columns[name], np.ndarray)]
    if any(
        not np.array_equal(first_columns[name], second_columns[name], equal_nan=first_columns[name].dtype.kind == "f")
        for name in arrays
    ):
        return False
    plain = ("catalog", "router", "query", "server_hint", "parameters", "planner", "reason", "candidates")
    return all(getattr(first, name) == getattr(second, name) for name in plain) and first.tokens == second.tokens


def check_whole(decision: Decision, context):
    """Checks any decision: one row for each server and tool, no NaN, candidates and ranks that agree."""
    got = columns(decision)
    assert {len(got[key]) for key in got if key[0] == "servers"} == {len(context.catalog.servers)}
    assert {len(got[key]) for key in got if key[0] == "tools"} == {len(context.catalog.tools)}
    for key in (("servers", "utility"), ("servers", "cost_s"), ("tools", "utility"), ("tools", "time_cost_s")):
        assert np.isfinite(got[key]).all(), key
    tools = decision.tools
    assert tools.dropped.tolist().count(KEPT) == len(decision.candidates)
    assert [int(tools.rank[row]) for row in decision.candidates] == list(range(1, len(decision.candidates) + 1))
    assert {int(code) for code in tools.dropped} <= {KEPT, *range(len(DROPS))}
    assert sorted(decision.servers.rank.tolist()) == list(range(1, len(context.catalog.servers) + 1))
    assert decision.reason.endswith(".")
    json.dumps(decision.to_json(), allow_nan=False)
