"""Tools by the name that an agent gives: found, or the nearest names."""

from __future__ import annotations

from difflib import get_close_matches

from core.domain.catalog import Catalog, Server, Tool
from core.endpoint.base import Refusal

LONGEST_NAME = 300
MOST_NEAR = 5


def find(catalog: Catalog, name: str) -> tuple[Server, Tool]:
    """The server and the tool of `server::tool`. Raises Refusal with the nearest names."""
    row = catalog.tool_row.get(name)
    if row is None:
        near = nearest(catalog, name)
        meant = f"Did you mean {', '.join(near)}? " if near else ""
        raise Refusal(
            "unknown_tool",
            f"There is no tool {name!r} in catalog {catalog.name!r}.",
            f"{meant}Write server::tool as search_tools gives it.",
        )
    tool = catalog.tools[row]
    return catalog.servers[catalog.server_row[tool.server]], tool


def nearest(catalog: Catalog, name: str) -> tuple[str, ...]:
    """Names like this one: those with the same last part first, then those that are spelled much alike.

    >>> catalog = Catalog("c", (Server("files", tools=(Tool("files", "read"), Tool("files", "write"))),))
    >>> nearest(catalog, "read"), nearest(catalog, "file::wrte"), nearest(catalog, "zzz")
    (('files::read',), ('files::write', 'files::read'), ())
    """
    last = name.rpartition("::")[2].casefold()
    same = [tool.id for tool in catalog.tools if tool.name.casefold() == last]
    alike = get_close_matches(name, [tool.id for tool in catalog.tools], n=MOST_NEAR, cutoff=0.6)
    return tuple(dict.fromkeys([*same, *alike]))[:MOST_NEAR]
