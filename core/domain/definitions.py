"""A tool's definition as tools/list puts it before a model: its text, and what it costs in tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from core.domain.catalog import Tool
from core.shared.tokens import count_tokens


def definition_tokens(tool: Tool) -> int:
    """Tokens of a tool's definition as tools/list puts it before a model, in compact JSON.

    >>> definition_tokens(Tool("files", "read", "Reads a file.", input_schema={"type": "object"}))
    19
    """
    return count_tokens(definition_text(tool))


def definition_text(tool: Tool) -> str:
    """The definition as compact JSON: the text that `definition_tokens` counts.

    >>> definition_text(Tool("files", "read"))
    '{"name":"read","description":"","inputSchema":{}}'
    """
    return json.dumps(tool.definition(), separators=(",", ":"), ensure_ascii=False, default=_plain)


def _plain(value: object) -> Any:
    return dict(cast(Mapping[str, Any], value)) if isinstance(value, Mapping) else str(value)
