"""The port through which other machines take part in a run or a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from core.domain.catalog import Catalog
from core.domain.params import Parameters
from core.domain.task import Task
from core.lab.routed import Routed


@dataclass(frozen=True, slots=True)
class Work:
    """What is routed: tasks of a catalog, by a router, with their server hints or without."""

    catalog: Catalog
    router: str
    tasks: Sequence[Task]
    hints: bool


class Spread(Protocol):
    """Machines that hold the same store. What one of them had begun when it was lost is done by another."""

    def routed(self, work: Work, parameters: Parameters, *, known: int) -> Iterator[Routed]:
        """The tasks from the `known`-th on, in their order, as soon as each is known with all before it."""
        ...

    def points(
        self, work: Work, blocks: Sequence[Sequence[Parameters]]
    ) -> Iterator[tuple[int, list[Mapping[str, Any]]]]:
        """The measures of each block of points with its position, as they are known."""
        ...
