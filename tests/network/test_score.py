"""N against the formula of the spec in plain loops, and its properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.network.traces import Weights, network_score

latencies = st.lists(st.floats(1.0, 3000.0), min_size=1, max_size=12)


def by_hand(ms: list[float], w: Weights) -> float:
    """The equations of the spec, section 3, one server."""
    if ms[-1] >= 1000:
        return -1.0
    level = ms[0]
    for x in ms[1:]:
        level = w.ewma * x + (1 - w.ewma) * level
    mean = sum(ms) / len(ms)
    k = [n - (len(ms) - 1) / 2 for n in range(len(ms))]
    squares = sum(x * x for x in k)
    slope = sum(a * (b - mean) for a, b in zip(k, ms, strict=True)) / squares if squares else 0.0
    std = (sum((x - mean) ** 2 for x in ms) / len(ms)) ** 0.5
    clip = lambda x: min(1.0, max(0.0, x))  # noqa: E731
    penalty = w.high * clip((level - 50) / 950) + w.trend * clip(slope * len(ms) / max(mean, 50))
    penalty += w.outage * sum(x >= 1000 for x in ms) / len(ms) + w.unstable * clip(std / mean)
    return 1 / (1 + max(0, level - 50) / 200) * max(0, 1 - penalty)


@given(st.lists(latencies, min_size=1, max_size=5), st.integers(12, 15))
def test_servers_with_less_history_are_scored_by_what_there_is(rows, window) -> None:
    recent = np.full((len(rows), window), np.nan)
    for row, ms in enumerate(rows):
        recent[row, window - len(ms) :] = np.array(ms) / 1e3
    weights = Weights(ewma=0.5, high=0.4, trend=0.3, outage=0.2, unstable=0.1)
    assert network_score(recent, weights) == pytest.approx([by_hand(ms, weights) for ms in rows], abs=1e-9)


def test_without_history_the_score_is_neutral() -> None:
    nothing = np.full((2, 4), np.nan)
    assert network_score(nothing).tolist() == [0.5, 0.5]
    assert network_score(nothing, neutral=0.2).tolist() == [0.2, 0.2]
    assert network_score(np.empty((0, 4))).shape == (0,)
