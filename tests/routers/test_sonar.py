"""SONAR: PRAG's retrieval, and the network in the score."""

import math
from dataclasses import replace

import numpy as np
import pytest

from core.domain.catalog import Server
from core.domain.errors import ParameterError
from core.network.traces import CallHistory
from core.routers.sonar import MODES, Prag, Sonar
from tests.routers import scripted, worlds

Prag, Sonar = map(scripted.published, (Prag, Sonar))

SERVERS, TOOLS = ("bm25", "servers"), ("bm25", "tools")


class Network:
    """A constant latency by server, in ms."""

    def __init__(self, *ms):
        self.ms = ms

    def recent_s(self, window):
        return np.repeat(np.array(self.ms, dtype=float)[:, None] / 1e3, window, axis=1)


@pytest.fixture
def context():
    """a::t fits best, then b::t, then c::t; C is 0.665, 0.245, 0.090."""
    catalog = worlds.catalog(*(Server(name, tools=(worlds.tool("t"),)) for name in "abc"))
    return scripted.context(
        catalog, {SERVERS: {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, TOOLS: {"q": {"a::t": 3.0, "b::t": 2.0, "c::t": 1.0}}}
    )


def winner(context, *ms, **settings):
    decision = Sonar().route("q", replace(context, network=Network(*ms)), Sonar.parameters(**settings))
    return decision.winner.tool


def test_the_score_is_a_c_plus_b_n(context) -> None:
    decision = Sonar().route("q", replace(context, network=Network(20, 450, 1000)), Sonar.parameters(a=0.6))
    total = sum(math.exp(x) for x in (1, 2, 3))
    slow = (1 - 0.25 * 400 / 950) / 3
    expected = [
        0.6 * math.exp(3) / total + 0.4,
        0.6 * math.exp(2) / total + 0.4 * slow,
        0.6 * math.exp(1) / total - 0.4,
    ]
    assert decision.tools.utility.tolist() == pytest.approx(expected)
    assert decision.score == "weighted score of expertise and network"
    rows = [(row["server"], row["network_score"], row["expertise"]) for row in decision.to_json()["servers"]]
    assert rows == [
        (name, pytest.approx(n), pytest.approx(math.exp(bm25) / total))
        for name, n, bm25 in (("a", 1, 3), ("b", slow, 2), ("c", -1, 1))
    ]


def test_a_server_that_is_down_is_left_and_comes_back(context) -> None:
    assert winner(context, 20, 20, 20) == "a::t"
    assert winner(context, 1000, 20, 20) == "b::t"
    assert winner(context, 1000, 1000, 20) == "c::t"
    assert winner(context, 1000, 1000, 1000) == "a::t"  # if all are down only expertise counts


def test_the_three_modes_weigh_quality_against_latency(context) -> None:
    assert {mode: winner(context, 400, 20, 20, mode=mode) for mode in MODES} == {
        "quality": "a::t",
        "balanced": "b::t",
        "latency": "b::t",
    }
    assert MODES["quality"] > 0.5 == MODES["balanced"] > MODES["latency"]
    assert winner(context, 120, 20, 20, mode="balanced") == "a::t"
    assert winner(context, 120, 20, 20, mode="latency") == "b::t"


def test_a_weight_comes_before_the_mode_and_0_is_a_weight(context) -> None:
    assert winner(context, 900, 900, 20, mode="quality", a=0.0) == "c::t"
    assert winner(context, 1000, 20, 20, mode="latency", a=1.0) == "a::t"
    with pytest.raises(ParameterError, match=r"a = 1\.1"):
        Sonar.parameters(a=1.1)


def test_a_server_without_history_is_neutral_among_others(context) -> None:
    calls = CallHistory(("a", "b", "c"), lambda: [("a", 1.0)])
    decision = Sonar().route("q", replace(context, network=calls))
    assert decision.winner.tool == "b::t"
    assert "2 of 3 tools" in next(stage.note for stage in decision.stages if stage.name == "network")
    complete = Sonar().route("q", replace(context, network=Network(20, 20, 20)))
    assert "No latency" not in next(stage.note for stage in complete.stages if stage.name == "network")
