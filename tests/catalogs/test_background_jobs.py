"""Background jobs: one of a key at a time, found by its input, stopped at the end; and many threads that lose and double nothing."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

from core.app import App
from core.catalogs.background_jobs import KEPT, BackgroundJobs, Job, Stopped
from core.domain.errors import WayfareError
from core.domain.outcome import OutcomeKind
from core.domain.settings import utc_now
from core.store import Store
from tests.world import Scripted, call, figures, open_test_app

LIMIT_S = 20


def until_stopped(run: Job) -> str:
    """Runs until the job is stopped."""
    run.report(1, 2)
    assert run.stop.wait(LIMIT_S)
    return f"{run.about} stopped at {run.done} of {run.of}"


def test_one_of_a_kind_is_under_way_and_another_start_gives_that_one() -> None:
    runs = BackgroundJobs(Store(), utc_now)
    begun: list[Job] = []
    together = threading.Barrier(4)

    def begin(about: str) -> None:
        together.wait(LIMIT_S)
        begun.append(runs.start("calls", until_stopped, about))

    threads = [threading.Thread(target=begin, args=(f"visitor {number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    assert len({id(run) for run in begun}) == 1
    assert runs.under_way("calls") is begun[0]
    assert runs.under_way("sweeps") is None
    other = runs.start("sweeps", until_stopped, "another kind")
    runs.forget(other)  # under way: it stays
    assert runs.of("sweeps", "another kind") is other
    runs.close(LIMIT_S)
    assert begun[0].future.result(LIMIT_S) == f"{begun[0].about} stopped at 1 of 2"
    assert runs.under_way("calls") is None
    assert not other.under_way


def test_the_newest_run_about_something_is_found_until_it_is_forgotten() -> None:
    runs = BackgroundJobs(Store(), utc_now)
    for number in range(KEPT + 2):
        for subject in (number, "always"):
            runs.start("calls", lambda _, number=number: number, subject).future.result(LIMIT_S)
    newest = runs.of("calls", "always")
    assert newest is not None
    assert newest.future.result() == KEPT + 1
    assert runs.of("calls", 0) is None  # so many are not kept
    failed = runs.start("calls", lambda _: 1 / 0, "failed")
    with pytest.raises(ZeroDivisionError):
        failed.future.result(LIMIT_S)
    assert runs.of("calls", "failed") is failed
    runs.forget(failed)
    assert runs.of("calls", "failed") is None


def test_a_job_tells_its_progress_and_stops_at_its_next_step() -> None:
    jobs, go_on = BackgroundJobs(Store(), utc_now), threading.Event()

    def steps(job: Job) -> None:
        job.report(1, 4)
        assert go_on.wait(LIMIT_S)
        job.report(2)

    job = jobs.start("steps", steps)
    assert not job.wait(0.01)
    assert (job.result, job.error) == (None, None)
    job.stop.set()
    go_on.set()
    assert job.wait(LIMIT_S)
    assert isinstance(job.error, Stopped)
    assert (job.result, job.done, job.of) == (None, 1, 4)
    assert job.left_s is not None
    assert jobs.start("steps", lambda run: run.title, title="again").future.result(LIMIT_S) == "again"


def test_all_jobs_with_a_title_are_listed_those_under_way_first() -> None:
    jobs, go_on = BackgroundJobs(Store(), utc_now), threading.Event()
    jobs.start("short", lambda _: 1, title="short", link="/lab?view=Sweep").wait(LIMIT_S)
    jobs.start("hidden", lambda _: 1).wait(LIMIT_S)
    long = jobs.start("long", lambda _: go_on.wait(LIMIT_S), title="long", of=3)
    jobs.start("last", lambda _: 2, title="last").wait(LIMIT_S)
    assert [(job.title, job.link) for job in jobs.listed()] == [
        ("long", ""),
        ("last", ""),
        ("short", "/lab?view=Sweep"),
    ]
    go_on.set()
    assert long.wait(LIMIT_S)
    long.future.result()
    assert [job.title for job in jobs.listed()] == ["last", "long", "short"]


def test_commands_are_listed_while_they_run_and_from_the_store_afterwards() -> None:
    """What a command raises passes on; the store has how it ended, also after the process."""
    store = Store()
    jobs = BackgroundJobs(store, utc_now)

    def run(title: str, error: BaseException | None) -> None:
        with jobs.command(title) as job:
            job.report(1, 2)
            assert jobs.listed_under_way == 1
            assert [(row.title, row.done) for row in jobs.listed() if row.under_way] == [(title, 1)]
            job.link = f"/lab?view={title}"
            if error is not None:
                raise error

    ends = {
        "ok": None,
        "bad": WayfareError("No tasks."),
        "defect": ValueError("x"),
        "ended": Stopped(),
        "keys": KeyboardInterrupt(),
    }
    for title, error in ends.items():
        if error is None:
            run(title, None)
        else:
            with pytest.raises(type(error)):
                run(title, error)
    other_process = BackgroundJobs(store, utc_now)  # another process
    by_title = {job.title: job for job in other_process.listed()}
    assert list(by_title) == [*reversed(ends)]
    assert by_title["ok"].error is None
    assert str(by_title["bad"].error) == "No tasks."
    assert str(by_title["defect"].error) == "ValueError"
    assert isinstance(by_title["ended"].error, Stopped)
    assert isinstance(by_title["keys"].error, Stopped)
    assert [job.link for job in by_title.values()] == [f"/lab?view={title}" for title in by_title]
    assert all(0 <= job.elapsed_s < LIMIT_S and job.ended_ago_s < LIMIT_S for job in by_title.values())
    assert jobs.listed_under_way == other_process.listed_under_way == 0


THREADS, ROUNDS = 8, 5


def test_routing_and_calling_at_once(app: App, calls_of, path: Path) -> None:
    calls = calls_of(Scripted(*(list(OutcomeKind) * THREADS * ROUNDS)))

    def work(worker: int) -> list[str]:
        ids = []
        for number in range(ROUNDS):
            decision = app.routing.route(f"echo words {worker} {number}", catalog="world")
            calls.run(call(("echo", "nap")[number % 2], decision_id=decision.id))
            if number % 5 == worker % 5:
                app.catalog_editor.set_figure("world", "files", "read", 0.001 * number)
            ids.append(decision.id)
        return ids

    with ThreadPoolExecutor(THREADS) as threads:
        ids = [id_ for batch in threads.map(work, range(THREADS)) for id_ in batch]
    app.store.events.flush()
    activity = app.store.activity
    assert set(activity.decisions(limit=1000)["id"]) == set(ids)
    outcomes = list(app.store.events.outcomes("world"))
    assert sorted(outcome.decision_id for outcome in outcomes) == sorted(ids)
    taught = sum(OutcomeKind(outcome.kind).counts for outcome in outcomes)
    assert app.catalogs.statistics("world").version == taught
    before = figures(app)
    app.close()
    with open_test_app(path) as reopened:
        assert figures(reopened) == before


def test_each_report_follows_the_one_before_it(app: App, calls_of) -> None:
    calls = calls_of(Scripted())
    with ThreadPoolExecutor(THREADS) as threads:
        reports = list(threads.map(lambda _: calls.run(call("echo")), range(THREADS * ROUNDS)))
    reports.sort(key=lambda report: report.server_after.calls)
    assert [report.server_after.calls for report in reports] == list(range(1, THREADS * ROUNDS + 1))
    assert all(earlier.server_after == later.server_before for earlier, later in pairwise(reports))
