"""Lint reports of catalogs; a report is cached as long as its catalog, index and prices stay the same."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from core.catalogs.catalogs import CatalogService
from core.catalogs.followed import FollowedFiles, with_known
from core.catalogs.lint_errors import find_errors, titles_by_tool
from core.catalogs.servers import keep_values
from core.catalogs.wordings import without_wordings
from core.domain.catalog import Catalog, Discovery, Follow, Imported, Server
from core.domain.errors import CatalogError, UnknownNameError
from core.domain.events import Override
from core.domain.findable import Findable
from core.domain.findings import Finding, LintReport
from core.domain.statistics import CatalogMap, Neighbour, Placement
from core.domain.tool_table import packed
from core.importers import read_document, read_files
from core.importers.shipped_catalogs import check_name
from core.lint import Context, lint
from core.relevance.catalog_index import CatalogIndex
from core.relevance.encoder import CachedEncoder, Vectors, VectorStore
from core.relevance.map_layout import ALL_ARRANGED, LANDMARKS, coordinates, kept_share, placed
from core.servers.lazy_pool import load_protocol
from core.servers.secrets import SecretVault
from core.store import Store
from core.store.connection import pa
from core.store.tables import encode
from core.virtual.multiply import Recipe, copies, multiplied, multiplied_name, server_of

if TYPE_CHECKING:
    from core.servers.pool import SessionPool


@dataclass(frozen=True, slots=True, eq=False)
class _Inputs:
    """What a report was made from."""

    catalog: Catalog
    index: CatalogIndex | None
    priced: NDArray[np.bool_]
    findable: Findable | None
    greedy: Mapping[str, Sequence[str]]

    def same_as(self, other: _Inputs) -> bool:
        same = self.catalog is other.catalog and self.index is other.index and self.findable is other.findable
        return same and self.greedy == other.greedy and np.array_equal(self.priced, other.priced)


def _no_greedy(_: str) -> Mapping[str, Sequence[str]]:
    return {}


class LintReports:
    """Lint reports by catalog. Thread-safe. `findable` returns the estimate of a catalog if it was made, `greedy` its tools whose
    example requests do not count."""

    def __init__(
        self,
        catalogs: CatalogService,
        store: Store,
        findable: Callable[[str], Findable | None] = lambda _: None,
        greedy: Callable[[str], Mapping[str, Sequence[str]]] = _no_greedy,
    ) -> None:
        self._catalogs = catalogs
        self._store = store
        self._findable = findable
        self._greedy = greedy
        self._cache: dict[str, tuple[_Inputs, LintReport]] = {}
        self._lock = threading.Lock()
        self._errors: dict[str, tuple[Catalog, int, Mapping[str, str]]] = {}
        self._looking: dict[str, threading.Lock] = {}
        self._making: dict[str, threading.Lock] = {}

    def report(
        self, name: str, *, vectors: bool = False, progress: Callable[[int, int], object] = lambda _, __: None
    ) -> LintReport:
        """All findings of a catalog. Rules that need vectors wait for the index, unless `vectors` has it built now. `progress` gets the
        steps that are done and their number, and may raise to stop. A second caller waits for the first."""
        seen = self._inputs(name, vectors=vectors)
        with self._lock:
            making = self._making.setdefault(name, threading.Lock())
        with making:
            report = self._kept(name, seen)
            if report is None:
                context = Context(
                    seen.catalog,
                    index=seen.index,
                    tokens=lambda: self._catalogs.tokens(name),
                    priced=seen.priced,
                    findable=seen.findable,
                    greedy=seen.greedy,
                )
                report = lint(seen.catalog, context, progress=progress)
                with self._lock:
                    self._cache[name] = seen, report
            return report

    def known(self, name: str) -> LintReport | None:
        """The report of a catalog as it is now, if it was made."""
        return self._kept(name, self._inputs(name, vectors=False))

    def _inputs(self, name: str, *, vectors: bool) -> _Inputs:
        ready = vectors or self._catalogs.is_prepared(name)
        index = self._catalogs.index(name) if ready else None
        return _Inputs(
            index.catalog if index is not None else self._catalogs.catalog(name),
            index,
            ~np.isnan(self._catalogs.statistics(name).tools.price_usd),
            self._findable(name) if ready else None,
            self._greedy(name) if ready else {},
        )

    def _kept(self, name: str, seen: _Inputs) -> LintReport | None:
        with self._lock:
            cached = self._cache.get(name)
        return cached[1] if cached is not None and cached[0].same_as(seen) else None

    def errors(self, name: str) -> Mapping[str, str]:
        """The tools of a catalog that have an error, or whose server has one, each with what the rule is about. It is found once for a
        catalog as it is, because searches ask each time; only searches of that catalog wait meanwhile."""
        return self._searched(name)[1]

    def count_errors(self, name: str) -> int:
        """The number of errors of a catalog."""
        return self._searched(name)[0]

    def _searched(self, name: str) -> tuple[int, Mapping[str, str]]:
        catalog = self._catalogs.catalog(name)
        with self._lock:
            looking = self._looking.setdefault(name, threading.Lock())
        with looking:
            known = self._errors.get(name)
            if known is None or known[0] is not catalog:
                found = find_errors(catalog, self._store.vectors)
                known = self._errors[name] = catalog, len(found), titles_by_tool(catalog, found)
            return known[1:]


def findings_csv(findings: Sequence[Finding]) -> bytes:
    """Findings as CSV, with what to do; texts that a spreadsheet would run get an apostrophe."""
    names = ("severity", "rule", "server", "tool", "where", "reason", "evidence", "other", "advice")
    columns = {name: [str(getattr(finding, name)) for finding in findings] for name in names}
    return encode(pa.table({name: pa.array(column, pa.string()) for name, column in columns.items()}), "csv")


# Maps of catalogs: each is computed once, and stored by the content of its vectors.

MAP_METHOD = "map:2"  # the name under which coordinates are stored; a changed method needs a new one


@dataclass(frozen=True, slots=True, eq=False)
class _Meanings:
    """What the tools of a catalog do: unit rows (T, D), and the encoder that made them."""

    index: CatalogIndex
    rows: Vectors
    encoder: CachedEncoder


@dataclass(eq=False)
class CatalogMaps:
    """The maps of all catalogs. Thread-safe; one map is computed at a time, since each keeps a core busy."""

    catalogs: CatalogService
    encoder: CachedEncoder
    kept: VectorStore

    def __post_init__(self) -> None:
        self._maps: WeakKeyDictionary[CatalogIndex, CatalogMap] = WeakKeyDictionary()
        self._drawing = threading.Lock()

    def map(self, catalog: str) -> CatalogMap:
        """All tools in two dimensions; the first time this takes a second for 1,000 tools, seven for 4,000, eight for 100,000."""
        meanings = self._meanings(catalog)
        with self._drawing:
            drawn = self._maps.get(meanings.index)
            if drawn is None:
                rows, ids = meanings.rows[:], meanings.index.catalog.tool_ids
                xy = self._coordinates(rows)
                drawn = CatalogMap(catalog, ids, xy, kept_share(rows, xy), self.landmarks(len(ids)))
                self._maps[meanings.index] = drawn
            return drawn

    @staticmethod
    def landmarks(tools: int) -> int | None:
        """The number of tools that the map of so many arranges. Returns None if it arranges all."""
        return LANDMARKS if tools > ALL_ARRANGED else None

    def neighbours(self, catalog: str, tool_id: str, count: int = 10) -> tuple[Neighbour, ...]:
        """The tools nearest in meaning, best first, by exact cosines. Raises UnknownNameError."""
        meanings = self._meanings(catalog)
        ids, row = meanings.index.catalog.tool_ids, meanings.index.catalog.tool_row.get(tool_id)
        if row is None:
            raise UnknownNameError(f"There is no tool {tool_id!r} in catalog {catalog!r}; check the name.")
        cosines = meanings.rows @ meanings.rows[row]
        nearest: list[int] = np.argsort(-cosines, kind="stable")[: count + 1].tolist()
        return tuple(Neighbour(ids[one], float(cosines[one])) for one in nearest if one != row)[:count]

    def place(self, catalog: str, text: str) -> Placement:
        """Where a text lies on the map: among the tools that are most similar to it."""
        meanings = self._meanings(catalog)
        cosine = meanings.rows @ meanings.encoder.encode_query(text)
        x, y = placed(cosine[None, :], self.map(catalog).xy)[0].tolist()
        return Placement(x, y, cosine)

    def _meanings(self, catalog: str) -> _Meanings:
        """Of a large catalog these are the names and descriptions that decisions compare: three more texts of each of 100,000 tools would
        be embedded for half an hour. They place equal tools as near (docs/decisions/0007-map.md)."""
        index = self.catalogs.index(catalog)
        if len(index.catalog.tools) <= ALL_ARRANGED:
            return _Meanings(index, index.meanings, self.encoder)
        scorer = self.catalogs.scorer(catalog)
        return _Meanings(index, scorer.index.own, scorer.encoder)

    def _coordinates(self, vectors: Vectors) -> Vectors:
        content = hashlib.sha256(np.ascontiguousarray(vectors).data).hexdigest()[:32]
        found = self.kept.load_vectors(MAP_METHOD, [content]).get(content)
        if found is None or found.size != 2 * len(vectors):
            found = coordinates(vectors).reshape(-1)
            self.kept.save_vectors(MAP_METHOD, {content: found})
        xy = found.reshape(len(vectors), 2)
        xy.flags.writeable = False
        return xy


# Changes to catalogs: imports, discovery, copies of servers, prices set by hand.


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import: the catalog it made, its notes, and what the servers still need."""

    catalog: str
    servers: int
    tools: int
    imported: Imported
    lint_errors: int | None
    """None where the catalog is too large to wait for them."""
    discoveries: tuple[Discovery, ...] = ()


MOST_LINTED = 20_000
"""Tools whose errors an import counts at once, in some seconds."""
OWN = "catalog"
"""The format of an import that has the servers of a stored catalog themselves."""


@dataclass(eq=False)
class CatalogEditor:
    """Everything that makes or changes a catalog. Thread-safe, as the catalog service is."""

    catalogs: CatalogService
    vault: SecretVault
    sessions: Callable[[], SessionPool]
    followed: FollowedFiles
    lint_reports: LintReports

    def read(self, text: str | bytes, source: str) -> Imported:
        """Read a document without keeping anything. A text has no folder, so relative paths in it count from the home directory."""
        return read_document(text, source=source, folder=Path.home())

    def keep(self, imported: Imported, name: str, source: str) -> ImportReport:
        """Keep an import as a catalog. Raises CatalogError for an unusable name."""
        check_name(name)
        self.keep_secrets(name, (*imported.servers, *imported.off), imported.secrets)
        report = self._saved(self._with_off(name, imported.servers, imported), source, imported)
        self.followed.forget(name)
        return report

    def keep_secrets(self, catalog: str, servers: Iterable[Server], values: Mapping[str, str]) -> None:
        """Keep values by the name of their reference, for those servers of a catalog that refer to them."""
        keep_values(self.vault, catalog, servers, values)

    def import_files(
        self, paths: Iterable[Path], name: str | None = None, *, follow: Follow | None = None
    ) -> ImportReport:
        """Read catalogs or client configurations and keep them as one catalog, which follows these files. All or nothing."""
        files = [Path(path) for path in paths]
        if not files:
            raise CatalogError("No file was given; name at least one catalog or client configuration.")
        imported, name = read_files(files, pack=packed), name or files[0].stem
        known = self.followed.of(name)
        report = self.keep(imported, name, ", ".join(path.name for path in files))
        self.followed.remember(name, files, imported, follow or (known.follow if known is not None else None))
        return report

    def discover_file(self, path: Path, name: str | None = None, *, follow: Follow | None = None) -> ImportReport:
        """Read a client configuration and take its servers' tools live. The catalog follows the file."""
        imported, name = read_files([path], pack=packed), name or path.stem
        known = self.followed.of(name)
        report = self.discover(imported, name, path.name)
        self.followed.remember(name, [path], imported, follow or (known.follow if known is not None else None))
        return report

    def discover(self, imported: Imported, name: str, source: str) -> ImportReport:
        """Connect to every server of a read document, take its tools live and keep the catalog.

        A server that does not answer stays as it was discovered before, or is left out; one that needs a value or a sign-in is kept
        without tools. If no server is left, nothing changes (CatalogError).
        """
        check_name(name)
        self.keep_secrets(name, (*imported.servers, *imported.off), imported.secrets)
        load_protocol()
        from core.servers.discovery import discover

        stays_off = self.followed.by_operator(self._known(name))
        found = discover(self.sessions(), name, [one for one in imported.servers if one.name not in stays_off])
        if found and all(one.server is None for one in found):
            reasons = "; ".join(d.error for d in found)
            raise CatalogError(f"{source}: no server answered, so nothing was kept. {reasons}")
        before, new = self._before(name), {one.name: one for one in imported.servers}
        found = tuple(
            replace(one, server=with_known(new[one.name], before[one.name]), kept=True)
            if one.error and one.name in before
            else one
            for one in found
        )
        servers = tuple(d.server for d in found if d.server is not None)
        report = self._saved(self._with_off(name, servers, imported), source, imported, found)
        if imported.format != OWN:
            self.followed.forget(name)
        return report

    def _known(self, name: str) -> Catalog:
        """A stored catalog in its servers' own words, or an empty one."""
        there = name in {info.name for info in self.catalogs.infos()}
        return without_wordings(self.catalogs.catalog(name)) if there else Catalog(name)

    def _before(self, name: str) -> dict[str, Server]:
        """The servers of a stored catalog that have tools, by name."""
        known = self._known(name)
        return {server.name: server for server in (*known.servers, *known.off) if server.tools}

    def _with_off(self, name: str, servers: tuple[Server, ...], imported: Imported) -> Catalog:
        """A catalog of these servers in which those are switched off that the import or the operator has switched off."""
        stays_off, before = self.followed.by_operator(self._known(name)), self._before(name)
        on = tuple(one for one in servers if one.name not in stays_off)
        off = [*imported.off, *(one for one in imported.servers if one.name in stays_off)]
        return Catalog(name, on, tuple(with_known(one, before.get(one.name)) for one in off))

    def remove(self, name: str) -> None:
        """Forget an imported catalog and its servers' secrets. Its events stay."""
        self.catalogs.remove(name)
        self.vault.forget(name)
        self.followed.forget(name)

    def copies(self, catalog: str, server: str, recipe: Recipe) -> tuple[Server, ...]:
        """The virtual copies that `multiply` would make of a server. Raises UnknownNameError, CatalogError."""
        known = self.catalogs.catalog(catalog)
        return copies(server_of(known, server), recipe, taken=known.server_row)

    def multiply(self, catalog: str, server: str, recipe: Recipe, *, name: str = "") -> Catalog:
        """Keep a new catalog in which a server is accompanied or replaced by virtual copies of it."""
        known = self.catalogs.catalog(catalog)
        made = multiplied(
            without_wordings(known), server, recipe, name=name or multiplied_name(known.name, server, recipe.copies)
        )
        source = f"{known.name}, {server} × {recipe.copies}, seed {recipe.seed}, spread {recipe.spread:g}"
        self.catalogs.save(made, source)
        return made

    def set_figure(self, catalog: str, server: str, tool: str, value: float | None) -> None:
        """Set or clear (None) an operator's price of a tool, or with an empty tool the ask of a server. USD per call."""
        if value is not None and not (np.isfinite(value) and value >= 0):
            raise CatalogError(f"{value} is not a price; give a number of at least 0 in USD per call.")
        known = self.catalogs.catalog(catalog)
        if (f"{server}::{tool}" not in known.tool_row) if tool else (server not in known.server_row):
            raise UnknownNameError(f"There is no {tool or server!r} to price in catalog {catalog!r}; check the name.")
        field = "price_usd" if tool else "ask_usd"
        self.catalogs.set_override(Override(catalog, server, tool, field, value, datetime.now(UTC)))

    def _saved(
        self, catalog: Catalog, source: str, imported: Imported, found: tuple[Discovery, ...] = ()
    ) -> ImportReport:
        self.catalogs.save(catalog, source)
        errors = self.lint_reports.count_errors(catalog.name) if len(catalog.tools) <= MOST_LINTED else None
        return ImportReport(catalog.name, len(catalog.servers), len(catalog.tools), imported, errors, found)
