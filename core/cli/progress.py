"""Progress of long work on standard error: which step, how far it is, and what comes next."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import click

from core.shared.progress import Step

PATIENCE_S = 1.0  # what is over by then is not worth a line
EVERY_S = 3.0  # between two lines about one step

Cancel = Callable[[], None]


def _later(delay_s: float, work: Callable[[], None]) -> Cancel:
    timer = threading.Timer(delay_s, work)
    timer.daemon = True
    timer.start()
    return timer.cancel


def _print(line: str) -> None:
    click.echo(line, err=True)


class TerminalProgress:
    """A `Report` for people: a line for each step that lasts longer than a second, and one every few seconds after that.

    Standard output is not used. `later` and `clock` are the timers; tests give their own.
    """

    def __init__(
        self,
        print_line: Callable[[str], None] = _print,
        *,
        later: Callable[[float, Callable[[], None]], Cancel] = _later,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._print = print_line
        self._later = later
        self._clock = clock
        self._lock = threading.RLock()
        self._step: Step | None = None
        self._printed_s: float | None = None
        self._cancel: Cancel | None = None

    def __call__(self, step: Step | None) -> None:
        """A step begins or gets on; None: it is over."""
        with self._lock:
            fresh = step is None or self._step is None or step.what != self._step.what
            self._step = step
            if fresh:
                self._restart()
            elif self._printed_s is not None and self._clock() - self._printed_s >= EVERY_S:
                self._report()

    def _restart(self) -> None:
        """Start the timer of a new step: it is not reported before it has lasted for a while."""
        if self._cancel is not None:
            self._cancel()
        self._printed_s = None
        self._cancel = None if self._step is None else self._later(PATIENCE_S, self._report)

    def _report(self) -> None:
        with self._lock:
            if self._step is not None:
                self._printed_s = self._clock()
                self._print(str(self._step))
