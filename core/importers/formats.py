"""The base class of a catalog format: its name, how it is recognised, and one hook that reads it."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, cast

from core.domain.catalog import Connection, Imported, Prompt, Server
from core.importers.connections import (
    ServerLists,
    expanded,
    lists_of_servers,
    read_connection,
    read_restrictions,
    scalar,
)
from core.importers.entry import Entry, declare, entries, place, read_prices, read_prompts, read_tools
from core.importers.reading import Reading, inspect, members, objects, part, shown


class Importer(ABC):
    """One format. A subclass fills `matches` and `_fill`; reading is everything or nothing. The contract tests read the small `example`."""

    name: ClassVar[str]
    example: ClassVar[str]

    @abstractmethod
    def matches(self, document: object) -> bool:
        """Whether the document has this format's shape, judged by its outermost keys alone."""

    def read(self, document: object, *, source: str, folder: Path | None = None) -> Imported:
        """Reads the document. `source` is its name in messages, and relative paths in it count from the `folder`.

        Raises BrokenDocumentError (a CatalogError) that names every fault.
        """
        reading = Reading(source, folder=folder)
        inspect(reading, self._inspected(document))
        if not self.matches(document):
            reading.problem("", f"its shape is not that of the format {self.name}; give a document in it")
        if not reading.problems:
            self._fill(reading, document)
        return reading.finish(self.name)

    def read_entry(self, entry: object, key: str, *, source: str, position: int, folder: Path | None = None) -> Reading:
        """Reads one entry of a document's list `key` ("" if the document is the list), with its faults."""
        reading = Reading(source, first=position, folder=folder)
        inspect(reading, entry, f"{key}[{position}]")
        if not reading.problems:
            self._fill(reading, {key: [entry]} if key else [entry])
        return reading

    def _inspected(self, document: object) -> object:
        """The parts of the document that are read. Faults in others do no harm."""
        return document

    @abstractmethod
    def _fill(self, reading: Reading, document: object) -> None:
        """Add the document's servers, notes and prompts to the reading, and its faults."""


# The plain catalog: servers with their tools, prices, times, rates and, if they can be reached, connections.


class Plain(Importer):
    """`{"servers": [{"name", "description", "tools": [...]}]}`, or one of these servers alone."""

    name = "plain"
    example = """{"servers": [{"name": "weather", "description": "Forecasts for any place.", "ask_usd": 0.001,
  "tools": [{"name": "get_forecast", "description": "The forecast of a city.", "price_usd": 0.002,
    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}}}]}]}"""

    def matches(self, document: object) -> bool:
        """An object whose `servers` is no object (an editor's configuration) and no registry's list, or one server."""
        top = members(document)
        if "servers" not in top:
            others = {"packages", "remotes", "mcpServers"} & top.keys()
            return {"name", "tools"} <= top.keys() and not others and not _is_bundle(document)
        return not isinstance(top["servers"], dict) and not any("server" in item for item in objects(top["servers"]))

    def _fill(self, reading: Reading, document: object) -> None:
        top = Entry(reading, "", members(document))
        read_prompts(top)
        for entry in top.entries("servers") if "servers" in top.value else [top]:
            server = read_server(entry)
            off = entry.flag("switched_off") or (server.connection is not None and server.connection.quarantined)
            if off:
                entry.note("it is switched off there: it is switched off here, too")
            reading.add(entry.where, server, off=off)


def read_server(entry: Entry) -> Server:
    name = entry.server_name()
    connection_entry = entry.child("connection")
    connection = None if connection_entry is None else _connection(connection_entry, name)
    description = entry.text("description")
    if not description.strip():
        entry.note("no description: its profile is made from its tools")
    prices = read_prices(entry)
    tools = read_tools(entry.entries("tools"), name, prices, by_operator=True)
    if not tools and connection_entry is None and entry.get("tools") is None:
        entry.problem("tools is missing and there is no connection to ask for them; give one of them")
    elif not tools and connection_entry is None:
        entry.note("no tools and no connection: nothing can be routed to it")
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


def _connection(entry: Entry, server: str) -> Connection | None:
    connection = read_connection(entry, server)
    if connection is None or "transport" not in entry.value:
        return connection

    def names(key: str) -> tuple[str, ...]:  # as `wayfare export` writes them
        return tuple(scalar(entry, f"{key}[{position}]", name) for position, name in enumerate(entry.list(key)))

    only = None if entry.get("only") is None else names("only")
    return replace(connection, only=only, without=names("without"), quarantined=entry.flag("quarantined") or False)


# The catalog of LiveMCPBench: a list of projects, each with the servers that it starts and their tools.


class LiveMcpBench(Importer):
    """`[{"name", "description", "category", "config": {"mcpServers"}, "tools": {"server": {"tools": [...]}}}]`."""

    name = "livemcpbench"
    example = """[{"name": "Charts", "description": "Draws charts.", "category": "Office",
  "config": {"mcpServers": {"chart-server": {"command": "npx", "args": ["-y", "chart-server"]}}},
  "tools": {"chart-server": {"tools": [
    {"name": "word_cloud", "description": "Draws a word cloud.", "inputSchema": {"type": "object"}}]}}}]"""

    def matches(self, document: object) -> bool:
        """A list in which some project has tools."""
        return any(map(_has_tools, objects(document)))

    def _fill(self, reading: Reading, document: object) -> None:
        for project in entries(reading, "", "", cast("list[Any]", document)):
            connections = _connections(project)
            if not project.mapping("tools"):
                project.note("no tools: it is left out")
            for name, entry in project.named("tools"):
                reading.add(entry.where, _server(project, entry, name, connections.get(name)))


def _has_tools(item: dict[str, Any]) -> bool:
    """Whether an item of a list has tools itself. In a server with a connection, `tools` lists the allowed tools."""
    return "tools" in item and not _REACHED & item.keys()


def _connections(project: Entry) -> dict[str, Connection | None]:
    config = project.child("config")
    if config is None:
        return {}
    return {name: read_connection(entry, name) for name, entry in config.named("mcpServers")}


def _server(project: Entry, entry: Entry, name: str, connection: Connection | None) -> Server:
    """The server's name is its key, as in the label `mcp-server-chart::generate_word_cloud_chart`."""
    entry.check_server_name(name)
    description = project.text("description")
    if not description.strip():
        entry.note("no description: its profile is made from its tools")
    return Server(
        name=name,
        description=description,
        title=project.line("name"),
        category=project.line("category"),
        tools=read_tools(entry.entries("tools"), name),
        connection=connection,
    )


# Configurations of MCP clients: how servers are reached. Their tools are discovered.
#
# Accepted are `mcpServers` (Claude Desktop, Cursor, .mcp.json), `servers` as an object with `inputs` (VS Code, also inside
# `mcp`), `context_servers` (Zed), a list with `name`, `protocol` and `enabled` (mcpproxy), `[mcp_servers.x]` (Codex), projects with `config`,
# and the manifest of a bundle.

_KEYS = ("mcpServers", "mcp_servers", "context_servers", "servers")
_REACHED = frozenset({"command", "url", "protocol"})


class ClientConfig(Importer):
    """`{"mcpServers": {"name": {"command", "args", "env"} or {"url", "headers"}}}` and its relatives."""

    name = "client_config"
    example = """{"mcpServers": {
  "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/tmp"]},
  "web": {"type": "http", "url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN}"}}}}"""

    def matches(self, document: object) -> bool:
        """An object with servers by name, or a list of such objects or of servers that say how they are reached."""
        items = objects(document)
        in_list = any("config" in item or _REACHED & item.keys() for item in items) and not any(map(_has_tools, items))
        return in_list or _is_bundle(document) or _has_servers(members(document))

    def _inspected(self, document: object) -> object:
        bundle = ("server", "user_config") if _is_bundle(document) else ()
        top = part(document, (*_KEYS, "mcp", "inputs", "projects", *bundle))
        if isinstance(document, dict) and isinstance(top.get("projects"), dict):
            top["projects"] = part(top["projects"], top["projects"])
            top["projects"] |= {folder: part(project, _KEYS[:1]) for folder, project in top["projects"].items()}
        return top

    def _fill(self, reading: Reading, document: object) -> None:
        if _is_bundle(document):
            _fill_bundle(Entry(reading, "", members(document)))
            return
        if not isinstance(document, list):
            _fill_document(Entry(reading, "", members(document)), about=None)
            return
        for entry in entries(reading, "", "", cast("list[Any]", document)):
            config = entry.child("config")
            if config is not None:
                _fill_document(config, about=entry)
            elif entry.get("config") is None:
                reading.apart.append(entry.where)
                _add(entry, entry.server_name(), about=None)


def _is_bundle(document: object) -> bool:
    return "mcp_config" in members(members(document).get("server"))


def _fill_bundle(top: Entry) -> None:
    """Adds the server of a bundle's `manifest.json` (MCPB, formerly DXT). What its user configures becomes inputs."""
    for name, option in top.named("user_config"):
        default, words = option.get("default"), option.text("description") or option.line("title")
        if isinstance(default, str | int | float):
            default = expanded(option, scalar(option, "default", default).replace("${HOME}", "${userHome}"))
        declare(option, Prompt(name, words, option.flag("sensitive") is True), default)
        if not default and option.flag("required") is not True:
            top.reading.defaults[name] = ""
    text = json.dumps(top.value["server"]["mcp_config"]).replace("${user_config.", "${input:")
    if top.reading.folder is not None:
        text = text.replace("${__dirname}", json.dumps(str(top.reading.folder))[1:-1])
    _add(Entry(top.reading, "server → mcp_config", members(json.loads(text))), top.server_name(), about=top)


def _has_servers(document: dict[str, Any]) -> bool:
    if not {*_KEYS[:-1]}.isdisjoint(document) or isinstance(document.get("servers"), dict):
        return True
    inner, projects = members(document.get("mcp")), members(document.get("projects"))
    return "servers" in inner or _by_name(inner) or any(_KEYS[0] in members(project) for project in projects.values())


def _by_name(value: object) -> bool:
    """Whether a value is an object of servers by name."""
    return any(_REACHED & members(server).keys() for server in members(value).values())


def _fill_document(top: Entry, about: Entry | None) -> None:
    read_prompts(top)
    places = [(top, key) for key in _KEYS if top.value.get(key) is not None]
    inner = top.child("mcp") if isinstance(top.get("mcp"), dict) else None
    if inner is not None and "servers" in inner.value:
        places.append((inner, "servers"))
    elif inner is not None and _by_name(inner.value):
        places.append((top, "mcp"))
    if places and places[0][1] == _KEYS[0]:  # beside it, the other keys may have another meaning
        places[1:] = [(holder, key) for holder, key in places[1:] if _by_name(holder.value[key])]
    lists, projects, names = lists_of_servers(top), list(_projects(top)), set[str]()
    if not places and not projects:
        top.problem(f"{_KEYS[0]} is missing; give an object of servers by name")
    for holder, key in places:
        if holder is not top:
            read_prompts(holder)
        top.reading.apart.append(place(holder.where, key))
        earlier = frozenset(names)
        for name, entry in _servers(holder, key):
            if name in earlier:
                entry.note("it is left out, because the file has another server of this name")
            else:
                _add(entry, name, about, lists)
            names.add(name)
    for folder, project in projects:
        _fill_project(Path(folder), project)


def _projects(top: Entry) -> Iterator[tuple[str, Entry]]:
    """Yields the folders with separate servers in a file of Claude Code."""
    if isinstance(top.get("projects"), dict):
        yield from ((folder, entry) for folder, entry in top.named("projects") if isinstance(entry.get(_KEYS[0]), dict))


def _fill_project(folder: Path, project: Entry) -> None:
    """Adds the servers of one project, which run in its folder. A server whose name is taken gets the folder's name, too."""
    reading, lists = project.reading, lists_of_servers(project)
    previous, reading.folder = reading.folder, folder if reading.folder else None
    reading.apart.append(place(project.where, _KEYS[0]))
    for name, entry in project.named(_KEYS[0]):
        names = {server.name for server in (*reading.servers, *reading.off)}
        free_name = next(form for form in (name, f"{name} ({folder.name})", f"{name} ({folder})") if form not in names)
        if free_name != name:
            entry.note(f"it is named {shown(free_name)} here, because another server is named {shown(name)}")
        _add(entry, free_name, None, lists, listed=name)
    reading.folder = previous


def _servers(top: Entry, key: str) -> Iterator[tuple[str, Entry]]:
    if not isinstance(top.get(key), list):
        for name, entry in top.named(key):
            entry.check_server_name(name)
            if entry.get("source") == "extension":
                entry.note("an extension of its client starts it: it is left out")
            else:
                yield name, entry
        return
    for entry in top.entries(key):
        yield entry.server_name(), entry


def _add(entry: Entry, name: str, about: Entry | None, lists: ServerLists = (), *, listed: str = "") -> None:
    """Adds a server. The `lists` of its document may switch it off; its name there is `listed`."""
    texts, known_secrets = about or entry, set(entry.reading.secrets)
    prices = read_prices(entry)
    if prices.by_tool:
        entry.note("prices of single tools are left out: its tools are not known yet")
    connection, off = read_restrictions(entry, read_connection(entry, name))
    for label, allows, names in lists:
        if allows is not ((listed or name) in names):
            off = off or f"{label} {'does not name it' if allows else 'names it'}: it is switched off here, too"
    server = Server(
        name=name,
        description=texts.text("description"),
        title=texts.line("title") or (texts.line("name") if texts.get("name") != name else ""),
        category=texts.line("category"),
        ask_usd=prices.default,
        connection=connection,
    )
    if not entry.reading.add(entry.where, server, off=bool(off)):
        for secret in entry.reading.secrets.keys() - known_secrets:
            del entry.reading.secrets[secret]
    elif off:
        entry.note(off)
