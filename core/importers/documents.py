"""Parsing a text: JSON, JSON with comments and trailing commas as editors write it, and TOML."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from core.importers.inspection import keep_repeats
from core.importers.reading import BrokenDocumentError

MAX_BYTES = 64 * 1024 * 1024

_COMMENT = re.compile(r'"(?:[^"\\\n]+|\\.)*"?|//[^\n]*|/\*(?:.*?\*/|.*\Z)', re.DOTALL)
_COMMA = re.compile(r'"(?:[^"\\\n]+|\\.)*"?|,(?=\s*[}\]])', re.DOTALL)
_TOML_LINE = re.compile(r"\s*(?:#[^\n]*\n\s*)*(?:\[{1,2}[A-Za-z_][\w.\"'@/ -]*\]{1,2}\s*(?:#|\n|\Z)|[\w.\"'-]+\s*=)")


def parse(text: str | bytes, *, source: str) -> Any:
    """The document in a text.

    Raises BrokenDocumentError with line and column where it is neither JSON nor TOML, too large or not UTF-8.
    >>> parse('{"a": [1, 2,], // two\\n}', source="a.json")
    {'a': [1, 2]}
    >>> parse('[a]\\nb = 1', source="a.toml")
    {'a': {'b': 1}}
    """
    plain = decode(text, source=source)
    try:
        if source.lower().endswith(".toml") or _TOML_LINE.match(plain):
            return _toml(plain, source)
        return _json(plain, source)
    except RecursionError:
        fault = "it is nested too deeply to be read; flatten it"
    raise BrokenDocumentError([f"{source}: {fault}."])


def decode(text: str | bytes, *, source: str) -> str:
    """Text of at most 64 MB, from UTF-8 where it comes as bytes. Raises BrokenDocumentError."""
    if len(text) > MAX_BYTES:
        size = len(text) / (1024 * 1024)
        raise BrokenDocumentError([f"{source}: it has {size:.0f} MB; give a file of at most 64 MB."])
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            fault = f"byte {error.start} is not UTF-8; save the file as UTF-8"
            raise BrokenDocumentError([f"{source}: {fault}."]) from None
    return text.removeprefix("\ufeff")


def strip_comments(text: str) -> str:
    """JSON without comments and trailing commas; strings do not change, nor do line and column of anything.

    >>> strip_comments('["http://x", /* no */ "/*",]')
    '["http://x",          "/*" ]'
    """
    bare = _COMMENT.sub(lambda m: m[0] if m[0][0] == '"' else re.sub(r"[^\n]", " ", m[0]), text)
    return _COMMA.sub(lambda m: m[0] if m[0][0] == '"' else " ", bare)


def _json(text: str, source: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=keep_repeats)
    except json.JSONDecodeError:
        pass
    except ValueError:
        raise BrokenDocumentError([f"{source}: it holds a number of thousands of digits; shorten it."]) from None
    try:
        return json.loads(strip_comments(text), object_pairs_hook=keep_repeats)
    except json.JSONDecodeError as error:
        fault = f"line {error.lineno}, column {error.colno} is not JSON ({error.msg.lower()}); mend it there"
    except ValueError:
        fault = "it holds a number of thousands of digits; shorten it"
    raise BrokenDocumentError([f"{source}: {fault if text.strip() else 'it is empty; give a document'}."])


def _toml(text: str, source: str) -> Any:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        place = re.search(r"\(at (line \d+, column \d+|end of document)\)", str(error))
        where = place[1] if place else "a value"
    raise BrokenDocumentError([f"{source}: {where} is not TOML; mend it there."])
