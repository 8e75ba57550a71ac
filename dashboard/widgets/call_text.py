"""Texts of servers and results made safe to look at: nothing hidden, nothing that turns the reading order."""

from __future__ import annotations

import re
from typing import Literal

Colour = Literal["red", "orange", "blue", "green", "violet", "gray"]

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060\u2066-\u2069\ufeff\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""The text with control, zero-width and direction characters written out, so that they can be seen.

    >>> visible("invoice\u202efdp.exe"), visible("a\tb\nc")
    ('invoice⟨U+202E⟩fdp.exe', 'a\tb\nc')
    """
    return _HIDDEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text.replace("\r\n", "\n"))


def size(count_bytes: int) -> str:
    """A size for people.

    >>> size(3), size(20_480)
    ('3 B', '20.0 kB')
    """
    if count_bytes < 1000:
        return f"{count_bytes} B"
    return f"{count_bytes / 1024:.1f} kB" if count_bytes < 1_000_000 else f"{count_bytes / 1024**2:.1f} MB"


def file_name(name: str, otherwise: str) -> str:
    """A name for a download made of harmless characters only.

    >>> file_name("../../etc/passwd", "x"), file_name("", "result.txt")
    ('etc_passwd', 'result.txt')
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name)[-80:].lstrip("._-") or otherwise
