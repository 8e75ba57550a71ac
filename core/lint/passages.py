"""Every text of a catalog that a model may read: names, titles, descriptions, and the texts in schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from core.domain.catalog import Catalog, Server, Tool
from core.lint.decoding import decodings
from core.lint.folding import Folded, fold

SPOKEN = ("title", "description", "default", "const", "$comment")  # schema keywords with one text
LISTED = ("enum", "examples")  # schema keywords with several
DEEPEST = 24  # levels of a schema that are read


@dataclass(frozen=True)
class Passage:
    """One text. `tool` is "" for a server's own; `encoding` says how it was encoded where it had to be decoded."""

    server: str
    tool: str
    where: str
    text: str
    encoding: str = ""

    @cached_property
    def folded(self) -> tuple[Folded, ...]:
        """The text as rules compare it (`fold`)."""
        return fold(self.text)

    @property
    def place(self) -> str:
        """`where`, and how it was encoded."""
        return f"{self.where}, decoded from {self.encoding}," if self.encoding else self.where


def passages(catalog: Catalog) -> tuple[Passage, ...]:
    """Every text of a catalog, server by server, followed by what is encoded in it."""
    return tuple(
        passage
        for server in catalog.servers
        for passage in (*server_passages(server), *(p for tool in server.tools for p in tool_passages(tool)))
    )


def server_passages(server: Server) -> tuple[Passage, ...]:
    """A server's own texts."""
    texts = (("name", server.name), ("title", server.title), ("description", server.description))
    return tuple(_with_decoded(server.name, "", texts))


def tool_passages(tool: Tool) -> tuple[Passage, ...]:
    """A tool's texts, its schemas included.

    >>> weather = Tool("w", "today", "Now.", input_schema={"properties": {"city": {"description": "A city"}}})
    >>> [(passage.where, passage.text) for passage in tool_passages(weather)]
    [('name', 'today'), ('description', 'Now.'), ('parameter city', 'city'), ('description of parameter city', 'A city')]
    """
    texts = [("name", tool.name), ("title", tool.title), ("description", tool.description)]
    texts += _schema_texts(tool.input_schema, "input schema", "parameter")
    texts += _schema_texts(tool.output_schema, "output schema", "result")
    return tuple(_with_decoded(tool.server, tool.name, texts))


def _with_decoded(server: str, tool: str, texts: Any) -> Iterator[Passage]:
    for where, text in texts:
        if text.strip():
            yield Passage(server, tool, where, text)
            for encoding, decoded in decodings(text):
                yield Passage(server, tool, where, decoded, encoding)


def _schema_texts(schema: object, whole: str, part: str, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every text of a schema with its place, in the schema's order."""
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return
    here = f"{part} {path}" if path else f"the {whole}"
    for keyword, value in cast(Mapping[str, Any], schema).items():
        if keyword in SPOKEN and isinstance(value, str):
            yield f"{keyword} of {here}", value
        elif keyword in LISTED and isinstance(value, list | tuple):
            yield from ((f"{keyword} of {here}", item) for item in cast("list[Any]", value) if isinstance(item, str))
        elif keyword in {"properties", "$defs", "definitions", "patternProperties"} and isinstance(value, Mapping):
            for name, inner in cast(Mapping[str, Any], value).items():
                inside = f"{path}.{name}" if path else str(name)
                yield f"{part} {inside}", str(name)
                yield from _schema_texts(inner, whole, part, inside, depth + 1)
        elif isinstance(value, Mapping):
            yield from _schema_texts(cast(object, value), whole, part, path, depth + 1)
        elif isinstance(value, list | tuple):
            for item in cast("list[Any]", value):
                yield from _schema_texts(item, whole, part, path, depth + 1)
