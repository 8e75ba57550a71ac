"""The Network page in live mode: nothing is called unasked, and what was measured is told as that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from core.app import App
from core.domain.lab_runs import LIVE, SIMULATED
from core.lab.scenarios.measures import ScenarioRun
from dashboard.pages.network.charts.runs import LiveCall, calls_so_far
from dashboard.pages.network.job import JOB, LIVE_RUN
from dashboard.pages.network.tables import latency_text, outcome_text
from tests.dashboard.harness import app_with, open_page, press, text_of

LINK = {"routers": "prag,sonar", "profile": "ideal", "mode": "live", "calls": "10"}
HOSTILE = "<img src=x onerror=alert(1)> <b>"


app = app_with()


def test_opening_a_link_calls_nothing_and_a_press_makes_the_calls(app: App) -> None:
    page = open_page("network", **LINK)
    assert "Up to 20 calls" in text_of(page)
    assert JOB not in page.session_state
    press(page, "network:make")
    app.store.events.flush()
    calls = app.store.activity.calls()
    assert (len(calls), set(calls["origin"]), set(calls["simulated"])) == (20, {"scenario"}, {True})
    assert all(calls["injected"])
    text = text_of(page)
    assert "live, network injected" in text
    assert "network injected: " in text  # the badge on both cards
    assert "latency and outages are measured" in text
    assert (page.query_params["mode"], page.query_params["calls"]) == ("live", "10")
    assert "steps" not in page.query_params
    prag, sonar = page.session_state[JOB].future.result().runs
    assert {prag.mode, sonar.mode} == {"live"}
    assert text.count("measured latency") == 2
    again = len(app.store.activity.calls())
    page.run()
    assert len(app.store.activity.calls()) == again  # shown again, not called again


def test_a_call_without_an_answer_has_no_latency_of_its_own() -> None:
    called = np.zeros(2, dtype=np.int64)
    run = ScenarioRun(
        "prag", "s3t6", {}, 1, 1, 0, 0, 0.5, 0, None, at=called, task=called, server=called, tool=called,
        network_s=np.array([0.161, 1.0]), price_usd=np.zeros(2), ok=np.array([True, False]), mode=LIVE,
        injected=("delayed by 160 ms", "connection dropped"),
    )  # fmt: skip
    assert [latency_text(run, at) for at in (0, 1)] == ["measured latency **161 ms**", "counts as **1 s**"]
    assert "no answer" in outcome_text(run, 1)
    assert latency_text(replace(run, mode=SIMULATED), 1) == "network latency **1 s**"


def test_calls_so_far_are_marks_at_what_was_measured() -> None:
    made = [
        LiveCall(0, 0, "a", 1.0, ok=False, injected="connection dropped"),
        LiveCall(1, 0, HOSTILE, 0.161, ok=True, injected="delayed by 160 ms"),
    ]
    figure = calls_so_far(made, ("PRAG", HOSTILE), 10)
    assert isinstance(figure, go.Figure)
    one, other = figure.data
    assert (list(one.y), list(one.marker.symbol)) == ([1000.0], ["x"])
    assert list(other.y) == [161.0]
    assert "delayed by 160 ms" in other.hovertext[0]
    assert "<img" not in figure.to_json()
    assert calls_so_far([], ("PRAG", "SONAR"), 10).data[0].x == ()


def test_a_live_run_is_found_after_a_reload_and_no_other_begins_beside_it(app: App) -> None:
    page = open_page("network", **LINK)
    press(page, "network:make")
    made = page.session_state[JOB]
    reloaded = open_page("network", **LINK)
    assert reloaded.session_state[JOB] is made  # another visit, the same result
    assert "20 calls were made" in text_of(reloaded)

    going = app.background.start(LIVE_RUN, lambda run: run.stop.wait(20), replace(made.about, seed=7))
    for mode in ("live", "simulated"):
        page = open_page("network", **{**LINK, "seed": "3", "mode": mode, "steps": "10"})
        assert "A live run is under way" in text_of(page)
        assert "network:make" not in [button.key for button in page.button]
    press(page, "network:other:stop")
    going.future.result(20)
    page = open_page("network", **LINK)
    assert "under way" not in text_of(page)
    press(page, "network:make")  # again
    assert app.background.of(LIVE_RUN, made.about) not in {None, made}
