"""Reads a large list of servers entry by entry. Memory stays bounded, and a bad entry is left out with its fault named.

A file of thousands of entries must be of use before a person mends all of them. A small document is read whole and refused whole
(`core.importers.reading`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from core.domain.catalog import Catalog, Imported, Note
from core.importers.formats import Importer
from core.importers.reading import Reading, keep_repeats, shown

STREAMED_BYTES = 4 * 1024 * 1024
"""A larger file is read entry by entry."""
READ_AT_ONCE = 1024 * 1024  # characters
MOST_OF_ENTRY = 32 * READ_AT_ONCE
MOST_NAMED = 20  # bad entries that notes name
MOST_NOTES = 1_000
TOOLS_TOGETHER = 2_000  # they become columns together

Pack = Callable[[Catalog], Catalog]
"""`core.domain.tool_table.packed`, which needs NumPy; a virtual server reads its file without."""

_DECODER = json.JSONDecoder(object_pairs_hook=keep_repeats)


class NotAListError(Exception):
    """The text is no list of entries in plain JSON. Reading it as a whole may give a document, or a fault with a place."""


def read_large(path: Path, detect: Callable[[object], Importer | None], pack: Pack) -> Imported:
    """Reads the servers of a list in a large file, without bad entries; `notes` names the first bad entries. `pack` is applied to a few
    servers at a time.

    Raises NotAListError if the file has another form, and BrokenDocumentError if no entry can be taken.
    """
    collector, importer = _Kept(Reading(str(path)), pack), None
    with path.open(encoding="utf-8-sig") as file:
        for key, position, entry in _entries(_Window(file)):
            place, whole = f"{key}[{position}]", {key: [entry]} if key else [entry]
            importer = importer or detect(whole)
            if importer is None:
                collector.leave_out([f"{path}: {place} is of no form that is known; give an object as the others."])
            else:
                collector.take(
                    importer.read_entry(entry, key, source=str(path), position=position, folder=path.absolute().parent),
                    place,
                )
    return collector.result("" if importer is None else importer.name)


@dataclass
class _Kept:
    """The entries taken so far. Tools are columns, all but the last few."""

    whole: Reading
    pack: Pack
    entries: int = 0
    left_out: int = 0
    more_notes: int = 0
    _places: dict[str, str] = field(default_factory=dict[str, str])
    _columns: int = 0  # servers whose tools are columns
    _objects: int = 0  # tools that are not

    def leave_out(self, problems: list[str]) -> None:
        self.entries += 1
        self.left_out += 1
        if self.left_out <= MOST_NAMED:
            self.whole.problems += problems

    def take(self, entry: Reading, place: str) -> None:
        whole = self.whole
        for server in (*entry.servers, *entry.off):
            if server.name in self._places:
                fault = f"name is the same as that of {self._places[server.name]}; rename one of them"
                entry.problem(f"{place} {shown(server.name)}", fault)
        if entry.problems:
            self.leave_out(entry.problems)
            return
        self.entries += 1
        self._places |= {server.name: place for server in (*entry.servers, *entry.off)}
        whole.servers += entry.servers
        whole.off += entry.off
        whole.secrets |= entry.secrets
        whole.prompts = entry.prompts | whole.prompts
        whole.notes += entry.notes[: MOST_NOTES - len(whole.notes)]
        self.more_notes += len(entry.notes)
        self._objects += sum(len(server.tools) for server in entry.servers)
        if self._objects > TOOLS_TOGETHER:
            self._to_columns()

    def _to_columns(self) -> None:
        servers = self.whole.servers
        servers[self._columns :] = self.pack(Catalog("", tuple(servers[self._columns :]))).servers
        self._columns, self._objects = len(servers), 0

    def result(self, format_name: str) -> Imported:
        whole, notes = self.whole, list[Note]()
        if whole.servers or whole.off:
            self._to_columns()
            for fault in whole.problems:
                notes.append(
                    Note(whole.source, f"left out: {fault.removeprefix(f'{whole.source}: ').removesuffix('.')}")
                )
            whole.problems = []
        if self.left_out:
            first = "; the first of them for these reasons" if self.left_out > MOST_NAMED else ""
            notes.insert(0, Note(whole.source, f"{self.left_out:,} of {self.entries:,} entries were left out{first}"))
        if self.more_notes > len(whole.notes):
            whole.note("", f"{self.more_notes - len(whole.notes):,} more remarks are not listed")
        imported = whole.finish(format_name)
        return replace(imported, notes=(*notes, *imported.notes), left_out=self.left_out)


# JSON of any length, value by value.


class _Window:
    def __init__(self, file: IO[str]) -> None:
        self._file, self._text, self._at = file, "", 0

    def next(self) -> str:
        while True:
            while self._at < len(self._text):
                if not self._text[self._at].isspace():
                    return self._text[self._at]
                self._at += 1
            if not self._more():
                return ""

    def expect(self, characters: str) -> str:
        """Reads one of these characters. Raises NotAListError for another character."""
        character = self.next()
        if not character or character not in characters:
            raise NotAListError
        self._at += 1
        return character

    def value(self) -> Any:
        """Reads the next value. Raises NotAListError if no value is complete."""
        self.next()
        while True:
            value: Any = None
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except (ValueError, RecursionError):
                end = len(self._text)
            if end < len(self._text):
                self._at = end
                return value
            if len(self._text) - self._at > MOST_OF_ENTRY or not self._more():
                raise NotAListError

    def _more(self) -> bool:
        try:
            chunk = self._file.read(max(READ_AT_ONCE, len(self._text) - self._at))  # an entry is tried anew a few times
        except UnicodeDecodeError:
            raise NotAListError from None
        self._text, self._at = self._text[self._at :] + chunk, 0
        return bool(chunk)


def _entries(window: _Window) -> Iterator[tuple[str, int, Any]]:
    """Yields the entries of a list, or of the list `servers` of an object, with the key of the list and their position."""
    key = ""
    if window.expect("[{") == "{":
        while window.next() == '"':
            key = str(window.value())
            window.expect(":")
            if key == "servers":
                break
            window.value()
            if window.expect(",}") == "}":
                break
        if key != "servers":
            raise NotAListError
        window.expect("[")
    position = 0
    while window.next() != "]":
        yield key, position, window.value()
        position += 1
        if window.expect(",]") == "]":
            return
