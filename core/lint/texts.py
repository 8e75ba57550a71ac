"""The texts that rules read: every text of a catalog, decoded, folded for comparison, and quoted in findings."""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast
from urllib.parse import unquote

import numpy as np

from core.domain.catalog import Catalog, Server, Tool
from core.domain.progress import made_once
from core.domain.untrusted_text import INVISIBLE, TAG_OFFSET

# Decoded text: a model reads base64 and the like, a reviewer does not

SHORTEST = 24  # encoded characters: below, an ordinary word may look encoded

_BASE64 = re.compile(r"(?<![\w/+.:-])[A-Za-z0-9+/_-]{24,}={0,2}(?![\w/.])")
_HEX = re.compile(r"(?<!\w)(?:0x)?(?:[0-9a-fA-F]{2}[ ]?){12,}(?!\w)")
_ESCAPES = re.compile(r"(?:\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]+\})){6,}")
_PERCENT = re.compile(r"(?<![\w.~%-])(?:[\w.~-]*%[0-9a-fA-F]{2}){3,}[\w.~-]*")
_ENTITIES = re.compile(r"(?:&#x?[0-9a-fA-F]{2,6};[\s]?){6,}")
# Four words: an example such as "Hello World" has two.
_SENTENCE = re.compile(r"(?:[A-Za-z'’,.:;!?/~_-]+\s+){3,}")


def decodings(text: str) -> Iterator[tuple[str, str]]:
    """Returns every encoded sentence of a text: its encoding, and its words."""
    if len(text) < SHORTEST:
        return
    for kind, sign, pattern, decode in _DECODERS:
        for match in pattern.finditer(text) if sign in text else ():
            decoded = decode(match[0])
            if _SENTENCE.match(decoded):
                yield kind, decoded.strip()


def _base64(text: str) -> str:
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return _readable(base64.b64decode(plain + "=" * (-len(plain) % 4)))
    except binascii.Error:
        return ""


def _hex(text: str) -> str:
    return _readable(bytes.fromhex(text.removeprefix("0x")))


def _readable(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    return text if all(c.isprintable() or c.isspace() for c in text) else ""


def _escapes(text: str) -> str:
    return "".join(
        chr(int(digits, 16)) for digits in re.findall(r"[xu]\{?([0-9a-fA-F]+)", text) if int(digits, 16) < 0x110000
    )


# The sign that each encoding needs is looked for first.
_DECODERS: tuple[tuple[str, str, re.Pattern[str], Callable[[str], str]], ...] = (
    ("base64", "", _BASE64, _base64),
    ("hexadecimal", "", _HEX, _hex),
    ("escape sequences", "\\", _ESCAPES, _escapes),
    ("percent signs", "%", _PERCENT, unquote),
    ("character references", "&#", _ENTITIES, html.unescape),
)


# Folded text: lower case, look-alike letters as Latin letters, no invisible characters
# It knows the positions in the original, so that a finding quotes the original.

_SPELLED = re.compile(r"(?<![A-Za-z])(?:[A-Za-z][ .*_-]){5,}[A-Za-z](?![A-Za-z])")  # i g n o r e
_SMALL_CAPITAL = "LATIN LETTER SMALL CAPITAL "
_PLAIN = {"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‐": "-", "‑": "-", "：": ":"}


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text. `offsets` has the original position of each of its characters, None if no position differs."""

    text: str
    offsets: Sequence[int] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        if self.offsets is None or start >= end:
            return start, end
        return self.offsets[start], self.offsets[end - 1] + 1


def fold(text: str) -> tuple[Folded, ...]:
    """Returns the folded text, and if needed a second form with look-alike letters replaced and spaced letters joined."""
    if text.isascii() and not _SPELLED.search(text):
        return (Folded(text.lower()),)
    folded = [_folded(character) for character in text]
    offsets = [place for place, characters in enumerate(folded) for _ in characters]
    folded_text, latin = "".join(folded), "".join(map(_as_latin, text))
    forms = [Folded(folded_text, offsets)]
    if latin != folded_text:
        forms.append(Folded(latin, offsets))
    if _SPELLED.search(folded_text):
        gaps = {place for run in _SPELLED.finditer(folded_text) for place in range(run.start() + 1, run.end(), 2)}
        places = [place for place in range(len(folded_text)) if place not in gaps]
        forms.append(Folded("".join(folded_text[place] for place in places), [offsets[place] for place in places]))
    return tuple(forms)


def disguises(name: str) -> set[str]:
    """Returns the names (as `key` gives them) that this name resembles at a glance.

    >>> disguises("read_fi1e") == {"readfile", "readfiie"}, disguises("step_10")
    (True, set())
    """
    plain = name.lower() if name.isascii() else "".join(map(_as_latin, name))
    for digit, letter in (("0", "o"), ("1", "l")):
        plain = re.sub(rf"(?<=[a-z]){digit}(?!\d)|(?<!\d){digit}(?=[a-z])", letter, plain)
    forms = {key(form) for form in (plain, plain.replace("rn", "m"), plain.replace("vv", "w"), _with_i(name, plain))}
    return forms - {key(name)}


def _with_i(name: str, plain: str) -> str:
    return (
        "".join("i" if a == "1" and b == "l" else b for a, b in zip(name, plain, strict=False))
        if len(name) == len(plain)
        else plain
    )


def key(name: str) -> str:
    """Returns a name without case and separators.

    >>> key("Get-Weather"), key("getWeather")
    ('getweather', 'getweather')
    """
    if name.isascii():
        return name.lower().translate(_SEPARATORS)
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", name).casefold())


_SEPARATORS = {code: None for code in range(128) if not chr(code).isalnum()}


def lookalike(character: str) -> str:
    """Returns the Latin letter that a letter of another alphabet resembles, or "" (UTS #39).

    >>> lookalike("е"), lookalike("В"), lookalike("ж"), lookalike("e")
    ('e', 'b', '', '')
    """
    table = _lookalikes()
    letter, small = table.get(character, ""), table.get(character.lower(), "")
    return small if small and letter in {"", "l"} else letter  # a capital I looks like l, and is an i


@made_once
def _lookalikes() -> Mapping[str, str]:
    """Returns Unicode's confusables: from letters with two cases, which attackers mix into Latin words, to small Latin
    letters.

    Letters without case, such as Arabic letters, are left out, because names mix them with Latin words for good reasons.
    """
    from confusable_homoglyphs.confusables import confusables_data  # pyright: ignore[reportMissingTypeStubs]

    alike = {letter: [row["c"] for row in others] for letter, others in confusables_data.items()}
    latin = {letter: _latin(others) for letter, others in alike.items()}
    cased = [letter for letter in alike if not letter.isascii() and (letter.islower() or letter.isupper())]
    # the table has stars: two rays, such as a Cyrillic letter and a small capital, meet in a third letter
    replacements = {letter: latin[letter] or next(filter(None, map(latin.get, alike[letter])), "") for letter in cased}
    return {letter: letters for letter, letters in replacements.items() if letters}


def _latin(alike: Iterable[str]) -> str:
    for text in alike:
        letter = unicodedata.name(text, "").removeprefix(_SMALL_CAPITAL) if len(text) == 1 else ""
        if len(letter) == 1 or (len(text) == 1 and text.isascii() and text.isalpha()):
            return (letter if len(letter) == 1 else text).lower()
    return ""


@lru_cache(maxsize=8192)
def _as_latin(character: str) -> str:
    """Returns one character folded, as the Latin letter that it resembles."""
    folded = _folded(character)
    if character.isascii() or len(folded) != 1:
        return folded
    return lookalike(unicodedata.normalize("NFKC", character)) or folded


@lru_cache(maxsize=8192)
def _folded(character: str) -> str:
    """Returns one character in its compatible lower form, "" if it is invisible. A tag character becomes its ASCII
    letter."""
    if character.isascii():
        return character.lower()
    point = ord(character)
    if TAG_OFFSET + 0x20 <= point < TAG_OFFSET + 0x7F:
        return chr(point - TAG_OFFSET).lower()
    if INVISIBLE.match(character):
        return ""
    return _PLAIN.get(character) or unicodedata.normalize("NFKC", character).lower()


# Passages: every text of a catalog that a model may read

SPOKEN = ("title", "description", "default", "const", "$comment")  # schema keywords with one text
LISTED = ("enum", "examples")  # schema keywords with several texts
NAMED = ("properties", "$defs", "definitions", "patternProperties")  # with a schema for each name
DEEPEST = 24  # levels of a schema that are read


@dataclass(frozen=True, slots=True)
class Passage:
    """One text. `tool` is "" for a server's own text. `encoding` names the encoding of a decoded text."""

    server: str
    tool: str
    where: str
    text: str
    encoding: str = ""

    @property
    def place(self) -> str:
        return f"{self.where}, decoded from {self.encoding}," if self.encoding else self.where


class CatalogTexts:
    """Every text of a catalog with its encoding, each once, and its owners. A large catalog has most texts several times.

    `progress` gets the number of servers that are read, and of all servers.
    """

    def __init__(self, catalog: Catalog, progress: Callable[[int, int], object] = lambda _, __: None) -> None:
        self._catalog = catalog
        self.different: dict[tuple[str, str], int] = {}
        rows_by_text: dict[str, list[int]] = {}
        text_ids, ends, first = list[int](), list[int](), [0]
        for number, server in enumerate(catalog.servers):
            progress(number, len(catalog.servers))
            for texts in (_server_texts(server), *map(_tool_texts, server.tools)):
                for _, text in texts:
                    if text not in rows_by_text:
                        entries = [(text, ""), *((decoded, encoding) for encoding, decoded in decodings(text))]
                        rows_by_text[text] = [
                            self.different.setdefault(entry, len(self.different)) for entry in entries if text.strip()
                        ]
                    text_ids += rows_by_text[text]
                ends.append(len(text_ids))
            first.append(len(ends))
        self._held, self._ends, self._first = (np.array(numbers, dtype=np.int64) for numbers in (text_ids, ends, first))

    def passages(self, texts: Collection[str]) -> Iterator[Passage]:
        """Returns the passages with one of these texts, server by server, each followed by its decoded sentences."""
        if not texts:
            return
        numbers = [number for (text, _), number in self.different.items() if text in texts]
        places = np.flatnonzero(np.isin(self._held, numbers))
        rows: list[int] = np.unique(np.searchsorted(self._ends, places, side="right")).tolist()
        for row in rows:
            index = int(np.searchsorted(self._first, row, side="right")) - 1
            server, tool = self._catalog.servers[index], row - int(self._first[index]) - 1
            passages = server_passages(server) if tool < 0 else tool_passages(server.tools[tool])
            yield from (passage for passage in passages if passage.text in texts)


def server_passages(server: Server) -> tuple[Passage, ...]:
    return tuple(_with_decoded(server.name, "", _server_texts(server)))


def tool_passages(tool: Tool) -> tuple[Passage, ...]:
    """Returns a tool's texts, including the texts of its schemas.

    >>> weather = Tool("w", "today", "Now.", input_schema={"properties": {"city": {"description": "A city"}}})
    >>> [(passage.where, passage.text) for passage in tool_passages(weather)]
    [('name', 'today'), ('description', 'Now.'), ('parameter city', 'city'), ('description of parameter city', 'A city')]
    """
    return tuple(_with_decoded(tool.server, tool.name, _tool_texts(tool)))


def _server_texts(server: Server) -> list[tuple[str, str]]:
    return [("name", server.name), ("title", server.title), ("description", server.description)]


def _tool_texts(tool: Tool) -> list[tuple[str, str]]:
    texts = [("name", tool.name), ("title", tool.title), ("description", tool.description)]
    _add_schema(texts, tool.input_schema, "input schema", "parameter")
    _add_schema(texts, tool.output_schema, "output schema", "result")
    return texts


def _with_decoded(server: str, tool: str, texts: Iterable[tuple[str, str]]) -> Iterator[Passage]:
    for where, text in texts:
        if text.strip():
            yield Passage(server, tool, where, text)
            for encoding, decoded in decodings(text):
                yield Passage(server, tool, where, decoded, encoding)


def _add_schema(
    texts: list[tuple[str, str]], schema: object, whole: str, noun: str, path: str = "", depth: int = 0
) -> None:
    """Adds every text of a schema with its place, in the schema's order."""
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return
    here = f"{noun} {path}" if path else f"the {whole}"
    for keyword, value in cast(Mapping[str, Any], schema).items():
        if keyword in SPOKEN and isinstance(value, str):
            texts.append((f"{keyword} of {here}", value))
        elif isinstance(value, list | tuple):
            for item in cast("list[Any]", value):
                if keyword not in LISTED:
                    _add_schema(texts, item, whole, noun, path, depth + 1)
                elif isinstance(item, str):
                    texts.append((f"{keyword} of {here}", item))
        elif isinstance(value, Mapping) and keyword in NAMED:
            for name, inner in cast(Mapping[str, Any], value).items():
                inside = f"{path}.{name}" if path else str(name)
                texts.append((f"{noun} {inside}", str(name)))
                _add_schema(texts, inner, whole, noun, inside, depth + 1)
        else:
            _add_schema(texts, cast(object, value), whole, noun, path, depth + 1)


# Quotations: a match with the rest of its sentence

AROUND = 50  # characters on each side of a place that are quoted with it
LONGEST_SENTENCE = 200  # characters before a place that may belong to its sentence
_STARTS = (". ", ".\n", "!", "?", "\n\n")
_END = re.compile(r"(?<=[.!?])\s|\n\n")


def sentence_before(text: str, place: int) -> str:
    """Returns the part of a sentence before a place, at most 200 characters.

    >>> sentence_before("One. Two three", 9)
    ' Two '
    """
    start = max(text.rfind(sign, max(0, place - LONGEST_SENTENCE), place) for sign in _STARTS)
    return text[max(start + 1, place - LONGEST_SENTENCE, 0) : place]


def quoted(text: str, start: int, end: int) -> str:
    """Returns a match with the rest of its sentence, in whole words."""
    prefix = sentence_before(text, start).lstrip()
    if len(prefix) > AROUND:
        prefix = prefix[-AROUND:].partition(" ")[2]
    suffix = _END.split(text[end : end + AROUND + 1], maxsplit=1)[0]
    if len(suffix) > AROUND:
        suffix = suffix.rpartition(" ")[0]
    return f"{prefix}{text[start:end]}{suffix}".strip()
