"""Rules about descriptions, names and hints on side effects."""

from __future__ import annotations

import re

from core.domain.catalog import Server, Tool, words
from core.domain.english import DESTROYS, REMOVES, WRITES, leading_verb
from core.domain.findings import Severity
from core.lint.base import VOCABULARY, Context, ServerRule, ToolRule
from core.relevance.lexical import stem
from core.relevance.text_views import FULL_CHARACTERS

FEWEST_WORDS = 3  # "List Git branches" describes a tool; two words only repeat a name
LONGEST_CHARACTERS = 2 * FULL_CHARACTERS  # at least half of it is not embedded
IDEOGRAPHS_A_WORD = 2  # characters of Chinese, Japanese or Korean for one word

_WORD = re.compile(r"[^\W\d_]+", re.UNICODE)
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_LITTLE = VOCABULARY["little"]
_GENERIC = _LITTLE | VOCABULARY["generic"]


class MissingDescription(ToolRule):
    title = "No description"
    severity = Severity.WARNING
    why = "Routing and models use the description; without one a tool is found only by its name."
    advice = "Write one sentence: what the tool does, on what, and what it returns."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        return None if tool.description.strip() else ("The tool has no description.", "", "")


class MissingServerDescription(ServerRule):
    title = "No server description"
    severity = Severity.NOTE
    why = "Servers are short-listed by their description; without one the names of their tools are used."
    advice = "Write one sentence about the server's purpose."

    def look(self, server: Server, rows: slice, context: Context) -> str:  # noqa: ARG002 - only its description counts
        return "" if server.description.strip() else "The server has no description."


class VagueDescription(ToolRule):
    title = "Vague description"
    severity = Severity.WARNING
    why = "Words that fit every tool distinguish none, neither for an encoder nor for a model."
    advice = "Say what the tool does, on what, and what it returns, in words that fit no other tool."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        text = tool.description.strip()
        if not text:
            return None
        count = word_count(text)
        if count < FEWEST_WORDS:
            return f"The description has {count} word{'s' if count != 1 else ''}.", "description", text
        if all(word.lower() in _GENERIC for word in _WORD.findall(text)) and not _IDEOGRAPH.search(text):
            return "The description holds only words that fit every tool.", "description", text
        return None


class RepeatsName(ToolRule):
    title = "Repeats its name"
    severity = Severity.NOTE
    why = "A description that only repeats the name adds nothing to search by."
    advice = "Add what it works on, what it returns, and when to use it."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        if _repeats(tool) and word_count(tool.description) >= FEWEST_WORDS:
            return "The description only repeats the name.", "description", tool.description.strip()
        return None


class LongDescription(ToolRule):
    title = "Long description"
    severity = Severity.NOTE
    why = f"Vectors use only the first {FULL_CHARACTERS:,} characters, but every prompt pays for the whole text."
    advice = "Begin with the tool's purpose, and move manuals and examples to a resource or a second tool."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        size = len(tool.description)
        if size <= LONGEST_CHARACTERS:
            return None
        unread = 100 * (size - FULL_CHARACTERS) // size
        return f"The description has {size:,} characters; {unread} % of it is not embedded.", "description", ""


def word_count(text: str) -> int:
    """Returns the number of words in a text; two ideographs count as one.

    >>> word_count("List Git branches"), word_count("获取所有菜谱")
    (3, 3)
    """
    if text.isascii():
        return len(_WORD.findall(text))
    return len(_WORD.findall(_IDEOGRAPH.sub(" ", text))) + len(_IDEOGRAPH.findall(text)) // IDEOGRAPHS_A_WORD


def _repeats(tool: Tool) -> bool:
    """Whether every word of the description, except little words, occurs in the names of the tool or its server."""
    terms = [word for word in _WORD.findall(words(tool.description).lower()) if word not in _LITTLE]
    name_stems = {stem(word) for word in _WORD.findall(words(f"{tool.name} {tool.server}").lower())}
    return bool(terms) and all(stem(word) in name_stems for word in terms)


# Names without meaning

_EMPTY = VOCABULARY["empty"]
_OBJECTS = VOCABULARY["empty_alone"]
_RANDOM = re.compile(r"(?=\w*\d)(?=\w*[a-f])[0-9a-f]{8,}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]+", re.IGNORECASE)


class EmptyName(ToolRule):
    title = "Meaningless name"
    severity = Severity.WARNING
    why = "Models see the name first, and only the name where descriptions are cut."
    advice = "Name the tool by its action and object, such as convert_units or list_invoices."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        parts = [word for word in re.split(r"[\s\d]+", words(tool.name).lower()) if word]
        if _RANDOM.fullmatch(tool.name):
            return "The name is random characters.", "name", tool.name
        if not any(character.isalpha() for character in tool.name):
            return "The name has no letter.", "name", tool.name
        if all(len(word) == 1 and word.isascii() for word in parts):
            return "The name is a single letter.", "name", tool.name
        empty_words = _EMPTY if len(parts) == 1 else _EMPTY - _OBJECTS
        if all(word in empty_words or (len(word) == 1 and word.isascii()) for word in parts):
            return "The name holds only words that fit every tool.", "name", tool.name
        return None


# Hints on side effects, and whether they fit the names


class MissingHints(ServerRule):
    title = "No hints about side effects"
    severity = Severity.NOTE
    why = "Without readOnlyHint and destructiveHint a client cannot tell which calls need a confirmation or may be repeated."
    advice = "Add annotations: readOnlyHint, and destructiveHint if a tool changes something."

    def look(self, server: Server, rows: slice, context: Context) -> str:  # noqa: ARG002 - only its tools count
        silent = sum(tool.hints.read_only is None and tool.hints.destructive is None for tool in server.tools)
        if not silent:
            return ""
        some = "All of its" if silent == len(server.tools) else f"{silent} of its {len(server.tools)}"
        return f"{some} tools have no hint about side effects."


class UnmarkedDestruction(ToolRule):
    title = "Unmarked destruction"
    severity = Severity.WARNING
    why = "A client asks before a destructive call only if the call is marked."
    advice = "Add destructiveHint: true, or rename the tool if it destroys nothing."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        if tool.hints.destructive is not None or tool.hints.read_only is not None:
            return None
        verb = leading_verb(words(tool.name))
        if verb not in DESTROYS | REMOVES:
            return None
        return f"The name says “{verb}”; no hint says whether the tool destroys something.", "name", tool.name


class ContradictoryHints(ToolRule):
    title = "Hints contradict the name"
    severity = Severity.ERROR
    why = "Clients call read-only tools without asking, so a tool that deletes under that hint deletes without consent."
    advice = "Set readOnlyHint: false, or rename the tool; until then confirm every call."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        if tool.hints.read_only is not True:
            return None
        if tool.hints.destructive is True:
            return "The hints say read-only and destructive at once.", "", ""
        if (verb := leading_verb(words(tool.name))) in DESTROYS:
            return f"The name says “{verb}”, the hint says read-only.", "name", tool.name
        return None


class DoubtfulHints(ToolRule):
    title = "Hints look too harmless"
    severity = Severity.NOTE
    why = "Clients ask for confirmation according to the hints, and these are more harmless than the name."
    advice = "Read the description; correct the hint or the name."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        if tool.hints.read_only is not True and tool.hints.destructive is not False:
            return None
        verb = leading_verb(words(tool.name))
        if tool.hints.read_only is True and tool.hints.destructive is not True and verb in WRITES | REMOVES:
            return f"The name says “{verb}”, the hint says read-only.", "name", tool.name
        if tool.hints.destructive is False and tool.hints.read_only is not True and verb in DESTROYS:
            return f"The name says “{verb}”, the hint says not destructive.", "name", tool.name
        return None
