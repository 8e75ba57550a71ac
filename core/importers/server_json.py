"""The MCP Registry's `server.json`, alone or as the registry's list response; in camelCase or the 2025-07 snake_case.

A remote is preferred to a package: it needs nothing installed and runs nothing of a stranger on this machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from core.domain.catalog import Connection, Prompt, Server
from core.importers.connections import read_connection, scalar
from core.importers.entry import Entry, read_prices
from core.importers.formats import Importer
from core.importers.reading import Reading, members, objects, shown
from core.importers.secrets import SecretExtractor, secret_name

# The registry's inputs: values of variables, headers and arguments that are fixed, have a default, or must be entered.


def ask(entry: Entry, server: str, name: str) -> str:
    """Records that a value must be entered, and returns its reference."""
    key = secret_name(server, name)
    optional = "" if entry.flag("isRequired") else "optional: "
    description = f"{optional}{entry.text('description') or name}"
    entry.reading.prompt(Prompt(key, description, secret=entry.flag("isSecret") is True))
    return f"${{secret:{key}}}"


def value_of(entry: Entry, server: str, name: str) -> str | None:
    """Returns an input's fixed value, a reference to a value that must be entered, or the default. None if it is optional."""
    fixed = entry.get("value")
    if fixed is not None:
        text = fill_in(entry, server, scalar(entry, "value", fixed))
        return SecretExtractor(entry, server).hide(name, text) if entry.flag("isSecret") else text
    default = entry.get("default")
    if entry.flag("isSecret") or (entry.flag("isRequired") and default is None):
        return ask(entry, server, name)
    return None if default is None else scalar(entry, "default", default)


def fill_in(entry: Entry, server: str, template: str) -> str:
    """Fills in the `{variables}` of a text: their values, or references to values that must be entered."""
    for name, variable in entry.named("variables"):
        if f"{{{name}}}" in template:
            value = value_of(variable, server, name)
            template = template.replace(f"{{{name}}}", ask(variable, server, name) if value is None else value)
    return template


def fill_in_all(entry: Entry, server: str, key: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for item in entry.entries(key):
        name = item.name()
        value = value_of(item, server, name)
        if value is not None:
            values[name] = value
        elif name:
            item.note("optional and without a default: it is left out")
    return values


def arguments(entry: Entry, server: str, key: str) -> list[str]:
    """Returns positional and named command-line arguments in their order, without optional arguments that have no value."""
    words: list[str] = []
    for position, item in enumerate(entry.entries(key)):
        flag = item.raw_text("name") if item.raw_text("type") != "positional" else ""
        label = re.sub(r"^-+", "", flag) or item.raw_text("valueHint") or f"{key}_{position}"
        value = value_of(item, server, label)
        if value is None and flag and not any(item.get(k) for k in ("format", "choices", "valueHint", "placeholder")):
            words.append(flag)
        elif value is not None:
            words += [flag, value] if flag else [value]
    return words


# The command that starts a published package: npx, uvx, docker or dnx, by its registry type or runtime hint.

_RUNNERS = {"npm": "npx", "pypi": "uvx", "oci": "docker", "docker": "docker", "nuget": "dnx"}
_WORD = re.compile(r"[A-Za-z0-9@][^\s\x00-\x1f]*")


def package_command(package: Entry, server: str) -> dict[str, Any] | None:
    """Returns a package as an entry of a client's configuration, or None with a note if it cannot be started here."""
    registry = (package.raw_text("registryType") or package.raw_text("registry_name")).lower()
    hint = package.raw_text("runtimeHint")
    runner = hint if hint in _RUNNERS.values() else _RUNNERS.get(registry)
    transport = package.child("transport")
    if runner is None or (transport is not None and transport.raw_text("type") not in {"", "stdio"}):
        package.note("it is neither npm, PyPI, OCI nor NuGet over stdio: it is not used")
        return None
    identifier = package.raw_text("identifier") or package.raw_text("name")
    version = package.raw_text("version")
    if not _WORD.fullmatch(identifier) or (version and not _WORD.fullmatch(version)):
        package.problem(
            "identifier or version is not a package's; give a name and a version without spaces or dashes before"
        )
        return None
    env = fill_in_all(package, server, "environmentVariables")
    runtime = arguments(package, server, "runtimeArguments")
    args = arguments(package, server, "packageArguments")
    return {"command": runner, "args": _arguments(runner, runtime, (identifier, version), args, env), "env": env}


def _arguments(
    runner: str, runtime: list[str], package: tuple[str, str], package_args: list[str], env: dict[str, str]
) -> list[str]:
    identifier, version = package
    pinned = f"{identifier}@{version}" if version and version != "latest" else identifier
    if runner == "npx":
        return [*([] if {"-y", "--yes"} & set(runtime) else ["-y"]), *runtime, pinned, *package_args]
    if runner == "docker":
        head = [] if runtime[:1] == ["run"] else ["run", "-i", "--rm"]
        has_tag = ":" in identifier.rpartition("/")[2] or not version
        env_flags = [word for name in env for word in ("-e", name)]
        return [*head, *runtime, *env_flags, identifier if has_tag else f"{identifier}:{version}", *package_args]
    if runner == "dnx":
        return [*runtime, pinned, "--yes", *(["--", *package_args] if package_args else [])]
    return [*runtime, pinned, *package_args]


_REMOTES = {"streamable-http": "http", "streamable": "http", "http": "http", "sse": "sse"}


class ServerJson(Importer):
    """`{"name", "description", "version", "remotes": [...], "packages": [...]}`."""

    name = "server_json"
    example = """{"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
  "name": "io.github.example/weather", "description": "Forecasts for any place.", "version": "1.0.2",
  "packages": [{"registryType": "npm", "identifier": "@example/weather", "version": "1.0.2",
    "transport": {"type": "stdio"},
    "environmentVariables": [{"name": "WEATHER_KEY", "description": "Key", "isRequired": true, "isSecret": true}]}]}"""

    def matches(self, document: object) -> bool:
        """An object with packages, remotes or the registry's `$schema`; also wrapped in `server`, or several."""
        top = members(document)
        if {"servers", "mcpServers", "mcp_servers"} & top.keys():
            return any("server" in item for item in objects(top.get("servers")))
        if {"packages", "remotes"} & top.keys():
            return True
        wrapped = "server" in top and "mcp_config" not in members(top["server"])
        named = wrapped or "server.schema.json" in str(top.get("$schema"))
        return named and not {"name", "tools"} <= top.keys()

    def _fill(self, reading: Reading, document: object) -> None:
        for entry in _documents(Entry(reading, "", members(document))):
            name = entry.server_name()
            connection = _connection(entry, name)
            if connection is not None:
                title, ask_usd = entry.line("title"), read_prices(entry).default
                server = Server(name, entry.text("description"), title, ask_usd=ask_usd, connection=connection)
                reading.add(entry.where, server)


def _documents(top: Entry) -> Iterator[Entry]:
    """Yields each server's document. The registry wraps it in `server` and lists several under `servers`, perhaps in several versions:
    the latest is taken, else the last."""
    entries = list(top.entries("servers")) if "servers" in top.value else [top]
    documents: list[tuple[bool, Entry]] = []
    for outer in entries:
        value = outer.mapping("server") if "server" in outer.value else outer.value
        if value is not None:
            name = value.get("name")
            label = f" {shown(name)}" if isinstance(name, str) and outer.where else ""
            documents.append((_is_latest(outer), Entry(top.reading, outer.where + label, value)))
    taken = {_name(entry): entry for _, entry in sorted(documents, key=itemgetter(0))}  # the last of a name wins
    for _, entry in documents:
        if taken[_name(entry)] is entry:
            yield entry
        else:
            entry.note("another version of it is taken: it is left out")


def _name(entry: Entry) -> str:
    return str(entry.get("name") or entry.where)


def _is_latest(outer: Entry) -> bool:
    official = members(outer.value.get("_meta")).get("io.modelcontextprotocol.registry/official")
    return members(official).get("isLatest") is True  # any other form of the mark is no fault of the server


def _connection(entry: Entry, name: str) -> Connection | None:
    """Returns the first supported connection of the server, or None with a fault or a note."""
    problem_count = len(entry.reading.problems)
    remotes: list[tuple[str, Entry]] = []
    for remote in entry.entries("remotes"):
        kind = remote.raw_text("type") or remote.raw_text("transport_type")
        if kind in _REMOTES:
            remotes.append((_REMOTES[kind], remote))
    packages = list(entry.entries("packages"))
    if remotes:
        if packages:
            entry.note("its remote is taken, its packages are not")
        transport, remote = min(remotes, key=itemgetter(0))  # http before sse
        url, headers = fill_in(remote, name, remote.raw_text("url")), fill_in_all(remote, name, "headers")
        raw = {"type": transport, "url": url, "headers": headers}
        return read_connection(Entry(remote.reading, remote.where, raw), name)
    for package in packages:
        raw = package_command(package, name)
        if raw is not None:
            return read_connection(Entry(package.reading, package.where, raw), name)
    if len(entry.reading.problems) == problem_count:
        entry.note("none of its remotes and packages can be used here: it is left out")
    return None
