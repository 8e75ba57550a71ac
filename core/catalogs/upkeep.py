"""Keeps catalogs up to date in the background: followed files, servers whose lists changed, regular looks at all servers; and makes them
ready for searches, so that words can decide meanwhile.

No tool is called. A replaced definition is held back by `core.governance.definitions`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from core.catalogs.background_jobs import Rounds
from core.catalogs.catalogs import CatalogService
from core.catalogs.followed import FollowedFiles
from core.catalogs.servers import ServerEditor
from core.domain.catalog import ServerId
from core.domain.errors import WayfareError
from core.domain.limits import Bucket

if TYPE_CHECKING:
    from core.catalogs.background_jobs import BackgroundJobs, Job
    from core.relevance.encoder import CachedEncoder


RETRY_S = 60.0


@dataclass(eq=False)
class Readiness:
    """The jobs that embed catalogs, open the encoder and load the rest, one for each catalog. `words_after_s`: the moment to wait before
    words decide. `load_rest` loads all else that a first search needs."""

    catalogs: CatalogService
    encoder: CachedEncoder
    jobs: BackgroundJobs
    words_after_s: float
    load_rest: Callable[[str], None]

    def __post_init__(self) -> None:
        self._loaded: set[str] = set()

    def is_ready(self, catalog: str) -> bool:
        """Returns whether a search of this catalog waits for nothing that is loaded once."""
        return catalog in self._loaded and self.catalogs.is_ready(catalog)

    def begin(self, catalog: str, *, link: str = "") -> Job | None:
        """Begin to make a catalog ready. Returns the job, None if the catalog is ready. A job that failed within the last minute is not
        begun again."""
        if self.is_ready(catalog):
            return None
        key = f"decisions of {catalog}"
        job = self.jobs.of(key, catalog)
        if job is not None and (job.under_way or (job.error is not None and job.ended_ago_s < RETRY_S)):
            return job
        return self.jobs.start(
            key, lambda job: self.make(catalog, job.report), catalog, title=f"Embedding {catalog}", link=link
        )

    def soon(self, catalog: str, *, link: str = "") -> Job | None:
        """Begin as `begin` does, and wait a moment for the end. Returns None if a decision need not go by words alone."""
        job = None if self.catalogs.is_ready(catalog) else self.begin(catalog, link=link)
        left_s = 0.0 if job is None else max(0.0, self.words_after_s - job.elapsed_s)
        if job is not None and job.wait(left_s) and self.catalogs.is_ready(catalog):
            self.jobs.forget(job)  # short jobs are not listed
            return None
        return job

    def make(self, catalog: str, progress: Callable[[int, int], None] | None = None) -> None:
        """Embed, open and load all that a search at the defaults needs. `progress` goes to `CatalogService.prepare`. Raises WayfareError."""
        self.catalogs.prepare(catalog, progress)
        self.encoder.encode_query("warm up")
        self.load_rest(catalog)
        self._loaded.add(catalog)


ROUND_S = 2.0
AGAIN_S, AT_ONCE, PER_MINUTE = 0.5, 10.0, 6.0
"""A server that reports changes all the time is asked after this pause, and so often."""
FIRST_LOOK_S = 600.0
"""The first look waits, so that a start is not slowed down by servers."""
_log = logging.getLogger(__name__)


class Upkeep(Rounds):
    """Looks at files and servers in a thread of its own. `look_s` is the time between two looks at all servers, 0 for none."""

    def __init__(
        self,
        catalogs: CatalogService,
        followed: FollowedFiles,
        servers: ServerEditor,
        *,
        look_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(pause_s=ROUND_S, name="wayfare-upkeep")
        self._catalogs = catalogs
        self._followed = followed
        self._servers = servers
        self._look_s = look_s
        self._clock = clock
        self._next_look_s = clock() + min(look_s, FIRST_LOOK_S)
        self._told: set[ServerId] = set()
        self._heard = Counter[str | tuple[ServerId, str]]()
        self._asked: dict[ServerId, Bucket] = {}
        self._lock = threading.Lock()

    def list_changed(self, server: ServerId, kind: str = "tools") -> None:
        """Called when a server reports changed tools, resources or prompts, or a change of the resource at an address. Returns at once. The next round, which
        begins now, asks for the tools; resources and prompts are asked for when a client wants them."""
        with self._lock:
            if kind == "tools":
                self._told.add(server)
                self.wake()
            else:
                self._heard[server.catalog if kind in {"resources", "prompts"} else (server, kind)] += 1

    def heard(self, catalog: str) -> int:
        """How often servers of a catalog have said that their resources or prompts changed."""
        return self._heard[catalog]

    def updates(self, server: ServerId, uri: str) -> int:
        return self._heard[server, uri]

    def round(self) -> None:
        self._followed.round()
        for catalog, servers in groupby(sorted(self._due()), key=lambda server: server.catalog):
            try:
                self._refresh(catalog, {server.server for server in servers})
            except WayfareError as error:
                _log.info("the servers of %s were not asked: %s", catalog, error)
        self._catalogs.prepare_again()

    def _due(self) -> Iterable[ServerId]:
        now_s, stored = self._clock(), self._catalogs.stored()
        # a server that is discovered for the first time is stored at the end; a shipped catalog does not change
        changeable = [
            server
            for server in self._told.copy()
            if server.catalog in stored and server.server in self._catalogs.catalog(server.catalog).server_row
        ]
        with self._lock:
            due = {server for server in changeable if self._may_ask(server, now_s)}
            self._told -= due
        if self._look_s and now_s >= self._next_look_s:
            self._next_look_s = now_s + self._look_s
            due |= {
                ServerId(name, server.name)
                for name in stored
                for server in self._catalogs.catalog(name).servers
                if server.connection is not None and server.tools
            }
        return due

    def _may_ask(self, server: ServerId, now_s: float) -> bool:
        bucket = self._asked.setdefault(server, Bucket(AT_ONCE))
        paused = bucket.level is not None and now_s < bucket.at_s + AGAIN_S
        return not paused and not bucket.wait_s(PER_MINUTE, now_s)

    def _refresh(self, catalog: str, names: set[str]) -> None:
        stored = self._catalogs.catalog(catalog)
        for discovery in self._servers.refresh(catalog, [server for server in stored.servers if server.name in names]):
            if discovery.error:
                _log.info("%s", discovery.error)
