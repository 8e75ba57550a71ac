"""ToolShed's enriched document of a tool, made by rules: its texts, the questions that it answers, its topics.

    name, description, parameters, hypothetical questions, key topics                 ToolShed, as ETOM (C.2) takes it

A model writes the questions in the paper. Here they are the description's first sentence turned into a request: people ask
"how do I list the open issues", and descriptions say "Lists the open issues". Pure functions.

>>> enriched(Tool("code-hub", "list_issues", "Lists open issues. Sorted by age.", input_schema={"properties": {"repo": {}}}))
'code hub list issues: Lists open issues. Sorted by age. repo. How do I list open issues? Please list issues by repo. \
code, list, issues, lists, open, sorted'
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from core.domain.catalog import Tool, first_sentence, words
from core.index.lexical import terms
from core.shared.english import base_form

DESCRIPTION_CHARACTERS = 500
PART_CHARACTERS = 150
QUESTION_CHARACTERS = 120
TOPICS = 8


def enriched(tool: Tool) -> str:
    """The document as one text, at most about 1,000 characters; parts that a tool does not have are left out."""
    parts = (
        f"{words(tool.server)} {words(tool.name)}: {tool.description.strip()[:DESCRIPTION_CHARACTERS]}",
        _sentence(", ".join(_arguments(tool))[:PART_CHARACTERS]),
        questions(tool),
        ", ".join(topics(tool))[:PART_CHARACTERS],
    )
    return " ".join(part for part in parts if part)


def questions(tool: Tool) -> str:
    """What somebody would ask who needs the tool: by what it does, and by its name with its first arguments."""
    does = imperative(first_sentence(tool.description, QUESTION_CHARACTERS)) or words(tool.name).lower()
    arguments = [name.lower() for name in _arguments(tool)[:2]]
    by = f" by {' and '.join(arguments)}" if arguments else ""
    return f"How do I {does}? Please {words(tool.name).lower()}{by}."


def topics(tool: Tool) -> list[str]:
    """Its first content words, at most eight."""
    found = terms(f"{words(tool.server)} {words(tool.name)} {tool.description[:DESCRIPTION_CHARACTERS]}")
    return list(dict.fromkeys(term for term in found if len(term) > 3))[:TOPICS]


def imperative(sentence: str) -> str:
    """A sentence that says what a tool does, as the request to do it.

    >>> [imperative(text) for text in ("Searches the web.", "Get a file", "Tries it", "")]
    ['search the web', 'get a file', 'try it', '']
    """
    first, _, rest = sentence.strip().partition(" ")
    return f"{base_form(first.lower())} {rest}".strip(" .:;!?")


def _arguments(tool: Tool) -> list[str]:
    declared = (tool.input_schema or {}).get("properties")
    return [words(str(name)) for name in cast(Mapping[Any, Any], declared)] if isinstance(declared, Mapping) else []


def _sentence(text: str) -> str:
    return f"{text}." if text else ""
