"""Catalogs for lint: from tools, from labelled lines, and with vectors that need no model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.domain.catalog import Catalog, Server, Tool
from core.domain.findings import Finding
from core.importers import read_document
from core.lint import RULES, Context
from core.relevance.catalog_index import CatalogIndex
from core.relevance.encoder import CachedEncoder, EncoderSource, MemoryVectorStore
from tests.relevance.toy_encoders import WordEncoder

DATA = Path(__file__).parent / "data"
EMPTY_SCHEMA = {"type": "object", "properties": {}}


def tool(
    name: str = "convert_length", description: str = "Converts a length between two units.", **fields: Any
) -> Tool:
    """A tool that only the rules on prices and hints complain about."""
    return Tool(fields.pop("server", "units"), name, description, **{"input_schema": EMPTY_SCHEMA, **fields})


def catalog(*tools: Tool, descriptions: dict[str, str] | None = None) -> Catalog:
    """The tools in one server for each name that they give."""
    servers: dict[str, list[Tool]] = {}
    for item in tools:
        servers.setdefault(item.server, []).append(item)
    texts = descriptions or {}
    return Catalog("c", tuple(Server(n, texts.get(n, "A server."), tools=tuple(t)) for n, t in servers.items()))


def found(rule: str, subject: Catalog, **context: Any) -> list[Finding]:
    """The findings of one rule."""
    return list(RULES[rule]().check(subject, Context(subject, **context)))


def lines(name: str) -> list[dict[str, Any]]:
    """The labelled examples of a file."""
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def catalog_of(example: dict[str, Any]) -> Catalog:
    """The catalog of a labelled example, through the importer as a stranger's would come."""
    return Catalog(example["id"], read_document(json.dumps({"servers": example["servers"]}), source="example").servers)


@pytest.fixture
def index() -> Callable[[Catalog], CatalogIndex]:
    """Vectors by words."""
    return lambda subject: CatalogIndex(subject, CachedEncoder(EncoderSource.of(WordEncoder()), MemoryVectorStore()))
