"""Limits and checks for documents of strangers: each check returns what is wrong with a value, or "" for nothing.

No message quotes a text value, because it may be a secret in the wrong field.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata

from core.shared.untrusted_text import visible

MAX_NAME = 200
MAX_TEXT = 100_000

BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_KINDS: dict[type, str] = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


def kind(value: object) -> str:
    """What a JSON value is, in words.

    >>> kind([1]), kind(True), kind(None)
    ('a list', 'true or false', 'null')
    """
    return _KINDS.get(type(value), "of an unknown kind")


def shown(name: str) -> str:
    """A name for a message: quoted, with nothing unseen in it, cut at 60 characters.

    >>> shown("we\\nather")
    '"we\\\\nather"'
    """
    cut = name if len(name) <= 60 else name[:59] + "…"
    return json.dumps(visible(cut), ensure_ascii=False)


def line_fault(text: str, limit: int = MAX_NAME) -> str:
    """Why a text cannot be shown on one line: too long, control or direction-changing characters.

    >>> line_fault("a\\tb")
    'holds the control character U+0009; remove it'
    """
    if len(text) > limit:
        return f"has {len(text):,} characters; use at most {limit:,}"
    for character in text:
        if unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}:
            return f"holds the control character U+{ord(character):04X}; remove it"
        if character in BIDI:
            return f"holds U+{ord(character):04X}, which changes the direction of text; remove it"
    return ""


def name_fault(name: str) -> str:
    """Why a text cannot be a tool's name.

    >>> name_fault("  ")
    'is empty; give a name'
    >>> name_fault("<b>bold</b>")
    ''
    """
    return line_fault(name) if name.strip() else "is empty; give a name"


def server_name_fault(name: str) -> str:
    """Why a text cannot be a server's name: `server::tool` has to be read one way only.

    >>> server_name_fault("a::b")
    'holds "::", which separates server and tool; rename it'
    """
    if "::" in name:
        return 'holds "::", which separates server and tool; rename it'
    return 'ends with ":", which makes server::tool ambiguous; rename it' if name.endswith(":") else name_fault(name)


def number_fault(value: object, *, high: float | None = None) -> str:
    """Why a value is not a finite number of at least 0 (and at most `high`).

    >>> number_fault(float("nan"))
    'is NaN; give a number of at least 0 or leave it out'
    >>> number_fault(1.5, high=1)
    'is 1.5; give a number from 0 to 1 or leave it out'
    """
    wanted = f"give a number {'of at least 0' if high is None else f'from 0 to {high:g}'} or leave it out"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"is {kind(value)}; {wanted}"
    try:
        number = float(value)
    except OverflowError:
        return f"is too large; {wanted}"
    if math.isnan(number):
        return f"is NaN; {wanted}"
    if number < 0 or math.isinf(number) or (high is not None and number > high):
        return f"is {number:g}; {wanted}"
    return ""


def clean_text(text: str) -> tuple[str, int]:
    """A text of several lines without control characters (line breaks and tabs stay), and how many were removed.

    >>> clean_text("one\\r\\ntwo\\x1b[31m")
    ('one\\ntwo[31m', 1)
    """
    return CONTROL.subn("", text.replace("\r\n", "\n").replace("\r", "\n"))
