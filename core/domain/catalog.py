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
"""What is done about changes of the file that a catalog came from."""


@dataclass(frozen=True, slots=True)
class Connection:
    """How a server is reached. Secrets stand in it as references, such as `${env:NAME}` or `${secret:NAME}`; their values are
    in the vault (`core.servers.secrets`)."""

    transport: Transport
    command: str = ""
    args: tuple[str, ...] = ()
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    shown: tuple[str, ...] = ()
    """Variables that the operator let be written out, because they are no secrets."""
    without: tuple[str, ...] = ()
    """Tools that the client configuration switches off."""
    shared: bool = False
    """Whether the server keeps no state, so that all clients may use one session."""
    start_s: float | None = None
    """How long it may take to start, s. None: as long as the others."""
    idle_s: float | None = None
    """After how long without a call its sessions end, s. None: as those of the others."""
    only: tuple[str, ...] | None = None
    """The tools that it allows. None: all."""
    passwords: tuple[str, ...] = ()
    """Inputs that it asks for as passwords."""
    quarantined: bool = False
    """Whether its client holds it back until a person has looked at it."""

    def allows(self, tool: str) -> bool:
        """Whether the client configuration lets a tool be used. A name may have wildcards, as `read_*`.

        >>> [Connection("stdio", only=("read_*", "del"), without=("del",)).allows(name) for name in ("read_file", "del", "write")]
        [True, False, False]
        """
        listed = self.only is None or any(fnmatchcase(tool, name) for name in self.only)
        return listed and not any(fnmatchcase(tool, name) for name in self.without)

    def texts(self) -> tuple[str, ...]:
        """Every text in which a reference may stand."""
        return (self.command, *self.args, self.cwd, *self.env.values(), self.url, *self.headers.values())


OWN_NAME, OWN_PATH = "wayfare", "/mcp"
"""How client configurations name Wayfare, and the end of its address."""


def is_wayfare(name: str, connection: Connection | None) -> bool:
    """Whether an entry of a client configuration is Wayfare itself, which would be its own server.

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
    programs = [at for at, word in enumerate(words) if word == "core.cli" or PurePosixPath(word).stem == OWN_NAME]
    addresses = [
        address.partition("?")[0].replace("//localhost:", "//127.0.0.1:") for address in (connection.url, *words)
    ]
    return (
        any("mcp" in words[at + 1 :] for at in programs)
        or any(f"{url}{OWN_PATH}" in addresses for url in (own_url(), launched().url))
        or (name == OWN_NAME and addresses[0].endswith(OWN_PATH))
    )


class ServerId(NamedTuple):
    """One server of one catalog: what its sessions and the values that its connection refers to are kept by. Those of a server that each
    person signs in to have the `person`, too."""

    catalog: str
    server: str
    person: str = ""


@dataclass(frozen=True, slots=True)
class Server:
    """One MCP server with its tools. Statistics are declared figures or None, in s, USD and probabilities.

    `virtual` means that its results are simulated: without a connection it is called through `core.virtual`.
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
    """The server's own description, where `description` is the operator's wording."""
    odd: tuple[str, ...] = ()
    """Sentences about tools that it lists against the protocol: they, or parts of them, were left out."""

    @property
    def own_description(self) -> str:
        return self.description if self.original is None else self.original

    def profile(self) -> str:
        """The server's text f_i: name and description; without a description, its tools' names and first sentences."""
        if self.description.strip():
            return f"{words(self.name)}: {self.description}"
        return f"{words(self.name)}: {self.tool_summary()}"

    def tool_summary(self) -> str:
        """Its tools' names with the first sentence of each description."""
        return "; ".join(f"{words(t.name)} ({first_sentence(t.description)})" for t in self.tools)


def original_words(server: Server) -> Server:
    """Returns a server and its tools with their own descriptions: itself where nobody worded them anew."""
    plain = isinstance(server.tools, ToolSequence) and not server.tools.may_have("original")
    if server.original is None and (plain or all(tool.original is None for tool in server.tools)):
        return server
    tools = tuple(replace(tool, description=tool.own_description, original=None) for tool in server.tools)
    return replace(server, description=server.own_description, original=None, tools=tools)


@dataclass(frozen=True)
class Catalog:
    """Servers in a fixed order; tools in the order of their servers. Immutable: an edit makes a new catalog.

    Servers that are switched off are in `off` alone, so that nothing offers or calls them.
    """

    name: str
    servers: tuple[Server, ...] = ()
    off: tuple[Server, ...] = ()

    @cached_property
    def tools(self) -> Sequence[Tool]:
        """All tools, server by server: the rows of a table where `core.domain.tool_table` has packed them."""
        found = [server.tools for server in self.servers if server.tools]
        first = found[0] if found else ()
        whole = first.followed_by(found[1:]) if isinstance(first, ToolSequence) else None
        return tuple(tool for tools in found for tool in tools) if whole is None else whole

    @cached_property
    def tool_ids(self) -> tuple[str, ...]:
        return self.tools.ids() if isinstance(self.tools, ToolSequence) else tuple(tool.id for tool in self.tools)

    @cached_property
    def server_row(self) -> dict[str, int]:
        """Server name to its row in every server array."""
        return {server.name: row for row, server in enumerate(self.servers)}

    @cached_property
    def tool_row(self) -> dict[str, int]:
        """`server::tool` to its row in every tool array."""
        return {id_: row for row, id_ in enumerate(self.tool_ids)}

    def server(self, name: str) -> Server:
        """A server by name. Raises UnknownNameError, also for one that is switched off."""
        row = self.server_row.get(name)
        if row is not None:
            return self.servers[row]
        if any(server.name == name for server in self.off):
            raise UnknownNameError(
                f"Server {name!r} of catalog {self.name!r} is switched off; its operator can switch it on."
            )
        raise UnknownNameError(f"There is no server {name!r} in catalog {self.name!r}; check the name.")

    def with_server(self, server: Server) -> Catalog:
        """The catalog with a server in place of the one of its name, or after the others."""
        if server.name not in self.server_row:
            return replace(self, servers=(*self.servers, server))
        return replace(self, servers=tuple(server if one.name == server.name else one for one in self.servers))

    def find(self, server: str, tool: str) -> tuple[Server, Tool]:
        """A server and one of its tools by name. Raises UnknownNameError with the missing name."""
        found = self.server(server)
        of_name = next((one for one in found.tools if one.name == tool), None)
        if of_name is None:
            known = ", ".join(one.name for one in found.tools[:8])
            raise UnknownNameError(f"Server {server!r} has no tool {tool!r}; it has: {known or 'none'}.")
        return found, of_name


def first_sentence(text: str, limit: int = 160) -> str:
    """The first sentence of a text, cut at `limit` characters.

    >>> first_sentence("Reads a file. Returns text.")
    'Reads a file.'
    """
    head = re.split(r"(?<=[.!?。])\s|\n", text.strip()[: 4 * limit], maxsplit=1)[0]
    return head[:limit]


def words(identifier: str) -> str:
    """An identifier as words: the encoder knows words, not camelCase.

    >>> words("getWeather_byCity-v2")
    'get Weather by City v2'
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", identifier)
    return re.sub(r"[\W_]+", " ", spaced).strip()


# A tool's definition as tools/list puts it before a model: its text, and what it costs in tokens.


def definition_tokens(tool: Tool) -> int:
    """Tokens of a tool's definition as tools/list puts it before a model, in compact JSON.

    >>> definition_tokens(Tool("files", "read", "Reads a file.", input_schema={"type": "object"}))
    19
    """
    return count_tokens(definition_text(tool))


def definition_text(tool: Tool) -> str:
    """The definition as compact JSON: the text that `definition_tokens` counts.

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
    """A snapshot of one server's connection. Texts are redacted; `connect_s` is the last measured connect time in s.

    `last_error` stays after a recovery: `state` says whether it still matters. `stderr_lines` are the newest lines that the
    server wrote to its standard error. `retry_s` is the wait before the next connection. `needs_sign_in`: it asked for a sign-in last.
    `owner` is the client that the session belongs to; its `owner_key` is "" if any client may have the session. `person` is whose values and
    sign-in it has, "" for the shared ones.
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


# What an import gives: servers, notes, and secrets that must not reach the store; and what a server listed when it was asked.


@dataclass(frozen=True, slots=True)
class Note:
    """Something taken with a remark ("tool X has no input schema: its arguments are not checked")."""

    where: str
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """A value that the user has to supply before the server can start (`${input:id}`)."""

    id: str
    description: str
    secret: bool


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of reading one document.

    `secrets` maps a reference name (as in `${secret:NAME}`) to its value: kept in memory, never stored.
    `needs_discovery` lists servers whose tools have to be asked from the server itself, `off` has those that are disabled.
    `itself` names the entries that are Wayfare; they are left out. `left_out` counts the bad entries of a large file; the notes
    name the first of them.
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
    """The result for one server: itself with its tools, or an error sentence. `connect_s` is None for an open session.

    `refused` has a sentence for each of its tools that was refused. `kept`: it did not answer, and stays as it was discovered before.
    `unauthorized`: it answered 401, and stays as its configuration has it until a person signs in or gives a header.
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
        """Sentences about tools that were taken without a part."""
        return () if self.server is None else tuple(one for one in self.server.odd if one not in self.refused)
