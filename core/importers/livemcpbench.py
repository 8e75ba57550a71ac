"""The catalog of LiveMCPBench: a list of projects, each with the servers that it starts and their tools."""

from __future__ import annotations

from typing import Any, cast

from core.domain.catalog import Connection, Server
from core.importers.base import Importer
from core.importers.connections import read_connection
from core.importers.entry import Entry, entries
from core.importers.reading import Reading
from core.importers.tools import ToolReader


class LiveMcpBench(Importer):
    """`[{"name", "description", "category", "config": {"mcpServers"}, "tools": {"server": {"tools": [...]}}}]`."""

    name = "livemcpbench"
    title = "LiveMCPBench: a list of projects with their servers' tools and client configuration"
    example = """[{"name": "Charts", "description": "Draws charts.", "category": "Office",
  "config": {"mcpServers": {"chart-server": {"command": "npx", "args": ["-y", "chart-server"]}}},
  "tools": {"chart-server": {"tools": [
    {"name": "word_cloud", "description": "Draws a word cloud.", "inputSchema": {"type": "object"}}]}}}]"""

    def matches(self, document: object) -> bool:
        """A list in which some project has tools."""
        return isinstance(document, list) and any(
            isinstance(item, dict) and "tools" in item for item in cast("list[object]", document)
        )

    def _fill(self, reading: Reading, document: object) -> None:
        for project in entries(reading, "", "", cast("list[Any]", document)):
            connections = _connections(project)
            if not project.mapping("tools"):
                project.note("no tools: it is left out")
            for name, entry in project.named("tools"):
                reading.add(entry.where, _server(project, entry, name, connections.get(name)))


def _connections(project: Entry) -> dict[str, Connection | None]:
    config = project.child("config")
    if config is None:
        return {}
    return {name: read_connection(entry, name) for name, entry in config.named("mcpServers")}


def _server(project: Entry, entry: Entry, name: str, connection: Connection | None) -> Server:
    """The server is called what labels call it: its key, as in `mcp-server-chart::generate_word_cloud_chart`."""
    entry.check_server_name(name)
    description = project.text("description")
    if not description.strip():
        entry.note("no description: its profile is made from its tools")
    return Server(
        name=name,
        description=description,
        title=project.line("name"),
        category=project.line("category"),
        tools=ToolReader(name).read(entry.entries("tools")),
        connection=connection,
    )
