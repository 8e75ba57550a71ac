"""Text as a rule compares it: lower case, look-alike letters as what they look like, invisible characters gone or shown.

A folded text keeps the way back to the original, so that a finding quotes what really stands there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

# Letters of other scripts that are drawn like Latin ones (a part of Unicode's confusables, UTS #39).
CONFUSABLES = {
    **dict(zip("авекмнорстухіјѕԁһӏԛԝѵ", "abekmhopctyxijsdhlqwv", strict=True)),  # Cyrillic
    **dict(zip("αοικνρτυχε", "aoikvptuxe", strict=True)),  # Greek
    **dict(zip("ɡɑıօ", "gaio", strict=True)),
}
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_SPELLED = re.compile(r"(?<![A-Za-z])(?:[A-Za-z][ .*_-]){5,}[A-Za-z](?![A-Za-z])")  # i g n o r e
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_OTHER_SCRIPT = re.compile(f"[{''.join(CONFUSABLES)}]")
_PLAIN = {"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‐": "-", "‑": "-", "：": ":"}
_TAG_RUN = re.compile("[\U000e0020-\U000e007e]{2,}")
_TAGS = 0xE0000  # Unicode's tag characters: invisible copies of ASCII at this distance


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
    characters: list[str] = []
    offsets: list[int] = []
    for place, character in enumerate(text):
        folded = _folded(character)
        characters.append(folded)
        offsets += [place] * len(folded)
    whole = "".join(characters)
    forms = [Folded(whole, offsets)]
    if _OTHER_SCRIPT.search(whole):
        forms.append(Folded("".join(CONFUSABLES.get(c, c) for c in whole), offsets))
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
    plain = "".join(CONFUSABLES.get(c, c) for character in name for c in _folded(character))
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


def visible(text: str) -> str:
    """The text with characters that cannot be seen written out.

    >>> visible("pay\\u202eload")
    'pay⟨U+202E⟩load'
    """
    if text.isascii() and text.isprintable():
        return text
    said = _TAG_RUN.sub(lambda run: f"⟨invisible: {''.join(chr(ord(c) - _TAGS) for c in run[0])}⟩", text)
    return _CONTROL.sub(_written, INVISIBLE.sub(_written, said))


def _written(match: re.Match[str]) -> str:
    return f"⟨U+{ord(match[0]):04X}⟩"


@lru_cache(maxsize=8192)
def _folded(character: str) -> str:
    """One character: its compatible, lower form; "" where it is invisible; a tag character is the ASCII that it hides."""
    if character.isascii():
        return character.lower()
    point = ord(character)
    if _TAGS + 0x20 <= point < _TAGS + 0x7F:
        return chr(point - _TAGS).lower()
    if INVISIBLE.match(character):
        return ""
    return _PLAIN.get(character) or unicodedata.normalize("NFKC", character).lower()
