"""Setup of clients: their configuration texts, their requests so far, and the configurations on this machine.

The page Setup, `wayfare setup` and docs/clients.md take the texts from `CLIENTS`. Client files are only read, and only below the home folder.

>>> print(CLIENTS["codex"].text("http", Target(url="http://127.0.0.1:8501/mcp", token="wf_x")))
[mcp_servers.wayfare]
url = "http://127.0.0.1:8501/mcp"
http_headers = { Authorization = "Bearer wf_x" }
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from core.catalogs.catalogs import CatalogService
from core.domain.catalog import OWN_PATH, Connection, Imported, Server
from core.domain.errors import UnknownNameError, WayfareError
from core.domain.settings import FIRST_CATALOG, Settings, own_url
from core.governance.clients import ClientVisits, Visit
from core.importers import detect, read_files
from core.importers.reading import parse
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from core.importers.token_meter import Counted, TokenMeter, token_meter

Way = Literal["stdio", "http"]
WAYS: tuple[Way, ...] = ("stdio", "http")
Language = Literal["sh", "json", "toml", "python", "javascript"]
NAME, TOKEN_VARIABLE = "wayfare", "WAYFARE_TOKEN"
DESKTOP_FOLDERS = ("Library/Application Support", ".config", "AppData/Roaming")
"""Folders of settings below the home folder: macOS, Linux, Windows."""


@dataclass(frozen=True, slots=True)
class Target:
    """How this Wayfare is reached: the words of its command, its address, and the client's token or ""."""

    command: tuple[str, ...] = ("wayfare", "mcp")
    url: str = "http://127.0.0.1:8501/mcp"
    token: str = ""

    @property
    def environment(self) -> dict[str, str]:
        return {TOKEN_VARIABLE: self.token} if self.token else {}

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


@dataclass(frozen=True, slots=True)
class SetupClient:
    """One client. `where` says where its text goes, `announces` are the names that it gives itself, in lower case. `files` are its
    configuration files below the home folder. `checked` says how its text was checked. `ways` are the transports that it can be configured
    for, the simplest first."""

    id: str
    title: str
    language: Language
    where: str
    write: Callable[[Target, Way], str]
    announces: tuple[str, ...]
    checked: str
    files: tuple[str, ...] = ()
    note: str = ""
    ways: tuple[Way, ...] = ("http", "stdio")

    def text(self, way: Way, target: Target) -> str:
        """Returns the exact text. Raises WayfareError if the client cannot be configured for HTTP."""
        if way not in self.ways:
            raise WayfareError(f"The configuration of {self.title} takes commands only; use stdio.")
        return self.write(target, way)

    def is_named(self, name: str) -> bool:
        """Whether a client that gives itself this name is this client.

        >>> CLIENTS["cursor"].is_named("cursor-vscode"), CLIENTS["cursor"].is_named("claude-code")
        (True, False)
        """
        return any(name.lower().startswith(prefix) for prefix in self.announces)


def client_of(name: str) -> SetupClient:
    if name not in CLIENTS:
        raise UnknownNameError(f"There is no setup text for {name[:80]!r}; choose one of: {', '.join(CLIENTS)}.")
    return CLIENTS[name]


Write = Callable[[Target, Way], str]


def _json(outer: str, *, url: str = "url", stdio: str = "", http: str = "") -> Write:
    """Returns the text of an entry below `outer`; `url` is the key of the address, `stdio` and `http` are the words for its type."""

    def text(target: Target, way: Way) -> str:
        if way == "http":
            entry = {"type": http, url: target.url, "headers": target.headers}
        else:
            entry = {"type": stdio, **_command_entry(target)}
        return json.dumps({outer: {NAME: {key: value for key, value in entry.items() if value}}}, indent=2)

    return text


def _command_entry(target: Target) -> dict[str, Any]:
    return {"command": target.command[0], "args": list(target.command[1:]), "env": target.environment}


def _options(flag: str, sign: str, values: Mapping[str, str]) -> list[str]:
    return [word for name, value in values.items() for word in (flag, f"{name}{sign}{value}")]


def _claude(target: Target, way: Way) -> str:
    add = ["claude", "mcp", "add"]
    if way == "http":
        return shlex.join([*add, "--transport", "http", NAME, target.url, *_options("--header", ": ", target.headers)])
    variables = _options("--env", "=", target.environment)
    return shlex.join([*add, *variables, "--transport", "stdio", NAME, "--", *target.command])


def _inspector(target: Target, way: Way) -> str:
    if way == "http":
        words = [target.url, "--transport", "http", *_options("--header", ": ", target.headers)]
    else:
        words = [*_options("-e", "=", target.environment), *target.command]
    return shlex.join(["npx", "@modelcontextprotocol/inspector", "--cli", *words, "--method", "tools/list"])


def _codex(target: Target, way: Way) -> str:
    pairs = {"url": target.url, "http_headers": target.headers} if way == "http" else _command_entry(target)
    lines = [f"{name} = {_toml_value(value)}" for name, value in pairs.items() if value]
    return "\n".join([f"[mcp_servers.{NAME}]", *lines])


def _toml_value(value: str | list[str] | dict[str, str]) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {json.dumps(text)}" for name, text in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


PYTHON_STDIO = """\
import anyio
from mcp import Client, StdioServerParameters

command = StdioServerParameters(command={command}, args={args}{env})


async def main() -> None:
    async with Client(command) as wayfare:
        print([tool.name for tool in (await wayfare.list_tools()).tools])


anyio.run(main)"""
PYTHON_HTTP = """\
import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

http = httpx2.AsyncClient({headers}timeout=httpx2.Timeout(30, read=300))


async def main() -> None:
    async with http, Client(streamable_http_client({url}, http_client=http)) as wayfare:
        print([tool.name for tool in (await wayfare.list_tools()).tools])


anyio.run(main)"""


def _python(target: Target, way: Way) -> str:
    if way == "http":
        headers = f"headers={json.dumps(target.headers)}, " if target.token else ""
        return PYTHON_HTTP.format(headers=headers, url=json.dumps(target.url))
    env = f", env={json.dumps(target.environment)}" if target.token else ""
    command, args = json.dumps(target.command[0]), json.dumps(list(target.command[1:]))
    return PYTHON_STDIO.format(command=command, args=args, env=env)


TYPESCRIPT = """\
import {{ Client }} from "@modelcontextprotocol/client";
import {{ {kind} }} from "@modelcontextprotocol/client{part}";

const client = new Client({{ name: "my-agent", version: "1" }}, {{ versionNegotiation: {{ mode: "auto" }} }});
await client.connect(new {kind}({arguments}));
console.log((await client.listTools()).tools.map((tool) => tool.name));
await client.close();"""


def _typescript(target: Target, way: Way) -> str:
    if way == "http":
        options = f", {json.dumps({'requestInit': {'headers': target.headers}})}" if target.token else ""
        arguments = f"new URL({json.dumps(target.url)}){options}"
        return TYPESCRIPT.format(kind="StreamableHTTPClientTransport", part="", arguments=arguments)
    arguments = json.dumps({key: value for key, value in _command_entry(target).items() if key != "env" or value})
    return TYPESCRIPT.format(kind="StdioClientTransport", part="/stdio", arguments=arguments)


DOCUMENTED = "written from the client's documentation; the client itself was not run here"
CLIENTS: dict[str, SetupClient] = {
    client.id: client
    for client in (
        SetupClient(
            "claude-code", "Claude Code", "sh", "Run in a terminal. With --scope user it holds for all projects.",
            _claude, ("claude-code",), "with a token, over both, by Claude Code 2.1.197: connected",
            files=(".claude.json",), note="Servers of single projects are not read from its file.",
        ),
        SetupClient(
            "claude-desktop", "Claude Desktop", "json",
            "claude_desktop_config.json (Settings, Developer, Edit Config). Restart the app afterwards.",
            _json("mcpServers"), ("claude-ai", "claude-desktop"), DOCUMENTED, ways=("stdio",),
            files=tuple(f"{folder}/Claude/claude_desktop_config.json" for folder in DESKTOP_FOLDERS),
            note="Its file takes commands only. Its custom connectors come from the vendor's servers and do not reach this machine.",
        ),
        SetupClient(
            "vscode", "VS Code", "json", ".vscode/mcp.json in a project, or the command MCP: Open User Configuration.",
            _json("servers", stdio="stdio", http="http"), ("visual studio code",), DOCUMENTED,
            files=tuple(f"{folder}/Code/User/mcp.json" for folder in DESKTOP_FOLDERS),
        ),
        SetupClient(
            "cursor", "Cursor", "json", "~/.cursor/mcp.json, or .cursor/mcp.json in a project.",
            _json("mcpServers"), ("cursor",), DOCUMENTED, files=(".cursor/mcp.json",),
        ),
        SetupClient(
            "codex", "Codex", "toml", "~/.codex/config.toml. It is read when Codex starts.",
            _codex, ("codex",), "with a token, over both, by Codex 0.169.0: tools listed", files=(".codex/config.toml",),
        ),
        SetupClient(
            "gemini-cli", "Gemini CLI", "json", "~/.gemini/settings.json, or .gemini/settings.json in a project.",
            _json("mcpServers", url="httpUrl"), ("gemini-cli",), "with a token, over both, by Gemini CLI 0.61.0: connected",
            files=(".gemini/settings.json",),
        ),
        SetupClient(
            "windsurf", "Windsurf", "json", "~/.codeium/windsurf/mcp_config.json (MCP in the Cascade panel, Configure).",
            _json("mcpServers", url="serverUrl"), ("windsurf",), DOCUMENTED,
            files=(".codeium/windsurf/mcp_config.json",),
        ),
        SetupClient(
            "zed", "Zed", "json", "~/.config/zed/settings.json (the command zed: open settings file).",
            _json("context_servers"), ("zed",), DOCUMENTED,
            files=(".config/zed/settings.json", "AppData/Roaming/Zed/settings.json"),
        ),
        SetupClient(
            "inspector", "MCP Inspector", "sh", "Run in a terminal: it lists the tools. Without --cli it opens its page.",
            _inspector, ("inspector", "mcp-inspector"),
            "with a token, over both, by its command line 2.12.0: tools listed",
        ),
        SetupClient(
            "python", "Python SDK", "python", 'A script, with `pip install "mcp>=2"`.',
            _python, ("mcp",), "with a token, run as it stands: over HTTP by the tests, over stdio by hand",
        ),
        SetupClient(
            "typescript", "TypeScript SDK", "javascript", "A module (.mjs), with `npm install @modelcontextprotocol/client`.",
            _typescript, ("my-agent",), "with a token, over both, run as it stands with version 2.4.0",
        ),
    )
}  # fmt: skip
"""The clients, in the order in which they are shown."""

TURNS = 30


def target_of(settings: Settings, catalog: str = FIRST_CATALOG, token: str = "", url: str = "") -> Target:
    """Returns how a client reaches this Wayfare: a command with the options that differ from the defaults, and an address. `url` is the
    address of the running console, if it is another process."""
    options = [] if catalog == FIRST_CATALOG else ["--catalog", catalog]
    if str(settings.db) != str(Settings().db):
        options += ["--db", str(Path(settings.db).expanduser().absolute())]
    query = "" if catalog == FIRST_CATALOG else f"?catalog={catalog}"
    return Target((*_program(), "mcp", *options), f"{url or own_url()}{OWN_PATH}{query}", token)


def _program() -> tuple[str, ...]:
    """Returns the full path of the command, because a client does not start it from this folder."""
    program = shutil.which("wayfare", path=str(Path(sys.executable).parent)) or shutil.which("wayfare")
    return (program,) if program else (sys.executable, "-m", "core.cli")


def visits_of(visits: ClientVisits, client: SetupClient, token_client: str = "") -> tuple[Visit, ...]:
    """Returns the requests of a client, by the name that it gives itself or by the client of its token. The latest first."""
    return tuple(
        visit for visit in visits.all() if client.is_named(visit.name) or (token_client and visit.token == token_client)
    )


@dataclass(frozen=True)
class FoundConfiguration:
    """A client's configuration file. `servers` are its servers without Wayfare itself. `known` are the servers whose tools are in
    a catalog, `tokens` and `tools` count these tools. `problem` says why the file cannot be read, or is ""."""

    client: SetupClient
    path: Path
    problem: str = ""
    imported: Imported | None = field(default=None, repr=False)
    servers: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    tools: int = 0
    tokens: int = 0
    has_wayfare: bool = False

    @property
    def others(self) -> Imported | None:
        """The import without Wayfare itself. None if the file cannot be read or names no other server."""
        return self.imported if self.servers else None

    def meter(self, own_tokens: int) -> TokenMeter:
        """Returns the tokens of one turn now and with the definitions of Wayfare's own tools, counted, and of `TURNS` equal turns,
        projected."""
        return token_meter(Counted(self.tools, self.tokens, exposed=own_tokens, cached=0), turns=TURNS)


def found_configurations(catalogs: CatalogService, home: Path) -> list[FoundConfiguration]:
    sizes = _known_tools(catalogs)
    return [_read(client, path, sizes) for client in CLIENTS.values() for path in _files(client, home)]


def _files(client: SetupClient, home: Path) -> Iterator[Path]:
    for name in client.files:
        path = home / name
        inside = path.is_file() and path.resolve().is_relative_to(home.resolve())  # a link may lead elsewhere
        if inside and _names_servers(path):
            yield path


def _names_servers(path: Path) -> bool:
    """Whether a file is worth showing, because it names servers or cannot be read."""
    try:
        return detect(parse(path.read_bytes(), source=path.name)) is not None
    except (OSError, WayfareError):
        return True


def _read(client: SetupClient, path: Path, sizes: dict[tuple[object, ...], tuple[int, int]]) -> FoundConfiguration:
    try:
        imported = read_files([path])
    except WayfareError as error:
        return FoundConfiguration(client, path, str(error))
    counts = {server.name: sizes[key] for server in imported.servers if (key := _key(server)) in sizes}
    return FoundConfiguration(
        client,
        path,
        imported=imported,
        servers=tuple(server.name for server in imported.servers),
        known=tuple(counts),
        tools=sum(tools for tools, _ in counts.values()),
        tokens=sum(tokens for _, tokens in counts.values()),
        has_wayfare=bool(imported.itself),
    )


def _known_tools(catalogs: CatalogService) -> dict[tuple[object, ...], tuple[int, int]]:
    """Returns the number of tools and their tokens for each server of the imported catalogs, by how it is reached."""
    counts: dict[tuple[object, ...], tuple[int, int]] = {}
    for info in catalogs.infos():
        if info.name in SHIPPED_CATALOGS:
            continue
        catalog, tokens = catalogs.catalog(info.name), catalogs.tokens(info.name)
        for server in catalog.servers:
            if server.tools and server.connection is not None:
                rows = [catalog.tool_row[tool.id] for tool in server.tools]
                counts[_key(server)] = len(rows), int(tokens[rows].sum())
    return counts


def _key(server: Server) -> tuple[object, ...]:
    connection = server.connection or Connection("stdio")
    return server.name, connection.command, connection.args, connection.url
