"""Literals in a question: what is quoted, addressed or pasted as code is data, not wording.

>>> masked('mail "first, then second" to a@b.example').replace(MASK, "_")
'mail ____________________ to ___________'
>>> plain("read https://a.example/x, mail notes.csv to a@b.example as 'the plan'")
'read web page, mail csv file to e-mail address as'
"""

from __future__ import annotations

import re

MASK = "\u2d63"  # a letter that no question is written with: it counts as part of a word
_LITERALS = (
    ("code", r"```.{0,4000}?```|`[^`\n]{1,400}`"),
    ("web page", r"\bhttps?://[^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]}]"),
    ("e-mail address", r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,8}"),
    ("", r'"[^"]{1,2000}"|“[^”]{1,2000}”|«[^»]{1,2000}»'),
    ("", r"(?<!\w)['‘](?!\s)[^\n]{0,400}?(?<!\s)['’](?!\w)"),
)
_LITERAL = re.compile("|".join(f"({pattern})" for _, pattern in _LITERALS), re.DOTALL)
_FILES = "csv tsv json yaml yml xml html pdf md txt log png jpg jpeg svg gif mp3 wav mp4 docx xlsx pptx zip py"
_FILE = re.compile(rf"(?<![\w/.-])[\w/-]{{1,120}}\.({_FILES.replace(' ', '|')})\b")


def masked(text: str) -> str:
    """The text with one `MASK` for each character of a literal: offsets stay, and no rule about wording sees into it."""
    return _LITERAL.sub(lambda found: MASK * len(found[0]), text)


def plain(text: str) -> str:
    """The text with each literal as its kind; what is quoted goes."""
    kinds = _LITERAL.sub(lambda found: _LITERALS[(found.lastindex or 1) - 1][0], text)
    return re.sub(r"[ \t]{2,}", " ", _FILE.sub(r"\1 file", kinds)).strip()
