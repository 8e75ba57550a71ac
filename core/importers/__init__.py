"""Reads catalogs, client configurations and labelled tasks: everything or nothing, with every fault named.

Each format is a file with an `Importer` and an entry of `IMPORTERS`; `read_files` and `read_document` find the format by its
shape. The room imports `core.domain` (and `sample_catalog` for the files that ship). No secret leaves it in a
catalog: `secrets.py` replaces each by a reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from core.domain.catalog import Imported, Note, Prompt, is_wayfare
from core.importers.formats import ClientConfig, Importer, LiveMcpBench, Plain
from core.importers.reading import MAX_BYTES, BrokenDocumentError, decode, kind, parse, shown
from core.importers.readme import MOST_CHARACTERS, is_readme, readme_document
from core.importers.secrets import secret_name
from core.importers.server_json import ServerJson
from core.importers.streaming import STREAMED_BYTES, NotAListError, Pack, read_large
from core.importers.tasks import read_tasks, tasks_text

__all__ = [
    "IMPORTERS",
    "BrokenDocumentError",
    "Importer",
    "detect",
    "merge",
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
    return _without_wayfare(importer.read(document, source=source, folder=folder))


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
            return _without_wayfare(read_large(path, detect, pack))
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


def _without_wayfare(imported: Imported) -> Imported:
    """Returns an import without Wayfare itself and without its values."""
    names = {server.name for server in (*imported.servers, *imported.off) if is_wayfare(server.name, server.connection)}
    if not names:
        return imported
    servers, off = (tuple(item for item in part if item.name not in names) for part in (imported.servers, imported.off))
    values = tuple(secret_name(name, "") for name in names)
    return replace(
        imported,
        servers=servers,
        off=off,
        notes=(*imported.notes, *(Note(name, "it is Wayfare itself: it is left out") for name in sorted(names))),
        secrets={name: value for name, value in imported.secrets.items() if not name.startswith(values)},
        needs_discovery=tuple(name for name in imported.needs_discovery if name not in names),
        itself=tuple(sorted(names)),
    )


def merge(results: Sequence[tuple[str, Imported]]) -> Imported:
    """Merges several imports in their order, each with its source's name.

    Raises BrokenDocumentError if two sources have a server of one name, or use one input id for two different values.
    """
    if len(results) == 1:
        return results[0][1]
    if problems := list(_collisions(results)):
        raise BrokenDocumentError(problems)
    imports = [imported for _, imported in results]
    joined = {
        name: tuple(item for imported in imports for item in getattr(imported, name))
        for name in ("servers", "notes", "needs_discovery", "off", "itself")
    }
    return Imported(
        format=" + ".join(dict.fromkeys(imported.format for imported in imports)),
        secrets={name: value for imported in imports for name, value in imported.secrets.items()},
        prompts=tuple({prompt.id: prompt for imported in imports for prompt in imported.prompts}.values()),
        left_out=sum(imported.left_out for imported in imports),
        **joined,
    )


def _collisions(results: Sequence[tuple[str, Imported]]) -> Iterator[str]:
    servers: dict[str, str] = {}
    prompts: dict[str, tuple[str, Prompt]] = {}
    for source, imported in results:
        for server in (*imported.servers, *imported.off):
            if server.name in servers:
                other = servers[server.name]
                yield f"{source}: the server {shown(server.name)} is also in {other}; rename one of them."
            servers.setdefault(server.name, source)
        for prompt in imported.prompts:
            other, earlier = prompts.setdefault(prompt.id, (source, prompt))
            if earlier != prompt:
                yield f"{source}: the input {shown(prompt.id)} asks for something else in {other}; rename one of them."
