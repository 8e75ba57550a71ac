"""The progress of long work, step by step, for a terminal or page, and values that are made once, such as models and tables."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition
from typing import Any, ParamSpec, TypeVar, cast

from cachetools import cached


@dataclass(frozen=True, slots=True)
class Step:
    """A step of work: `what` it is, `done` of `total` (0 if it cannot be counted), and the work `after` it.

    >>> str(Step("Embedding texts", 128, 3909, after="the first decision"))
    'Embedding texts: 128 of 3,909. Next: the first decision.'
    >>> str(Step("Exporting the encoder"))
    'Exporting the encoder.'
    """

    what: str
    done: int = 0
    total: int = 0
    after: str = ""

    def __str__(self) -> str:
        count = f": {self.done:,} of {self.total:,}" if self.total else ""
        return f"{self.what}{count}." + (f" Next: {self.after}." if self.after else "")


Report = Callable[[Step | None], None]
"""Called from any thread, with each step when it begins and as it proceeds, and with None when it is over."""


def silent(_: Step | None) -> None:
    """A `Report` that does nothing."""


@contextmanager
def reported(report: Report, step: Step) -> Generator[None]:
    """Reports a step when it begins, and None when it is over, also if it fails.

    >>> steps = []
    >>> with reported(steps.append, Step("Waiting")):
    ...     steps.append("waits")
    >>> steps
    [Step(what='Waiting', done=0, total=0, after=''), 'waits', None]
    """
    report(step)
    try:
        yield
    finally:
        report(None)


class LatestStep:
    """A `Report` that keeps the current step for pages that poll it, and passes each step on.

    >>> latest = LatestStep()
    >>> latest(Step("Embedding texts", 1, 2))
    >>> str(latest.step)
    'Embedding texts: 1 of 2.'
    """

    def __init__(self, onward: Report = silent) -> None:
        self.step: Step | None = None
        self._onward = onward

    def __call__(self, step: Step | None) -> None:
        self.step = step
        self._onward(step)


P = ParamSpec("P")
T = TypeVar("T")


def made_once(make: Callable[P, T]) -> Callable[P, T]:
    """Makes the value of each argument once. Other threads wait for it. Under `functools.cache` each thread would make it.

    >>> table = made_once(lambda: [1, 2])
    >>> table() is table()
    True
    """
    return cast("Callable[P, T]", cached(dict[Any, Any](), condition=Condition())(make))
