"""What a client does not allow: servers that it switches off or holds back, lists of tools and servers, and time limits.

Clients have many words for these lists, so a key is recognised by its parts. A list that is not followed is named in a note.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

from core.domain.catalog import Connection
from core.importers.entry import Entry

_ON = "(?:allow|include|enable|available|active|only|permit|select|whitelist|expos)"
_OFF = "(?:exclude|disable|disallow|block|den(?:y|ied)|suppress|forbid|hid|blacklist|reject|quarantine|inactive|omit|remove|skip|ignore|ban)"
_TOOLS_ON, _TOOLS_OFF = (
    re.compile(rf"{own}{of}\w*tools?(?:list)?|tools?{of}\w*") for own, of in (("tools|", _ON), ("", _OFF))
)
_SERVERS_ON, _SERVERS_OFF = (re.compile(rf"{of}\w*servers(?:list)?") for of in (_ON, _OFF))
_OF_TOOLS = re.compile(f"{_TOOLS_ON.pattern}|{_TOOLS_OFF.pattern}|toolfilter|permissions")
_OF_OTHER_FILES = frozenset({"enabledmcpservers", "enabledmcpjsonservers", "disabledmcpjsonservers"})  # Claude Code
_QUARANTINE = re.compile(r"(?:is|in|security)?quarantine(?!\w*tool)")
_APPROVES = re.compile("approv|always|auto|trust|confirm|permission")
_RESTRICTS = re.compile(rf"tools?(?!\w*timeout)|filter|{_ON}|{_OFF}")
_FLAGS: Mapping[str, bool] = {
    **dict.fromkeys(("disabled", "disable", "isdisabled", "inactive", "paused", "suspended"), True),
    **dict.fromkeys(("enabled", "enable", "isenabled", "active", "isactive"), False),
}
"""Keys that switch something off, with the value that does."""
_TRUTH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
ServerLists = Sequence[tuple[str, bool, set[str]]]
"""Lists of a document by which servers are on or off: the label of each, whether it allows, and its names."""


def read_restrictions(entry: Entry, connection: Connection | None) -> tuple[Connection | None, str]:
    """The connection with the tools that its client allows, and why the server is off there, or "". Notes say what is left out."""
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
    """Whether a key is a list of tools that are allowed, or of those that are not. Returns None for another one."""
    if _APPROVES.search(name) or not (_TOOLS_ON.fullmatch(name) or _TOOLS_OFF.fullmatch(name)):
        return None
    return _TOOLS_ON.fullmatch(name) is not None


def _why_off(entry: Entry, key: str, value: object) -> str | None:
    """Why a key switches the server off, "" if its value does not, and None for another key."""
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
    """The names of a list of texts or of objects with names. Gemini writes `name(arguments)`, too."""
    if not isinstance(value, list):
        return None
    items = [
        cast("dict[str, object]", one) if isinstance(one, dict) else {"name": one}
        for one in cast("list[object]", value)
    ]
    names = [one.get("name", one.get("serverName")) for one in items]
    return (
        {str(name).partition("(")[0].strip() for name in names} if all(isinstance(one, str) for one in names) else None
    )


def _switches(tools: object) -> dict[str, bool]:
    """The tools that are on or off, as in `{"a": false, "b": {"enabled": false}}` or `[{"name": "b", "enabled": false}]`."""
    found: dict[str, bool] = {}
    if isinstance(tools, list):
        named = [cast("dict[str, object]", one) for one in cast("list[object]", tools) if isinstance(one, dict)]
        tools = {str(one.get("name")): one for one in named}
    for tool, given in cast("dict[str, object]", tools).items() if isinstance(tools, dict) else ():
        settings = cast("dict[str, object]", given) if isinstance(given, dict) else {"enabled": given}
        flags = [
            on is not _FLAGS[_plain(key)]
            for key, on in settings.items()
            if _plain(key) in _FLAGS and on in (True, False)
        ]
        if flags:
            found[tool] = all(flags)
    return found


def _note_ignored(entry: Entry, key: str, value: object) -> None:
    if value and _APPROVES.search(_plain(key)):
        entry.note(
            f"{key} is ignored (tools that its client always allows): the page Govern says what an agent may call"
        )
        return
    inside = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    says = value not in (None, "", 0, [], {}) or (value is False and key == "tools")
    if (says and _RESTRICTS.match(_plain(key))) or any(_OF_TOOLS.fullmatch(_plain(one)) for one in inside):
        entry.note(f"{key} is ignored: switch tools and servers off here")


def lists_of_servers(top: Entry) -> ServerLists:
    """The lists of a whole document by which servers are on or off."""
    inner = cast("dict[str, Any]", top.value.get("mcp")) if isinstance(top.value.get("mcp"), dict) else {}
    inside = {f"mcp.{key}": value for key, value in inner.items() if re.match(f"{_ON}|{_OFF}", _plain(key))}
    found: list[tuple[str, bool, set[str]]] = []
    for label, value in {**top.value, **inside}.items():
        name, names = _plain(label.removeprefix("mcp.")) + "servers" * (label in inside), _names(value)
        allows, forbids = _SERVERS_ON.fullmatch(name), _SERVERS_OFF.fullmatch(name)
        if names is not None and (allows or forbids) and name not in _OF_OTHER_FILES:
            found.append((label, bool(allows), names))
        elif value and (allows or forbids or _OF_TOOLS.fullmatch(name)):
            top.note(f"{label} is ignored: switch tools and servers off here")
    return found


_LIMIT = re.compile(
    r"(idle|start|startup|init|initialization|connect|connection)?timeout(ms|milliseconds|s|sec|secs|seconds)?"
)
REQUESTS_S = 60.0


def limits(entry: Entry) -> dict[str, float]:
    """The time limits of an entry, as clients name them: in seconds or in ms, and without a unit in ms from 1000 on. A bare `timeout`
    is about requests in some clients, so that it only raises the limit of the start.

    >>> from core.importers.reading import Reading
    >>> limits(Entry(Reading("mcp.json"), "", {"startup_timeout_sec": 90, "idleTimeout": 7_200_000, "timeout": 5}))
    {'start_s': 90.0, 'idle_s': 7200.0}
    """
    found: dict[str, float] = {}
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
            found["idle_s" if match[1] == "idle" else "start_s"] = seconds
        elif seconds > REQUESTS_S:
            found.setdefault("start_s", seconds)
    return found
