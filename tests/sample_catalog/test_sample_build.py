"""The catalog files: up to date, complete, and with the economics that they claim."""

import asyncio
import json
from math import log, sqrt
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from sample_catalog import SERVERS_DIR, build
from sample_catalog.profiles import PROFILES, tool_economics

CATALOG: dict[str, dict[str, Any]] = {
    server["name"]: server
    for server in map(json.loads, (path.read_text(encoding="utf-8") for path in SERVERS_DIR.iterdir()))
}
TOOLS = [(server, tool) for server in CATALOG.values() for tool in server["tools"]]


@pytest.fixture(scope="module")
def wanted() -> dict[str, str]:
    return asyncio.run(build.catalog())


def test_the_files_are_what_the_servers_say(wanted: dict[str, str]) -> None:
    assert build.drift(wanted, SERVERS_DIR) == []


def test_drift_is_named(wanted: dict[str, str], tmp_path: Path) -> None:
    changed = json.loads(wanted["larder.json"])
    changed["conn_s"] = 9
    changed["tools"][2]["description"] = "something else"
    (tmp_path / "larder.json").write_text(json.dumps(changed))
    (tmp_path / "stray.json").write_text("{}")
    found = build.drift(wanted, tmp_path)
    assert "larder.json differs: conn_s, tool run_query" in found
    assert "stray.json belongs to no server" in found
    assert "gremlin.json is missing" in found


def test_the_command_answers_one_on_drift(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "SERVERS_DIR", tmp_path)
    monkeypatch.setattr("sys.argv", ["build", "--check"])
    assert build.main() == 1
    assert "Quillwork.json is missing" in capsys.readouterr().err
    monkeypatch.setattr("sys.argv", ["build"])
    assert build.main() == 0
    monkeypatch.setattr("sys.argv", ["build", "--check"])
    assert build.main() == 0


@pytest.mark.parametrize(("server", "tool"), TOOLS, ids=lambda part: part["name"])
def test_a_tool_has_plausible_economics(server: dict[str, Any], tool: dict[str, Any]) -> None:
    assert {"title", "inputSchema", "annotations", "tier_reason"} <= tool.keys()
    assert "readOnlyHint" in tool["annotations"]
    assert 0 < tool["success"] < 1
    assert 0 < tool["latency_s"] < 10
    if tool["tier"] == "low":
        assert 0 <= tool["price_usd"] <= 0.0025
    else:
        assert tool["tier"] == "high"
        assert 0.005 < tool["price_usd"] < 0.04


def test_most_tools_are_cheap_and_some_are_not() -> None:
    high = sum(tool["tier"] == "high" for _, tool in TOOLS)
    assert 10 <= high <= len(TOOLS) / 4


def test_prices_belong_to_tools_and_not_to_their_order() -> None:
    profile = PROFILES[0]
    assert tool_economics(profile, "a", "x") == tool_economics(profile, "a", "x")
    assert tool_economics(profile, "a", "x") != tool_economics(profile, "a", "y")


def _posted_price(server: dict[str, Any], similarity: float) -> float:
    """EHRR (2) and (4) with the default parameters."""
    fixed_s = server["conn_s"]
    success = (1 - server["post_accept_failure"]) * (server["success"] - sqrt(server["success_variance"]))
    return 0.0025 * similarity + 0.0225 * log(1 + (fixed_s + server["call_s"]) / success)


def test_the_auction_has_something_to_decide() -> None:
    advertised = {name: server for name, server in CATALOG.items() if "ask_usd" in server}
    assert set(CATALOG) - set(advertised) == {"gremlin"}
    accepts = {
        similarity: {
            name
            for name, server in advertised.items()
            if server["ask_usd"] <= _posted_price(server, similarity=similarity)
        }
        for similarity in (0.0, 1.0)
    }
    edge = {"statistics-lab", "waypoint-atlas"}  # accept where the sub-task fits them well, else ask too much
    assert accepts[1.0] == set(advertised)
    assert accepts[0.0] == set(advertised) - edge


def test_fair_servers_ask_for_the_median_of_their_prices() -> None:
    server = CATALOG["Meridian"]
    assert server["ask_usd"] == pytest.approx(median(tool["price_usd"] for tool in server["tools"]), abs=1e-6)
    assert server["connection"] == {
        "type": "stdio", "command": "${python}", "args": ["-m", "sample_catalog.runnable.meridian"]
    }  # fmt: skip
