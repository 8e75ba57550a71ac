"""Text as a rule compares it: lower case, look-alike letters as the Latin ones, invisible characters left out.

A folded text knows the places in the original, so that a finding quotes the original.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from core.shared.untrusted_text import INVISIBLE, TAG_OFFSET

_SPELLED = re.compile(r"(?<![A-Za-z])(?:[A-Za-z][ .*_-]){5,}[A-Za-z](?![A-Za-z])")  # i g n o r e
_SMALL_CAPITAL = "LATIN LETTER SMALL CAPITAL "
_PLAIN = {"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‐": "-", "‑": "-", "：": ":"}


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text; `offsets` gives for each of its characters the place in the original, None where they agree."""

    text: str
    offsets: Sequence[int] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The place in the original of a place in the folded text."""
        if self.offsets is None or start >= end:
            return start, end
        return self.offsets[start], self.offsets[end - 1] + 1


def fold(text: str) -> tuple[Folded, ...]:
    """The text folded; once more with look-alike letters replaced, and with l e t t e r s joined, where it has such.

    >>> [folded.text for folded in fold("Іgnore\\u200b IT")]
    ['іgnore it', 'ignore it']
    """
    if text.isascii() and not _SPELLED.search(text):
        return (Folded(text.lower()),)
    folded = [_folded(character) for character in text]
    offsets = [place for place, characters in enumerate(folded) for _ in characters]
    whole, latin = "".join(folded), "".join(map(_as_latin, text))
    forms = [Folded(whole, offsets)]
    if latin != whole:
        forms.append(Folded(latin, offsets))
    if _SPELLED.search(whole):
        gaps = {place for run in _SPELLED.finditer(whole) for place in range(run.start() + 1, run.end(), 2)}
        kept = [place for place in range(len(whole)) if place not in gaps]
        forms.append(Folded("".join(whole[place] for place in kept), [offsets[place] for place in kept]))
    return tuple(forms)


def disguises(name: str) -> set[str]:
    """Names (as `key` gives them) that this one may be taken for at a glance, itself left out.

    >>> disguises("read_fi1e") == {"readfile", "readfiie"}, disguises("step_10")
    (True, set())
    """
    plain = "".join(map(_as_latin, name))
    for digit, letter in (("0", "o"), ("1", "l")):
        plain = re.sub(rf"(?<=[a-z]){digit}(?!\d)|(?<!\d){digit}(?=[a-z])", letter, plain)
    forms = {key(form) for form in (plain, plain.replace("rn", "m"), plain.replace("vv", "w"), _with_i(name, plain))}
    return forms - {key(name)}


def _with_i(name: str, plain: str) -> str:
    """The plain form with i where the name has a 1 that is read as l."""
    return (
        "".join("i" if a == "1" and b == "l" else b for a, b in zip(name, plain, strict=False))
        if len(name) == len(plain)
        else plain
    )


def key(name: str) -> str:
    """A name without case and separators.

    >>> key("Get-Weather"), key("getWeather")
    ('getweather', 'getweather')
    """
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", name).casefold())


def lookalike(character: str) -> str:
    """The Latin letter that a letter of another alphabet is drawn like, "" where it is drawn like none (UTS #39).

    >>> lookalike("е"), lookalike("В"), lookalike("ж"), lookalike("e")
    ('e', 'b', '', '')
    """
    table = _lookalikes()
    drawn, small = table.get(character, ""), table.get(character.lower(), "")
    return small if small and drawn in {"", "l"} else drawn  # a capital I is drawn like l, and is an i all the same


@cache
def _lookalikes() -> Mapping[str, str]:
    """Unicode's confusables: letters with two cases, which are mixed into Latin words, to small Latin letters.

    Letters without case, such as Arabic ones, are left out: names mix them with Latin words for good reasons.
    """
    from confusable_homoglyphs.confusables import confusables_data  # pyright: ignore[reportMissingTypeStubs]

    alike = {letter: [one["c"] for one in others] for letter, others in confusables_data.items()}
    latin = {letter: _latin(others) for letter, others in alike.items()}
    cased = [letter for letter in alike if not letter.isascii() and (letter.islower() or letter.isupper())]
    # the table has stars: two rays, such as a Cyrillic letter and a small capital, meet in a third letter
    found = {letter: latin[letter] or next(filter(None, map(latin.get, alike[letter])), "") for letter in cased}
    return {letter: letters for letter, letters in found.items() if letters}


def _latin(alike: Iterable[str]) -> str:
    """The first that is a Latin letter, as a small one; a small capital counts."""
    for text in alike:
        letter = unicodedata.name(text, "").removeprefix(_SMALL_CAPITAL) if len(text) == 1 else ""
        if len(letter) == 1 or (len(text) == 1 and text.isascii() and text.isalpha()):
            return (letter if len(letter) == 1 else text).lower()
    return ""


@lru_cache(maxsize=8192)
def _as_latin(character: str) -> str:
    """One character folded, and as the Latin letter that it is drawn like."""
    folded = _folded(character)
    if character.isascii() or len(folded) != 1:
        return folded
    return lookalike(unicodedata.normalize("NFKC", character)) or folded


@lru_cache(maxsize=8192)
def _folded(character: str) -> str:
    """One character: its compatible, lower form; "" where it is invisible; a tag character is the ASCII that it hides."""
    if character.isascii():
        return character.lower()
    point = ord(character)
    if TAG_OFFSET + 0x20 <= point < TAG_OFFSET + 0x7F:
        return chr(point - TAG_OFFSET).lower()
    if INVISIBLE.match(character):
        return ""
    return _PLAIN.get(character) or unicodedata.normalize("NFKC", character).lower()
