"""A server on HTTP is connected from a pasted configuration."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from .conftest import Visitor
from .serving import ConsoleProgram, free_port, unit_server
from .visit import LIMIT_MS

pytestmark = pytest.mark.browser


def test_its_tools_are_taken_live_from_a_pasted_client_configuration(
    console: ConsoleProgram, visitor: Visitor, tmp_path: Path
) -> None:
    port = free_port()
    server = unit_server(port, tmp_path / "server.log")
    try:
        visit = visitor(console)
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
    finally:
        server.kill()
