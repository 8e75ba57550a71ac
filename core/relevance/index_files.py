"""Built indexes of large catalogs in the cache folder. A start maps them into memory instead of building them from every text.

    FOLDER/KEY/*.npy            an array of the index each, and the tokens of the tools' definitions
    FOLDER/KEY/manifest.json    the key, and the SHA-256 of each file

KEY is a digest of the catalog's name and a digest of the index's sources: the texts and schemas of its tools, the texts of its servers,
the encoder, and the code of core/relevance and core/domain. A changed text has another key, so no index is ever
changed. A folder is written under another name and renamed when it is complete; at its opening every file is compared with its digest.
A damaged index is made again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import Stemmer
from numpy.typing import NDArray

import core.domain
import core.relevance
from core.domain.catalog import Catalog
from core.domain.progress import made_once
from core.domain.text_column import Texts
from core.domain.tool_table import ToolRows
from core.relevance.relevance_index import RelevanceIndex

Arrays = Mapping[str, NDArray[Any]]
MANIFEST = "manifest.json"
TOKENS = "tokens"
LEAST = 5_001  # tools; a smaller index is built in a second
UNFINISHED = ".making-"
KEPT = 12  # folders that were used last; an index of 100,000 tools takes 0.3 GB
STALE_S = 3600.0  # a folder that is still unfinished at this age was left by a process that was killed
TEXTS = ("server", "name", "description")
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Prepared:
    index: RelevanceIndex
    tokens: NDArray[np.int64]


class IndexFiles:
    """The indexes in a folder. `owner` distinguishes stores with catalogs of an equal name. Several processes may use a folder."""

    def __init__(self, folder: Path, *, owner: str = "", least: int = LEAST) -> None:
        self.folder = folder
        self._owner = owner
        self._least = least

    def prepared(self, catalog: Catalog, model: str, make: Callable[[], Prepared]) -> Prepared:
        """Opens the index of a packed catalog with the encoder `model`, or makes and keeps it. Makes small indexes each time."""
        if len(catalog.tools) < self._least:
            return make()

        prefix = hashlib.sha256(f"{self._owner}\n{catalog.name}".encode("utf-8", "replace")).hexdigest()[:16] + "-"
        key = prefix + made_of(catalog, model)
        if (stored := self._opened(catalog, model, key)) is not None:
            return stored
        prepared = make()
        self._keep(catalog.name, prefix, key, prepared.index.arrays() | {TOKENS: prepared.tokens})
        return self._opened(catalog, model, key) or prepared

    def _opened(self, catalog: Catalog, model: str, key: str) -> Prepared | None:
        folder = self.folder / key
        if not folder.is_dir():
            return None
        try:
            arrays = _mapped(folder, key)
            prepared = Prepared(RelevanceIndex.from_arrays(catalog, model, arrays), np.asarray(arrays[TOKENS]))
            os.utime(folder / MANIFEST)
        except Exception as problem:  # noqa: BLE001  a damaged file may fail anywhere above
            _log.warning(
                "The kept index of %s cannot be used (%s) and is made again: %s", catalog.name, folder, problem
            )
            shutil.rmtree(folder, ignore_errors=True)
            return None
        return prepared

    def _keep(self, title: str, prefix: str, key: str, arrays: Arrays) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=self.folder, prefix=UNFINISHED, ignore_cleanup_errors=True) as name:
                unfinished = Path(name) / key
                unfinished.mkdir(mode=0o700)  # the words of a catalog are for its owner, as its store is
                _write(unfinished, key, arrays)
                try:
                    unfinished.rename(self.folder / key)
                except OSError:
                    if not (self.folder / key).is_dir():  # else another process was quicker
                        raise
            self._tidy(prefix, key)
        except OSError as problem:
            _log.warning("The index of %s is not kept, and the next start builds it again: %s", title, problem)

    def _tidy(self, prefix: str, key: str) -> None:
        """Deletes earlier indexes of the catalog, all but the last used indexes, and stale unfinished folders."""
        used = {path: _last_used(path) for path in self.folder.iterdir() if path.is_dir()}
        finished = sorted((path for path in used if not path.name.startswith(UNFINISHED)), key=lambda path: -used[path])
        outdated = {path for path in finished if path.name.startswith(prefix) and path.name != key}
        left = {path for path in used if path not in finished and used[path] < time.time() - STALE_S}
        for path in outdated | left | set([candidate for candidate in finished if candidate not in outdated][KEPT:]):
            shutil.rmtree(path, ignore_errors=True)


def _last_used(folder: Path) -> float:
    for file in (folder / MANIFEST, folder):
        with suppress(OSError):
            return file.stat().st_mtime
    return 0.0


def _write(folder: Path, key: str, arrays: Arrays) -> None:
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", np.ascontiguousarray(array), allow_pickle=False)
    digests = _digests(folder / f"{name}.npy" for name in arrays)
    (folder / MANIFEST).write_text(json.dumps({"key": key, "sha256": digests}), "utf-8")


def _mapped(folder: Path, key: str) -> dict[str, NDArray[Any]]:
    """The arrays of a folder. Raises ValueError or OSError if it differs from its manifest or has another key."""
    manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
    if manifest["key"] != key:
        raise ValueError("it is of another catalog")
    files = [folder / Path(name).name for name in manifest["sha256"]]
    digests = _digests(files)
    if changed := [name for name, digest in manifest["sha256"].items() if digests.get(name) != digest]:
        raise ValueError(f"{', '.join(changed)} changed after being written")
    return {file.stem: np.load(file, mmap_mode="r", allow_pickle=False) for file in files}


def _digests(files: Iterable[Path]) -> dict[str, str]:
    def digest(file: Path) -> tuple[str, str]:
        with file.open("rb") as opened:
            return file.name, hashlib.file_digest(opened, "sha256").hexdigest()

    with ThreadPoolExecutor(2) as workers:
        return dict(workers.map(digest, files))


def made_of(catalog: Catalog, model: str) -> str:
    """The digest for a packed catalog and an encoder. Opens no schema.

    Raises TypeError for a catalog that is not packed.
    """
    rows = catalog.tools
    if not isinstance(rows, ToolRows):
        raise TypeError(f"the catalog {catalog.name} is not packed")
    table = rows.table.part(rows.start, rows.stop)
    digest = hashlib.sha256(json.dumps([_code(), model]).encode())
    for texts in (*(table.texts[name] for name in TEXTS), table.schemas, *_of_servers(catalog)):
        texts.add_to(digest)
    for numbers in (table.block, table.at, np.array([len(server.tools) for server in catalog.servers])):
        digest.update(np.ascontiguousarray(numbers, dtype=np.int64).tobytes())
    return digest.hexdigest()[:32]


def _of_servers(catalog: Catalog) -> tuple[Texts, Texts]:
    return Texts.of(entry.name for entry in catalog.servers), Texts.of(entry.description for entry in catalog.servers)


@made_once
def _code() -> str:
    digest = hashlib.sha256(f"{unicodedata.unidata_version} {Stemmer.version()}".encode())
    for room in (core.relevance, core.domain):
        for folder in map(Path, room.__path__):
            for file in sorted((*folder.glob("*.py"), *folder.glob("*.txt"))):
                digest.update(file.read_bytes())
    return digest.hexdigest()
