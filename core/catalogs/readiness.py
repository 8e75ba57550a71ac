"""Making a catalog ready for searches in the background, so that words can decide meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.catalogs.background_jobs import BackgroundJobs, Job
    from core.catalogs.catalogs import CatalogService
    from core.relevance.encoder import CachedEncoder

RETRY_S = 60.0


class Readiness:
    """The jobs that embed catalogs, open the encoder and load the rest, one for each catalog. `words_after_s`: the moment to wait before
    words decide. `load_rest` loads all else that a first search needs."""

    def __init__(
        self,
        catalogs: CatalogService,
        encoder: CachedEncoder,
        jobs: BackgroundJobs,
        *,
        words_after_s: float,
        load_rest: Callable[[str], None],
    ) -> None:
        self._catalogs = catalogs
        self._encoder = encoder
        self._jobs = jobs
        self._words_after_s = words_after_s
        self._load_rest = load_rest
        self._loaded: set[str] = set()

    def is_ready(self, catalog: str) -> bool:
        """Returns whether a search of this catalog waits for nothing that is loaded once."""
        return catalog in self._loaded and self._catalogs.is_ready(catalog)

    def begin(self, catalog: str, *, link: str = "") -> Job | None:
        """Begin to make a catalog ready. Returns the job, None if the catalog is ready. One that failed within the last minute is not begun
        again."""
        if self.is_ready(catalog):
            return None
        key = f"decisions of {catalog}"
        job = self._jobs.of(key, catalog)
        if job is not None and (job.under_way or (job.error is not None and job.ended_ago_s < RETRY_S)):
            return job
        return self._jobs.start(
            key, lambda job: self.make(catalog, job.report), catalog, title=f"Embedding {catalog}", link=link
        )

    def soon(self, catalog: str, *, link: str = "") -> Job | None:
        """The same, and wait for a moment after it was begun. Returns None if a decision need not go by words alone."""
        job = None if self._catalogs.is_ready(catalog) else self.begin(catalog, link=link)
        left_s = 0.0 if job is None else max(0.0, self._words_after_s - job.elapsed_s)
        if job is not None and job.wait(left_s) and self._catalogs.is_ready(catalog):
            self._jobs.forget(job)  # what took a moment is in no list
            return None
        return job

    def make(self, catalog: str, progress: Callable[[int, int], None] | None = None) -> None:
        """Embed, open and load what a search at the defaults needs. `progress` is that of `CatalogService.prepare`. Raises WayfareError."""
        self._catalogs.prepare(catalog, progress)
        self._encoder.encode_query("warm up")
        self._load_rest(catalog)
        self._loaded.add(catalog)
