"""Long work in the background that outlives the page which began it: one of a kind at a time, found again, and stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

KEPT = 8  # runs of a kind


@dataclass(eq=False)
class BackgroundRun:
    """Work under way or done. `about` is what it was begun for, `done` how many steps of how many, `reported` what it tells on the
    way. Work that sees `stop` set ends early."""

    about: Any
    done: tuple[int, int] = (0, 0)
    reported: list[Any] = field(default_factory=list[Any])
    stop: threading.Event = field(default_factory=threading.Event)
    future: Future[Any] = field(default_factory=Future[Any], repr=False)

    @property
    def under_way(self) -> bool:
        """Whether it has not ended."""
        return not self.future.done()

    def begin(self, work: Callable[[BackgroundRun], object]) -> None:
        """Begin, in a thread of its own."""
        pool = ThreadPoolExecutor(1, thread_name_prefix="wayfare-run")
        self.future = pool.submit(work, self)
        pool.shutdown(wait=False)

    def report(self, done: int, of: int) -> None:
        """Take over how far it is."""
        self.done = (done, of)


class BackgroundRuns:
    """The latest runs of each kind. Thread-safe."""

    def __init__(self) -> None:
        self._runs: dict[str, list[BackgroundRun]] = {}
        self._lock = threading.Lock()

    def begin(self, kind: str, about: object, work: Callable[[BackgroundRun], object]) -> BackgroundRun:
        """Begin a run. Where one of this kind is under way, nothing is begun and that one is returned."""
        with self._lock:
            if (known := self._under_way(kind)) is not None:
                return known
            run = BackgroundRun(about)
            self._runs[kind] = [*self._runs.get(kind, []), run][-KEPT:]
            run.begin(work)
            return run

    def under_way(self, kind: str) -> BackgroundRun | None:
        """The run of this kind that has not ended."""
        with self._lock:
            return self._under_way(kind)

    def of(self, kind: str, about: object) -> BackgroundRun | None:
        """The newest run that was begun for this; None where there was none, or it is not kept any more."""
        with self._lock:
            return next((run for run in reversed(self._runs.get(kind, [])) if run.about == about), None)

    def forget(self, run: BackgroundRun) -> None:
        """Keep a run no longer; one under way is kept."""
        with self._lock:
            for kind, runs in self._runs.items():
                self._runs[kind] = [one for one in runs if one is not run or one.under_way]

    def close(self, limit_s: float) -> None:
        """Stop what is under way, and wait for its end, so long at most."""
        with self._lock:
            going = [run for runs in self._runs.values() for run in runs if run.under_way]
        for run in going:
            run.stop.set()
        wait([run.future for run in going], limit_s)

    def _under_way(self, kind: str) -> BackgroundRun | None:
        return next((run for run in self._runs.get(kind, []) if run.under_way), None)
