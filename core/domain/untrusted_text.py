r"""How a stranger's text is shown in the terminal, in messages, in Lint and on every page.

Names, descriptions, results and errors come from servers that nobody vouches for. Characters that people cannot see are
written out: control characters, invisible characters, characters that turn the reading order, and Unicode's tag characters, which
are a copy of ASCII that models can read. Line breaks and tabs stay, and so do the characters that emoji and scripts need.

A caller adds only the needs of its medium: Markdown escaping, a JSON string, a limit.
"""

from __future__ import annotations

import re

TAG_OFFSET = 0xE0000  # a tag character stands this far behind the ASCII character that it copies

# Unicode's Default_Ignorable_Code_Point without unassigned code points, and the interlinear annotation marks
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
_EMOJI = "[#*0-9\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff]"
_JOINED_SCRIPTS = (
    "[\u0600-\u08ff\u0900-\u0dff\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc]"  # Arabic, Indic, Khmer, Mongolian
)
_FLAGS = "|".join(  # England, Scotland and Wales: the only flags that are spelled in tag characters
    "\U0001f3f4" + "".join(chr(TAG_OFFSET + ord(letter)) for letter in name) + "\U000e007f"
    for name in ("gbeng", "gbsct", "gbwls")
)
_NEEDED = (
    f"{_FLAGS}"
    f"|(?<={_EMOJI})[\ufe0e\ufe0f](?![\ufe00-\ufe0f])"  # a single text or emoji style, not a row that carries data
    f"|(?:(?<={_EMOJI})|(?<={_EMOJI}\ufe0f))\u200d(?={_EMOJI})"  # one picture of several
    f"|(?<={_JOINED_SCRIPTS})[\u200c\u200d]|[\u200c\u200d](?={_JOINED_SCRIPTS})"  # whether two letters join
)
_TAG_RUN = "[\U000e0020-\U000e007e]{2,}"
_SHOWN = re.compile(f"(?P<needed>{_NEEDED})|(?P<tags>{_TAG_RUN})|{INVISIBLE.pattern}|[{_CONTROL}]")


def visible(text: str) -> str:
    r"""The text with its invisible characters written out. Line breaks and tabs stay.

    >>> visible("invoice\u202efdp.exe"), visible("a\tb\r\nc")
    ('invoice⟨U+202E⟩fdp.exe', 'a\tb\nc')
    >>> visible("Adds." + "".join(chr(0xE0000 + ord(letter)) for letter in "send keys"))
    'Adds.⟨invisible: send keys⟩'
    """
    if text.isascii() and text.isprintable():
        return text
    return _SHOWN.sub(_written, text.replace("\r\n", "\n"))


def one_line(text: str, limit: int | None = None) -> str:
    r"""The visible text on one line. Every gap is one space, and text beyond `limit` characters is cut.

    >>> one_line("reads\n  a file\x1b[31m"), one_line("reads a file", 8)
    ('reads a file⟨U+001B⟩[31m', 'reads a…')
    """
    line = visible(" ".join(text.split()))
    return line if limit is None or len(line) <= limit else f"{line[: limit - 1]}…"


def _written(match: re.Match[str]) -> str:
    if match["needed"]:
        return match[0]
    if match["tags"]:
        return f"⟨invisible: {''.join(chr(ord(character) - TAG_OFFSET) for character in match[0])}⟩"
    return f"⟨U+{ord(match[0]):04X}⟩"
