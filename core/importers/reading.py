"""Reads one document. All faults are collected, and the document is accepted only without faults."""

from __future__ import annotations

import json
import math
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from core.domain.catalog import Imported, Note, Prompt, Server
from core.domain.errors import CatalogError
from core.domain.untrusted_text import visible


class BrokenDocumentError(CatalogError):
    """A document that was refused; `problems` is one sentence for each fault."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        more = len(self.problems) - 1
        rest = f" (and {more:,} more problem{'s' if more > 1 else ''})." if more else "."
        super().__init__(self.problems[0].removesuffix(".") + rest)


@dataclass
class Reading:
    """The parts of a document read so far. Faults are recorded while reading continues, so that all are reported at once."""

    source: str
    problems: list[str] = field(default_factory=list[str])
    notes: list[Note] = field(default_factory=list[Note])
    servers: list[Server] = field(default_factory=list[Server])
    off: list[Server] = field(default_factory=list[Server])
    secrets: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    prompts: dict[str, Prompt] = field(default_factory=dict[str, Prompt])
    folder: Path | None = None
    """The folder of the document's relative paths, if it is known."""
    first: int = 0
    """The place of the first entry in the list of the whole document."""
    defaults: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """The defaults of the document's inputs, by id."""
    apart: list[str] = field(default_factory=list[str])
    """The places whose faulty entries are left out, if another entry can be taken. Otherwise the document is refused."""
    _faults: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    _places: dict[str, str] = field(default_factory=dict[str, str])

    def problem(self, where: str, text: str) -> None:
        self.problems.append(f"{self.source}: {where + ': ' if where else ''}{text}.")
        self._faults.append((where, text))

    def note(self, where: str, text: str) -> None:
        self.notes.append(Note(f"{self.source}: {where}" if where else self.source, text))

    def prompt(self, prompt: Prompt) -> None:
        """Records a value that the user has to enter. The first prompt of an id wins."""
        self.prompts.setdefault(prompt.id, prompt)

    def add(self, where: str, server: Server, *, off: bool = False) -> bool:
        """Adds a server; `off` means switched off. A second server of one name is a fault. Returns whether it was added."""
        first = self._places.setdefault(server.name, where) if server.name else where
        if first != where:
            self.problem(where, f"name is the same as that of {first.split(' ')[0]}; rename one of them")
        faulty = bool(self.apart) and any(f"{place} ".startswith(f"{where} ") for place, _ in self._faults)
        if not faulty:
            (self.off if off else self.servers).append(server)
        return not faulty

    def finish(self, format_name: str) -> Imported:
        """Returns the result. Raises BrokenDocumentError if there is a fault or no server."""
        has_servers = bool(self.servers or self.off)
        apart = tuple(self.apart)
        if apart and has_servers and all(where.startswith(apart) for where, _ in self._faults):
            for where, text in self._faults:
                self.note(where, f"it was left out, because {text}")
            self.problems.clear()
        if not self.problems and not has_servers:
            self.problem("", "it lists no server that can be taken; give at least one")
        if self.problems:
            raise BrokenDocumentError(self.problems)
        return Imported(
            format=format_name,
            servers=tuple(self.servers),
            notes=tuple(self.notes),
            secrets=dict(self.secrets),
            prompts=tuple(prompt for prompt in self.prompts.values() if prompt.id not in self.defaults),
            needs_discovery=tuple(s.name for s in self.servers if s.connection is not None and not s.tools),
            off=tuple(self.off),
            left_out=len({where for where, _ in self._faults}),
        )


# Limits and checks for documents of strangers: each check returns the fault of a value, or "".
#
# No message quotes a text value, because it may be a secret in the wrong field.

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
    """The kind of a JSON value in words."""
    return _KINDS.get(type(value), "of an unknown kind")


def members(value: object) -> dict[str, Any]:
    """Returns the members of an object, none for another value."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def objects(value: object) -> list[dict[str, Any]]:
    """Returns the objects in a list, none for another value."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]


def shown(name: str) -> str:
    """A name for a message: quoted, without invisible characters, cut at 60 characters.

    >>> shown("we\\nather")
    '"we\\\\nather"'
    """
    cut = name if len(name) <= 60 else name[:59] + "…"
    return json.dumps(visible(cut), ensure_ascii=False)


def line_fault(text: str, limit: int = MAX_NAME) -> str:
    """The fault of a text that must fit on one line: too long, control or direction-changing characters."""
    if len(text) > limit:
        return f"has {len(text):,} characters; use at most {limit:,}"
    for character in text:
        if unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}:
            return f"holds the control character U+{ord(character):04X}; remove it"
        if character in BIDI:
            return f"holds U+{ord(character):04X}, which changes the direction of text; remove it"
    return ""


def name_fault(name: str) -> str:
    """The fault of a tool's name."""
    return line_fault(name) if name.strip() else "is empty; give a name"


def server_name_fault(name: str) -> str:
    """The fault of a server's name: `server::tool` must be unambiguous."""
    if "::" in name:
        return 'holds "::", which separates server and tool; rename it'
    return 'ends with ":", which makes server::tool ambiguous; rename it' if name.endswith(":") else name_fault(name)


def number_fault(value: object, *, high: float | None = None) -> str:
    """The fault of a value that must be a finite number of at least 0 (and at most `high`).

    >>> number_fault(float("nan"))
    'is NaN; give a number of at least 0 or leave it out'
    >>> number_fault(1.5, high=1)
    'is 1.5; give a number from 0 to 1 or leave it out'
    """
    advice = f"give a number {'of at least 0' if high is None else f'from 0 to {high:g}'} or leave it out"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"is {kind(value)}; {advice}"
    try:
        number = float(value)
    except OverflowError:
        return f"is too large; {advice}"
    if math.isnan(number):
        return f"is NaN; {advice}"
    if number < 0 or math.isinf(number) or (high is not None and number > high):
        return f"is {number:g}; {advice}"
    return ""


def clean_text(text: str) -> tuple[str, int]:
    """A text of several lines without control characters (line breaks and tabs stay), and how many were removed.

    >>> clean_text("one\\r\\ntwo\\x1b[31m")
    ('one\\ntwo[31m', 1)
    """
    return CONTROL.subn("", text.replace("\r\n", "\n").replace("\r", "\n"))


# Checks of documents of every format: depth, repeated keys, lone surrogates.

MAX_DEPTH = 64
_SURROGATE = re.compile("[\ud800-\udfff]")
HALF = "half a character (a lone surrogate); remove it"


class RepeatedKeys(dict[str, Any]):
    """An object in which a key occurred twice: JSON would silently keep the last value."""

    repeated: tuple[str, ...] = ()


def keep_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For `json.loads(object_pairs_hook=...)`: an object that remembers which keys it had twice."""
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    marked = RepeatedKeys(plain)
    counts = Counter(key for key, _ in pairs)
    marked.repeated = tuple(key for key, count in counts.items() if count > 1)
    return marked


def part(value: Any, keys: Iterable[str]) -> Any:
    """An object with some of its keys, which may have occurred twice. Another value stays whole."""
    if not isinstance(value, dict):
        return value
    kept = RepeatedKeys({key: value[key] for key in keys if key in value})
    kept.repeated = tuple(key for key in kept if isinstance(value, RepeatedKeys) and key in value.repeated)
    return kept


def inspect(reading: Reading, document: object, path: str = "") -> None:
    """Records faults that no format admits; `path` is the document's place. It does not recurse, so a deep document does no harm."""
    outside = path.count("[")
    stack: list[tuple[tuple[str | int, ...], object]] = [((), document)]
    while stack:
        steps, value = stack.pop()
        if outside + len(steps) > MAX_DEPTH:
            reading.problem("", f"{_path(path, steps)[:40]}… is nested more than {MAX_DEPTH} levels deep; flatten it")
            return
        if isinstance(value, str):
            if not value.isascii() and _SURROGATE.search(value):
                reading.problem("", f"{_path(path, steps) or 'it'} holds {HALF}")
        elif isinstance(value, list):
            stack += [((*steps, position), item) for position, item in enumerate(cast("list[object]", value))]
        elif isinstance(value, dict):
            for key, item in cast("dict[str, object]", value).items():
                stack.append(((*steps, key), item))
                if not key.isascii() and _SURROGATE.search(key):
                    reading.problem("", f"a key of {_path(path, steps) or 'it'} holds {HALF}")
            for key in value.repeated if isinstance(value, RepeatedKeys) else ():
                reading.problem("", f"{_path(path, steps) or 'it'} has the key {shown(key)} twice; keep one of them")


def _path(path: str, steps: Iterable[str | int]) -> str:
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            name = step if re.fullmatch(r"[$\w-]{1,60}", step, re.ASCII) else shown(step)
            path += f".{name}" if path else name
    return path


# Parsing a text: JSON, JSON with comments and trailing commas as editors write it, and TOML.

MAX_BYTES = 64 * 1024 * 1024

_COMMENT = re.compile(r'"(?:[^"\\\n]+|\\.)*"?|//[^\n]*|/\*(?:.*?\*/|.*\Z)', re.DOTALL)
_COMMA = re.compile(r'"(?:[^"\\\n]+|\\.)*"?|,(?=\s*[}\]])', re.DOTALL)
_TOML_LINE = re.compile(r"\s*(?:#[^\n]*\n\s*)*(?:\[{1,2}[A-Za-z_][\w.\"'@/ -]*\]{1,2}\s*(?:#|\n|\Z)|[\w.\"'-]+\s*=)")


def parse(text: str | bytes, *, source: str) -> Any:
    """Parses the document in a text.

    Raises BrokenDocumentError with line and column for a text that is neither JSON nor TOML, too large or not UTF-8.
    >>> parse('{"a": [1, 2,], // two\\n}', source="a.json")
    {'a': [1, 2]}
    >>> parse('[a]\\nb = 1', source="a.toml")
    {'a': {'b': 1}}
    """
    plain = decode(text, source=source)
    try:
        if is_toml(plain, source):
            return _toml(plain, source)
        return _json(plain, source)
    except RecursionError:
        fault = "it is nested too deeply to be read; flatten it"
    raise BrokenDocumentError([f"{source}: {fault}."])


def is_toml(text: str, source: str) -> bool:
    return source.lower().endswith(".toml") or _TOML_LINE.match(text) is not None


def decode(text: str | bytes, *, source: str) -> str:
    """Decodes a text of at most 64 MB from UTF-8, UTF-16 or UTF-32. Raises BrokenDocumentError."""
    if len(text) > MAX_BYTES:
        size = len(text) / (1024 * 1024)
        raise BrokenDocumentError([f"{source}: it has {size:.0f} MB; give a file of at most 64 MB."])
    if isinstance(text, bytes):
        encoding = json.detect_encoding(text)
        try:
            text = text.decode(encoding)
        except UnicodeDecodeError as error:
            fault = f"byte {error.start} is not {encoding.upper().removesuffix('-SIG')}; save the file as UTF-8"
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
        if source.lower().endswith((".yaml", ".yml")):
            fault = "YAML is not read; give the same as JSON or TOML"
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
