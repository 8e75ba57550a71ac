"""A tool, a sequence of tools that are no objects yet, and token counts by cl100k_base, offline and deterministic."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from core.domain.progress import made_once

if TYPE_CHECKING:
    from tiktoken import Encoding


Json = Mapping[str, Any]


def mapping(value: object) -> Json:
    """A JSON object, or an empty one in place of any other value."""
    return cast(Json, value) if isinstance(value, Mapping) else {}


def properties(schema: object) -> Json:
    """The declared properties of a schema. Schemas come from strangers and may have anything in their place.

    >>> dict(properties({"properties": {"path": True}})), dict(properties({"properties": []})), dict(properties(None))
    ({'path': True}, {}, {})
    """
    return mapping(mapping(schema).get("properties"))


def required_properties(schema: object) -> dict[str, Json]:
    """The required properties of a schema with their schemas, in order, also those that are not declared.

    >>> required_properties({"properties": {"path": {"type": "string"}, "n": 7}, "required": ["n", "path", "to"]})
    {'n': {}, 'path': {'type': 'string'}, 'to': {}}
    >>> required_properties({"required": ("to",)}), required_properties({"required": "to"}), required_properties(True)
    ({'to': {}}, {}, {})
    """
    declared, required = properties(schema), mapping(schema).get("required")
    names = cast("Sequence[object]", required) if isinstance(required, list | tuple) else ()
    return {name: mapping(declared.get(name)) for name in map(str, names)}


def tool_id(server: str, tool: str) -> str:
    """A tool's id everywhere: `server::tool`.

    >>> tool_id("files", "read")
    'files::read'
    """
    return f"{server}::{tool}"


@dataclass(frozen=True, slots=True)
class ToolHints:
    """The hints of MCP's tool annotations. None if the server does not give the hint."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None

    @property
    def retry_safe(self) -> bool:
        """Whether it may be called again after a lost connection, as it says that it is read-only or idempotent."""
        return self.read_only is True or self.idempotent is True


class Columns:
    """The base of `core.domain.tool_table.ToolTable`, which needs NumPy. A virtual server starts without NumPy."""

    __slots__ = ()

    @abstractmethod
    def value(self, name: str, row: int) -> Any:
        """The value of a field of a tool."""


class _Row:
    """The place of a tool in a table. A field is read from its column at its first use."""

    __slots__ = ("_place",)
    _place: tuple[Columns, int]

    if not TYPE_CHECKING:  # a misspelt field stays an error of the type checker

        def __getattr__(self, name: str) -> Any:
            """Called for a field without a value, of a tool that is a row of a table."""
            if name.startswith("_"):
                raise AttributeError(name)
            table, row = self._place
            value = table.value(name, row)
            object.__setattr__(self, name, value)
            return value


@dataclass(frozen=True, slots=True)
class Tool(_Row):  # noqa: PLW1641 - `dataclass` makes the hash
    """A tool of a server. Undeclared economic figures are None, never zero.

    `preconditions` must hold before a call, in the form of `core.domain.execution`. `requests` are example requests of the
    catalog. `offered` are example requests that the server sent. They count once the operator accepts them.
    """

    server: str
    name: str
    description: str = ""
    title: str = ""
    input_schema: Json | None = None
    output_schema: Json | None = None
    hints: ToolHints = ToolHints()
    price_usd: float | None = None
    latency_s: float | None = None
    success: float | None = None
    tier: str = ""
    tier_reason: str = ""
    preconditions: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    original: str | None = None
    """The server's own description, if `description` is the operator's wording."""
    extras: str = ""
    """The icons and metadata that its server lists, as JSON."""

    def __eq__(self, other: object) -> bool:
        """Whether every field is equal. Two views of one row need no look-up."""
        if not isinstance(other, Tool):
            return NotImplemented
        place = getattr(self, "_place", None)
        if self is other or (place is not None and place == getattr(other, "_place", None)):
            return True
        return all(getattr(self, name) == getattr(other, name) for name in self.__match_args__)

    @property
    def own_description(self) -> str:
        return self.description if self.original is None else self.original

    def wording_for(self, live: Tool) -> Tool:
        """Returns the tool as its server lists it now, in the operator's words if they replace the server's current description."""
        if self.original is None or self.original != live.description:
            return live
        return replace(live, description=self.description, original=self.original)

    @property
    def id(self) -> str:
        return tool_id(self.server, self.name)

    def definition(self) -> dict[str, Any]:
        """The tool as tools/list gives it to a model. Its tokens are counted on this."""
        return {"name": self.name, "description": self.description, "inputSchema": dict(self.input_schema or {})}


class ToolSequence(Sequence[Tool]):
    """Tools that are rows of a table."""

    __slots__ = ()

    @abstractmethod
    def ids(self) -> tuple[str, ...]:
        """The `server::tool` of each."""

    @abstractmethod
    def may_have(self, name: str) -> bool:
        """Whether a tool may have a field that few tools have. Reads no tool."""

    @abstractmethod
    def followed_by(self, others: Sequence[Sequence[Tool]]) -> ToolSequence | None:
        """All rows as one sequence. Returns None unless the sequences follow each other in one table."""


ENCODING = "cl100k_base"
TABLES = Path(__file__).with_name("data")  # has the table under tiktoken's name for it, the SHA-1 of its address
CHUNK = 100_000  # characters; longer texts are counted in pieces, because a long run of one letter is slow
CHARS_PER_TOKEN = 8  # more than most texts have


def count_tokens(text: str) -> int:
    """Returns the tokens of a text. The name of a special token counts as plain text.

    Exact up to 100,000 characters. Beyond, each cut adds at most a few tokens.

    >>> count_tokens("<|endoftext|>") > 1
    True
    """
    encoding = _encoding()
    pieces = (text[start : start + CHUNK] for start in range(0, len(text), CHUNK))
    return sum(len(encoding.encode(piece, disallowed_special=())) for piece in pieces)


def count_many(texts: Sequence[str]) -> list[int]:
    """Returns `count_tokens` of each text, in order."""
    return [count_tokens(text) for text in texts]


def piece(text: str, offset: int, limit_tokens: int) -> str:
    """Returns the text from `offset` on that fits into the limit. It has at least one character, unless the text has ended.

    >>> piece("one two three four", 3, 2)
    ' two three'
    """
    length = limit_tokens * CHARS_PER_TOKEN
    chunk = text[offset : offset + length]
    while len(chunk) > 1 and (tokens := count_tokens(chunk)) > limit_tokens:
        chunk = chunk[: max(1, min(len(chunk) - 1, len(chunk) * limit_tokens // tokens))]
    return chunk


def fits(text: str, limit_tokens: int) -> bool:
    """Whether a text has at most this many tokens. It is counted only if its length does not decide.

    >>> fits("one two", 2), fits("one two three", 2)
    (True, False)
    """
    if len(text.encode(errors="replace")) <= limit_tokens:
        return True
    return len(text) <= 50 * limit_tokens and count_tokens(text) <= limit_tokens


@made_once
def _encoding() -> Encoding:
    """Returns the encoding. tiktoken takes the table from the folder in TIKTOKEN_CACHE_DIR and checks its SHA-256."""
    import tiktoken

    previous = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(TABLES)
    try:
        return tiktoken.get_encoding(ENCODING)
    finally:
        os.environ.pop("TIKTOKEN_CACHE_DIR")
        if previous is not None:
            os.environ["TIKTOKEN_CACHE_DIR"] = previous
