"""Regular expressions with a time limit: an explosive pattern is stopped, not waited for."""

import re
from collections.abc import Sequence
from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

from sample_catalog.runnable._common import READS, run_limited, serve

PRESETS = {
    "email": r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,24}",
    "url": r"https?://[^\s<>\"')\]]+[^\s<>\"')\].,;:!?]",
    "iso_date": r"\b\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])\b",
    "number": r"[-+]?\d+(?:\.\d+)?",
    "hashtag": r"(?<!\w)#\w+",
    "ipv4": r"\b(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\b",
}
PIECES = [
    (r"\\[dD]", "a digit (capital: anything else)"),
    (r"\\[wW]", "a letter, digit or underscore (capital: anything else)"),
    (r"\\[sS]", "white space (capital: anything else)"),
    (r"\\[bB]", "the edge of a word (capital: not an edge)"),
    (r"\\[AZ]", "the very beginning (A) or end (Z)"),
    (r"\\[1-9]", "the same text as that group again"),
    (r"\\.", "this character itself"),
    (r"\(\?P<\w+>", "begin of a named group"),
    (r"\(\?:", "begin of a group that is not kept"),
    (r"\(\?<?=", "only where this stands next"),
    (r"\(\?<?!", "only where this does not stand next"),
    (r"\(", "begin of a group"),
    (r"\)", "end of the group"),
    (r"\[\^?\]?[^\]]*\]", "one character of this set (^: one outside it)"),
    (r"\{\d*,?\d*\}\??", "the thing before, this many times"),
    (r"\*\??", "the thing before, any number of times"),
    (r"\+\??", "the thing before, once or more"),
    (r"\?\??", "the thing before, or nothing"),
    (r"\|", "or"),
    (r"\^", "beginning of the text or line"),
    (r"\$", "end of the text or line"),
    (r"\.", "any character"),
    (r"[^\\()\[\]{}*+?|^$.](?![*+?{])(?:[^\\()\[\]{}*+?|^$.](?![*+?{]))*|.", "this text"),
]
TOKEN = re.compile("|".join(f"({piece})" for piece, _ in PIECES), re.S)

Pattern = Annotated[str, Field(description="Regular expression, Python syntax", min_length=1, max_length=1_000)]
Text = Annotated[str, Field(description="Text to work on", max_length=100_000)]
Flag = Literal["ignore_case", "multi_line", "dot_all", "verbose"]
Flags = Annotated[Sequence[Flag], Field(description="Options of the match")]

server = MCPServer(
    "pattern-bench",
    title="Pattern bench",
    description="Try out and apply regular expressions safely: find, extract, replace, split, test and explain.",
    instructions="Patterns use Python's syntax. Each run has five seconds; at most 500 matches are returned.",
    version="1.2.0",
    log_level="WARNING",
)


class Match(BaseModel):
    """One place where the pattern fits."""

    text: str
    start: int
    end: int
    groups: list[str | None]
    named_groups: dict[str, str | None]


class Replaced(BaseModel):
    """A text after replacement."""

    text: str
    replacements: int


class Verdict(BaseModel):
    """Whether a candidate fits from beginning to end."""

    candidate: str
    matches: bool


class Piece(BaseModel):
    """A part of a pattern in words."""

    piece: str
    meaning: str


@server.tool(title="Find matches", annotations=READS)
def find_matches(pattern: Pattern, text: Text, flags: Flags = ()) -> list[Match]:
    """Find every place where a regular expression matches, with positions and captured groups."""
    return [Match(**found) for found in run_limited("find", pattern=pattern, text=text, flags=flags)]


@server.tool(title="Extract known things", annotations=READS)
def extract(
    text: Text,
    what: Annotated[
        Literal["email", "url", "iso_date", "number", "hashtag", "ipv4"], Field(description="Kind of thing to pull out")
    ],
) -> list[str]:
    """Pull all e-mail addresses, links, ISO dates, numbers, hashtags or IPv4 addresses out of a text."""
    found = run_limited("find", pattern=PRESETS[what], text=text, flags=[])
    return list(dict.fromkeys(match["text"] for match in found))


@server.tool(title="Replace matches", annotations=READS)
def replace_matches(
    pattern: Pattern,
    text: Text,
    replacement: Annotated[str, Field(description=r"New text; \1 or \g<name> insert a group", max_length=1_000)],
    flags: Flags = (),
    limit: Annotated[int, Field(description="Most replacements to make; 0 for all", ge=0)] = 0,
) -> Replaced:
    """Replace what a regular expression matches, with references to captured groups."""
    return Replaced(
        **run_limited("replace", pattern=pattern, text=text, replacement=replacement, flags=flags, limit=limit)
    )


@server.tool(title="Split by pattern", annotations=READS)
def split_by_pattern(pattern: Pattern, text: Text, flags: Flags = ()) -> list[str]:
    """Split a text wherever a regular expression matches."""
    return run_limited("split", pattern=pattern, text=text, flags=flags)


@server.tool(title="Check candidates", annotations=READS)
def check_candidates(
    pattern: Pattern,
    candidates: Annotated[list[str], Field(description="Strings to test", min_length=1, max_length=200)],
    flags: Flags = (),
) -> list[Verdict]:
    """Check which strings a regular expression matches completely."""
    verdicts = run_limited("test", pattern=pattern, candidates=candidates, flags=flags)
    return [Verdict(candidate=text, matches=fits) for text, fits in zip(candidates, verdicts, strict=True)]


@server.tool(title="Explain a pattern", annotations=READS)
def explain_pattern(pattern: Pattern) -> list[Piece]:
    """Take a regular expression apart and say in words what each piece means."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError) as error:
        raise ToolError(f"the pattern is not valid: {error}") from error
    found = TOKEN.finditer(pattern)
    return [Piece(piece=token.group(), meaning=PIECES[(token.lastindex or 1) - 1][1]) for token in found]


@server.tool(title="Escape text", annotations=READS)
def escape_text(text: Annotated[str, Field(description="Literal text", max_length=1_000)]) -> str:
    """Escape the special characters of a text so that a pattern matches it literally."""
    return re.escape(text)


if __name__ == "__main__":
    serve(server)
