"""Literals in a question: what is quoted, addressed or pasted is data, not wording.

`masked` puts one letter in the place of each character of a literal, so that offsets stay and no rule about words,
sentences or joints can see into it. `stripped` replaces literals by what kind of thing they are.

>>> masked('mail "first, then second" to a@b.example').replace(HELD, "_")
'mail ____________________ to ___________'
>>> stripped("read https://a.example/x and mail it to a@b.example")
'read web page and mail it to e-mail address'
"""

from __future__ import annotations

import re
from collections.abc import Iterator

HELD = "\u2d63"  # a letter that no question is written with: it counts as part of a word
QUOTE_LIMIT = 2_000
SINGLE_QUOTE_LIMIT = 400
NEST_LIMIT = 20_000
CELL_SPACES = 2

_PATTERNS = (
    ("code", r"```.{0,4000}?```|`[^`\n]{1,400}`"),
    ("web page", r"\bhttps?://[^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]}]"),
    ("e-mail address", r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,8}"),
    ("", rf'"[^"]{{1,{QUOTE_LIMIT}}}"|“[^”]{{1,{QUOTE_LIMIT}}}”|«[^»]{{1,{QUOTE_LIMIT}}}»|„[^“”]{{1,{QUOTE_LIMIT}}}[“”]'),
    ("", rf"(?<!\w)['‘](?!\s)[^\n]{{0,{SINGLE_QUOTE_LIMIT}}}?(?<!\s)['’](?!\w)"),
)  # fmt: skip
_LITERAL = re.compile("|".join(f"(?P<g{n}>{pattern})" for n, (_, pattern) in enumerate(_PATTERNS)), re.DOTALL)
_KINDS = tuple(kind for kind, _ in _PATTERNS)
_CLOSING = {"{": "}", "[": "]", "(": ")"}
_FILES = {
    "csv": "CSV table", "tsv": "table", "json": "JSON", "yaml": "YAML", "yml": "YAML", "xml": "XML", "html": "web page",
    "pdf": "PDF", "md": "Markdown file", "txt": "text file", "log": "log file", "png": "picture", "jpg": "picture",
    "jpeg": "picture", "svg": "vector picture", "webp": "picture", "gif": "picture", "mp3": "audio file",
    "wav": "audio file", "mp4": "video", "mov": "video", "docx": "document", "xlsx": "workbook", "pptx": "presentation",
    "zip": "archive", "py": "code file",
}  # fmt: skip
_FILE = re.compile(rf"(?<![\w/.-])[\w/-]{{1,120}}\.(?:{'|'.join(_FILES)})\b", re.IGNORECASE)


def spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Literals from left to right as (start, end, kind); they do not overlap. The kind of what is quoted is empty."""
    at = 0
    nests = _nests(text)
    for start, end, kind in sorted([*nests, *_tables(text), *_plain(text)]):
        if start >= at:
            yield start, end, kind
            at = end


def masked(text: str) -> str:
    """The text with every literal held back, character for character."""
    parts, at = [], 0
    for start, end, _ in spans(text):
        if text[start] == "(":  # what is in brackets is held, the brackets are seen
            start, end = start + 1, end - 1
        parts += [text[at:start], HELD * (end - start)]
        at = end
    return "".join((*parts, text[at:]))


def stripped(text: str) -> str:
    """The text with each literal replaced by its kind; what is quoted or in brackets goes."""
    parts, at = [], 0
    for start, end, kind in spans(text):
        parts += [text[at:start], kind]
        at = end
    plain = "".join((*parts, text[at:]))
    return _FILE.sub(lambda found: _FILES[found[0].rpartition(".")[2].lower()], plain)


def _plain(text: str) -> Iterator[tuple[int, int, str]]:
    for found in _LITERAL.finditer(text):
        yield found.start(), found.end(), _KINDS[int((found.lastgroup or "g0")[1:])]


def _tables(text: str) -> Iterator[tuple[int, int, str]]:
    """Two or more lines that a comma, semicolon, bar or tab cuts into equally many cells; prose may follow the last."""
    begun, ended, shape, at, rows = 0, 0, None, 0, 0
    for line in (*text.splitlines(keepends=True), ""):
        row, of = _row(line, shape)
        if row and rows and of == shape:
            ended, rows = at + row, rows + 1
        else:
            if rows > 1:
                yield begun, ended, "table"
            begun, ended, shape, rows = at, at + row, of, int(row > 0)
        at += len(line)


def _row(line: str, shape: tuple[str, int] | None) -> tuple[int, tuple[str, int] | None]:
    """How many characters of a line are a row of cells, and of which shape: the delimiter and how often it stands."""
    counted = max(((line.count(mark), mark) for mark in ",;|\t"), default=(0, ","))
    expected = shape or (counted[1], counted[0])
    mark, count = expected
    if count and f"{mark} " not in line and line.count(mark) == count and _short_cells(line, mark):
        return len(line.rstrip()), expected
    prefix = re.match(rf"(?:[^{mark}\s]*[{mark}]){{{count}}}[^{mark}\s]+(?=\s)", line) if shape else None
    if prefix:
        return prefix.end(), expected
    if not counted[0] or f"{counted[1]} " in line or not _short_cells(line, counted[1]):
        return 0, None
    return len(line.rstrip()), (counted[1], counted[0])


def _short_cells(line: str, mark: str) -> bool:
    return all(cell.count(" ") <= CELL_SPACES for cell in line.split(mark))


def _nests(text: str) -> Iterator[tuple[int, int, str]]:
    """Balanced brackets of any kind, outermost only; one that is never closed is no literal."""
    waiting: list[str] = []
    start = 0
    for at, letter in enumerate(text[:NEST_LIMIT]):
        if letter in _CLOSING:
            start = start if waiting else at
            waiting.append(_CLOSING[letter])
        elif waiting and letter == waiting[-1]:
            waiting.pop()
            if not waiting:
                yield start, at + 1, "JSON" if text[start] == "{" else ""
