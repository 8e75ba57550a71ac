"""What one client may use: catalogs, servers and tools by name or pattern, read-only or not; or the pages, as an
operator. A client may have the right to write example requests.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Self

from core.domain.catalog import Tool


@dataclass(frozen=True, slots=True)
class Scope:
    """Names or patterns (`*`, `?`); an empty list means all. `per_minute` is the client's own rate, None means the
    policy's. `pages` marks an operator: the token signs in to the pages, and gives no access to `/mcp`. `until` is the
    time at which the token expires (ISO 8601), None means never. `improve` lets the client write example requests of
    the tools that it may use.

    >>> scope = Scope(servers=("files",), read_only=True)
    >>> scope.refusal("demo", Tool("mail", "send")), scope.refusal("demo", Tool("files", "write"))
    ("server 'mail' is outside its scope", 'it may only use tools that are declared read-only')
    """

    catalogs: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    read_only: bool = False
    per_minute: float | None = None
    pages: bool = False
    until: str | None = None
    improve: bool = False

    def expired(self, now: datetime) -> bool:
        """Whether the token is no longer accepted.

        >>> Scope(until="2026-11-23T12:00:00+00:00").expired(datetime.fromisoformat("2026-11-23T12:00:00+00:00"))
        True
        """
        return self.until is not None and now >= datetime.fromisoformat(self.until)

    def refusal(self, catalog: str, tool: Tool) -> str:
        """Returns why a tool is outside the scope, or ""."""
        if reason := self.catalog_refusal(catalog):
            return reason
        if self.servers and not matches(tool.server, self.servers):
            return f"server {tool.server!r} is outside its scope"
        if self.tools and not matches(tool.id, self.tools):
            return f"tool {tool.id!r} is outside its scope"
        if self.read_only and tool.hints.read_only is not True:
            return "it may only use tools that are declared read-only"
        return ""

    def catalog_refusal(self, catalog: str) -> str:
        """Returns why a whole catalog is outside the scope, or ""."""
        inside = not self.catalogs or matches(catalog, self.catalogs)
        return "" if inside else f"catalog {catalog!r} is outside its scope"

    @property
    def limited(self) -> bool:
        """Whether some tools are outside."""
        return bool(self.servers or self.tools or self.read_only)

    def words(self) -> str:
        """Returns the scope for people.

        >>> Scope().words(), Scope(servers=("files",), read_only=True).words()
        ('everything', 'servers files, only read-only tools')
        >>> Scope(improve=True).words()
        'everything, and may write example requests'
        """
        until = f" until {self.until[:16].replace('T', ' ')} UTC" if self.until else ""
        return f"{self._may_use()}{until}"

    def _may_use(self) -> str:
        if self.pages:
            return "the pages, as an operator"
        lists = (("catalogs", self.catalogs), ("servers", self.servers), ("tools", self.tools))
        parts = [f"{kind} {' '.join(names)}" for kind, names in lists if names]
        parts += ["only read-only tools"] if self.read_only else []
        parts += [] if self.per_minute is None else [f"{self.per_minute:g} requests a minute"]
        return f"{', '.join(parts) or 'everything'}{', and may write example requests' if self.improve else ''}"

    def to_json(self) -> str:
        """Returns the scope as it is stored."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Returns the scope of a stored text.

        >>> Scope.from_json(Scope(tools=("a::b",)).to_json())
        Scope(catalogs=(), servers=(), tools=('a::b',), read_only=False, per_minute=None, pages=False, until=None, improve=False)
        """
        found = json.loads(text)
        lists = {name: tuple(found[name]) for name in ("catalogs", "servers", "tools")}
        rest = {name: found[name] for name in ("pages", "until", "improve") if name in found}
        return cls(**lists, read_only=found["read_only"], per_minute=found["per_minute"], **rest)


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name equals one of these, or matches one of these patterns.

    >>> matches("files::read", ["files::*"]), matches("mail::send", ["files::*", "mail"])
    (True, False)
    """
    return any(fnmatchcase(name, pattern) for pattern in patterns)
