"""The catalogs at hand: the shipped ones and the stored ones, each with its index, statistics and edits."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import sample_catalog
from core.domain.catalog import Catalog, Server
from core.domain.events import OutcomeEvent, Override
from core.domain.outcome import OutcomeKind
from core.domain.statistics import Statistics
from core.embedding.base import text_hash
from core.embedding.cached import CachedEncoder
from core.errors import CatalogError, UnknownNameError
from core.importers import read_document, read_files, read_tasks
from core.importers.checks import name_fault
from core.index.catalog_index import CatalogIndex
from core.network.traces import OUTAGE_S, CallHistory
from core.routers.base import Scene
from core.routers.matching import IndexMatcher
from core.routers.parameters import LearningParameters
from core.shipped import SAMPLE, SHIPPED, shipped_size
from core.stats.book import Priors, StatisticsBook, teaches
from core.stats.ema import Rates
from core.store import Store
from core.tokens import count_many, definition_text

BOOKS_KEPT = 16  # one book for each combination of priors and rates that somebody looked at lately
MOMENTS = 100  # in a half-life: within one, figures that fade are read alike and a question has the same answer


@dataclass(frozen=True, slots=True)
class CatalogInfo:
    """One line about a catalog."""

    name: str
    source: str
    servers: int
    tools: int


@dataclass
class Shelf:
    """One catalog in memory. The index is built when it is first needed; books are folds under given parameters."""

    catalog: Catalog
    source: str
    outcomes: list[OutcomeEvent] = field(default_factory=list[OutcomeEvent])
    overrides: tuple[Override, ...] = ()
    preparing: threading.Lock = field(default_factory=threading.Lock)
    index: CatalogIndex | None = None
    tokens: NDArray[np.int64] | None = None
    books: OrderedDict[tuple[Priors, Rates], StatisticsBook] = field(
        default_factory=OrderedDict[tuple[Priors, Rates], StatisticsBook]
    )
    scenes: dict[int, Scene] = field(default_factory=dict[int, Scene])


class Library:
    """Catalogs by name. Thread-safe: pages of several sessions share it."""

    def __init__(
        self, store: Store, encoder: CachedEncoder, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._store = store
        self._encoder = encoder
        self._now = now
        self._shelves: dict[str, Shelf] = {}
        self._lock = threading.RLock()

    def infos(self) -> tuple[CatalogInfo, ...]:
        """Every catalog there is, the sample first."""
        own = (CatalogInfo(name, one.about, *shipped_size(name)) for name, one in SHIPPED.items())
        stored = (CatalogInfo(r.name, r.source, r.servers, r.tools) for r in self._store.catalogs.list_catalogs())
        return (*own, *(info for info in stored if info.name not in SHIPPED))

    def catalog(self, name: str) -> Catalog:
        """A catalog by name. Raises UnknownNameError."""
        return self._shelf(name).catalog

    def open(self, name_or_path: str) -> Catalog:
        """A catalog by name, or read from a file for this process only. A name comes before a file of that name."""
        path = Path(name_or_path)
        if not self._knows(name_or_path) and (path.suffix or _is_file(path)):
            imported = read_files([path])
            with self._lock:
                self._shelves[name_or_path] = Shelf(Catalog(name_or_path, imported.servers), str(path))
        return self.catalog(name_or_path)

    def save(self, catalog: Catalog, source: str) -> None:
        """Keep a catalog, replacing the one of that name; its calls so far stay with it."""
        check_name(catalog.name)
        with self._lock:
            self._store.catalogs.save_catalog(catalog, source)
            self._shelves[catalog.name] = self._fresh_shelf(catalog, source)

    def remove(self, name: str) -> None:
        """Forget a stored catalog; its events stay. Raises for a shipped one and for a name that is not there."""
        if name in SHIPPED:
            raise CatalogError(f"The catalog {name!r} is part of Wayfare and cannot be removed; choose another one.")
        with self._lock:
            self.catalog(name)
            self._store.catalogs.remove_catalog(name)
            self._shelves.pop(name, None)

    def set_override(self, override: Override) -> None:
        """Set or clear an operator's price or ask; statistics see it at once."""
        with self._lock:
            shelf = self._shelf(override.catalog)
            self._store.catalogs.set_override(override)
            shelf.overrides = tuple(self._store.catalogs.overrides(override.catalog))
            shelf.books.clear()

    @contextmanager
    def unchanged(self) -> Generator[None]:
        """No catalog is replaced meanwhile: an outcome is folded once, from the store or as it happens."""
        with self._lock:
            yield

    def observe(self, outcome: OutcomeEvent) -> None:
        """Fold an outcome that the store has into every book in use."""
        with self._lock:
            shelf = self._shelf(outcome.catalog)
            shelf.outcomes.append(outcome)
            for book in shelf.books.values():
                book.observe(outcome)

    def book(self, name: str, learning: LearningParameters | None = None) -> StatisticsBook:
        """The statistics of a catalog as a fold under these priors and rates."""
        chosen = learning or LearningParameters()
        key = (chosen.priors(), chosen.rates())
        with self._lock:
            shelf = self._shelf(name)
            if key not in shelf.books:
                book = StatisticsBook(shelf.catalog, overrides=shelf.overrides, priors=key[0], rates=key[1])
                for outcome in shelf.outcomes:
                    book.observe(outcome)
                shelf.books[key] = book
            shelf.books.move_to_end(key)
            while len(shelf.books) > BOOKS_KEPT:
                shelf.books.popitem(last=False)
            return shelf.books[key]

    def statistics(self, name: str, learning: LearningParameters | None = None) -> Statistics:
        """A snapshot of a catalog's statistics."""
        with self._lock:
            return self.book(name, learning).snapshot(self._moment(learning))

    def scene(self, name: str, learning: LearningParameters | None = None) -> Scene:
        """What a router needs: catalog, statistics, index and token counts. Builds the index where there is none yet."""
        if not self.is_prepared(name):
            self.prepare(name)
        with self._lock:
            shelf = self._shelf(name)
            statistics = self.book(name, learning).snapshot(self._moment(learning))
            scene = shelf.scenes.get(id(statistics))
            if scene is None or scene.statistics is not statistics:
                if shelf.index is None or shelf.tokens is None:
                    raise CatalogError(f"Catalog {name!r} was changed while it was opened; try again.")
                matcher = IndexMatcher(shelf.index, self._encoder)
                scene = Scene.of(shelf.catalog, statistics, matcher, shelf.tokens, _measured_network(shelf))
                shelf.scenes = {id(statistics): scene}
            return scene

    def _moment(self, learning: LearningParameters | None) -> datetime | None:
        if learning is None or learning.half_life_s == 0:
            return None
        moment_s = learning.half_life_s / MOMENTS
        return datetime.fromtimestamp(self._now().timestamp() // moment_s * moment_s, UTC)

    def prepare(self, name: str, progress: Callable[[int, int], None] | None = None) -> None:
        """Embed and count what has not been yet. `progress` is told how many texts are done, of how many."""
        shelf = self._shelf(name)
        with shelf.preparing:
            if shelf.index is None:
                self.tokens(name)
                shelf.index = CatalogIndex.build(shelf.catalog, self._encoder, progress=progress)

    def is_prepared(self, name: str) -> bool:
        """Whether the first decision on this catalog needs no embedding of the catalog."""
        return self._shelf(name).index is not None

    def tokens(self, name: str) -> NDArray[np.int64]:
        """Tokens of each tool's definition, (T,); counted once for each text and kept in the store."""
        shelf = self._shelf(name)
        if shelf.tokens is None:
            shelf.tokens = self._count_tokens(shelf.catalog)
        return shelf.tokens

    def index(self, name: str) -> CatalogIndex:
        """The index of a catalog."""
        self.prepare(name)
        index = self._shelf(name).index
        if index is None:
            raise CatalogError(f"Catalog {name!r} was removed while it was opened; choose another.")
        return index

    def example_subtasks(self, count: int) -> tuple[str, ...]:
        """A few of the sample's labelled sub-tasks, spread over the servers that really run."""
        path = sample_catalog.TASKS_DIR / "subtasks.jsonl"
        tasks = [task for task in read_tasks(path.read_bytes(), source=path.name) if task.relevant]
        step = max(1, len(tasks) // max(1, count))
        return tuple(task.subtask for task in tasks[::step][:count])

    def _knows(self, name: str) -> bool:
        stored = self._store.catalogs.list_catalogs()
        return name in self._shelves or name in SHIPPED or any(row.name == name for row in stored)

    def _shelf(self, name: str) -> Shelf:
        with self._lock:
            if name not in self._shelves:
                self._shelves[name] = self._load(name)
            return self._shelves[name]

    def _load(self, name: str) -> Shelf:
        if name in SHIPPED:
            return self._fresh_shelf(shipped(name), SHIPPED[name].about)
        catalog = self._store.catalogs.load_catalog(name)
        if catalog is None:
            raise UnknownNameError(f"There is no catalog {name!r}; `wayfare catalogs` lists those there are.")
        return self._fresh_shelf(catalog, "store")

    def _fresh_shelf(self, catalog: Catalog, source: str) -> Shelf:
        outcomes = list(self._store.events.outcomes(catalog.name))
        return Shelf(catalog, source, outcomes, tuple(self._store.catalogs.overrides(catalog.name)))

    def _count_tokens(self, catalog: Catalog) -> NDArray[np.int64]:
        texts = [definition_text(tool) for tool in catalog.tools]
        hashes = [text_hash(text) for text in texts]
        known = self._store.vectors.load_token_counts(hashes)
        fresh = {h: text for h, text in zip(hashes, texts, strict=True) if h not in known}
        if fresh:
            counted = dict(zip(fresh, count_many(list(fresh.values())), strict=True))
            self._store.vectors.save_token_counts(counted)
            known = {**known, **counted}
        return np.array([known[h] for h in hashes], dtype=np.int64)


def _measured_network(shelf: Shelf) -> CallHistory:
    """The latencies of the real calls so far; one that was never answered counts as an outage."""
    calls = len(shelf.outcomes)
    return CallHistory(
        tuple(server.name for server in shelf.catalog.servers),
        lambda: ((call.server, _waited_s(call)) for call in shelf.outcomes[:calls] if teaches(call)),
    )


def _waited_s(call: OutcomeEvent) -> float:
    return max(call.latency_s, OUTAGE_S) if OutcomeKind(call.kind).post_accept_failure else call.latency_s


def check_name(name: str) -> None:
    """Raises CatalogError where a catalog cannot be kept under this name."""
    if name in SHIPPED:
        raise CatalogError(f"The name {name!r} belongs to a shipped catalog; choose another with --name.")
    if fault := name_fault(name):
        raise CatalogError(f"The catalog's name {fault}; choose another with --name.")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long, or not a path at all
        return False


def shipped(name: str) -> Catalog:
    """A shipped catalog, read from its files."""
    return Catalog(name, _servers(SHIPPED[name].files()))


def sample() -> Catalog:
    """The shipped catalog to start with."""
    return shipped(SAMPLE)


def _servers(files: Iterable[Path]) -> tuple[Server, ...]:
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in files]
    return read_document(json.dumps({"servers": documents}), source="sample catalog").servers
