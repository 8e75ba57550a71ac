"""Reads catalogs, client configurations and labelled tasks: everything or nothing, with every fault named.

Each format is a file with an `Importer` and an entry of `IMPORTERS`; `read_files` and `read_document` find the format by its
shape. The room imports `core.domain` (and `sample_catalog` for the files that ship). No secret leaves it in a
catalog: `secrets.py` replaces each by a reference.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from core.domain.catalog import Imported, Note
from core.importers.formats import ClientConfig, Importer, LiveMcpBench, Plain, merge, without_wayfare
from core.importers.reading import MAX_BYTES, BrokenDocumentError, decode, kind, parse
from core.importers.readme import MOST_CHARACTERS, is_readme, readme_document
from core.importers.server_json import ServerJson
from core.importers.streaming import STREAMED_BYTES, NotAListError, Pack, read_large
from core.importers.tasks import read_tasks, tasks_text

__all__ = [
    "IMPORTERS",
    "BrokenDocumentError",
    "Importer",
    "detect",
    "read_document",
    "read_files",
    "read_tasks",
    "tasks_text",
]

IMPORTERS: tuple[Importer, ...] = (Plain(), LiveMcpBench(), ServerJson(), ClientConfig())


def detect(document: object) -> Importer | None:
    """The first importer that matches a document, or None."""
    return next((importer for importer in IMPORTERS if importer.matches(document)), None)


def read_document(text: str | bytes, *, source: str, folder: Path | None = None) -> Imported:
    """Reads a document of any format, without Wayfare itself. `source` is its name in messages. With a `folder`, relative paths count
    from it and `~` from the home directory.

    Everything or nothing: raises BrokenDocumentError (a CatalogError) with all faults if any entry is bad.

    >>> read_document('{"mcpServers": {"web": {"url": "https://x.org/mcp"}}}', source="mcp.json").needs_discovery
    ('web',)
    >>> read_document('{"servers": 5}', source="a.json")
    Traceback (most recent call last):
    core.importers.reading.BrokenDocumentError: a.json: servers is a number; give a list.
    """
    plain = decode(text, source=source)
    if is_readme(plain, source):
        return _read_readme(plain, source)
    document = parse(plain, source=source)
    importer = detect(document)
    if importer is None:
        formats = ", ".join(importer.name for importer in IMPORTERS)
        fault = f"its shape ({kind(document)}) is none of the formats known ({formats}); give a document in one of them"
        raise BrokenDocumentError([f"{source}: {fault}."])
    return without_wayfare(importer.read(document, source=source, folder=folder))


def _read_readme(text: str, source: str) -> Imported:
    if len(text) > MOST_CHARACTERS:
        fault = f"it has {len(text):,} characters; a README has at most {MOST_CHARACTERS:,}"
        raise BrokenDocumentError([f"{source}: {fault}."])
    document = readme_document(text)
    if not document["tools"]:
        fault = "it is neither JSON nor TOML, and as a README it lists no tool; give one that does, or a catalog"
        raise BrokenDocumentError([f"{source}: {fault}."])
    remark = "names and descriptions are those of a README, without parameters; connect to the server for its own definitions"
    imported = Plain().read(document, source=source)
    return replace(imported, format="README", notes=(Note(source, remark),))


def read_files(paths: Iterable[Path | str], *, pack: Pack = lambda catalog: catalog) -> Imported:
    """Reads several files as one import. Raises BrokenDocumentError with the faults of all files, and if names collide.

    A list of servers in a large file is read entry by entry: bad entries are left out, and the notes name the first of them. `pack`
    turns servers into columns during the reading (`core.domain.tool_table.packed`).
    """
    results: list[tuple[str, Imported]] = []
    problems: list[str] = []
    for path in paths:
        try:
            results.append((str(path), _read_file(Path(path), pack)))
        except BrokenDocumentError as error:
            problems += error.problems
    if not results and not problems:
        problems.append("No file was given; give at least one.")
    if problems:
        raise BrokenDocumentError(problems)
    return merge(results)


def _read_file(path: Path, pack: Pack) -> Imported:
    if path.suffix.lower() != ".toml" and path.is_file() and path.stat().st_size > STREAMED_BYTES:
        try:
            return without_wayfare(read_large(path, detect, pack))
        except NotAListError:
            pass  # as a whole it may have another form, or its fault gets a line and a column
    return read_document(_read_bytes(path), source=str(path), folder=path.expanduser().absolute().parent)


def _read_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
    raise BrokenDocumentError([f"{path}: it cannot be read ({reason.lower()}); give a file that can."])
