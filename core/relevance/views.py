"""The texts under which relevance sees a tool."""

from __future__ import annotations

from collections.abc import Callable

from core.domain.catalog import Tool, words
from core.index.text_views import FULL_CHARACTERS, full


def own_text(tool: Tool) -> str:
    """A tool's name as words and its description, without its server.

    >>> own_text(Tool("files", "read_file", "Reads a file."))
    'read file: Reads a file.'
    """
    return f"{words(tool.name)}: {tool.description.strip()}"[:FULL_CHARACTERS]


def tool_name(tool: Tool) -> str:
    """A tool's name as words."""
    return words(tool.name)


VIEWS: dict[str, Callable[[Tool], str]] = {"full": full, "own": own_text, "tool": tool_name}
