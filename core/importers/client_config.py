"""Configurations of MCP clients: how servers are reached. Their tools are discovered.

Accepted are `mcpServers` (Claude Desktop, Cursor, .mcp.json), `servers` as an object with `inputs` (VS Code, also inside
`mcp`), a list with `name`, `protocol` and `enabled` (mcpproxy), `[mcp_servers.x]` (Codex, TOML), and a list of projects
that have one of these under `config`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from core.domain.catalog import Server
from core.importers.base import Importer
from core.importers.connections import read_connection
from core.importers.entry import Entry, entries
from core.importers.prices import read_prices
from core.importers.prompts import read_prompts
from core.importers.reading import Reading

_KEYS = ("mcpServers", "mcp_servers", "servers")
_REACHED = frozenset({"command", "url", "protocol"})


class ClientConfig(Importer):
    """`{"mcpServers": {"name": {"command", "args", "env"} or {"url", "headers"}}}` and its relatives."""

    name = "client_config"
    title = "Client configuration (Claude Desktop, Cursor, VS Code, mcpproxy, Codex): servers to ask for their tools"
    example = """{"mcpServers": {
  "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/tmp"]},
  "web": {"type": "http", "url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN}"}}}}"""

    def matches(self, document: object) -> bool:
        """An object with servers by name, or a list of such objects or of servers that say how they are reached."""
        if isinstance(document, list):
            items = [cast("dict[str, Any]", x) for x in cast("list[object]", document) if isinstance(x, dict)]
            return any("tools" not in x and ("config" in x or _REACHED & x.keys()) for x in items) and not any(
                "tools" in x for x in items
            )
        return isinstance(document, dict) and _has_servers(cast("dict[str, Any]", document))

    def _fill(self, reading: Reading, document: object) -> None:
        if isinstance(document, dict):
            _fill_document(Entry(reading, "", cast("dict[str, Any]", document)), about=None)
            return
        for entry in entries(reading, "", "", cast("list[Any]", document)):
            config = entry.child("config")
            if config is not None:
                _fill_document(config, about=entry)
            elif entry.get("config") is None:
                _add(entry, entry.server_name(), about=None)


def _has_servers(document: dict[str, Any]) -> bool:
    if "mcpServers" in document or "mcp_servers" in document or isinstance(document.get("servers"), dict):
        return True
    inner = document.get("mcp")
    return isinstance(inner, dict) and "servers" in inner


def _fill_document(top: Entry, about: Entry | None) -> None:
    if top.get("mcp") is not None and _KEYS[0] not in top.value:
        top = top.child("mcp") or top
    read_prompts(top)
    key = next((key for key in _KEYS if key in top.value), _KEYS[0])
    if top.get(key) is None:
        top.problem(f"{key} is missing; give an object of servers by name")
    for name, entry in _servers(top, key):
        _add(entry, name, about)


def _servers(top: Entry, key: str) -> Iterator[tuple[str, Entry]]:
    if not isinstance(top.get(key), list):
        for name, entry in top.named(key):
            entry.check_server_name(name)
            yield name, entry
        return
    for entry in top.entries(key):
        yield entry.server_name(), entry


def _add(entry: Entry, name: str, about: Entry | None) -> None:
    disabled, enabled = entry.flag("disabled"), entry.flag("enabled")
    if disabled is True or enabled is False:
        entry.note("it is disabled: it is left out")
        return
    texts = about or entry
    prices = read_prices(entry)
    if prices.by_tool:
        entry.note("prices of single tools are left out: its tools are not known yet")
    server = Server(
        name=name,
        description=texts.text("description"),
        title=texts.line("title") or (texts.line("name") if texts.get("name") != name else ""),
        category=texts.line("category"),
        ask_usd=prices.default,
        connection=read_connection(entry, name),
    )
    entry.reading.add(entry.where, server)
