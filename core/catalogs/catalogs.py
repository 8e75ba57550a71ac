"""All catalogs by name: shipped, stored, and opened from files for this process; each with its index and statistics."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.catalogs.contexts import CatalogParts
from core.catalogs.loaded_catalog import (
    DEFAULT_LEARNING,
    Down,
    Embedding,
    LoadedCatalog,
    in_order,
    measured_network,
    reworded,
    stored_wordings,
    token_counts,
    without_wordings,
)
from core.domain.catalog import Catalog, ServerId
from core.domain.errors import CatalogError, UnknownNameError
from core.domain.events import OutcomeEvent, Override
from core.domain.params import Parameters
from core.domain.statistics import Statistics
from core.domain.tool_table import packed
from core.domain.untrusted_text import one_line
from core.importers import read_files
from core.importers.shipped_catalogs import SHIPPED_CATALOGS, check_name, shipped, shipped_size
from core.relevance.catalog_index import CatalogIndex
from core.relevance.encoder import CachedEncoder, Vectors
from core.relevance.feedback import Shift
from core.relevance.fit_matcher import FitMatcher
from core.relevance.index_files import IndexFiles, Prepared, made_of
from core.relevance.labelled import IndexScorer
from core.relevance.learnt import NOTHING_LEARNT, Learnt, LearntModels
from core.relevance.relevance_index import RelevanceIndex
from core.routers.context import RoutingContext
from core.routers.parameters import LearningParameters
from core.routers.projection import StatisticsProjection
from core.store import Store

STEPS_IN_HALF_LIFE = 100  # decaying statistics change at so many times in a half-life; between two, decisions repeat


@dataclass(frozen=True, slots=True)
class CatalogInfo:
    name: str
    source: str
    servers: int
    tools: int


class CatalogService:
    """Catalogs by name. Thread-safe, because several sessions share it. `index_files` keeps the indexes of large catalogs. None keeps no index."""

    def __init__(
        self,
        store: Store,
        encoder: CachedEncoder,
        *,
        tuned: CachedEncoder | None = None,
        learnt: LearntModels | None = None,
        index_files: IndexFiles | None = None,
        cross_encoder: str = "",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store = store
        self._encoder = encoder
        self._relevance_encoder = encoder if tuned is None else tuned
        self._learnt = LearntModels(store, self._relevance_encoder) if learnt is None else learnt
        self._index_files = index_files
        self.cross_encoder = cross_encoder
        self._now = now
        self._loaded: dict[str, LoadedCatalog] = {}
        self._once_prepared: set[str] = set()
        self._parts = CatalogParts(encoder, self._relevance_encoder, self._learnt)
        self._lock = threading.RLock()

    def infos(self) -> tuple[CatalogInfo, ...]:
        bundled = (CatalogInfo(name, entry.about, *shipped_size(name)) for name, entry in SHIPPED_CATALOGS.items())
        stored = (CatalogInfo(r.name, r.source, r.servers, r.tools) for r in self._store.catalogs.list_catalogs())
        return (*bundled, *(info for info in stored if info.name not in SHIPPED_CATALOGS))

    def without_tools(self, name: str) -> str:
        """Returns one sentence that says why a catalog has no tools, or "" if it has tools or does not exist."""
        info = next((info for info in self.infos() if info.name == name), None)
        if info is None or info.tools:
            return ""
        why = "none of its servers lists one" if info.servers else "it has no server that is switched on"
        return f"Catalog {one_line(name, 80)} has no tools: {why}."

    def stored(self) -> tuple[str, ...]:
        """The names of the catalogs that are stored, which can be changed."""
        return tuple(row.name for row in self._store.catalogs.list_catalogs() if row.name not in SHIPPED_CATALOGS)

    def catalog(self, name: str) -> Catalog:
        return self._loaded_catalog(name).catalog

    def with_servers_off(self, name: str) -> Catalog:
        """A catalog as if all its servers were on: a server that is switched off keeps its wordings, requests and labels."""
        catalog = self.catalog(name)
        if not catalog.off:
            return catalog
        return reworded(Catalog(name, (*catalog.servers, *catalog.off)), stored_wordings(self._store, name))

    def open(self, name_or_path: str) -> Catalog:
        """A catalog by name, or read from a file for this process only. A name comes before a file of that name.

        The file is read each time, because it may have changed since an earlier command of this process.
        """
        path = Path(name_or_path)
        names = {*SHIPPED_CATALOGS, *self.stored()}
        if name_or_path not in names and (_is_file(path) or (path.suffix and name_or_path not in self._loaded)):
            catalog = Catalog(name_or_path, read_files([path], pack=packed).servers)
            with self._lock:
                previous = self._loaded.get(name_or_path)
                if previous is None or previous.catalog != catalog:
                    self._loaded[name_or_path] = LoadedCatalog(catalog, str(path), self._encoder)
        return self.catalog(name_or_path)

    def add(self, catalog: Catalog, source: str) -> None:
        """Add a catalog for this process only, as if it had been read from a file."""
        with self._lock:
            self._loaded[catalog.name] = LoadedCatalog(catalog, source, self._encoder)

    def save(self, catalog: Catalog, source: str) -> None:
        """Keep a catalog, and replace a catalog of that name. Its calls so far stay with it."""
        check_name(catalog.name, self.stored())
        with self._lock:
            self._replace(self._store.catalogs.save_catalog(without_wordings(catalog), source), source)

    def _replace(self, catalog: Catalog, source: str) -> None:
        previous = self._loaded.get(catalog.name)
        if previous is not None and previous.relevance is not None:
            self._once_prepared.add(catalog.name)
        fresh = self._freshly_loaded(catalog, source)
        if previous is not None:
            self._take_over(previous, fresh)
        self._loaded[catalog.name] = fresh

    def _take_over(self, previous: LoadedCatalog, fresh: LoadedCatalog) -> None:
        """Use the previous index if none of its texts has changed."""
        if previous.relevance is None or not (previous.catalog.tools and fresh.catalog.tools):
            return
        if made_of(previous.catalog, "") == made_of(fresh.catalog, ""):
            fresh.tokens, fresh.relevance = previous.tokens, previous.relevance

    def read_anew(self) -> None:
        """Take over catalogs, outcomes and prices that another process has written."""
        with self._lock:
            stored = {row.name for row in self._store.catalogs.list_catalogs()}
            for name in [name for name in self._loaded if name in stored or name in SHIPPED_CATALOGS]:
                loaded, fresh = self._loaded[name], self._load(name)
                if fresh.catalog != loaded.catalog:
                    self._loaded[name] = fresh
                else:
                    loaded.outcomes, loaded.down = fresh.outcomes, fresh.down
                    loaded.set_overrides(fresh.overrides)

    def edit(self, name: str, change: Callable[[Catalog], Catalog]) -> Catalog:
        """Change a stored catalog, and keep it if it differs. `change` gets it in its servers' own words. Holds the lock. Raises for a shipped
        catalog and for a catalog of this process only."""
        with self._lock:
            with self._store.kept():  # not while the outcomes are read, which may take seconds
                row = next((row for row in self._store.catalogs.list_catalogs() if row.name == name), None)
                if name in SHIPPED_CATALOGS:
                    raise CatalogError(f"The catalog {name!r} is part of Wayfare and stays as it is; name another one.")
                stored = self._store.catalogs.load_catalog(name)
                if row is None or stored is None:
                    self.catalog(name)
                    raise CatalogError(f"{name} is only read from its file; import it to change one of its servers.")
                edited = without_wordings(change(without_wordings(stored)))
                if edited != stored:
                    edited = self._store.catalogs.save_catalog(edited, row.source)
            if edited != without_wordings(self.catalog(name)):
                self._replace(edited, row.source)
            return self.catalog(name)

    def remove(self, name: str) -> None:
        """Forget a stored catalog. Its events stay. Raises for a shipped catalog and for an unknown name."""
        if name in SHIPPED_CATALOGS:
            raise CatalogError(f"The catalog {name!r} is part of Wayfare and cannot be removed; choose another one.")
        with self._lock:
            self.catalog(name)
            self._store.catalogs.remove_catalog(name)
            self._loaded.pop(name, None)

    def set_override(self, override: Override) -> None:
        """Set or clear an operator's price or ask; statistics see it at once."""
        with self._lock:
            loaded = self._loaded_catalog(override.catalog)
            self._store.catalogs.set_override(override)
            loaded.set_overrides(tuple(self._store.catalogs.overrides(override.catalog)))

    def reword(self, name: str) -> None:
        """Take over the wordings of the store. Only changed texts are embedded anew."""
        with self._lock:
            loaded = self._loaded_catalog(name)
            self._loaded[name] = self._freshly_loaded(without_wordings(loaded.catalog), loaded.source)

    @contextmanager
    def unchanged(self) -> Generator[None]:
        """Holds the lock, so that an outcome is folded once, from the store or as it happens."""
        with self._lock:
            yield

    def observe(self, outcome: OutcomeEvent) -> None:
        """Fold an outcome that the store has into every projection in use."""
        with self._lock:
            self._loaded_catalog(outcome.catalog).observe(outcome)

    def down(self, name: str) -> Mapping[str, Down]:
        """The servers of a catalog that count as down."""
        with self._lock:
            return {server: down for server, down in self._loaded_catalog(name).down.items() if down.believed}

    def down_anywhere(self) -> Mapping[ServerId, Down]:
        with self._lock:
            return {
                ServerId(name, server): down
                for name, loaded in self._loaded.items()
                for server, down in loaded.down.items()
            }

    def answered(self, name: str, server: str) -> None:
        """Forgets the failures of a server after a check has shown that it answers again."""
        with self._lock:
            self._loaded_catalog(name).answered(server, self._now())

    def projection(self, name: str, learning: LearningParameters | None = None, *, with_simulated: bool = False) -> StatisticsProjection:  # fmt: skip
        with self._lock:
            return self._loaded_catalog(name).projection(learning, with_simulated=with_simulated)

    def statistics(self, name: str, parameters: Parameters | None = None) -> Statistics:
        """A snapshot of a catalog's statistics, under the priors and rates of the parameters if these have any."""
        learning = parameters if isinstance(parameters, LearningParameters) else None
        with self._lock:
            return self._loaded_catalog(name).projection(learning).snapshot(self._statistics_at(learning))

    def context(
        self, name: str, learning: LearningParameters | None = None, *, at_once: bool = False, with_simulated: bool = False
    ) -> RoutingContext:  # fmt: skip
        """The input of a router: catalog, statistics, index and token counts. Builds a missing index, or uses words
        without an index if `at_once`.

        The same context while nothing changes, for each set of priors and rates that is in use.
        """
        by_words = at_once and not self.is_ready(name)
        loaded = self._loaded_catalog(name)
        if by_words:
            fit, learnt = loaded.words_fit(), NOTHING_LEARNT
        else:
            relevance, loaded.words = self._prepared(loaded), None
            learnt = self._learnt_of(loaded)  # labels are embedded without the lock
            fit = FitMatcher.of(relevance, self._relevance_encoder, learnt)
        tokens = self._tokens(loaded)
        with self._lock:
            return loaded.context(
                learning,
                self._statistics_at(learning),
                learnt,
                fit,
                tokens,
                by_words=by_words,
                with_simulated=with_simulated,
                cross_encoder=self.cross_encoder,
            )

    def part(self, context: RoutingContext, tools: NDArray[np.int64]) -> RoutingContext:
        outcomes = self._loaded_catalog(context.catalog.name).outcomes
        return self._parts.context(context, tools, lambda catalog: measured_network(catalog, outcomes))

    def _statistics_at(self, learning: LearningParameters | None) -> datetime | None:
        """The time of a snapshot, rounded so that it stays the same for a while; None without decay."""
        step_s = (learning or DEFAULT_LEARNING).half_life_s / STEPS_IN_HALF_LIFE
        if step_s == 0:
            return None
        return datetime.fromtimestamp(self._now().timestamp() // step_s * step_s, UTC)

    def prepare(self, name: str, progress: Callable[[int, int], None] | None = None) -> None:
        """Embed the missing texts and count the tokens. `progress` gets the number of texts done, and of all texts."""
        self._prepared(self._loaded_catalog(name), progress)

    def _prepared(self, loaded: LoadedCatalog, progress: Callable[[int, int], None] | None = None) -> RelevanceIndex:
        encoder = self._relevance_encoder

        def told(done: int, of: int) -> None:
            loaded.embedding = Embedding(done, of, time.monotonic() - started_s)
            if progress is not None:
                progress(done, of)

        def make() -> Prepared:
            tokens, words = self._tokens(loaded), loaded.words_fit().lexical  # first, for decisions by words
            return Prepared(RelevanceIndex.build(loaded.catalog, encoder, progress=told, words=words), tokens)

        with loaded.preparing:
            started_s = time.monotonic()
            if loaded.relevance is None:
                files = self._index_files
                prepared = make() if files is None else files.prepared(loaded.catalog, encoder.model, make)
                with self._lock:
                    loaded.relevance, loaded.tokens, loaded.words = prepared.index, prepared.tokens, None
                    loaded.contexts.clear()  # contexts by words
            return loaded.relevance

    def prepare_again(self) -> None:
        """Prepare the catalogs that were prepared before they were changed, so that the next decision does not wait."""
        with self._lock:
            names, self._once_prepared = self._once_prepared, set()
        for name in names & set(self.stored()):
            self.prepare(name)

    def is_prepared(self, name: str) -> bool:
        """Whether the first decision on this catalog needs no embedding of the catalog."""
        return self._loaded_catalog(name).relevance is not None

    def is_ready(self, name: str) -> bool:
        """Whether a decision on this catalog embeds its query at once, and nothing else."""
        return self.is_prepared(name) and self._relevance_encoder.is_open

    def embedding(self, name: str) -> Embedding:
        return self._loaded_catalog(name).embedding or Embedding()

    def tokens(self, name: str) -> NDArray[np.int64]:
        """Tokens of each tool's definition, (T,); counted once for each text and kept in the store."""
        return self._tokens(self._loaded_catalog(name))

    def _tokens(self, loaded: LoadedCatalog) -> NDArray[np.int64]:
        with loaded.reading:
            if loaded.tokens is None:
                loaded.tokens = token_counts(loaded.catalog, self._store)
            return loaded.tokens

    def index(self, name: str) -> CatalogIndex:
        self.prepare(name)
        return self._loaded_catalog(name).views

    def own(self, name: str) -> tuple[Catalog, Vectors]:
        """A catalog with the vectors of its tools' names and descriptions, (T, D), by which decisions recognize equal tools."""
        loaded = self._loaded_catalog(name)
        return loaded.catalog, self._prepared(loaded).own

    def scorer(self, name: str) -> IndexScorer:
        """The relevance of a catalog as a fit sees it: with example requests, without anything learnt from labels."""
        loaded = self._loaded_catalog(name)
        learnt = self._learnt_of(loaded)
        return IndexScorer.of(self._prepared(loaded), self._relevance_encoder, learnt.requests)

    def relevance_of(self, catalog: Catalog) -> RelevanceIndex:
        """The relevance index of a catalog that is not kept. Only texts that are new are embedded."""
        return RelevanceIndex.build(catalog, self._relevance_encoder)

    def learnt(self, name: str) -> Learnt:
        return self._learnt_of(self._loaded_catalog(name))

    def _learnt_of(self, loaded: LoadedCatalog) -> Learnt:
        relevance = self._prepared(loaded)
        return self._learnt.of(loaded.catalog, lambda: relevance)

    def learnt_shift(self, name: str, query: str) -> Shift | None:
        """The effect of labels on the tools for one sub-task, and these labels. Returns None without a similar label."""
        learnt = self.learnt(name)
        return learnt.found(self._relevance_encoder.encode_query(query.strip()))

    def _loaded_catalog(self, name: str) -> LoadedCatalog:
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = self._load(name)
            return self._loaded[name]

    def _load(self, name: str) -> LoadedCatalog:
        if name in SHIPPED_CATALOGS:
            return self._freshly_loaded(shipped(name), SHIPPED_CATALOGS[name].about)
        catalog = self._store.catalogs.load_catalog(name)
        if catalog is None:
            raise UnknownNameError(f"There is no catalog {name!r}; `wayfare catalogs` lists those there are.")
        return self._freshly_loaded(catalog, "store")

    def _freshly_loaded(self, catalog: Catalog, source: str) -> LoadedCatalog:
        outcomes = in_order(self._store.events.outcomes(catalog.name))
        catalog = reworded(catalog, stored_wordings(self._store, catalog.name))
        overrides, previous = tuple(self._store.catalogs.overrides(catalog.name)), self._loaded.get(catalog.name)
        answers = [] if previous is None else previous.answers
        return LoadedCatalog(catalog, source, self._encoder, outcomes, overrides, answers=answers)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long, or not a path
        return False
