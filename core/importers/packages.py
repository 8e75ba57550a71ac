"""The command that starts a published package: npx, uvx, docker or dnx, by its registry type or runtime hint."""

from __future__ import annotations

import re
from typing import Any

from core.importers.entry import Entry
from core.importers.registry_inputs import arguments, fill_in_all

_RUNNERS = {"npm": "npx", "pypi": "uvx", "oci": "docker", "docker": "docker", "nuget": "dnx"}
_WORD = re.compile(r"[A-Za-z0-9@][^\s\x00-\x1f]*")


def package_command(package: Entry, server: str) -> dict[str, Any] | None:
    """A package as an entry of a client's configuration; None (and a note) where it cannot be started here.

    >>> from core.importers.reading import Reading
    >>> package = {"registry_type": "pypi", "identifier": "weather-mcp", "version": "0.5.0"}
    >>> package_command(Entry(Reading("server.json"), "packages[0]", package), "org.x/weather")
    {'command': 'uvx', 'args': ['weather-mcp@0.5.0'], 'env': {}}
    """
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
    given = arguments(package, server, "packageArguments")
    return {"command": runner, "args": _arguments(runner, runtime, (identifier, version), given, env), "env": env}


def _arguments(
    runner: str, runtime: list[str], package: tuple[str, str], given: list[str], env: dict[str, str]
) -> list[str]:
    """The runner's arguments: its own, the package, and the package's."""
    identifier, version = package
    pinned = f"{identifier}@{version}" if version and version != "latest" else identifier
    if runner == "npx":
        return [*([] if {"-y", "--yes"} & set(runtime) else ["-y"]), *runtime, pinned, *given]
    if runner == "docker":
        head = [] if runtime[:1] == ["run"] else ["run", "-i", "--rm"]
        tagged = ":" in identifier.rpartition("/")[2] or not version
        passed = [part for name in env for part in ("-e", name)]
        return [*head, *runtime, *passed, identifier if tagged else f"{identifier}:{version}", *given]
    if runner == "dnx":
        return [*runtime, pinned, "--yes", *(["--", *given] if given else [])]
    return [*runtime, pinned, *given]
