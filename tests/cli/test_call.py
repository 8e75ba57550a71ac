"""`wayfare call`: real servers over stdio, what a call teaches, and calls that are none."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from core.app import App
from tests.cli.conftest import ROOT, Command, server, stdio, tool

CONVERT = json.dumps({"value": 3, "source": "mi", "target": "km"})
KEYS = {
    "server", "tool", "outcome", "simulated", "mode", "latency_s", "connect_s", "attempts", "price_usd", "error", "content",
    "structured", "statistics",
}  # fmt: skip


def test_a_conversion(wayfare: Command, app: App) -> None:
    d = wayfare("call", "unit-exchange", "convert_units", "--args", CONVERT, "--json").json()
    assert d.keys() == KEYS
    assert (d["server"], d["tool"], d["outcome"], d["simulated"]) == ("unit-exchange", "convert_units", "ok", False)
    assert d["structured"] == {"value": pytest.approx(4.828032), "unit": "kilometre"}
    assert json.loads(d["content"][0]["text"]) == d["structured"]
    assert d["latency_s"] > 0
    assert d["connect_s"] > 0
    assert (d["attempts"], d["error"]) == (1, "")
    (kept,) = app.store.activity.calls().itertuples()
    assert (kept.origin, kept.kind, kept.price_usd) == ("cli", "ok", d["price_usd"])


def test_pictures_come_as_base64_and_are_named_in_text(wayfare: Command) -> None:
    content = wayfare("call", "gremlin", "every_content", "--json").json()["content"]
    assert [block["type"] for block in content] == ["text", "image", "audio", "resource", "resource_link"]
    image = content[1]
    assert image["mime_type"] == "image/png"
    assert base64.b64decode(image["data_base64"], validate=True).startswith(b"\x89PNG")
    assert base64.b64decode(content[3]["data_base64"]) == b"\0\1\2"
    shown = wayfare("call", "gremlin", "every_content").out.splitlines()
    assert shown[1] == "text"
    assert shown[2].startswith("[image image/png, ")
    assert len(shown) == 6


def test_what_ends_badly_is_an_outcome_said_once(wayfare: Command) -> None:
    run = wayfare("call", "gremlin", "fail_politely", "--args", '{"message": "no luck"}')
    assert (run.code, run.err) == (1, "")
    assert run.out.count("no luck") == 1
    assert "tool error" in run.out
    d = wayfare("call", "gremlin", "hang", "--timeout", "0.2", "--json").json_with(1)
    assert (d["outcome"], d["price_usd"]) == ("timeout", 0)
    assert "0.2 s" in d["error"]
    assert d["latency_s"] > 0.1  # the limit counts from before the call is sent
    d = wayfare("call", "gremlin", "crash", "--json").json_with(1)
    assert (d["outcome"], d["price_usd"], d["content"]) == ("crash", 0, [])
    assert "connection was lost" in d["error"]


def test_a_server_that_is_not_there(wayfare: Command, write) -> None:
    lost = server("lost", tool("find"), connection={"type": "stdio", "command": "no-such-command-here"})
    d = wayfare("call", "lost", "find", "--catalog", write("c.json", {"servers": [lost]}), "--json").json_with(1)
    assert d["outcome"] == "not_connected"
    assert "no-such-command-here was not found" in d["error"]


def test_a_server_without_connection(wayfare: Command, raw_catalog: Path) -> None:
    wayfare("import", raw_catalog)
    d = wayfare("call", "island", "swim", "--catalog", "tools", "--json").json_with(1)
    assert (d["outcome"], d["latency_s"], d["connect_s"], d["price_usd"]) == ("not_tried", 0, None, None)
    assert d["error"] == "Server island has no command or URL in catalog tools; add a connection to call it."
    assert d["statistics"]["server_after"]["latency_s"] == d["statistics"]["server_before"]["latency_s"]
    text = wayfare("call", "island", "swim", "--catalog", "tools")
    assert (text.code, text.err) == (1, "")
    assert "add a connection" in text.out


def test_a_server_whose_secret_is_not_there(wayfare: Command, write) -> None:
    hidden = server("vault", tool("open"), connection=stdio("-c", "", env={"API_KEY": "tr0ub4dor&3"}))
    wayfare("import", write("c.json", {"servers": [hidden]}))
    assert wayfare("secrets", "remove", "vault", "API_KEY", "--catalog", "c").code == 0
    d = wayfare("call", "vault", "open", "--catalog", "c", "--json").json_with(1)
    assert d["outcome"] == "not_tried"
    assert "${secret:vault/API_KEY}" in d["error"]


def test_numbers_that_json_does_not_have(wayfare: Command, write) -> None:
    odd = server("odd", tool("odd"), connection=stdio(str(ROOT / "tests" / "cli" / "servers" / "odd.py")))
    d = wayfare("call", "odd", "odd", "--catalog", write("c.json", {"servers": [odd]}), "--json").json()
    assert (d["outcome"], d["structured"]) == ("ok", {"nan": None, "far": [None]})


class TestSimulate:
    """`--simulate` calls nothing, says so, and teaches nothing."""

    @pytest.fixture
    def starts(self, write, raw_catalog: Path) -> Path:
        """A file that the server of the catalog writes to when it starts."""
        file = raw_catalog.with_name("starts.log")
        document = json.loads(raw_catalog.read_text())
        document["servers"][0]["connection"]["args"] += ["--starts", str(file)]
        write(raw_catalog.name, document)
        return file

    def test_calls_nothing_and_is_marked(self, wayfare: Command, raw_catalog: Path, starts: Path, app: App) -> None:
        d = wayfare("call", "raw", "echo", "--catalog", raw_catalog, "--simulate", "--json").json()
        assert d["simulated"] is True
        assert "imulated" in str(d["content"]) + d["error"]
        assert (d["latency_s"], d["connect_s"]) == (0.5, None)
        assert d["statistics"]["server_before"] == d["statistics"]["server_after"]
        said = wayfare("call", "raw", "echo", "--catalog", raw_catalog, "--simulate").out
        assert "(simulated: no tool was called)" in said
        assert not starts.exists()
        assert [call.simulated for call in app.store.activity.calls().itertuples()] == [True, True]
        wayfare("call", "raw", "echo", "--catalog", raw_catalog, "--json").json()
        assert starts.exists()


def test_a_call_in_one_process_changes_the_next_decision_in_another(
    wayfare: Command, raw_catalog: Path, db: Path
) -> None:
    wayfare("import", raw_catalog)

    def echo() -> dict[str, Any]:
        d = wayfare("route", "say it again", "--catalog", "tools", "--json").json()
        return next(row for row in d["tools"] if row["tool"] == "raw::echo")

    before = echo()
    for calls in (0, 1):
        call = wayfare("call", "raw", "echo", "--catalog", "tools", "--json").json()
        assert call["statistics"]["server_before"]["calls"] == calls
    assert echo()["time_cost_s"] < before["time_cost_s"]
