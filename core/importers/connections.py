"""Reads how a server is reached and what its client forbids. One entry of a configuration becomes a `Connection` without secrets."""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from core.domain.catalog import Connection, Transport
from core.domain.leaks import plain_value
from core.importers.entry import Entry
from core.importers.reading import MAX_TEXT, kind, line_fault, members, objects, shown
from core.importers.secrets import EDITOR_VARIABLES, SecretExtractor

_FOLDERS = ("cwd", "workingDir", "workingDirectory")
_TRANSPORTS: dict[str, Transport] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamablehttp": "http",
    "remote": "http",
    "sse": "sse",
}
_OPENCODE_VARIABLE = re.compile(r"(?<!\$)\{env:([A-Za-z_]\w*)\}")
_GEMINI_VARIABLE = re.compile(r"(?<![^\s/:])\$([A-Z_][A-Z0-9_]*)(?![\w{])")
_PLAIN = re.compile(r"(?i:bearer|basic|token) \$\w+|(?:[a-z][\w+.-]*://|[~.]{0,2}/|\$[A-Z_][A-Z0-9_]*[/:])[^\s@]*")
"""An address or a path without a password, or a token: elsewhere `$NAME` may be a part of a password."""
_OWN_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_URLS = ("url", "serverUrl", "httpUrl", "baseUrl", "uri")


def read_connection(entry: Entry, server: str) -> Connection | None:
    """Reads one `mcpServers` entry. Records a fault and returns None if it has neither command nor address."""
    extractor = SecretExtractor(entry, server)
    entry = _flat(entry)
    command = expanded(entry, entry.raw_text("command"))
    keys = _URLS[:1] if command else _URLS  # beside a command, the others may have another meaning
    url = next((text for key in keys if (text := entry.raw_text(key).strip())), "")
    url = _OPENCODE_VARIABLE.sub(r"${env:\1}", url)
    transport = _transport(entry, command, url)
    if transport is None:
        return None
    if transport == "stdio":
        result = _local(entry, extractor, command)
    else:
        _check_url(entry, url)
        url, headers = extractor.hide_leaks("url", url), _headers(entry, extractor)
        result = Connection(transport, url=url, headers=headers, passwords=tuple(sorted(extractor.passwords)))
    return replace(result, shared=entry.get("shared") is True, **limits(entry))


def _flat(entry: Entry) -> Entry:
    """Returns an entry with the command as text. OpenCode writes a list with the arguments, older Zed an object."""
    command, value = entry.get("command"), {**entry.value, "env": entry.get("env") or entry.get("environment")}
    if isinstance(command, list) and command:
        first, *arguments = cast("list[object]", command)
        value |= {"command": first, "args": [*arguments, *entry.list("args")]}
    elif isinstance(command, dict):
        parts = cast("dict[str, object]", command)
        value |= {**parts, "command": parts.get("path")}
    return Entry(entry.reading, entry.where, value)


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
        missing = "command" if transport == "stdio" else "url"
        entry.problem(f"{key} is {transport} but there is no {missing}; give the {missing} or another {key}")
        return None
    return transport


def _local(entry: Entry, extractor: SecretExtractor, command: str) -> Connection:
    arguments = [expanded(entry, scalar(entry, f"args[{i}]", raw)) for i, raw in enumerate(entry.list("args"))]
    cwd = next((expanded(entry, folder) for key in _FOLDERS if (folder := entry.raw_text(key))), "")
    command, arguments, cwd = placed(entry.reading.folder, command, arguments, cwd)
    for key, text in (("command", command), ("cwd", cwd)):
        if fault := line_fault(text, limit=10_000):
            entry.problem(f"{key} {fault}")
    if entry.get("envFile") is not None:
        entry.note("envFile is not read; give its variables under env")
    values = {name: expanded(entry, value) for name, value in pairs(entry, "env").items()}
    env = {name: _environment_value(entry, extractor, name, value) for name, value in values.items()}
    env |= {str(name): _variable(entry, "env_vars", name) for name in _variable_names(entry)}
    # the program itself or its shell replaces `${NAME}`, by the server's own variable first; `${env:NAME}` is the client's
    arguments = [_OWN_VARIABLE.sub(lambda match: env.get(match[1], match[0]), argument) for argument in arguments]
    return Connection(
        "stdio",
        command=extractor.hide_leaks("command", command),
        args=extractor.hide_arguments(arguments, command),
        cwd=extractor.hide_leaks("cwd", cwd),
        env=env,
        passwords=tuple(sorted(extractor.passwords)),
    )


def _environment_value(entry: Entry, extractor: SecretExtractor, name: str, value: str) -> str:
    if "${" not in value and (reason := plain_value(name, value)):
        entry.note(
            f"env {shown(name)} stays as it is written, because it is {reason}; hide it under its server if it is a secret"
        )
        return value
    return extractor.hide(name, value)


def _headers(entry: Entry, extractor: SecretExtractor) -> dict[str, str]:
    """Reads headers as clients write them, with Codex's spellings for headers from the environment."""
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


def _variable_names(entry: Entry) -> list[object]:
    """Reads Codex's `env_vars`: names, tables with a name, or a table by name."""
    listed = entry.get("env_vars")
    table = list(members(listed))
    items = table if isinstance(listed, dict) else entry.list("env_vars")
    return [item if isinstance(item, str) else members(item).get("name") for item in items]


def _variable(entry: Entry, label: str, raw: object) -> str:
    """Returns a reference to an environment variable. Records a fault for another value, which may be the secret and is not quoted."""
    if isinstance(raw, str) and re.fullmatch(r"[A-Za-z_]\w*", raw):
        return f"${{env:{raw}}}"
    entry.problem(f"{label} is not the name of an environment variable; give the name, not the value")
    return ""


def pairs(entry: Entry, key: str) -> dict[str, str]:
    """Reads an object of names and texts. Null means absent; numbers and booleans become text."""
    texts: dict[str, str] = {}
    for name, raw in (entry.mapping(key) or {}).items():
        if fault := line_fault(name) or ("" if name.strip() else "is empty; give a name"):
            entry.problem(f"{key}: the name {shown(name)} {fault}")
        elif raw is not None:
            text = scalar(entry, f"{key} {shown(name)}", raw)
            texts[name] = _GEMINI_VARIABLE.sub(r"${env:\1}", text) if _PLAIN.fullmatch(text) else text
    return texts


def scalar(entry: Entry, label: str, raw: Any) -> str:
    """Returns a text, number or boolean as text. Records a fault for another value and does not quote it."""
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
        return _OPENCODE_VARIABLE.sub(r"${env:\1}", raw)
    return ""


def _check_url(entry: Entry, url: str) -> None:
    try:
        parts = urlsplit(url)
        fine = "${" in url or (parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0)
    except ValueError:
        fine = False
    if not fine or line_fault(url, limit=10_000):
        entry.problem("url is not an address that can be called; give one that begins with http:// or https://")


_EDITOR_VARIABLE = re.compile(rf"\$\{{({'|'.join(EDITOR_VARIABLES)}|/)\}}")
_HOME = re.compile(r"\A(--?[\w-]+=)?~(?=[/\\]|\Z)")


def expanded(entry: Entry, text: str) -> str:
    """Expands editor variables and a leading `~` in a text, if the folder of its document is known."""
    folder = entry.reading.folder
    if folder is None:
        return text
    workspace = folder.parent if folder.name.startswith(".") else folder  # .vscode, .cursor
    variables = {
        "workspaceFolder": workspace,
        "workspaceFolderBasename": workspace.name,
        "workspaceRoot": workspace,
        "cwd": workspace,
    }
    variables |= {"userHome": Path.home(), "pathSeparator": os.sep, "/": os.sep}
    text = _EDITOR_VARIABLE.sub(lambda match: str(variables[match[1]]), text)
    return _HOME.sub(lambda match: f"{match[1] or ''}{Path.home()}", text)


def placed(folder: Path | None, command: str, arguments: Sequence[str], cwd: str) -> tuple[str, Sequence[str], str]:
    """Returns the command, its arguments and the working directory with resolved paths. The default directory is the document's folder.
    In a folder of editor settings, such as `.vscode`, paths may also count from the folder above."""
    if folder is None:
        return command, arguments, cwd
    bases = (folder, *((folder.parent,) if folder.name.startswith(".") else ()))
    words = [word for word in (cwd, command, *arguments) if word and not word.startswith("-")]
    base = next((candidate for word in words for candidate in bases if _exists(candidate / word)), folder)
    place = base / cwd if "${" not in cwd[:2] else Path(cwd)
    path = place / command if _exists(place / command) else base / command
    named = "/" in command or os.sep in command or (_exists(path) and not shutil.which(command))
    if named and "${" not in command[:2]:
        command = os.path.normpath(path)
    moved = {arg for arg in arguments if re.search(r"[/\\.]", arg) and not _exists(place / arg) and _exists(base / arg)}
    return command, [str(base / arg) if arg in moved else arg for arg in arguments], os.path.normpath(place)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


# Servers that a client switches off or holds back, lists of tools and servers, and time limits. Clients have many words for these lists, so
# a key is recognised by its parts. A note names each list that is ignored.

_ON = "(?:allow|include|enable|available|active|only|permit|select|whitelist|expos)"
_OFF = "(?:exclude|disable|disallow|block|den(?:y|ied)|suppress|forbid|hid|blacklist|reject|quarantine|inactive|omit|remove|skip|ignore|ban)"
_TOOLS_ON, _TOOLS_OFF = (
    re.compile(rf"{prefix}{verbs}\w*tools?(?:list)?|tools?{verbs}\w*")
    for prefix, verbs in (("tools|", _ON), ("", _OFF))
)
_SERVERS_ON, _SERVERS_OFF = (re.compile(rf"{verbs}\w*servers(?:list)?") for verbs in (_ON, _OFF))
_OF_TOOLS = re.compile(f"{_TOOLS_ON.pattern}|{_TOOLS_OFF.pattern}|toolfilter|permissions")
_OF_OTHER_FILES = frozenset({"enabledmcpservers", "enabledmcpjsonservers", "disabledmcpjsonservers"})  # Claude Code
_QUARANTINE = re.compile(r"(?:is|in|security)?quarantine(?!\w*tool)")
_APPROVES = re.compile("approv|always|auto|trust|confirm|permission")
_RESTRICTS = re.compile(rf"tools?(?!\w*timeout)|filter|{_ON}|{_OFF}")
_FLAGS: Mapping[str, bool] = {
    **dict.fromkeys(("disabled", "disable", "isdisabled", "inactive", "paused", "suspended"), True),
    **dict.fromkeys(("enabled", "enable", "isenabled", "active", "isactive"), False),
}
"""Keys that switch a server or a tool off, each with the value that does so."""
_TRUTH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
ServerLists = Sequence[tuple[str, bool, set[str]]]
"""Lists that switch servers on or off: the label of each, whether it allows, and its names."""


def read_restrictions(entry: Entry, connection: Connection | None) -> tuple[Connection | None, str]:
    """Returns the connection with the tools that its client allows, and why the server is off there, or "". Notes report omitted tools."""
    off = ""
    only: set[str] | None = None
    without: set[str] = set()
    for key, value in entry.value.items():
        name = _plain(key)
        if (why := _why_off(entry, key, value)) is not None:
            off = why if "quarantine" in why else off or why
        elif name == "tools" and (flags := _switches(value)):
            without |= {tool for tool, on in flags.items() if not on}
        elif (names := _names(value)) is None or (allows := _allows(name)) is None:
            _note_ignored(entry, key, value)
        elif not allows:
            without |= names
        elif "*" not in names:
            only = names if only is None else only & names
            entry.note(f"{key} allows {len(names) or 'none'} of its tools alone: the others are left out")
    if without:
        entry.note(
            f"{len(without)} of its tools {'is' if len(without) == 1 else 'are'} switched off there and left out"
        )
    if connection is not None:
        allowed, forbidden = None if only is None else tuple(sorted(only)), tuple(sorted(without))
        connection = replace(connection, only=allowed, without=forbidden, quarantined="quarantined" in off)
    return connection, off


def _allows(name: str) -> bool | None:
    """Whether a key lists allowed tools (True) or forbidden tools (False). Returns None for another key."""
    if _APPROVES.search(name) or not (_TOOLS_ON.fullmatch(name) or _TOOLS_OFF.fullmatch(name)):
        return None
    return _TOOLS_ON.fullmatch(name) is not None


def _why_off(entry: Entry, key: str, value: object) -> str | None:
    """Returns why a key switches the server off, "" if its value does not, and None for another key."""
    name = _plain(key)
    if name in ("state", "status") and isinstance(value, str):  # `"status": "disabled"`
        name, value = _plain(value), True
    if _QUARANTINE.match(name):
        held = value not in (None, False, "", "false")
        return "it is quarantined: it stays switched off until a person switches it on" if held else ""
    if name not in _FLAGS:
        return None
    on = _TRUTH[str(value).lower()] if str(value).lower() in _TRUTH else entry.flag(key)
    return "it is disabled: it is switched off here, too" if on is _FLAGS[name] else ""


def _plain(key: str) -> str:
    return re.sub("[^a-z]", "", key.lower())


def _names(value: object) -> set[str] | None:
    """Returns the names in a list of texts or of objects with names. Gemini writes `name(arguments)`, too."""
    if not isinstance(value, list):
        return None
    names = [
        item if isinstance(item, str) else members(item).get("name", members(item).get("serverName"))
        for item in cast("list[object]", value)
    ]
    return {str(name).partition("(")[0].strip() for name in names} if all(isinstance(x, str) for x in names) else None


def _switches(tools: object) -> dict[str, bool]:
    """Returns which tools are on or off, as in `{"a": false, "b": {"enabled": false}}` or `[{"name": "b", "enabled": false}]`."""
    switches: dict[str, bool] = {}
    for tool, value in members(tools).items() or [(str(item.get("name")), item) for item in objects(tools)]:
        settings = members(value) or {"enabled": value}
        flags = [
            on is not _FLAGS[_plain(key)]
            for key, on in settings.items()
            if _plain(key) in _FLAGS and on in (True, False)
        ]
        if flags:
            switches[tool] = all(flags)
    return switches


def _note_ignored(entry: Entry, key: str, value: object) -> None:
    if value and _APPROVES.search(_plain(key)):
        entry.note(
            f"{key} is ignored (tools that its client always allows): the page Govern says what an agent may call"
        )
        return
    says = value not in (None, "", 0, [], {}) or (value is False and key == "tools")
    if (says and _RESTRICTS.match(_plain(key))) or any(_OF_TOOLS.fullmatch(_plain(inner)) for inner in members(value)):
        entry.note(f"{key} is ignored: switch tools and servers off here")


def lists_of_servers(top: Entry) -> ServerLists:
    inner = members(top.value.get("mcp"))
    inside = {f"mcp.{key}": value for key, value in inner.items() if re.match(f"{_ON}|{_OFF}", _plain(key))}
    lists: list[tuple[str, bool, set[str]]] = []
    for label, value in {**top.value, **inside}.items():
        name, names = _plain(label.removeprefix("mcp.")) + "servers" * (label in inside), _names(value)
        allows, forbids = _SERVERS_ON.fullmatch(name), _SERVERS_OFF.fullmatch(name)
        if names is not None and (allows or forbids) and name not in _OF_OTHER_FILES:
            lists.append((label, bool(allows), names))
        elif value and (allows or forbids or _OF_TOOLS.fullmatch(name)):
            top.note(f"{label} is ignored: switch tools and servers off here")
    return lists


_LIMIT = re.compile(
    r"(idle|start|startup|init|initialization|connect|connection)?timeout(ms|milliseconds|s|sec|secs|seconds)?"
)
REQUESTS_S = 60.0


def limits(entry: Entry) -> dict[str, float]:
    """Returns the time limits of an entry in seconds. Without a unit, numbers from 1000 on are in ms. A bare `timeout` limits requests
    in some clients, so it only raises the limit of the start.

    >>> from core.importers.reading import Reading
    >>> limits(Entry(Reading("mcp.json"), "", {"startup_timeout_sec": 90, "idleTimeout": 7_200_000, "timeout": 5}))
    {'start_s': 90.0, 'idle_s': 7200.0}
    """
    time_limits: dict[str, float] = {}
    for key, raw in entry.value.items():
        match = _LIMIT.fullmatch(re.sub("[_-]", "", key).lower())
        if match is None or raw is None:
            continue
        number = math.nan
        with suppress(ValueError):
            number = math.nan if isinstance(raw, bool) else float(str(raw))
        in_ms = match[2].startswith("m") if match[2] else number >= 1000
        seconds = number / 1000 if in_ms else number
        if not 0 < seconds < math.inf:
            entry.note(f"{key} is no time above 0 and is ignored")
        elif match[1]:
            time_limits["idle_s" if match[1] == "idle" else "start_s"] = seconds
        elif seconds > REQUESTS_S:
            time_limits.setdefault("start_s", seconds)
    return time_limits
