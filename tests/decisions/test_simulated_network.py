"""Decisions, What if and calls under a simulated network: figures follow the profile, and nothing is recorded or learnt."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.app import App
from core.decisions.routing import Asked
from core.domain.outcome import CallMode, OutcomeKind, ToolCall
from core.domain.params import AS_MEASURED, NetworkMoment
from core.domain.statistics import Source
from core.lab.execution import Playing
from core.lab.lab import parts_of_name
from core.lab.lab_runs import Experiment
from core.network.profiles import Profile
from core.network.states import HighLatency, Ideal, Outage
from core.routers import ROUTERS

MINE = NetworkMoment("mine", 600.0)
CALM = (Ideal(base_ms=20, spread_ms=0),)
SLOW = (HighLatency(base_ms=400, spread_ms=0),)
DOWN = (Outage(base_ms=30, spread_ms=0, start=1.0, shortest=9999, longest=9999),)


@pytest.fixture
def app(app: App) -> App:
    """The catalog `world`, and a network in which `files` is down, `raw` is slow and all others are calm."""
    app.networks.save(Profile("mine", servers={"files": DOWN, "raw": SLOW}, default=CALM))
    return app


def asked(app: App, router: str = "ehrr", text: str = "echo words", network: NetworkMoment = MINE) -> Asked:
    return Asked(text, app.routing.parameters(router), "world", router, network=network)


def test_times_failures_and_sources_of_every_server_are_those_of_the_profile(app: App) -> None:
    measured = app.routing.figures(asked(app, network=AS_MEASURED)).statistics
    simulated = app.routing.figures(asked(app)).statistics
    names = list(app.catalogs.catalog("world").server_row)
    extra = np.array([{"files": 1.0, "raw": 0.4}.get(name, 0.02) for name in names])
    assert simulated.servers.call_s - measured.servers.call_s == pytest.approx(extra)
    assert simulated.servers.conn_s - measured.servers.conn_s == pytest.approx(extra)
    up = np.array([name != "files" for name in names])
    assert 1 - simulated.servers.post_accept_failure == pytest.approx((1 - measured.servers.post_accept_failure) * up)
    assert simulated.tools.success == pytest.approx(measured.tools.success)
    assert set(simulated.servers.failure_source) == set(simulated.tools.latency_source) == {Source.SIMULATED}


def test_every_router_decides_under_it_and_no_decision_is_recorded(app: App) -> None:
    for router in ROUTERS:
        decision = app.routing.route(
            "echo words", catalog="world", router=router, parameters=app.routing.parameters(router), network=MINE
        )
        assert decision.network == MINE, router
        assert decision.to_json()["network"] == {"name": "mine", "at_s": 600.0}
        assert "the network is mine at 600 s" in decision.reason
        if decision.economic:
            assert decision.servers.post_accept_failure[decision.servers.names.index("files")] == pytest.approx(1.0)
    app.store.events.flush()
    assert app.store.activity.decision_count() == 0


def test_what_if_answers_under_the_same_figures(app: App) -> None:
    case = app.what_if.case(asked(app))
    decision = app.routing.preview(asked(app))
    assert case is not None
    assert case.context.statistics.servers.call_s == pytest.approx(
        app.routing.figures(asked(app)).statistics.servers.call_s
    )
    strip = app.what_if.strips(asked(app))["alpha_t"]
    winner = decision.winner
    assert strip.at(decision.parameters["alpha_t"]).winner == (None if winner is None else winner.tool)


def test_a_network_that_is_saved_anew_changes_the_decision_and_what_if(app: App) -> None:
    def winners() -> tuple[str | None, str | None]:
        decision, strip = app.routing.preview(asked(app)), app.what_if.strips(asked(app))["alpha_t"]
        winner = None if decision.winner is None else decision.winner.tool
        return winner, strip.at(decision.parameters["alpha_t"]).winner

    assert winners() == ("raw::echo", "raw::echo")
    app.networks.save(Profile("mine", servers={"raw": DOWN}, default=CALM))
    assert winners() == (None, None)


def test_sonar_sees_the_servers_down(app: App) -> None:
    decision = app.routing.preview(asked(app, "sonar", "read a file"))
    calm = app.routing.preview(replace(asked(app, "sonar", "read a file"), network=NetworkMoment("ideal")))
    row = calm.tools.ids.index("files::read")
    assert decision.tools.utility[row] < calm.tools.utility[row] - 0.4  # N falls from 1 to -1, weighed 0.5


def test_a_drawn_call_meets_the_network_and_teaches_nothing(app: App) -> None:
    before = app.catalogs.statistics("world").version

    def made(server: str, tool: str) -> tuple[OutcomeKind, float, str]:
        call = ToolCall(server, tool, {}, catalog="world", network=MINE)
        outcome = app.calls.run(call, mode=CallMode.DRAWN).outcome
        return outcome.kind, outcome.latency_s, outcome.injected

    kind, latency_s, injected = made("files", "read")
    assert (kind, latency_s) == (OutcomeKind.TIMEOUT, 1.0)
    assert injected in {"no answer", "connection dropped"}
    assert made("raw", "echo")[1:] == (pytest.approx(0.9), "delayed by 400 ms")
    assert app.catalogs.statistics("world").version == before


def test_a_real_call_meets_the_network_and_teaches_nothing(app: App) -> None:
    before = app.catalogs.statistics("world").version
    report = app.calls.run(ToolCall("raw", "echo", {}, catalog="world", network=MINE))
    assert report.outcome.kind is OutcomeKind.OK
    assert 0.4 <= report.outcome.latency_s < 5
    assert report.outcome.injected == "delayed by 400 ms"
    outcome = app.calls.run(ToolCall("raw", "echo", {}, catalog="world")).outcome
    assert (outcome.kind, outcome.injected) == (OutcomeKind.OK, "")
    assert app.catalogs.statistics("world").version == before + 1


def test_labelled_tasks_are_measured_under_it(app: App) -> None:
    name = app.lab_runs.open(app.lab.under_network("world", MINE))
    assert name == "world under mine at 600 s"
    for moment in (NetworkMoment("mine", at_s) for at_s in (1e-5, 12_349.98)):
        assert parts_of_name(app.lab.under_network("world", moment)) == ("world", False, moment)
    tasks = app.lab.parse_tasks(b'{"id": "1", "subtask": "read a file", "relevant": ["files::read"]}\n', source="t")
    parameters = app.routing.parameters("rag_mcp")
    under, plain = (
        app.measuring.measure(
            Experiment(tasks, source="t", catalog=catalog, router="rag_mcp", parameters=parameters, playing=Playing(3)),
            resumable=False,
        ).played
        for catalog in (name, "world")
    )
    assert under.success_rate.mean < 0.05
    assert plain.success_rate.mean > 0.5
