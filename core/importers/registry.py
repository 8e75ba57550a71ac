"""The MCP Registry: a published server by its name."""

from __future__ import annotations

import re
from http.client import HTTPException
from urllib.parse import quote
from urllib.request import Request, urlopen

from core.domain.catalog import Imported
from core.domain.errors import CatalogError
from core.importers import read_document
from core.importers.reading import MAX_BYTES

NAME = re.compile(r"[A-Za-z0-9.-]+/[A-Za-z0-9._-]+")
PATHS = ("v0.1/servers/{}/versions/latest", "v0/servers/{}/versions/latest", "v0/servers/{}")  # newest form first
LIMIT_S = 10.0


def published(registry: str, name: str) -> Imported:
    """Returns the newest version of a server, as the registry at an address describes it. Raises CatalogError."""
    if not NAME.fullmatch(name):
        raise CatalogError(f"{name[:80]!r} is no name of the MCP Registry; give one such as io.github.user/server.")
    for path in PATHS:
        url = f"{registry.rstrip('/')}/{path.format(quote(name, safe=''))}"
        try:
            with urlopen(Request(url), timeout=LIMIT_S) as answer:  # noqa: S310 - settings admit only http(s)
                imported = read_document(answer.read(MAX_BYTES), source=f"{registry}: {name}")
        except (OSError, HTTPException) as error:
            if getattr(error, "code", 0) == 404:
                continue
            why = f"{getattr(error, 'code', '')} {getattr(error, 'reason', error)}".strip()
            raise CatalogError(f"The registry {registry} does not answer ({why}); see WAYFARE_REGISTRY.") from None
        if [one.name for one in imported.servers] != [name]:
            raise CatalogError(f"The registry {registry} answers with another server than {name}.")
        return imported
    raise CatalogError(f"The registry {registry} has no server {name}; check the name.")
