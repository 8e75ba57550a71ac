"""Several threads at once: nothing is lost, nothing is counted twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

from core.console import Console
from core.domain.outcome import OutcomeKind
from tests.console.world import Scripted, call, figures, opened

THREADS, ROUNDS = 8, 12


def test_routing_and_calling_at_once(console: Console, calls_of, path: Path) -> None:
    calls = calls_of(Scripted(*(list(OutcomeKind) * THREADS * ROUNDS)))

    def work(worker: int) -> list[str]:
        ids = []
        for number in range(ROUNDS):
            decision = console.route(f"echo words {worker} {number}", catalog="world")
            calls.run(call(("echo", "nap")[number % 2], decision_id=decision.id))
            if number % 5 == worker % 5:
                console.desk.set_figure("world", "files", "read", 0.001 * number)
            ids.append(decision.id)
        return ids

    with ThreadPoolExecutor(THREADS) as threads:
        ids = [id_ for made in threads.map(work, range(THREADS)) for id_ in made]
    console.store.events.flush()
    activity = console.store.activity
    assert set(activity.decisions(limit=1000)["id"]) == set(ids)
    outcomes = list(console.store.events.outcomes("world"))
    assert sorted(outcome.decision_id for outcome in outcomes) == sorted(ids)
    taught = sum(outcome.kind != "cancelled" for outcome in outcomes)
    assert console.statistics("world").version == taught
    before = figures(console)
    console.close()
    with opened(path) as again:
        assert figures(again) == before


def test_each_report_follows_the_one_before_it(console: Console, calls_of) -> None:
    calls = calls_of(Scripted())
    with ThreadPoolExecutor(THREADS) as threads:
        reports = list(threads.map(lambda _: calls.run(call("echo")), range(THREADS * ROUNDS)))
    reports.sort(key=lambda report: report.server_after.calls)
    assert [report.server_after.calls for report in reports] == list(range(1, THREADS * ROUNDS + 1))
    assert all(one.server_after == two.server_before for one, two in pairwise(reports))


def test_real_calls_of_several_threads(console: Console) -> None:
    def work(number: int) -> OutcomeKind:
        decision = console.route("echo words", catalog="world")
        return console.call(call("echo", arguments={"n": number}, decision_id=decision.id)).outcome.kind

    with ThreadPoolExecutor(THREADS) as threads:
        assert set(threads.map(work, range(24))) == {OutcomeKind.OK}
    assert console.statistics("world").servers.calls[0] == 24
