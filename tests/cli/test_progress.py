"""What the terminal is told of a long start, with timers that the test winds on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from core.cli.output import EVERY_S, PATIENCE_S, TerminalProgress
from core.domain.progress import Step, reported


class Timers:
    """A clock and timers that move when they are told to."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.due: dict[int, tuple[float, Callable[[], None]]] = {}
        self.made = 0

    def clock(self) -> float:
        return self.now_s

    def later(self, delay_s: float, work: Callable[[], None]) -> Callable[[], None]:
        self.made += 1
        number = self.made
        self.due[number] = (self.now_s + delay_s, work)
        return lambda: self.due.pop(number, None) and None

    def pass_s(self, seconds: float) -> None:
        self.now_s += seconds
        for number in [n for n, (due_s, _) in self.due.items() if due_s <= self.now_s]:
            self.due.pop(number)[1]()


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def timers() -> Timers:
    return Timers()


@pytest.fixture
def progress(timers: Timers, lines: list[str]) -> TerminalProgress:
    return TerminalProgress(lines.append, later=timers.later, clock=timers.clock)


def test_a_quick_step_is_not_reported(progress: TerminalProgress, timers: Timers, lines: list[str]) -> None:
    with suppress(OSError), reported(progress, Step("Exporting")):
        timers.pass_s(PATIENCE_S / 2)
        raise OSError("full")
    timers.pass_s(10)
    assert lines == []


def test_a_long_step_says_what_it_does_and_what_comes_next(
    progress: TerminalProgress, timers: Timers, lines: list[str]
) -> None:
    with reported(progress, Step("Exporting the encoder", after="embedding the catalog")):
        timers.pass_s(PATIENCE_S)
        assert lines == ["Exporting the encoder. Next: embedding the catalog."]
        timers.pass_s(60)
    assert len(lines) == 1


def test_how_far_a_step_is_is_reported_now_and_then(
    progress: TerminalProgress, timers: Timers, lines: list[str]
) -> None:
    for done in range(0, 1000, 10):
        progress(Step("Embedding texts", done, 1000))
        timers.pass_s(0.1)
    progress(None)
    assert lines[0].startswith("Embedding texts: ")
    assert lines[0].endswith(" of 1,000.")
    assert 2 <= len(lines) <= 2 + 10 / EVERY_S


def test_each_step_has_its_own_patience(progress: TerminalProgress, timers: Timers, lines: list[str]) -> None:
    progress(Step("One"))
    timers.pass_s(PATIENCE_S * 0.9)
    progress(Step("Two"))
    timers.pass_s(PATIENCE_S * 0.9)
    progress(None)
    timers.pass_s(10)
    assert lines == []
