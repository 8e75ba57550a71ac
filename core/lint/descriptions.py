"""Rules about descriptions: missing, vague, too long."""

from __future__ import annotations

import re

from core.domain.catalog import Server, Tool, words
from core.domain.lint import Severity
from core.index.text_views import FULL_CHARACTERS
from core.lint.base import Context, ServerRule, ToolRule
from core.lint.vocabulary import VOCABULARY

FEWEST_WORDS = 3  # "List Git branches" says what a tool does; two words are a name over again
LONGEST_CHARACTERS = 2 * FULL_CHARACTERS  # half of it or more lies beyond what is embedded
IDEOGRAPHS_A_WORD = 2  # about as many characters of Chinese, Japanese or Korean say as much as one word

_WORD = re.compile(r"[^\W\d_]+", re.UNICODE)
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_LITTLE = VOCABULARY["little"]
_GENERIC = _LITTLE | VOCABULARY["generic"]


class MissingDescription(ToolRule):
    """A tool without a description."""

    id = "missing_description"
    title = "No description"
    severity = Severity.WARNING
    why = "Routing and models go by the description; without one a tool is found by its name alone."
    advice = "Write one sentence that says what the tool does, to what, and what it returns."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        return None if tool.description.strip() else ("The tool says nothing about itself.", "", "")


class MissingServerDescription(ServerRule):
    """A server without a description."""

    id = "missing_server_description"
    title = "No server description"
    severity = Severity.NOTE
    why = "Servers are short-listed by what they say; without it their tools' names stand in."
    advice = "Write one sentence on what the server is for."

    def look(self, server: Server, rows: slice, context: Context) -> str:  # noqa: ARG002 - its description says all
        return "" if server.description.strip() else "The server says nothing about itself."


class VagueDescription(ToolRule):
    """A description that is too short, or made of words that fit every tool."""

    id = "vague_description"
    title = "Vague description"
    severity = Severity.WARNING
    why = "Words that fit every tool tell none apart, neither for an encoder nor for a model."
    advice = "Say what the tool does, to what, and what it returns, in words that fit no other tool."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        text = tool.description.strip()
        if not text:
            return None
        count = word_count(text)
        if count < FEWEST_WORDS:
            return f"The description has {count} word{'s' if count != 1 else ''}.", "description", text
        if not _IDEOGRAPH.search(text) and not _telling(text):
            return "The description holds only words that fit every tool.", "description", text
        return None


class RepeatsName(ToolRule):
    """A description that says no more than the name."""

    id = "repeats_name"
    title = "Repeats its name"
    severity = Severity.NOTE
    why = "A description that only repeats the name adds nothing to search by."
    advice = "Add what it works on, what it returns, and when to use it."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        if word_count(tool.description) >= FEWEST_WORDS and _repeats(tool):
            return "The description says no more than the name.", "description", tool.description.strip()
        return None


class LongDescription(ToolRule):
    """A description of which half or more is not embedded."""

    id = "long_description"
    title = "Long description"
    severity = Severity.NOTE
    why = f"Vectors are made of the first {FULL_CHARACTERS:,} characters, and a model pays for all of them in every prompt."
    advice = "Put what the tool does first, and move manuals and examples to a resource or a second tool."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        size = len(tool.description)
        if size <= LONGEST_CHARACTERS:
            return None
        unread = 100 * (size - FULL_CHARACTERS) // size
        return f"The description has {size:,} characters; {unread} % of it is not embedded.", "description", ""


def word_count(text: str) -> int:
    """Words of a text; two ideographs count as one.

    >>> word_count("List Git branches"), word_count("获取所有菜谱")
    (3, 3)
    """
    return len(_WORD.findall(_IDEOGRAPH.sub(" ", text))) + len(_IDEOGRAPH.findall(text)) // IDEOGRAPHS_A_WORD


def _telling(text: str) -> set[str]:
    return {word for word in map(str.lower, _WORD.findall(text)) if word not in _GENERIC}


def _repeats(tool: Tool) -> bool:
    """Whether every word of the description but little ones is in the names of the tool or its server."""
    said = {_stem(word) for word in _WORD.findall(words(tool.description).lower()) if word not in _LITTLE}
    named = {_stem(word) for word in _WORD.findall(words(f"{tool.name} {tool.server}").lower())}
    return bool(said) and said <= named


def _stem(word: str) -> str:
    """A word without its plural or third person, enough to compare a description with a name."""
    return (
        re.sub(r"(?<=\w{2})(?:ies|y)$", "i", word)
        if word.endswith(("ies", "y"))
        else re.sub(r"(?<=\w{2})e?s$", "", word)
    )
