"""Servers, their tools, and their connections."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, cast

from core.domain.errors import UnknownNameError
from core.domain.settings import launched, own_url
from core.domain.tools import Json, Tool, ToolHints, ToolSequence, count_tokens, tool_id  # noqa: F401  # pyright: ignore[reportUnusedImport] - a catalog's words in one place

EMPTY: Json = MappingProxyType({})
Transport = Literal["stdio", "http", "sse"]
Follow = Literal["show", "take", "off"]
FOLLOW: tuple[Follow, ...] = ("show", "take", "off")
"""What is done with changes of the file of a catalog."""


@dataclass(frozen=True, slots=True)
class Connection:
    """How a server is reached. It has secrets only as references, such as `${env:NAME}` or `${secret:NAME}`. Their values are
    in the vault (`core.servers.secrets`)."""

    transport: Transport
    command: str = ""
    args: tuple[str, ...] = ()
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    shown: tuple[str, ...] = ()
    """Variables that are written out, because the operator said that they are no secrets."""
    without: tuple[str, ...] = ()
    """Tools that the client configuration switches off."""
    shared: bool = False
    """Whether all clients may use one session, because the server keeps no state."""
    start_s: float | None = None
    """The time limit of its start, s. None: the default."""
    idle_s: float | None = None
    """The time without a call after which its sessions end, s. None: the default."""
    only: tuple[str, ...] | None = None
    """The allowed tools. None: all."""
    passwords: tuple[str, ...] = ()
    """Its inputs that are passwords."""
    quarantined: bool = False
    """Whether its client blocks it until a person has checked it."""

    def allows(self, tool: str) -> bool:
        """Whether the client configuration allows a tool. A name may have wildcards, as `read_*`.

        >>> [Connection("stdio", only=("read_*", "del"), without=("del",)).allows(name) for name in ("read_file", "del", "write")]
        [True, False, False]
        """
        listed = self.only is None or any(fnmatchcase(tool, name) for name in self.only)
        return listed and not any(fnmatchcase(tool, name) for name in self.without)

    def texts(self) -> tuple[str, ...]:
        """Every text that may hold a reference."""
        return (self.command, *self.args, self.cwd, *self.env.values(), self.url, *self.headers.values())


OWN_NAME, OWN_PATH = "wayfare", "/mcp"
"""Wayfare's name in client configurations, and the end of its address."""


def is_wayfare(name: str, connection: Connection | None) -> bool:
    """Whether an entry of a client configuration is Wayfare itself. It must not be its own server.

    >>> is_wayfare("tools", Connection("stdio", "uvx", ("wayfare", "mcp", "--catalog", "mine")))
    True
    >>> is_wayfare("router", Connection("http", url="http://localhost:8501/mcp?catalog=mine"))
    True
    >>> is_wayfare("mail", Connection("http", url="https://mail.example/mcp")), is_wayfare("wayfare", None)
    (False, False)
    """
    if connection is None:
        return False
    words = [word.replace("\\", "/") for word in (connection.command, *connection.args)]
    programs = [place for place, word in enumerate(words) if word == "core.cli" or PurePosixPath(word).stem == OWN_NAME]
    addresses = [
        address.partition("?")[0].replace("//localhost:", "//127.0.0.1:") for address in (connection.url, *words)
    ]
    return (
        any("mcp" in words[place + 1 :] for place in programs)
        or any(f"{url}{OWN_PATH}" in addresses for url in (own_url(), launched().url))
        or (name == OWN_NAME and addresses[0].endswith(OWN_PATH))
    )


class ServerId(NamedTuple):
    """The key of a server's sessions and of the values of its references. It has the `person` if each person signs in to the
    server."""

    catalog: str
    server: str
    person: str = ""


@dataclass(frozen=True, slots=True)
class Server:
    """An MCP server with its tools. Statistics are declared figures or None, in s, USD and probabilities.

    `virtual` means that its results are simulated. Without a connection it is called through `core.virtual`.
    """

    name: str
    description: str = ""
    title: str = ""
    category: str = ""
    tools: Sequence[Tool] = ()
    ask_usd: float | None = None
    conn_s: float | None = None
    call_s: float | None = None
    success: float | None = None
    success_variance: float | None = None
    post_accept_failure: float | None = None
    connection: Connection | None = None
    virtual: bool = False
    original: str | None = None
    """The server's own description, if `description` is the operator's wording."""
    odd: tuple[str, ...] = ()
    """Sentences about tools that were left out, whole or in part, because they break the protocol."""

    @property
    def own_description(self) -> str:
        return self.description if self.original is None else self.original

    def profile(self) -> str:
        """The server's text f_i: its name and description, or its name and `tool_summary` without a description."""
        if self.description.strip():
            return f"{words(self.name)}: {self.description}"
        return f"{words(self.name)}: {self.tool_summary()}"

    def tool_summary(self) -> str:
        """The names of its tools with the first sentence of each description."""
        return "; ".join(f"{words(t.name)} ({first_sentence(t.description)})" for t in self.tools)


def original_words(server: Server) -> Server:
    """Returns a server with the own descriptions of it and its tools, or itself if none was reworded."""
    plain = isinstance(server.tools, ToolSequence) and not server.tools.may_have("original")
    if server.original is None and (plain or all(tool.original is None for tool in server.tools)):
        return server
    tools = tuple(replace(tool, description=tool.own_description, original=None) for tool in server.tools)
    return replace(server, description=server.own_description, original=None, tools=tools)


@dataclass(frozen=True)
class Catalog:
    """Servers in a fixed order, and tools in the order of their servers. An edit makes a new catalog.

    Servers that are switched off are only in `off`. Nothing offers or calls them.
    """

    name: str
    servers: tuple[Server, ...] = ()
    off: tuple[Server, ...] = ()

    @cached_property
    def tools(self) -> Sequence[Tool]:
        """All tools, server by server. They are rows of a table if `core.domain.tool_table` has packed them."""
        groups = [server.tools for server in self.servers if server.tools]
        first = groups[0] if groups else ()
        rows = first.followed_by(groups[1:]) if isinstance(first, ToolSequence) else None
        return tuple(tool for tools in groups for tool in tools) if rows is None else rows

    @cached_property
    def tool_ids(self) -> tuple[str, ...]:
        return self.tools.ids() if isinstance(self.tools, ToolSequence) else tuple(tool.id for tool in self.tools)

    @cached_property
    def server_row(self) -> dict[str, int]:
        """Server name to its row in every server array."""
        return {server.name: row for row, server in enumerate(self.servers)}

    @cached_property
    def by_name(self) -> dict[str, Server]:
        """All servers by name, those that are switched on first."""
        return {server.name: server for server in (*self.servers, *self.off)}

    @cached_property
    def tool_row(self) -> dict[str, int]:
        """`server::tool` to its row in every tool array."""
        return {id_: row for row, id_ in enumerate(self.tool_ids)}

    def server(self, name: str) -> Server:
        """A server by name. Raises UnknownNameError, also if the server is switched off."""
        row = self.server_row.get(name)
        if row is not None:
            return self.servers[row]
        if name in self.by_name:
            raise UnknownNameError(
                f"Server {name!r} of catalog {self.name!r} is switched off; its operator can switch it on."
            )
        raise UnknownNameError(f"There is no server {name!r} in catalog {self.name!r}; check the name.")

    def with_server(self, server: Server) -> Catalog:
        """The catalog with a server in place of the server of its name, or at the end."""
        if server.name not in self.server_row:
            return replace(self, servers=(*self.servers, server))
        return replace(self, servers=tuple(server if other.name == server.name else other for other in self.servers))

    def find(self, server: str, tool: str) -> tuple[Server, Tool]:
        """A server and a tool of it by name. Raises UnknownNameError with the missing name."""
        owner = self.server(server)
        definition = next((entry for entry in owner.tools if entry.name == tool), None)
        if definition is None:
            names = ", ".join(entry.name for entry in owner.tools[:8])
            raise UnknownNameError(f"Server {server!r} has no tool {tool!r}; it has: {names or 'none'}.")
        return owner, definition


def first_sentence(text: str, limit: int = 160) -> str:
    """The first sentence of a text, cut at `limit` characters.

    >>> first_sentence("Reads a file. Returns text.")
    'Reads a file.'
    """
    head = re.split(r"(?<=[.!?。])\s|\n", text.strip()[: 4 * limit], maxsplit=1)[0]
    return head[:limit]


def words(identifier: str) -> str:
    """An identifier as words, because the encoder does not know camelCase.

    >>> words("getWeather_byCity-v2")
    'get Weather by City v2'
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", identifier)
    return re.sub(r"[\W_]+", " ", spaced).strip()


# A tool's definition as tools/list gives it to a model: its text and its tokens.


def definition_tokens(tool: Tool) -> int:
    """Tokens of a tool's definition as tools/list gives it to a model, in compact JSON.

    >>> definition_tokens(Tool("files", "read", "Reads a file.", input_schema={"type": "object"}))
    19
    """
    return count_tokens(definition_text(tool))


def definition_text(tool: Tool) -> str:
    """The definition as compact JSON, which `definition_tokens` counts.

    >>> definition_text(Tool("files", "read"))
    '{"name":"read","description":"","inputSchema":{}}'
    """
    return json.dumps(tool.definition(), separators=(",", ":"), ensure_ascii=False, default=_plain)


def _plain(value: object) -> Any:
    return dict(cast(Mapping[str, Any], value)) if isinstance(value, Mapping) else str(value)


# The state of one pooled connection, as pages show it.

State = Literal["idle", "connecting", "ready", "failed"]


@dataclass(frozen=True, slots=True)
class ConnectionState:
    """A snapshot of a server's connection. Texts are redacted. `connect_s` is the last measured connect time in s.

    `last_error` stays after a recovery. `state` says whether it still matters. `stderr_lines` are the newest lines of the
    server's standard error. `retry_s` is the wait before the next connection. `needs_sign_in` means that it last asked for a sign-in.
    `owner` is the client of the session. Its `owner_key` is "" if any client may have the session. `person` is the person of its values
    and sign-in, "" if they are shared.
    """

    server: str
    transport: Transport
    state: State
    since: datetime
    last_error: str
    protocol_version: str
    server_version: str
    calls: int
    connect_s: float | None
    stderr_lines: tuple[str, ...]
    pid: int | None
    retry_s: float = 0.0
    catalog: str = ""
    needs_sign_in: bool = False
    owner: str = ""
    owner_key: str = ""
    connection: Connection | None = None
    person: str = ""


# The results of an import (servers, notes, and secrets that must not reach the store) and of asking a server for its tools.


@dataclass(frozen=True, slots=True)
class Note:
    """A remark on an imported thing ("tool X has no input schema: its arguments are not checked")."""

    where: str
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """A value that the user must supply before the server can start (`${input:id}`)."""

    id: str
    description: str
    secret: bool


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of reading a document.

    `secrets` maps a reference name (as in `${secret:NAME}`) to its value, which is kept in memory and never stored.
    `needs_discovery` lists servers that must be asked for their tools. `off` has the disabled servers.
    `itself` names the left-out entries that are Wayfare. `left_out` counts the bad entries of a large file. The notes name the
    first bad entries.
    """

    format: str
    servers: tuple[Server, ...]
    notes: tuple[Note, ...] = ()
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    prompts: tuple[Prompt, ...] = ()
    needs_discovery: tuple[str, ...] = ()
    off: tuple[Server, ...] = ()
    itself: tuple[str, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Discovery:
    """The result for a server: the server with its tools, or an error sentence. `connect_s` is None for an open session.

    `refused` has a sentence for each refused tool. `kept` means that it did not answer and stays as discovered before.
    `unauthorized` means that it answered 401 and stays as configured until a person signs in or gives a header.
    """

    name: str
    server: Server | None
    error: str = ""
    connect_s: float | None = None
    refused: tuple[str, ...] = ()
    kept: bool = False
    unauthorized: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about tools that were taken in part."""
        return () if self.server is None else tuple(note for note in self.server.odd if note not in self.refused)
