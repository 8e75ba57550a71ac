"""The MCP Registry's `server.json`, alone or as the registry's list response; in camelCase or the 2025-07 snake_case.

A remote is preferred to a package: it needs nothing installed and runs nothing of a stranger on this machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from core.domain.catalog import Connection, Server
from core.importers.base import Importer
from core.importers.checks import shown
from core.importers.connections import read_connection
from core.importers.entry import Entry
from core.importers.packages import package_command
from core.importers.prices import read_prices
from core.importers.reading import Reading
from core.importers.registry_inputs import fill_in, fill_in_all

_REMOTES = {"streamable-http": 0, "streamable": 0, "http": 0, "sse": 1}


class ServerJson(Importer):
    """`{"name", "description", "version", "remotes": [...], "packages": [...]}`."""

    name = "server_json"
    title = "MCP Registry server.json: a published server, by its remotes or packages"
    example = """{"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
  "name": "io.github.example/weather", "description": "Forecasts for any place.", "version": "1.0.2",
  "packages": [{"registryType": "npm", "identifier": "@example/weather", "version": "1.0.2",
    "transport": {"type": "stdio"},
    "environmentVariables": [{"name": "WEATHER_KEY", "description": "Key", "isRequired": true, "isSecret": true}]}]}"""

    def matches(self, document: object) -> bool:
        """An object with packages, remotes or the registry's `$schema`; also wrapped in `server`, or several."""
        if not isinstance(document, dict):
            return False
        top = cast("dict[str, Any]", document)
        servers = top.get("servers")
        if isinstance(servers, list):
            return any(isinstance(item, dict) and "server" in item for item in cast("list[object]", servers))
        if any(key in top for key in ("servers", "mcpServers", "mcp_servers")):
            return False
        if "name" in top and "tools" in top and "packages" not in top and "remotes" not in top:
            return False
        return any(key in top for key in ("packages", "remotes", "server")) or "server.schema.json" in str(
            top.get("$schema")
        )

    def _fill(self, reading: Reading, document: object) -> None:
        for entry in _documents(Entry(reading, "", cast("dict[str, Any]", document))):
            name = entry.server_name()
            connection = _connection(entry, name)
            if connection is not None:
                reading.add(entry.where, _server(entry, name, connection))


def _documents(top: Entry) -> Iterator[Entry]:
    """Each server's own document: the registry wraps it in `server` and lists several under `servers`."""
    wrapped = list(top.entries("servers")) if "servers" in top.value else [top]
    for outer in wrapped:
        value = outer.mapping("server") if "server" in outer.value else outer.value
        if value is not None:
            name = value.get("name")
            label = f" {shown(name)}" if isinstance(name, str) and outer.where else ""
            yield Entry(top.reading, outer.where + label, value)


def _server(entry: Entry, name: str, connection: Connection) -> Server:
    return Server(
        name=name,
        description=entry.text("description"),
        title=entry.line("title"),
        ask_usd=read_prices(entry).default,
        connection=connection,
    )


def _connection(entry: Entry, name: str) -> Connection | None:
    """The first way to reach the server that is supported; None (and a fault or a note) where there is none."""
    known = len(entry.reading.problems)
    ranked: list[tuple[int, Entry]] = []
    for remote in entry.entries("remotes"):
        kind = remote.raw_text("type") or remote.raw_text("transport_type")
        if kind in _REMOTES:
            ranked.append((_REMOTES[kind], remote))
    packages = list(entry.entries("packages"))
    if ranked:
        if packages:
            entry.note("its remote is taken, its packages are not")
        return _remote(min(ranked, key=lambda pair: pair[0])[1], name)
    for package in packages:
        raw = package_command(package, name)
        if raw is not None:
            return read_connection(Entry(package.reading, package.where, raw), name)
    if len(entry.reading.problems) == known:
        entry.note("none of its remotes and packages can be used here: it is left out")
    return None


def _remote(remote: Entry, name: str) -> Connection | None:
    kind = remote.raw_text("type") or remote.raw_text("transport_type")
    raw = {
        "type": "sse" if kind == "sse" else "http",
        "url": fill_in(remote, name, remote.raw_text("url")),
        "headers": fill_in_all(remote, name, "headers"),
    }
    return read_connection(Entry(remote.reading, remote.where, raw), name)
