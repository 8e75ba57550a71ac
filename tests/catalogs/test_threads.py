"""Several threads at once: nothing is lost, nothing is counted twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

from core.app import App
from core.domain.outcome import OutcomeKind
from tests.world import Scripted, call, figures, open_test_app

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
        ids = [id_ for made in threads.map(work, range(THREADS)) for id_ in made]
    app.store.events.flush()
    activity = app.store.activity
    assert set(activity.decisions(limit=1000)["id"]) == set(ids)
    outcomes = list(app.store.events.outcomes("world"))
    assert sorted(outcome.decision_id for outcome in outcomes) == sorted(ids)
    taught = sum(OutcomeKind(outcome.kind).counts for outcome in outcomes)
    assert app.catalogs.statistics("world").version == taught
    before = figures(app)
    app.close()
    with open_test_app(path) as again:
        assert figures(again) == before


def test_each_report_follows_the_one_before_it(app: App, calls_of) -> None:
    calls = calls_of(Scripted())
    with ThreadPoolExecutor(THREADS) as threads:
        reports = list(threads.map(lambda _: calls.run(call("echo")), range(THREADS * ROUNDS)))
    reports.sort(key=lambda report: report.server_after.calls)
    assert [report.server_after.calls for report in reports] == list(range(1, THREADS * ROUNDS + 1))
    assert all(one.server_after == two.server_before for one, two in pairwise(reports))
