"""Plain text: count it, compare it, reshape it, find what it is about."""

import hashlib
import re
import textwrap
import unicodedata
from collections import Counter
from difflib import SequenceMatcher, unified_diff
from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

from sample_catalog.runnable._common import READS, serve

STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a about after all also an and any are as at be because been but by can could did do does for from had has "
        "have he her his how i if in into is it its just more most no not of on one only or other our out over she "
        "so some such than that the their them then there these they this to under up was we were what when which "
        "who will with would you your",
    )
)
WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*|\d+")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")

Text = Annotated[str, Field(description="The text", max_length=200_000)]

server = MCPServer(
    "Quillwork",
    title="Quillwork",
    description="A writer's bench for plain text: counts, readability, keywords, summaries, comparison, case, layout.",
    instructions="Every tool takes the text itself; nothing is stored.",
    version="2.1.0",
    log_level="WARNING",
)


class TextStatistics(BaseModel):
    """Counts over a text."""

    characters: int
    words: int
    distinct_words: int
    sentences: int
    paragraphs: int
    reading_minutes: float = Field(description="At 230 words a minute")


class Readability(BaseModel):
    """How hard an English text is to read."""

    flesch_reading_ease: float = Field(description="About 0 (very hard) to 100 (very easy)")
    grade_level: float = Field(description="Flesch-Kincaid school grade")
    words_per_sentence: float
    syllables_per_word: float


class Keyword(BaseModel):
    """A word and how often it occurs."""

    word: str
    count: int


def _words(text: str) -> list[str]:
    return WORD.findall(text.casefold())


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in SENTENCE_END.split(text) if WORD.search(part)]


def _syllables(word: str) -> int:
    """An estimate for English: groups of vowels, without a silent final e."""
    groups = len(re.findall(r"[aeiouy]+", word))
    return max(1, groups - (word.endswith("e") and not word.endswith("le") and groups > 1))


@server.tool(title="Text statistics", annotations=READS)
def text_statistics(text: Text) -> TextStatistics:
    """Count characters, words, sentences and paragraphs of a text and estimate the reading time."""
    words = _words(text)
    return TextStatistics(
        characters=len(text),
        words=len(words),
        distinct_words=len(set(words)),
        sentences=len(_sentences(text)),
        paragraphs=sum(bool(part.strip()) for part in re.split(r"\n\s*\n", text)),
        reading_minutes=round(len(words) / 230, 2),
    )


@server.tool(title="Readability", annotations=READS)
def readability(text: Text) -> Readability:
    """Score how easy an English text is to read (Flesch reading ease and Flesch-Kincaid grade)."""
    words, sentences = _words(text), _sentences(text)
    if not words:
        raise ToolError("the text has no words")
    length, syllables = len(words) / len(sentences), sum(map(_syllables, words)) / len(words)
    return Readability(
        flesch_reading_ease=round(206.835 - 1.015 * length - 84.6 * syllables, 1),
        grade_level=round(0.39 * length + 11.8 * syllables - 15.59, 1),
        words_per_sentence=round(length, 2),
        syllables_per_word=round(syllables, 2),
    )


@server.tool(title="Keywords", annotations=READS)
def keywords(
    text: Text, count: Annotated[int, Field(description="How many words", ge=1, le=100)] = 10
) -> list[Keyword]:
    """Extract the most frequent meaningful words of an English text."""
    found = Counter(word for word in _words(text) if word not in STOP_WORDS and len(word) > 2)
    best = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return [Keyword(word=word, count=number) for word, number in best[:count]]


@server.tool(title="Summarise", annotations=READS)
def summarise(text: Text, sentences: Annotated[int, Field(description="How many sentences", ge=1, le=20)] = 3) -> str:
    """Shorten an English text to its most telling sentences, in their order; no sentence is rewritten."""
    parts = _sentences(text)
    weight = Counter(word for word in _words(text) if word not in STOP_WORDS)

    def score(sentence: str) -> float:
        telling = [weight[word] for word in _words(sentence) if word in weight]
        return sum(telling) / (len(telling) + 3)

    chosen = sorted(sorted(range(len(parts)), key=lambda index: -score(parts[index]))[:sentences])
    return " ".join(parts[index] for index in chosen)


@server.tool(title="Change case", annotations=READS)
def change_case(
    text: Text,
    style: Annotated[
        Literal["upper", "lower", "title", "sentence", "snake", "kebab", "camel"],
        Field(description="Case to write it in"),
    ],
) -> str:
    """Rewrite text in upper, lower, title or sentence case, or as a snake_case, kebab-case or camelCase name."""
    if style in ("snake", "kebab", "camel"):
        words = _words(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text).replace("_", " ").replace("-", " "))
        joined = {"snake": "_".join(words), "kebab": "-".join(words)}
        return joined.get(style) or "".join(words[:1] + [word.capitalize() for word in words[1:]])
    if style == "sentence":
        return " ".join(part[:1].upper() + part[1:].lower() for part in SENTENCE_END.split(text))
    return {"upper": str.upper, "lower": str.lower, "title": str.title}[style](text)


@server.tool(title="Slug", annotations=READS)
def slugify(text: Annotated[str, Field(description="A title or name", max_length=1_000)]) -> str:
    """Make a short address part (slug) from a title: ASCII letters, digits and hyphens only."""
    plain = unicodedata.normalize("NFKD", text.replace("\u00df", "ss")).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")


@server.tool(title="Compare two texts", annotations=READS)
def diff_texts(
    before: Annotated[str, Field(description="The old text", max_length=50_000)],
    after: Annotated[str, Field(description="The new text", max_length=50_000)],
    context: Annotated[int, Field(description="Unchanged lines to show around a change", ge=0, le=20)] = 3,
) -> str:
    """Show the lines that differ between two versions of a text as a unified diff; empty when they are equal."""
    lines = unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=context)
    return "\n".join(lines)


@server.tool(title="Similarity", annotations=READS)
def similarity(
    first: Annotated[str, Field(description="One text", max_length=2_000)],
    second: Annotated[str, Field(description="The other text", max_length=2_000)],
) -> float:
    """How alike are they?"""
    return round(SequenceMatcher(None, first, second, autojunk=False).ratio(), 4)


@server.tool(title="Wrap lines", annotations=READS)
def wrap_lines(text: Text, width: Annotated[int, Field(description="Longest line", ge=10, le=400)] = 80) -> str:
    """Reflow paragraphs so that no line is longer than a given width."""
    return "\n\n".join(textwrap.fill(part, width) for part in re.split(r"\n\s*\n", text) if part.strip())


@server.tool(title="Tidy", annotations=READS)
def tidy(
    text: Text,
    sort: Annotated[bool, Field(description="Order them")] = False,
    unique: Annotated[bool, Field(description="Drop repeats")] = False,
) -> str:
    """Cleans stuff up, line by line."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    lines = [line for line in lines if line]
    lines = list(dict.fromkeys(lines)) if unique else lines
    return "\n".join(sorted(lines, key=str.casefold) if sort else lines)


@server.tool(title="Find and replace", annotations=READS)
def find_and_replace(
    text: Text,
    find: Annotated[str, Field(description="Exact text to look for", min_length=1, max_length=1_000)],
    replacement: Annotated[str, Field(description="Text to put in its place", max_length=1_000)] = "",
) -> str:
    """Replace every occurrence of a piece of text by another; the search is literal, not a pattern."""
    if len(text) + text.count(find) * len(replacement) > 1_000_000:
        raise ToolError("the result would be too long")
    return text.replace(find, replacement)


@server.tool(title="Fingerprint", annotations=READS)
def fingerprint_text(text: Text) -> str:
    """SHA-256 fingerprint of a text that ignores differences in spacing and capitals, to spot the same text again."""
    return hashlib.sha256(" ".join(text.casefold().split()).encode()).hexdigest()


if __name__ == "__main__":
    serve(server)
