"""The plain catalog: servers with their tools, prices, times, rates and, where they can be reached, connections."""

from __future__ import annotations

from typing import Any, cast

from core.domain.catalog import Server
from core.importers.base import Importer
from core.importers.checks import shown
from core.importers.connections import read_connection
from core.importers.entry import Entry
from core.importers.prices import read_prices
from core.importers.prompts import read_prompts
from core.importers.reading import Reading
from core.importers.tools import ToolReader


class Plain(Importer):
    """`{"servers": [{"name", "description", "tools": [...]}]}`, or one of these servers alone."""

    name = "plain"
    title = "Catalog: a list of servers with their tools, prices and figures"
    example = """{"servers": [{"name": "weather", "description": "Forecasts for any place.", "ask_usd": 0.001,
  "tools": [{"name": "get_forecast", "description": "The forecast of a city.", "price_usd": 0.002,
    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}}}]}]}"""

    def matches(self, document: object) -> bool:
        """An object whose `servers` is no object (an editor's configuration) and no registry's list, or one server."""
        if not isinstance(document, dict):
            return False
        top = cast("dict[str, Any]", document)
        if "servers" not in top:
            return "name" in top and "tools" in top and not {"packages", "remotes", "mcpServers"} & top.keys()
        servers = top["servers"]
        if not isinstance(servers, list):
            return not isinstance(servers, dict)
        return not any(isinstance(item, dict) and "server" in item for item in cast("list[object]", servers))

    def _fill(self, reading: Reading, document: object) -> None:
        top = Entry(reading, "", cast("dict[str, Any]", document))
        read_prompts(top)
        for entry in top.entries("servers") if "servers" in top.value else [top]:
            reading.add(entry.where, read_server(entry))


def read_server(entry: Entry) -> Server:
    """One server with its tools."""
    name = entry.server_name()
    reached = entry.child("connection")
    connection = None if reached is None else read_connection(reached, name)
    description = entry.text("description")
    if not description.strip():
        entry.note("no description: its profile is made from its tools")
    prices = read_prices(entry)
    tools = ToolReader(name, prices).read(entry.entries("tools"))
    _remark(entry, has_connection=reached is not None, has_tools=bool(tools))
    for stranger in sorted(set(prices.by_tool) - {tool.name for tool in tools}) if tools else ():
        entry.note(f"a price is given for {shown(stranger)}, which is none of its tools")
    return Server(
        name=name,
        description=description,
        title=entry.line("title"),
        category=entry.line("category"),
        tools=tools,
        ask_usd=entry.number("ask_usd"),
        conn_s=entry.number("conn_s"),
        call_s=entry.number("call_s"),
        success=entry.number("success", high=1.0),
        success_variance=entry.number("success_variance", high=1.0),
        post_accept_failure=entry.number("post_accept_failure", high=1.0),
        connection=connection,
        virtual=entry.flag("virtual") or False,
    )


def _remark(entry: Entry, *, has_connection: bool, has_tools: bool) -> None:
    """Note a server that has neither tools nor a connection; a fault where `tools` is not even given."""
    if has_tools or has_connection:
        return
    if entry.get("tools") is None:
        entry.problem("tools is missing and there is no connection to ask for them; give one of them")
    else:
        entry.note("no tools and no connection: nothing can be routed to it")
