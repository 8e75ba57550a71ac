"""Text from strangers (names, descriptions, results, errors) as Markdown or HTML that shows it as text, and what a download is
called.

What is shown of a text is decided in `core.shared.untrusted_text`; only the escaping is added here.
"""

from __future__ import annotations

import html
import re
from typing import Literal

from core.shared.untrusted_text import one_line

Colour = Literal["red", "orange", "blue", "green", "violet", "gray"]

_READ_ANYWAY = re.compile(  # what Streamlit makes links, icons, its logo and arrows of, even where it is escaped
    r"://|www\.|@|:(?=material_|streamlit:)|-(?=[->])|<(?=[-=])|[>~](?==)", re.IGNORECASE
)
_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~:$^&\"'=/@])")


def escaped(text: str, limit: int = 400) -> str:
    r"""A stranger's text for use inside Markdown: one line, nothing unseen, every special character escaped.

    >>> escaped("**bold** <b> :red[x] $a$")
    '\\*\\*bold\\*\\* \\<b\\> \\:red\\[x\\] \\$a\\$'
    """
    parted = _READ_ANYWAY.sub(lambda found: f"\u2060{found[0][0]}\u2060{found[0][1:]}", one_line(text, limit))
    return _SPECIAL.sub(r"\\\1", parted)


def as_html(text: str, limit: int = 400) -> str:
    """A stranger's text for use inside HTML, between tags or in a quoted attribute.

    >>> as_html('<b>x</b> "y"')
    '&lt;b&gt;x&lt;/b&gt; &quot;y&quot;'
    """
    return html.escape(one_line(text, limit))


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
