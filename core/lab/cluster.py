"""Runs and sweeps on a Ray cluster, `pip install wayfare[ray]`: with the results and the order of one machine.

Each worker is a Ray actor with one CPU and an app over a copy of the store. If a worker is lost, another worker repeats
its part. The seeds of the parameters are the only source of randomness.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from types import TracebackType
from typing import Any, Self

from core.domain.catalog import Catalog
from core.domain.errors import WayfareError
from core.domain.params import Parameters
from core.domain.tasks import Task
from core.domain.untrusted_text import one_line
from core.importers import read_tasks, tasks_text
from core.lab.execution import Routed
from core.lab.lab import parts_of_name
from core.store import Store
from core.store.connection import Table

AUTO = "auto"
START_LIMIT_S = 120.0
TOGETHER = 32  # tasks of a run that one worker gets at a time
NOT_INSTALLED = "Ray is not installed; run `pip install wayfare[ray]`, or leave out --ray."
OpenApp = Callable[[Store], Any]  # gives an App, which stands above this room


@dataclass(frozen=True, slots=True)
class Work:
    """Tasks of a catalog for a router, with or without their server hints."""

    catalog: Catalog
    router: str
    tasks: Sequence[Task]
    hints: bool


class Worker:
    """The app of a worker, which routes parts of the work. Arguments and results are plain values."""

    def __init__(self, tables: Mapping[str, Table], opened: OpenApp) -> None:
        self._app = opened(Store.of_tables(tables))
        self._sent: dict[str, Catalog] = {}

    def ready(self) -> bool:
        return True

    def routed(self, catalog: Catalog, router: str, tasks: str, hints: bool, parameters: Parameters) -> list[Routed]:
        batch, name = read_tasks(tasks.encode(), source="the cluster"), self._known(catalog)
        return list(self._app.lab.routed(batch, catalog=name, router=router, parameters=parameters, server_hints=hints))

    def points(
        self, catalog: Catalog, router: str, tasks: str, hints: bool, points: Sequence[Parameters]
    ) -> list[Mapping[str, Any]]:
        work_tasks, name = read_tasks(tasks.encode(), source="the cluster"), self._known(catalog)
        return list(self._app.sweeps.measured(work_tasks, points, catalog=name, router=router, hints=hints))

    def _known(self, catalog: Catalog) -> str:
        """The catalog's name. Adds a catalog that the store lacks, such as a file's. It comes with every part and is indexed
        again only if its content changed."""
        names, name = {info.name for info in self._app.catalogs.infos()}, parts_of_name(catalog.name)[0]
        if name not in names and self._sent.get(name) != catalog:
            self._app.catalogs.add(replace(catalog, name=name), "sent to a worker")
            self._sent[name] = catalog
        return catalog.name


class RaySpread:
    """A cluster by its address. `auto` is the cluster of this machine, or this machine alone. Close it, or use `with`.

    `opened` makes a worker's app. `hired` counts the workers that took part, `lost` the lost workers. Raises WayfareError if
    there is no such cluster, or if its last worker is lost.
    """

    def __init__(self, address: str, tables: Mapping[str, Table], *, opened: OpenApp, ray: Any = None) -> None:
        try:
            self._ray: Any = import_module("ray") if ray is None else ray
        except ImportError:
            raise WayfareError(NOT_INSTALLED) from None
        self._ours = not self._ray.is_initialized()
        if self._ours:
            self._join(address)
        self._tables, self._opened = self._ray.put(dict(tables)), opened
        self._idle: deque[Any] = deque()
        # By its answer: the position of a worker's call, None while it starts, and the worker
        self._busy: dict[Any, tuple[int | None, Any]] = {}
        self.hired = self.lost = 0
        self._because = ""

    def routed(self, work: Work, parameters: Parameters, *, known: int) -> Iterator[Routed]:
        starts = range(known, len(work.tasks), TOGETHER)
        calls = [("routed", (*_sent(work, work.tasks[start : start + TOGETHER]), parameters)) for start in starts]
        pending: dict[int, list[Routed]] = {}
        next_number = 0
        for number, block in self._done(calls):
            pending[number] = block
            while next_number in pending:
                yield from pending.pop(next_number)
                next_number += 1

    def points(
        self, work: Work, blocks: Sequence[Sequence[Parameters]]
    ) -> Iterator[tuple[int, list[Mapping[str, Any]]]]:
        arguments = _sent(work, work.tasks)
        yield from self._done([("points", (*arguments, list(block))) for block in blocks])

    def close(self) -> None:
        for worker in (*self._idle, *(worker for _, worker in self._busy.values())):
            self._ray.kill(worker)
        self._idle.clear()
        self._busy.clear()
        if self._ours:
            self._ray.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _join(self, address: str) -> None:
        quiet = {"log_to_driver": False, "logging_level": "warning"}
        try:
            self._ray.init(address=address, **quiet)
        except ConnectionError as error:
            if address != AUTO:
                raise WayfareError(
                    f"No Ray cluster answers at {address!r} ({error}); start one, or give --ray auto."
                ) from None
            self._ray.init(include_dashboard=False, **quiet)

    def _done(self, calls: Sequence[tuple[str, tuple[Any, ...]]]) -> Iterator[tuple[int, Any]]:
        """The result of each call with its position, as soon as it is known."""
        self._hire(len(calls))
        queue, left = deque(range(len(calls))), len(calls)
        try:
            while left:
                while queue and self._idle:
                    number, worker = queue.popleft(), self._idle.popleft()
                    method, arguments = calls[number]
                    self._busy[getattr(worker, method).remote(*arguments)] = (number, worker)
                answer = self._next()
                number, worker = self._busy.pop(answer)
                result = self._given(answer)
                if result is None:
                    if number is not None:
                        queue.appendleft(number)
                    continue
                self._idle.append(worker)
                if number is None:
                    self.hired += 1
                else:
                    left -= 1
                    yield number, result
        finally:
            at_work = [answer for answer, (number, _) in self._busy.items() if number is not None]
            self._idle.extend(self._busy.pop(answer)[1] for answer in at_work)

    def _next(self) -> Any:
        if not self._busy:
            raise WayfareError(
                f"The last worker of the cluster is lost {self._because}; run the same again, it goes on from what is stored."
            )
        at_work = any(number is not None for number, _ in self._busy.values())
        ready, _ = self._ray.wait(list(self._busy), num_returns=1, timeout=None if at_work else START_LIMIT_S)
        if not ready:
            raise WayfareError(
                f"No worker of the cluster has started within {START_LIMIT_S:.0f} s; see whether it has a free CPU."
            )
        return ready[0]

    def _given(self, answer: Any) -> Any:
        """A worker's result, None if the worker is lost. Raises the worker's error."""
        exceptions = self._ray.exceptions
        try:
            return self._ray.get(answer)
        except exceptions.RayTaskError:
            raise
        except exceptions.RayError as error:
            self.lost += 1
            self._because = f"({one_line(str(error), 200)})"
            return None

    def _hire(self, most: int) -> None:
        """Start one worker per CPU of the cluster, at most one per part of the work."""
        count = min(most, max(1, int(self._ray.cluster_resources().get("CPU", 1))))
        actor = self._ray.remote(num_cpus=1, scheduling_strategy="SPREAD")(Worker)
        for _ in range(count - len(self._idle) - len(self._busy)):
            worker = actor.remote(self._tables, self._opened)
            self._busy[worker.ready.remote()] = None, worker


def _sent(work: Work, tasks: Sequence[Task]) -> tuple[Any, ...]:
    return work.catalog, work.router, tasks_text(tasks), work.hints
