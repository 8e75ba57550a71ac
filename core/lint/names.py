"""Rules about names that say nothing of what a tool does."""

from __future__ import annotations

import re

from core.domain.catalog import Tool, words
from core.domain.lint import Severity
from core.lint.base import ToolRule
from core.lint.vocabulary import VOCABULARY

_EMPTY = VOCABULARY["empty"]
_OBJECTS = VOCABULARY["empty_alone"]
_RANDOM = re.compile(r"(?=\w*\d)(?=\w*[a-f])[0-9a-f]{8,}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]+", re.IGNORECASE)


class EmptyName(ToolRule):
    """A name of words that fit every tool, of one letter, or of random characters."""

    id = "empty_name"
    title = "Name says nothing"
    severity = Severity.WARNING
    why = "The name is what models see first, and the only thing left where descriptions are cut."
    advice = "Name the tool by what it does and to what, such as convert_units or list_invoices."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        parts = [part for part in re.split(r"[\s\d]+", words(tool.name).lower()) if part]
        if _RANDOM.fullmatch(tool.name):
            return "The name is a row of random characters.", "name", tool.name
        if not any(character.isalpha() for character in tool.name):
            return "The name has no letter.", "name", tool.name
        if all(len(part) == 1 and part.isascii() for part in parts):
            return "The name is a single letter.", "name", tool.name
        known = _EMPTY if len(parts) == 1 else _EMPTY - _OBJECTS
        if all(part in known or (len(part) == 1 and part.isascii()) for part in parts):
            return "The name holds only words that fit every tool.", "name", tool.name
        return None
