"""Rules about hidden text: invisible characters, changed reading direction, text pushed out of sight, encoded text."""

from __future__ import annotations

import re

from core.domain.findings import Severity
from core.domain.untrusted_text import INVISIBLE, TAG_OFFSET
from core.lint.base import PassageRule
from core.lint.texts import Passage, quoted

SCREEN_SPACES = 100  # spaces in a row: wider than the line of a dialog, so the rest is out of sight
SCREEN_LINES = 12  # empty lines in a row: more than the dialogs of usual clients show
RUN = 3  # invisible characters in a row: no script and no emoji needs as many
MANY = 5  # in one text: more than an accident of the keyboard or the clipboard

_TAGS = re.compile("[\U000e0020-\U000e007f]+")
_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{2,6}\U000e007f")
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_OVERRIDES = re.compile("[\u202d\u202e]")
_RUN = re.compile(f"(?:{INVISIBLE.pattern}){{{RUN},}}")
_IN_WORD = re.compile(
    "[A-Za-z][\u034f\u115f\u1160\u180e\u200b-\u200d\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0][A-Za-z]"
)
_EMOJI_JOINERS = re.compile(
    "(?<=[^\x00-\u1fff\u3000-\u9fff\uac00-\ud7af\ufe00-\ufe0f])[\ufe0e\ufe0f]?\u200d|(?<![\ufe00-\ufe0f])[\ufe0e\ufe0f](?![\ufe00-\ufe0f])"
)
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_BLANK = "[ \t\u00a0\u2000-\u200a\u3000]"
_SPACE = re.compile(
    rf"(?<!{_BLANK}){_BLANK}{{{SCREEN_SPACES},}}+(?=\S)|(?<!\s)(?:[^\S\n]*+\n){{{SCREEN_LINES},}}+(?=\s*+\S)"
)


class HiddenCharacters(PassageRule):
    id = "hidden_characters"
    title = "Hidden characters"
    severity = Severity.ERROR
    why = "A model reads characters that people cannot see. They can carry whole instructions, and broken words pass filters."
    advice = "Do not give this tool to a model until they are gone; ask its author why they were there."

    def look(self, passage: Passage) -> tuple[str, str] | None:
        if passage.text.isascii() or not (found := hidden(passage.text)):
            return None
        fact, start, end = found
        return f"The {passage.place} {fact}.", quoted(passage.text, start, end)


class StrayCharacters(PassageRule):
    id = "stray_characters"
    title = "Stray invisible characters"
    severity = Severity.NOTE
    why = "A copied text may carry invisible characters; they cost tokens and break exact matches."
    advice = "Remove them from the source of the text."

    def look(self, passage: Passage) -> tuple[str, str] | None:
        if passage.text.isascii() or hidden(passage.text) or not (found := _unneeded(passage.text)):
            return None
        names = ", ".join(f"U+{ord(c):04X}" for c in sorted(set(found)))
        return f"The {passage.place} has {len(found)} invisible character{'s' if len(found) > 1 else ''} ({names}).", ""


class BuriedText(PassageRule):
    id = "buried_text"
    title = "Text out of sight"
    severity = Severity.ERROR
    why = "Space pushes text out of the dialog in which people approve a tool, but a model reads it."
    advice = "Read the text after the space before you give this tool to a model."

    def look(self, passage: Passage) -> tuple[str, str] | None:
        text = passage.text
        match = _SPACE.search(text) if len(text) > SCREEN_SPACES or text.count("\n") >= SCREEN_LINES else None
        return (_buried(passage, match), passage.text[match.end() :].lstrip()[:80]) if match else None


def hidden(text: str) -> tuple[str, int, int] | None:
    r"""Returns the hidden part of a text with its start and end, or None.

    >>> hidden("pay\u200bload")
    ('has words broken by invisible characters (U+200B)', 2, 5)
    >>> hidden("👩\u200d💻 is an emoji")
    """
    bare = _blanked(_EMOJI_JOINERS, _blanked(_FLAG, text))
    if match := _TAGS.search(bare):
        hidden_text = "".join(chr(ord(c) - TAG_OFFSET) for c in match[0])
        return f"has invisible tag characters that say “{hidden_text[:80]}”", *match.span()
    if match := (_OVERRIDES if _right_to_left(text) else _TURNS).search(text):
        return f"turns the direction of reading with U+{ord(match[0]):04X}", *match.span()
    if match := _RUN.search(bare):
        return f"has {len(match[0])} invisible characters in a row (U+{ord(match[0][0]):04X}…)", *match.span()
    if match := _IN_WORD.search(bare):
        return f"has words broken by invisible characters (U+{ord(match[0][1]):04X})", *match.span()
    if len(found := _unneeded(text)) >= MANY:
        start = text.index(found[0])
        return f"has {len(found)} invisible characters", start, start + 1
    return None


def _unneeded(text: str) -> list[str]:
    """Returns the invisible characters that neither an emoji nor a script needs."""
    if not INVISIBLE.search(text):
        return []
    bare = _EMOJI_JOINERS.sub("", _FLAG.sub("", text))
    scripted = _right_to_left(bare) or any("\u0900" <= c <= "\u0dff" for c in bare)
    joiners = "\u200c\u200d\u200e\u200f\u061c\u202a\u202b\u202c\u2066\u2067\u2068\u2069" if scripted else ""
    return [c for c in INVISIBLE.findall(bare) if c not in joiners and c != "\u00ad"]


def _blanked(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda match: " " * len(match[0]), text)


def _right_to_left(text: str) -> bool:
    return _RIGHT_TO_LEFT.search(text) is not None


def _buried(passage: Passage, match: re.Match[str]) -> str:
    lines = match[0].count("\n")
    space = f"{lines} empty lines" if lines else f"{len(match[0])} spaces"
    return f"The {passage.place} goes on after {space}."


# Encoded text

# of at least 120 characters: longer than keys, hashes and links in examples
_BLOB = re.compile(
    r"(?<![\w/.:%+-])(?=[A-Za-z0-9+/_-]*[0-9])(?=[A-Za-z0-9+/_-]*[A-Z])(?=[A-Za-z0-9+/_-]*[a-z])[A-Za-z0-9+/_-]{120,}={0,2}"
)


class EncodedText(PassageRule):
    id = "encoded_text"
    title = "Encoded text"
    severity = Severity.WARNING
    why = "A model decodes text that a reviewer skips. A description has no reason to be unreadable."
    advice = "Decode and read it; a description should be plain text, and an example short."

    def look(self, passage: Passage) -> tuple[str, str] | None:
        if passage.encoding:
            return f"The {passage.where} holds a sentence in {passage.encoding}.", passage.text
        if match := _BLOB.search(passage.text):
            return f"The {passage.where} holds {len(match[0])} unreadable characters in a row.", match[0][:60]
        return None
