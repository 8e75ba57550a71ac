"""How a server is reached: one entry of a client's configuration becomes a `Connection` without secrets."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from core.domain.catalog import Connection, Transport
from core.importers.checks import MAX_TEXT, kind, line_fault, shown
from core.importers.entry import Entry
from core.importers.secrets import SecretExtractor

_TRANSPORTS: dict[str, Transport] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamablehttp": "http",
    "remote": "http",
    "sse": "sse",
}
_URLS = ("url", "serverUrl", "httpUrl")


def read_connection(entry: Entry, server: str) -> Connection | None:
    """One `mcpServers` entry; None where (a fault) it says neither command nor address.

    >>> from core.importers.reading import Reading
    >>> reading = Reading("mcp.json")
    >>> entry = Entry(reading, 'mcpServers "web"', {"url": "https://x.org/mcp", "headers": {"X-Key": "s3cret"}})
    >>> read_connection(entry, "web").headers, reading.secrets
    ({'X-Key': '${secret:web/X-Key}'}, {'web/X-Key': 's3cret'})
    """
    extractor = SecretExtractor(entry, server)
    command = entry.raw_text("command")
    url = next((found for key in _URLS if (found := entry.raw_text(key))), "")
    transport = _transport(entry, command, url)
    if transport is None:
        return None
    if transport == "stdio":
        return _local(entry, extractor, command)
    _check_url(entry, url)
    return Connection(transport, url=extractor.hide_leaks("url", url), headers=_headers(entry, extractor))


def _transport(entry: Entry, command: str, url: str) -> Transport | None:
    key = "type" if entry.get("type") is not None else "protocol" if entry.get("protocol") is not None else "transport"
    spelled = re.sub(r"[^a-z]", "", entry.raw_text(key).lower())
    if spelled not in {"", "auto"} and spelled not in _TRANSPORTS:
        entry.problem(f"{key} is not a transport that is known; give stdio, http or sse")
        return None
    transport = _TRANSPORTS.get(spelled, "stdio" if command or not url else "http")
    if not command and not url:
        entry.problem("neither command nor url says how to reach it; give one of them")
        return None
    if not (command if transport == "stdio" else url):
        wanted = "command" if transport == "stdio" else "url"
        entry.problem(f"{key} is {transport} but there is no {wanted}; give the {wanted} or another {key}")
        return None
    return transport


def _local(entry: Entry, extractor: SecretExtractor, command: str) -> Connection:
    arguments = [scalar(entry, f"args[{i}]", raw) for i, raw in enumerate(entry.list("args"))]
    cwd = entry.raw_text("cwd") or entry.raw_text("workingDir")
    for key, text in (("command", command), ("cwd", cwd)):
        if fault := line_fault(text, limit=10_000):
            entry.problem(f"{key} {fault}")
    if entry.get("envFile") is not None:
        entry.note("envFile is not read; give its variables under env")
    env = {name: extractor.hide(name, value) for name, value in pairs(entry, "env").items()}
    env |= {str(raw): _variable(entry, "env_vars", raw) for raw in entry.list("env_vars")}
    return Connection(
        "stdio",
        command=extractor.hide_leaks("command", command),
        args=extractor.hide_arguments(arguments),
        cwd=extractor.hide_leaks("cwd", cwd),
        env=env,
    )


def _headers(entry: Entry, extractor: SecretExtractor) -> dict[str, str]:
    """Headers as clients write them, with Codex's spellings for those that come from the environment."""
    literal = {**pairs(entry, "headers"), **pairs(entry, "http_headers")}
    headers = {name: extractor.hide(name, value) for name, value in literal.items()}
    if any(line_fault(value, limit=100_000) for value in literal.values()):
        entry.problem("headers: a value holds a line break or another control character; remove it")
    for name, variable in pairs(entry, "env_http_headers").items():
        headers[name] = _variable(entry, f"env_http_headers {shown(name)}", variable)
    if variable := entry.raw_text("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer {_variable(entry, 'bearer_token_env_var', variable)}"
    elif token := entry.raw_text("bearer_token"):
        headers["Authorization"] = f"Bearer {extractor.hide('Authorization', token)}"
    return headers


def _variable(entry: Entry, label: str, raw: object) -> str:
    """A reference to an environment variable; where the secret itself is written there, a fault that does not quote it."""
    if isinstance(raw, str) and re.fullmatch(r"[A-Za-z_]\w*", raw):
        return f"${{env:{raw}}}"
    entry.problem(f"{label} is not the name of an environment variable; give the name, not the value")
    return ""


def pairs(entry: Entry, key: str) -> dict[str, str]:
    """An object of names and texts; null means absent, numbers and true or false become text."""
    found: dict[str, str] = {}
    for name, raw in (entry.mapping(key) or {}).items():
        if fault := line_fault(name) or ("" if name.strip() else "is empty; give a name"):
            entry.problem(f"{key}: the name {shown(name)} {fault}")
        elif raw is not None:
            found[name] = scalar(entry, f"{key} {shown(name)}", raw)
    return found


def scalar(entry: Entry, label: str, raw: Any) -> str:
    """A text, or a number or true/false as text; anything else is a fault, which does not quote the value."""
    if isinstance(raw, bool):
        return str(raw).lower()
    if isinstance(raw, int | float):
        return repr(raw)
    if not isinstance(raw, str):
        entry.problem(f"{label} is {kind(raw)}; give text")
    elif "\0" in raw:
        entry.problem(f"{label} holds the control character U+0000; remove it")
    elif len(raw) > MAX_TEXT:
        entry.problem(f"{label} has {len(raw):,} characters; use at most {MAX_TEXT:,}")
    else:
        return raw
    return ""


def _check_url(entry: Entry, url: str) -> None:
    try:
        parts = urlsplit(url)
        fine = "${" in url or (parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0)
    except ValueError:
        fine = False
    if not fine or line_fault(url, limit=10_000):
        entry.problem("url is not an address that can be called; give one that begins with http:// or https://")
