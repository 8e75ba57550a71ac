"""A server's definitions as clients get them: in the server's own words, cut to a length that fits a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from pydantic import BaseModel, TypeAdapter

from core.domain.catalog import Tool
from core.endpoint.base import compact
from core.endpoint.search import signature
from core.shared.untrusted_text import visible

DESCRIPTION_CHARS, SCHEMA_CHARS, SCHEMA_TEXT_CHARS = 10_000, 50_000, 1_000
SCHEMA_TEXTS = ("title", "description", "$comment")
"""Keywords of a schema that hold text and play no part in validation."""
Extra = TypeVar("Extra", bound=Mapping[str, Any] | Sequence[BaseModel] | None)
_JSON: TypeAdapter[Any] = TypeAdapter(Any)


def shown_description(text: str) -> str:
    """Returns a description without invisible characters. A long one is cut, and the cut is stated at its end.

    >>> shown_description("Reads."), shown_description("x" * 12_000)[9_998:]
    ('Reads.', 'xx… [cut: the first 10,000 of 12,000 characters]')
    """
    return visible(_cut(text, DESCRIPTION_CHARS))


def shown_schema(tool: Tool) -> dict[str, Any]:
    """Returns a tool's input schema. Texts of a long schema are cut. A schema that is still too long becomes one that
    accepts any object and states the cut. Calls are always validated against the full schema."""
    schema = tool.input_schema or {"type": "object"}
    shortened = _shortened(schema)
    if shortened is not None:
        return shortened
    left_out = f"[left out: a schema of {len(compact(schema)):,} characters; at most {SCHEMA_CHARS:,} are given.]"
    return {"type": "object", "description": f"{left_out} {signature(tool)}"}


def shown_output_schema(tool: Tool) -> dict[str, Any] | None:
    """Returns the output schema in the same form, or None if it is too long."""
    return _shortened(tool.output_schema) if tool.output_schema else None


def small(extra: Extra) -> Extra | None:
    """Returns icons or metadata, or None if they are longer than a schema may be."""
    return extra if extra and len(_JSON.dump_json(extra)) <= SCHEMA_CHARS else None


def _shortened(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the schema, with its texts cut if it is long, or None if it is still too long."""
    if len(compact(schema)) <= SCHEMA_CHARS:
        return dict(schema)
    shortened = _with_short_texts(schema)
    return shortened if len(compact(shortened)) <= SCHEMA_CHARS else None


def _with_short_texts(value: Any) -> Any:
    if isinstance(value, Mapping):
        named = cast("Mapping[str, Any]", value)
        return {
            name: _cut(part, SCHEMA_TEXT_CHARS)
            if name in SCHEMA_TEXTS and isinstance(part, str)
            else _with_short_texts(part)
            for name, part in named.items()
        }
    return [_with_short_texts(part) for part in cast("list[Any]", value)] if isinstance(value, list) else value


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… [cut: the first {limit:,} of {len(text):,} characters]"
