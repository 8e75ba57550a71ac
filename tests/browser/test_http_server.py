"""A server on HTTP: connected from a pasted configuration, routed, called, lost in the middle of the day."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from .conftest import Visitor
from .pages import Call, Route
from .serving import ConsoleProgram, free_port, unit_server
from .visit import LIMIT_MS

pytestmark = pytest.mark.browser

ARGUMENTS = {"value": "300", "source": "mile", "target": "km"}


def test_a_server_that_is_connected_called_and_lost(
    own_console: ConsoleProgram, visitor: Visitor, tmp_path: Path
) -> None:
    port = free_port()
    server = unit_server(port, tmp_path / "server.log")
    try:
        visit = visitor(own_console)
        route, call = Route(visit), Call(visit)

        # its tools are taken live from a pasted client configuration
        visit.open("catalog")
        visit.press("Connect a client configuration…")
        dialog = visit.page.get_by_role("dialog")
        visit.show("Paste text")
        configuration = {"mcpServers": {"units": {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}}}
        dialog.get_by_role("textbox", name="Text").fill(json.dumps(configuration))
        visit.press("Check it")
        visit.fill("Save as", "live-units")
        visit.see(re.compile("1 address will be contacted over the network"), within=dialog)
        visit.press("Connect and discover")  # right after typing: the name must not be the one of a moment ago
        visit.see(re.compile("1 of 1 server answered with 7 tools"))
        expect(visit.select("Catalog")).to_have_value("live-units", timeout=LIMIT_MS)
        visit.settled()
        assert (visit.metric("Servers"), visit.metric("Tools")) == ("1", "7")

        # a decision among them, and a call
        visit.press("Ask these servers")
        route.ask("convert 300 miles to kilometres")
        route.until_winner("units::convert_units")
        assert visit.query["catalog"] == "live-units"
        route.call("convert_units")
        call.run("success", **ARGUMENTS)
        visit.see(re.compile(r"482\.8032"))
        success = call.learnt("tool: calls", "0", "1")["server: success r"][1]

        # it goes away: the call says so, and the server's figures fall
        server.kill()
        call.run("crash|not connected|timeout")
        learnt = call.learnt("server: calls", "1", "2")
        assert learnt["server: success r"][0] == success
        assert learnt["server: success r"][2].startswith("▼")
    finally:
        server.kill()
