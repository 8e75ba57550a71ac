"""The Network page in live mode: nothing is called unasked, and what was measured is told as that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from core.console import Console
from core.domain.scenario_run import LIVE, SIMULATED
from core.embedding.cached import CachedEncoder, EncoderSource
from core.lab.scenario_measures import ScenarioRun
from core.store import Store
from dashboard import session
from dashboard.charts.network_live import Made, calls_so_far
from dashboard.widgets.network_cards import latency, outcome
from dashboard.widgets.network_job import JOB
from tests.embedding.toys import Letters

LINK = {"routers": "prag,sonar", "profile": "ideal", "mode": "live", "calls": "10"}
HOSTILE = "<img src=x onerror=alert(1)> <b>"


def script() -> None:
    from dashboard.views.network import page

    page()


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> Iterator[Console]:
    store = Store(None)
    with Console(store, CachedEncoder(EncoderSource.of(Letters()), store.vectors), seed=1) as opened:
        monkeypatch.setattr(session, "_console", opened)
        yield opened


def said(app: AppTest) -> str:
    kinds = (app.markdown, app.caption, app.info, app.warning, app.error)
    found = "\n".join(str(element.value) for kind in kinds for element in kind)
    return found.replace("\\", "").replace("\u2060", "")


def press(app: AppTest, key: str) -> AppTest:
    app.button(key=f"network:{key}").click().run()
    assert not app.exception, app.exception[0].value
    return app


def test_opening_a_link_calls_nothing_and_a_press_makes_the_calls(console: Console) -> None:
    app = AppTest.from_function(script, default_timeout=120)
    app.query_params.update(LINK)
    app.run()
    assert not app.exception
    assert "Up to 20 calls" in said(app)
    assert JOB not in app.session_state
    press(app, "make")
    console.store.events.flush()
    calls = console.store.activity.calls()
    assert (len(calls), set(calls["origin"]), set(calls["simulated"])) == (20, {"scenario"}, {True})
    assert all(calls["injected"])
    text = said(app)
    assert "live, network injected" in text
    assert "network injected: " in text  # the badge on both cards
    assert "AL and FR are measured" in text
    assert (app.query_params["mode"], app.query_params["calls"]) == ("live", "10")
    assert "steps" not in app.query_params
    prag, sonar = app.session_state[JOB].future.result().runs
    assert {prag.mode, sonar.mode} == {"live"}
    assert text.count("measured latency") == 2
    again = len(console.store.activity.calls())
    app.run()
    assert len(console.store.activity.calls()) == again  # told again, not called again


def test_a_call_without_an_answer_has_no_latency_of_its_own() -> None:
    called = np.zeros(2, dtype=np.int64)
    run = ScenarioRun(
        "prag", "s3t6", {}, 1, 1, 0, 0, 0.5, 0, None, at=called, task=called, server=called, tool=called,
        network_s=np.array([0.161, 1.0]), price_usd=np.zeros(2), ok=np.array([True, False]), mode=LIVE,
        injected=("delayed by 160 ms", "connection dropped"),
    )  # fmt: skip
    assert [latency(run, at) for at in (0, 1)] == ["measured latency **161 ms**", "counts as **1 s**"]
    assert "no answer" in outcome(run, 1)
    assert latency(replace(run, mode=SIMULATED), 1) == "network latency **1 s**"


def test_calls_so_far_are_marks_at_what_was_measured() -> None:
    made = [
        Made(0, 0, "a", 1.0, ok=False, injected="connection dropped"),
        Made(1, 0, HOSTILE, 0.161, ok=True, injected="delayed by 160 ms"),
    ]
    figure = calls_so_far(made, ("PRAG", HOSTILE), 10)
    assert isinstance(figure, go.Figure)
    one, other = figure.data
    assert (list(one.y), list(one.marker.symbol)) == ([1000.0], ["x"])
    assert list(other.y) == [161.0]
    assert "delayed by 160 ms" in other.hovertext[0]
    assert "<img" not in figure.to_json()
    assert calls_so_far([], ("PRAG", "SONAR"), 10).data[0].x == ()
