"""Work in the background: one of a kind at a time, found by what it is about, stopped when the app closes."""

from __future__ import annotations

import threading

import pytest

from core.services.lab.background_runs import KEPT, BackgroundRun, BackgroundRuns

LIMIT_S = 20


def until_stopped(run: BackgroundRun) -> str:
    """Work that goes on until it is told to stop."""
    run.report(1, 2)
    assert run.stop.wait(LIMIT_S)
    return f"{run.about} stopped at {run.done}"


def test_one_of_a_kind_is_under_way_and_another_start_gives_that_one() -> None:
    runs = BackgroundRuns()
    begun: list[BackgroundRun] = []
    together = threading.Barrier(4)

    def begin(about: str) -> None:
        together.wait(LIMIT_S)
        begun.append(runs.begin("calls", about, until_stopped))

    threads = [threading.Thread(target=begin, args=(f"visitor {number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    assert len({id(run) for run in begun}) == 1
    assert runs.under_way("calls") is begun[0]
    assert runs.under_way("sweeps") is None
    other = runs.begin("sweeps", "another kind", until_stopped)
    runs.forget(other)  # under way: it stays
    assert runs.of("sweeps", "another kind") is other
    runs.close(LIMIT_S)
    assert begun[0].future.result(LIMIT_S) == f"{begun[0].about} stopped at (1, 2)"
    assert runs.under_way("calls") is None
    assert not other.under_way


def test_the_newest_run_about_something_is_found_until_it_is_forgotten() -> None:
    runs = BackgroundRuns()
    for number in range(KEPT + 2):
        for about in (number, "always"):
            runs.begin("calls", about, lambda _, number=number: number).future.result(LIMIT_S)
    found = runs.of("calls", "always")
    assert found is not None
    assert found.future.result() == KEPT + 1
    assert runs.of("calls", 0) is None  # so many are not kept
    failed = runs.begin("calls", "failed", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        failed.future.result(LIMIT_S)
    assert runs.of("calls", "failed") is failed
    runs.forget(failed)
    assert runs.of("calls", "failed") is None
