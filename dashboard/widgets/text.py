"""Text from strangers (names, descriptions, results, errors) as text: never markup, never endless."""

from __future__ import annotations

import re

_READ_ANYWAY = re.compile(  # what Streamlit makes links, icons, its logo and arrows of, even where it is escaped
    r"://|www\.|@|:(?=material_|streamlit:)|-(?=[->])|<(?=[-=])|[>~](?==)", re.IGNORECASE
)
_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~:$^&\"'=/@])")


def escaped(text: str, limit: int = 400) -> str:
    r"""A stranger's text for use inside Markdown: one line, no control characters, every special character escaped.

    >>> escaped("**bold** <b> :red[x] $a$")
    '\\*\\*bold\\*\\* \\<b\\> \\:red\\[x\\] \\$a\\$'
    """
    line = "".join(ch for ch in " ".join(text.split()) if ch.isprintable())
    if len(line) > limit:
        line = f"{line[: limit - 1]}…"
    parted = _READ_ANYWAY.sub(lambda found: f"\u2060{found[0][0]}\u2060{found[0][1:]}", line)
    return _SPECIAL.sub(r"\\\1", parted)
