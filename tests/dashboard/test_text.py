"""Strangers' text in Markdown and in Plotly labels: nothing is markup, nothing is endless, nothing gets lost."""

from __future__ import annotations

import html
import re
import string

from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.untrusted_text import one_line, visible
from dashboard.ui.charts.base import label
from dashboard.ui.text import escaped
from tests.cases import each

PARTING = "\u2060"  # a joiner without width: the only added character
SPECIAL = set(string.punctuation) - set(
    "%,;?"
)  # characters with a meaning in CommonMark, GFM, math, directives and emoji
PIECES = [
    "**", "__", "`", "```", "~~", "[x](y)", "![i](u)", "<b>", "</script>", "<!--", "&lt;", "&#42;", ":red[", "]", ":smile:",
    ":material/home:", ":material_home:", ":streamlit:", "$", "$$", "\\", "#", "> ", "- ", "1. ", "| a |", "---", "->", "<-",
    ">=", "~=", "https://evil.example/x", "HTTP://x.y", "www.evil.example", "me@evil.example", "^[1]", "{.c}", "\n", "\r\n",
    "\t", "\x00", "\x1b[31m", "\u202e", "\u200b", "\u2028", "word", "Straße", "東京", "😀", " ",
]  # fmt: skip
HOSTILE = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=12).map("".join)
# patterns that Streamlit's Markdown reads after unescaping: bare links, icons, its logo, typographic signs
READ_AFTER_ESCAPES = re.compile(
    r"https?://|www\.|[-.\w+]@[-\w]|:material_\w+:|:streamlit:|--|->|<-|[<>~]=", re.IGNORECASE
)
promise = settings(derandomize=True, max_examples=80)


def shown(markdown: str) -> str:
    """The visible text of escaped text."""
    return re.sub(r"\\(.)", r"\1", markdown).replace(PARTING, "")


@each("text", PIECES)
def test_each_piece_of_markup_alone_is_text(text) -> None:
    result = escaped(f"a {text} b")
    assert not SPECIAL & set(re.sub(r"\\[!-/:-@\[-`{-~]", "", result))
    assert not READ_AFTER_ESCAPES.search(re.sub(r"\\(.)", r"\1", result))


@promise
@given(HOSTILE, st.integers(1, 40))
def test_markup_is_text_that_the_reader_sees_whole_on_one_line_or_cut_with_an_ellipsis(text, limit) -> None:
    whole = escaped(text, 10_000)
    assert not SPECIAL & set(re.sub(r"\\[!-/:-@\[-`{-~]", "", whole))
    assert not READ_AFTER_ESCAPES.search(re.sub(r"\\(.)", r"\1", whole))
    assert shown(whole) == one_line(text)
    without = whole.replace(PARTING, "")
    assert visible(without) == without
    plain, line = shown(escaped(text, limit)), one_line(text)
    assert len(plain) <= limit
    assert plain == (line if len(line) <= limit else f"{line[: limit - 1]}…")


@each("character", sorted(SPECIAL))
def test_every_special_character_is_escaped_alone_too(character) -> None:
    assert escaped(f"a{character}b").replace(PARTING, "") == f"a\\{character}b"


@each("text", ["weather forecast", "read_file", "Größe 100 %", "東京"])
def test_ordinary_names_get_no_unseen_character(text) -> None:
    assert PARTING not in escaped(text)


@promise
@given(HOSTILE, st.integers(2, 80))
def test_a_label_has_no_markup_of_its_own_and_keeps_the_beginning_and_the_end(text, limit) -> None:
    result = label(text, limit)
    assert not set("<>") & set(result)
    assert all(entity in {"&amp;", "&lt;", "&gt;"} for entity in re.findall(r"&[^;]*;?", result))
    assert visible(result) == result
    plain = html.unescape(result)
    assert len(plain) <= limit
    if len(one_line(text)) <= limit:
        assert plain == one_line(text)
    else:
        head, tail = plain.split("…", 1) if one_line(text).count("…") == 0 else (plain[0], plain[-1])
        assert one_line(text).startswith(head)
        assert one_line(text).endswith(tail)
