"""The catalog files: up to date, complete, and with the economics that they claim."""

import asyncio
import json
from math import log, sqrt
from pathlib import Path
from typing import Any

import pytest

from core.domain.json_schema import schema_fault
from sample_catalog import SERVERS_DIR
from sample_catalog.authoring import build
from sample_catalog.authoring.profiles import PROFILES

CATALOG: dict[str, dict[str, Any]] = {
    server["name"]: server
    for server in map(json.loads, (path.read_text(encoding="utf-8") for path in SERVERS_DIR.iterdir()))
}
TOOLS = [(server, tool) for server in CATALOG.values() for tool in server["tools"]]


@pytest.fixture(scope="module")
def wanted() -> dict[str, str]:
    return asyncio.run(build.catalog(SERVERS_DIR))


def test_the_files_are_what_the_servers_say(wanted: dict[str, str]) -> None:
    assert build.drift(wanted, SERVERS_DIR) == []


def test_drift_is_named(wanted: dict[str, str], tmp_path: Path) -> None:
    changed = json.loads(wanted["larder.json"])
    changed["conn_s"] = 9
    changed["tools"][2]["description"] = "something else"
    (tmp_path / "larder.json").write_text(json.dumps(changed))
    (tmp_path / "stray.json").write_text("{}")
    problems = build.drift(wanted, tmp_path)
    assert "larder.json differs: conn_s, tool run_query" in problems
    assert "stray.json belongs to no server" in problems
    assert "gremlin.json is missing" in problems


def test_there_are_81_servers_with_at_least_810_tools_in_at_least_20_categories() -> None:
    assert len(CATALOG) == 81
    assert len(TOOLS) >= 810
    assert len({server["category"] for server in CATALOG.values()}) >= 20
    assert sum("connection" in server for server in CATALOG.values()) == len(PROFILES)
    assert all(("connection" in server) != server.get("virtual", False) for server in CATALOG.values())


def test_a_server_has_plausible_economics() -> None:
    for server in CATALOG.values():
        plausible(server)


def plausible(server: dict[str, Any]) -> None:
    assert server["description"]
    assert server["figures"] == "declared, not measured"
    assert 0.02 <= server["conn_s"] <= 3
    assert 0.05 <= server["call_s"] <= 6
    assert 0.3 <= server["success"] < 1
    assert 0 <= server["success_variance"] <= 0.1
    assert 0 < server["post_accept_failure"] <= 0.3
    for tool in server["tools"]:
        assert tool["tier_reason"]
        assert 0 < tool["success"] < 1
        assert 0 < tool["latency_s"] < 30
        low, high = {"low": (0, 0.0025), "high": (0.004, 0.045)}[tool["tier"]]
        assert low <= tool["price_usd"] <= high
        for schema in (tool.get("inputSchema", {}), tool.get("outputSchema", {})):
            assert not schema_fault(schema)
            assert set(schema.get("required", ())) <= schema.get("properties", {}).keys()


def test_the_world_is_not_tidy() -> None:
    """Descriptions that say little or nothing, tools without hints or schemas, the same name on several servers."""
    tools = [tool for _, tool in TOOLS]
    assert 10 <= sum(not tool["description"] for tool in tools) <= 40
    assert sum("inputSchema" not in tool for tool in tools) >= 4
    assert sum("annotations" not in tool for tool in tools) >= 30
    assert sum("outputSchema" in tool for tool in tools) >= len(tools) / 6
    hints = [tool["annotations"] for tool in tools if "annotations" in tool]
    assert sum(hint["readOnlyHint"] for hint in hints) >= len(tools) / 3
    assert sum(hint["destructiveHint"] for hint in hints) >= len(tools) / 20


def _posted_price(server: dict[str, Any], similarity: float) -> float:
    """EHRR (2) and (4) with the default parameters."""
    fixed_s = server["conn_s"]
    success = (1 - server["post_accept_failure"]) * (server["success"] - sqrt(server["success_variance"]))
    return 0.0025 * similarity + 0.0225 * log(1 + (fixed_s + server["call_s"]) / success)


def test_the_auction_has_something_to_decide() -> None:
    """Some servers always ask too much, some accept only if they fit, most accept."""
    advertised = {name: server for name, server in CATALOG.items() if "ask_usd" in server}
    accepts = {
        similarity: {n for n, server in advertised.items() if server["ask_usd"] <= _posted_price(server, similarity)}
        for similarity in (0.0, 1.0)
    }
    assert 1 <= len(CATALOG) - len(advertised) <= 10
    assert accepts[0.0] < accepts[1.0] < set(advertised)
    assert {"statistics-lab", "waypoint-atlas"} <= accepts[1.0] - accepts[0.0]
    assert len(accepts[0.0]) >= len(advertised) * 0.8
