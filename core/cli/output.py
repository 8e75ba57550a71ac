"""The output of commands: documents, tables and sentences on standard output, progress on standard error."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from core.domain.progress import Step
from core.domain.untrusted_text import one_line


def wants_json() -> bool:
    """Whether the command under way has --json."""
    return click.get_current_context().meta["as_json"]


def document(made: Any) -> None:
    """Prints one JSON document on standard output. Characters that the output encoding lacks are escaped.

    A number that is not finite is a defect and fails loudly.
    """
    text = json.dumps(made, indent=2, allow_nan=False, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(made, indent=2, allow_nan=False)
    click.echo(text)


def table(columns: Sequence[str] | Mapping[str, str], rows: Sequence[Sequence[object]]) -> None:
    """Prints aligned columns; the last column is not padded. A mapping has the format of each column's numbers; a missing number is –."""
    formats = [*columns.values()] if isinstance(columns, Mapping) else [""] * len(columns)
    cells = [[*columns], *([*map(_cell, row, formats)] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        click.echo("  ".join(map(str.ljust, row, widths)).rstrip())


def _cell(value: object, number_format: str) -> str:
    return printable(value) if isinstance(value, str) else "–" if value is None else format(value, number_format)


def part(columns: Sequence[str] | Mapping[str, str], rows: Sequence[Sequence[object]]) -> None:
    """Prints a further table after an empty line, if it has rows."""
    if rows:
        click.echo()
        table(columns, rows)


def printable(text: str, limit: int = 100) -> str:
    """Returns a foreign text for a table or a sentence in the terminal: one line, no invisible characters, bounded
    length. The end of a longer text stays, because it may be the reason.

    >>> printable("a\\x1b[31mred\\nline"), printable("The name abcdefghijklmnop is too long", 24)
    ('a⟨U+001B⟩[31mred line', 'The name abcdef…too long')
    """
    line = one_line(text)
    return line if len(line) <= limit else f"{line[: limit - limit // 3 - 1]}…{line[-(limit // 3) :]}"


def result(made: Callable[[], Any], show: Callable[[], object]) -> None:
    """Prints the result of a command as the JSON document that `made` returns, or as `show` prints it for people."""
    if wants_json():
        document(made())
    else:
        show()


def outcome(made: dict[str, Any], sentence: str) -> None:
    """Prints the result of a command as one JSON document, or as one sentence."""
    result(lambda: made, lambda: click.echo(sentence))


def listing(made: dict[str, Any], columns: Sequence[str], rows: Sequence[Sequence[object]], *, none: str) -> None:
    """Prints a list as one JSON document or as a table; `none` is printed for a table without rows."""
    result(lambda: made, lambda: table(columns, rows) if rows else click.echo(none))


# Progress of long work on standard error: the step, its share done, and the next step.

PATIENCE_S = 1.0  # a shorter step gets no line
EVERY_S = 3.0  # time between two lines about one step

Cancel = Callable[[], None]


def _later(delay_s: float, work: Callable[[], None]) -> Cancel:
    timer = threading.Timer(delay_s, work)
    timer.daemon = True
    timer.start()
    return timer.cancel


def _print(line: str) -> None:
    click.echo(line, err=True)


@dataclass
class TerminalProgress:
    """A `Report` for people: a line for each step that lasts longer than a second, and another line every few seconds.

    It writes to standard error. `later` and `clock` are the timers; tests give their own.
    """

    print_line: Callable[[str], None] = _print
    later: Callable[[float, Callable[[], None]], Cancel] = _later
    clock: Callable[[], float] = time.monotonic
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _step: Step | None = None
    _printed_s: float | None = None
    _cancel: Cancel | None = None

    def __call__(self, step: Step | None) -> None:
        """Records that a step begins or advances. None ends it."""
        with self._lock:
            fresh = step is None or self._step is None or step.what != self._step.what
            self._step = step
            if fresh:
                self._restart()
            elif self._printed_s is not None and self.clock() - self._printed_s >= EVERY_S:
                self._report()

    def _restart(self) -> None:
        """Starts the timer of a new step, so that a short step is not reported."""
        if self._cancel is not None:
            self._cancel()
        self._printed_s = None
        self._cancel = None if self._step is None else self.later(PATIENCE_S, self._report)

    def _report(self) -> None:
        with self._lock:
            if self._step is not None:
                self._printed_s = self.clock()
                self.print_line(str(self._step))
