"""Tool summaries s_t: name and the first sentences of the description, at most 60 tokens (Tool Attention, 4.2).

All summaries together are the pool of phase 1: always in the prompt and the same at every turn, so that a provider caches
them. They are extractive: whole sentences as long as they fit, and where not even the first does, its first words.

The same words are read twice. In the pool a tool goes by its id, because that is how a model asks for it; for the encoder
its names are words (`core.index.text_views.full` where all of the description fits, so that nothing is embedded anew).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.domain.catalog import Tool
from core.index.text_views import names
from core.shared.tokens import count_tokens

MAX_TOKENS = 60
CUT = "…"
LONGEST = 1200  # characters looked at: no token of ordinary text is longer than 20
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Pool:
    """The summaries of a catalog's tools (T,): `lines` as the prompt has them, `texts` as the encoder reads them.

    `tokens` counts the lines with their line breaks.
    """

    lines: tuple[str, ...]
    texts: tuple[str, ...]
    tokens: int


def pool(tools: Sequence[Tool], limit_tokens: int = MAX_TOKENS) -> Pool:
    """Phase 1 of these tools.

    >>> one = pool([Tool("files", "readText", "Reads a file. Returns its text.")], limit_tokens=12)
    >>> one.lines, one.texts, one.tokens
    (('files::readText: Reads a file.',), ('files read Text: Reads a file.',), 9)
    """
    shortened = [shortened_description(tool, limit_tokens) for tool in tools]
    lines = tuple(summary_line(tool, text) for tool, text in zip(tools, shortened, strict=True))
    texts = tuple(f"{names(tool)}: {text}" for tool, text in zip(tools, shortened, strict=True))
    return Pool(lines, texts, sum(count_tokens(f"{line}\n") for line in lines))


def summary_line(tool: Tool, text: str) -> str:
    """A summary on one line, whatever the description holds."""
    return " ".join(f"{tool.id}: {text}".split())


def shortened_description(tool: Tool, limit_tokens: int) -> str:
    """As much of the description as fits beside the tool's id: all, its first sentences, or its first words.

    >>> tool = Tool("web", "fetch", "Fetches a page over HTTP and follows redirects. Slow.")
    >>> [shortened_description(tool, n) for n in (60, 15, 10, 4)]
    ['Fetches a page over HTTP and follows redirects. Slow.', 'Fetches a page over HTTP and follows redirects.', \
'Fetches a page over…', '']
    """
    whole = tool.description.strip()
    if len(whole) <= LONGEST and _fits(tool, whole, limit_tokens):
        return whole
    head = whole[:LONGEST]
    return _longest(tool, _SENTENCE.split(head), "", limit_tokens) or _longest(tool, head.split(), CUT, limit_tokens)


def _longest(tool: Tool, parts: Sequence[str], end: str, limit_tokens: int) -> str:
    """The most leading parts that fit, "" where not even one does."""
    low, high = 0, len(parts)
    while low < high:
        middle = (low + high + 1) // 2
        fits = _fits(tool, " ".join(parts[:middle]) + end, limit_tokens)
        low, high = (middle, high) if fits else (low, middle - 1)
    return " ".join(parts[:low]) + end if low else ""


def _fits(tool: Tool, text: str, limit_tokens: int) -> bool:
    return count_tokens(summary_line(tool, text)) <= limit_tokens
