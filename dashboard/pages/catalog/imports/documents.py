"""Documents that an operator hands over: read as one import or not at all, and stored under a name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import PurePath

from core.app import App
from core.domain.catalog import Imported
from core.importers.formats import merge
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from core.services.decide.catalog_editor import ImportReport
from core.shared.errors import CatalogError, WayfareError

LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class Document:
    """A file or a pasted text under the name that messages use."""

    name: str
    content: bytes | str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Reading:
    """What documents gave: an import, or one sentence and every problem."""

    imported: Imported | None = field(default=None, repr=False)
    sentence: str = ""
    problems: tuple[str, ...] = ()


def fingerprint(documents: Sequence[Document]) -> str:
    """The same for the same documents."""
    digest = hashlib.sha256()
    for document in documents:
        content = document.content.encode(errors="replace") if isinstance(document.content, str) else document.content
        digest.update(f"{document.name}\0{len(content)}\0".encode(errors="replace"))
        digest.update(content)
    return digest.hexdigest()


def read_documents(app: App, documents: Sequence[Document]) -> Reading:
    """All documents as one import; where any is bad, the faults of all of them and nothing else."""
    results: list[tuple[str, Imported]] = []
    problems: list[str] = []
    for document in documents:
        try:
            results.append((document.name, app.catalog_editor.read(document.content, document.name)))
        except WayfareError as error:
            problems += getattr(error, "problems", (str(error),))
    if not problems:
        try:
            return Reading(merge(results))
        except WayfareError as error:
            problems += getattr(error, "problems", (str(error),))
    more = len(problems) - 1
    rest = f" (and {more:,} more problem{'s' if more > 1 else ''})." if more else ""
    first = problems[0].removesuffix(".") + rest if rest else problems[0]
    return Reading(sentence=f"Nothing was imported: {first}", problems=tuple(problems))


def store_import(app: App, imported: Imported, name: str, source: str) -> ImportReport:
    """Store an import as a catalog. Raises WayfareError where the name is none or belongs to a shipped one."""
    check_name(name)
    return app.catalog_editor.keep(imported, name, source)


def check_name(name: str) -> None:
    """Raises CatalogError with a sentence where a text cannot be a catalog's name."""
    if not name.strip():
        raise CatalogError("A catalog needs a name; write one.")
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise CatalogError(f"A catalog's name is one line of at most {LONGEST_NAME} characters; shorten it.")


def name_for(documents: Sequence[Document], app: App) -> str:
    """A suggestion for the catalog's name: the first file's, and a free one for pasted text."""
    stem = "" if documents[0].name == PASTED else file_stem(documents[0].name)
    if stem and stem not in SHIPPED_CATALOGS:
        return stem
    taken = {info.name for info in app.catalogs.infos()}
    return next(name for number in count(1) if (name := f"imported-{number}") not in taken)


def file_stem(name: str) -> str:
    """A file's name as a catalog's.

    >>> file_stem("my tools.v2.json"), file_stem("….json")
    ('my-tools.v2', '')
    """
    return re.sub(r"[^\w.-]+", "-", PurePath(name).stem).strip("-.")[:40]


def source_of(documents: Sequence[Document]) -> str:
    """Where a catalog came from, in a few words."""
    names = [document.name for document in documents]
    return ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")


def counted(number: int, thing: str) -> str:
    """A number with its noun.

    >>> counted(1, "server"), counted(2000, "tool")
    ('1 server', '2,000 tools')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


PASTED = "pasted text"
