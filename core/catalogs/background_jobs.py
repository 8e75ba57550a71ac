"""Background jobs: one under way for each key, found again after a page reload, stopped when the app closes; long commands, which
the store keeps; and rounds of upkeep."""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from core.domain.errors import StoreError, WayfareError
from core.domain.lab_runs import STOPPED, CommandRun
from core.domain.people import actions, for_person
from core.store import Store

KEPT = 8  # jobs of a key
COMMANDS, COMMANDS_LISTED = "commands", 30
_log = logging.getLogger(__name__)


class Rounds(ABC):
    """Does one round after the other in a thread of its own, from `start` to `close`, with a pause of `pause_s` before each."""

    def __init__(self, *, pause_s: float, name: str) -> None:
        self._pause_s = pause_s
        self._ended, self._woken = threading.Event(), threading.Event()
        self._starting = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @abstractmethod
    def round(self) -> None: ...

    def start(self) -> None:
        """Begin. A second start changes nothing."""
        with self._starting:
            if self._thread.ident is None:
                self._thread.start()

    def wake(self) -> None:
        self._woken.set()

    def close(self) -> None:
        self._ended.set()
        self.wake()

    def _run(self) -> None:
        while not (self._woken.wait(self._pause_s) and self._ended.is_set()):
            self._woken.clear()
            try:
                self.round()
            except Exception:  # noqa: BLE001  a defect must not end all further rounds
                _log.exception("a round of %s failed", self._thread.name)


class Stopped(Exception):
    pass


@actions("tune", end="stop a job")
@dataclass(eq=False)
class Job:
    """Work under way or ended. `about` is its input, `done` of `of` steps are finished, `reported` holds partial results. `link` is the
    address of the view that shows its result.
    """

    about: Any = None
    title: str = ""
    link: str = ""
    of: int = 0
    done: int = 0
    reported: list[Any] = field(default_factory=list[Any])
    stop: threading.Event = field(default_factory=threading.Event)
    future: Future[Any] = field(default_factory=Future[Any], repr=False)
    started_s: float = field(default_factory=time.monotonic)
    ended_s: float | None = None

    def begin(self, work: Callable[[Job], object]) -> None:
        pool = ThreadPoolExecutor(1, thread_name_prefix="wayfare-job")
        self.future = pool.submit(for_person(work), self)
        self.future.add_done_callback(self._end)
        pool.shutdown(wait=False)

    def end(self) -> None:
        self.stop.set()

    def _end(self, _: Future[Any]) -> None:
        self.ended_s = time.monotonic()

    def report(self, done: int, of: int | None = None) -> None:
        """Take over the progress. Raises Stopped if the job was stopped. The work calls this after each step."""
        if self.stop.is_set():
            raise Stopped
        self.done, self.of = done, self.of if of is None else of

    def wait(self, limit_s: float) -> bool:
        return bool(wait([self.future], limit_s).done)

    @property
    def under_way(self) -> bool:
        return not self.future.done()

    @property
    def error(self) -> BaseException | None:
        """The exception that ended the work. None while it is under way and after a success."""
        return None if self.under_way else self.future.exception()

    @property
    def result(self) -> Any:
        """The result. None while the work is under way and after an error."""
        return None if self.under_way or self.error is not None else self.future.result()

    @property
    def elapsed_s(self) -> float:
        return (time.monotonic() if self.ended_s is None else self.ended_s) - self.started_s

    @property
    def ended_ago_s(self) -> float:
        return 0.0 if self.ended_s is None else time.monotonic() - self.ended_s

    @property
    def left_s(self) -> float | None:
        """Expected seconds to the end. None before the first finished step."""
        return self.elapsed_s * (self.of - self.done) / self.done if self.done else None


class BackgroundJobs:
    """The latest jobs of each key, and the commands in the store. Thread-safe."""

    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now
        self._jobs: dict[str, list[Job]] = {}
        self._lock = threading.RLock()

    def start(
        self, key: str, work: Callable[[Job], object], about: object = None, *, title: str = "", of: int = 0, link: str = "",
        several: bool = False,
    ) -> Job:  # fmt: skip
        """Start a job. Returns the running job of this key instead, unless `several` are allowed."""
        with self._lock:
            if not several and (current := self.under_way(key)) is not None:
                return current
            job = Job(about, title, link, of)
            self._jobs[key] = [*self._jobs.get(key, []), job][-KEPT:]
            job.begin(work)
            return job

    @contextmanager
    def command(self, title: str) -> Generator[Job]:
        """Lists the work of this thread as a job until the block ends, and stores its end."""
        job = Job(title=title)
        with self._lock:
            self._jobs[COMMANDS] = [*self._jobs.get(COMMANDS, []), job]
        why = ""
        try:
            yield job
        except BaseException as error:
            stopped = isinstance(error, Stopped | KeyboardInterrupt)
            why = STOPPED if stopped else str(error) if isinstance(error, WayfareError) else type(error).__name__
            raise
        finally:
            try:
                self._store.command_runs.add(CommandRun(title, job.link, self._now(), job.elapsed_s, why))
            except StoreError:
                _log.exception("the end of a command is not stored")
            job.future.set_result(None)  # last: a closing app waits for it
            self.forget(job)

    def under_way(self, key: str) -> Job | None:
        with self._lock:
            return next((job for job in self._jobs.get(key, []) if job.under_way), None)

    def _all_under_way(self) -> list[Job]:
        with self._lock:
            return [job for jobs in self._jobs.values() for job in jobs if job.under_way]

    def listed(self) -> list[Job]:
        """The jobs with a title: running jobs, then ended jobs with the commands in the store, the newest first."""
        with self._lock:
            job_list = [job for jobs in self._jobs.values() for job in jobs if job.title]
        job_list += [_ended(run, self._now()) for run in self._store.command_runs.newest(COMMANDS_LISTED)]
        return sorted(job_list, key=lambda job: (not job.under_way, -job.started_s))

    @property
    def listed_under_way(self) -> int:
        return sum(bool(job.title) for job in self._all_under_way())

    @property
    def any_under_way(self) -> bool:
        return bool(self._all_under_way())

    def of(self, key: str, about: object) -> Job | None:
        """The newest job with this input. Returns None if there was none, or if it is not kept any more."""
        with self._lock:
            return next((job for job in reversed(self._jobs.get(key, [])) if job.about == about), None)

    def forget(self, job: Job) -> None:
        """Drop an ended job. A running job is kept."""
        with self._lock:
            for key, jobs in self._jobs.items():
                self._jobs[key] = [entry for entry in jobs if entry is not job or entry.under_way]

    def close(self, limit_s: float) -> None:
        """Stop the jobs under way, and wait at most `limit_s` for their end."""
        jobs = self._all_under_way()
        for job in jobs:
            job.stop.set()
        wait([job.future for job in jobs], limit_s)


def _ended(run: CommandRun, now: datetime) -> Job:
    ended_s = time.monotonic() - (now - run.at).total_seconds()
    job = Job(title=run.title, link=run.link, started_s=ended_s - run.took_s, ended_s=ended_s)
    if run.why:
        job.future.set_exception(Stopped() if run.why == STOPPED else WayfareError(run.why))
    else:
        job.future.set_result(None)
    return job
