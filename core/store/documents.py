"""A catalog as one JSON document and back, every field as it was."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

from core.domain.catalog import Catalog, Connection, Json, Server, Tool, ToolHints
from core.shared.errors import StoreError

REFERENCE = re.compile(r"((bearer|basic|token|apikey) )?\$\{[^{}]+\}", re.IGNORECASE)


def to_json(catalog: Catalog) -> str:
    """The document of a catalog.

    Raises StoreError where a connection holds a value instead of a reference, or where something is not JSON.
    """
    for server in catalog.servers:
        _require_references(server)
    try:
        return json.dumps(catalog, default=_plain, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"The catalog {catalog.name} cannot be stored, it is not valid JSON: {error}.") from error


def from_json(document: str) -> Catalog:
    """The catalog of a document.

    >>> weather = Catalog("demo", (Server("weather", tools=(Tool("weather", "today", price_usd=0.002),)),))
    >>> from_json(to_json(weather)) == weather
    True
    """
    data = json.loads(document)
    return Catalog(data["name"], tuple(map(_server, data["servers"])))


def is_reference(value: str) -> bool:
    """Whether a value of an environment variable or a header gives nothing away.

    >>> [is_reference(v) for v in ("${secret:KEY}", "Bearer ${env:TOKEN}", "", "sk-123", "sk-123 ${env:TOKEN}")]
    [True, True, True, False, False]
    """
    return not value or REFERENCE.fullmatch(value) is not None


def _require_references(server: Server) -> None:
    if server.connection is None:
        return
    for part, values in (("variable", server.connection.env), ("header", server.connection.headers)):
        for name, value in values.items():
            if not is_reference(value):
                raise StoreError(
                    f"The {part} {name} of server {server.name} holds a value, which is never stored; replace it with "
                    "a reference such as ${secret:NAME}."
                )


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(cast(Json, value))
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _server(data: dict[str, Any]) -> Server:
    connection = data["connection"]
    data["tools"] = tuple(map(_tool, data["tools"]))
    data["connection"] = None if connection is None else _connection(connection)
    return Server(**data)


def _tool(data: dict[str, Any]) -> Tool:
    data["hints"] = ToolHints(**data["hints"])
    data["preconditions"] = tuple(data.get("preconditions", ()))
    return Tool(**data)


def _connection(data: dict[str, Any]) -> Connection:
    data["args"] = tuple(data["args"])
    data["env"] = MappingProxyType(data["env"])
    data["headers"] = MappingProxyType(data["headers"])
    return Connection(**data)
