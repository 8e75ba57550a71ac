"""Charts of the Activity page: what titles, axes and hovers say, real and simulated apart, strangers' names as text."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import pytest

from dashboard.pages.activity.charts import (
    SHOWN,
    latency_history,
    latency_over_time,
    spending_by_server,
    spending_over_time,
    success_history,
    success_over_time,
)
from dashboard.ui.charts.base import BUCKETS_S, MOST_BUCKETS, bucket_for
from tests.cases import each
from tests.dashboard import chart_texts

T0 = pd.Timestamp(datetime(2026, 3, 1, 12, tzinfo=UTC))
HOUR = timedelta(hours=1)
ZONE = "Europe/Berlin"
HOSTILE = "<b>evil</b>"


def spending(*rows: tuple[str, bool, float | None, int, int]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["server", "simulated", "spent_usd", "calls", "unpriced_calls"])


def over_time(**columns: list[Any]) -> pd.DataFrame:
    count = len(next(iter(columns.values())))
    return pd.DataFrame({"at": [T0 + HOUR * n for n in range(count)], **columns})


def trends() -> pd.DataFrame:
    return over_time(
        simulated=[False, False, True],
        calls=[4, 2, 3],
        success_share=[0.75, 1.0, 1 / 3],
        latency_p50_s=[0.01, 0.02, 0.5],
        latency_p95_s=[10.0, 0.03, None],
    )


def history() -> pd.DataFrame:
    return over_time(
        tool_success=[0.9, 0.8, 0.8, 0.7],
        server_success=[0.95, 0.9, 0.9, 0.85],
        tool_latency_s=[0.5, 0.4, 0.4, 0.3],
        server_call_s=[1.0, 0.9, 0.9, 0.8],
        tool_calls=[1, 2, 2, 3],
        server_calls=[5, 6, 6, 7],
    )


def hovers(figure: go.Figure) -> str:
    return "\n".join(text for trace in figure.data for text in trace.hovertext or ())


@each("seconds", [0, 1, 59, 3600, 5 * 86_400, 400 * 86_400])
def test_a_bucket_cuts_the_span_into_few_pieces_and_is_the_shortest_that_does(seconds: int) -> None:
    bucket_s = bucket_for(timedelta(seconds=seconds)).total_seconds()
    assert seconds <= bucket_s * MOST_BUCKETS
    shorter = [s for s in BUCKETS_S if s < bucket_s]
    assert all(seconds > s * MOST_BUCKETS for s in shorter)


def test_spending_by_server_tells_real_from_simulated_and_says_what_is_unpriced() -> None:
    figure = spending_by_server(
        spending(("files", False, 0.002, 4, 1), ("files", True, 0.5, 9, 0), (HOSTILE, False, None, 3, 3))
    )
    assert figure.layout.title.text == "Spent by server"
    assert figure.layout.xaxis.title.text == "m$ spent"
    real, simulated, notes = figure.data
    assert (real.name, list(real.x), simulated.name, list(simulated.x)) == ("real", [2.0, 0.0], "simulated", [500.0])
    assert simulated.marker.pattern.shape == "/"
    assert real.marker.pattern.shape is None
    assert list(notes.text) == ["&lt;b&gt;evil&lt;/b&gt; · 3 of 3 calls unpriced", "files · 1 of 13 calls unpriced"]
    assert "no priced call" in hovers(figure)
    assert HOSTILE not in figure.to_json()


def test_spending_by_server_shows_the_dearest_by_real_money_and_says_how_many_there_are() -> None:
    rows = [(f"s{n}", False, n / 1000, 1, 0) for n in range(SHOWN + 3)]
    figure = spending_by_server(spending(*rows, ("dream", True, 99.0, 1, 0)))
    assert figure.layout.title.text == f"Spent by server: the {SHOWN} dearest of {SHOWN + 4}"
    assert figure.data[-1].text[-1] == f"s{SHOWN + 2}"
    assert "dream" not in figure.to_json()


def test_latency_over_time_has_both_quantiles_of_both_kinds_and_leaves_out_what_is_not_known() -> None:
    figure = latency_over_time(trends(), HOUR, ZONE, of="all calls")
    assert figure.layout.title.text == "Latency of all calls, p50 and p95, each hour"
    assert figure.layout.yaxis.title.text == "latency (logarithmic)"
    assert [trace.name for trace in figure.data] == ["p50 real", "p95 real", "p50 simulated", "p95 simulated"]
    assert [list(trace.y) for trace in figure.data] == [[0.01, 0.02], [10.0, 0.03], [0.5], []]
    assert "p95 real: 10 s<br>4 calls" in hovers(figure)


def test_the_history_of_statistics_leaves_out_calls_that_taught_nothing() -> None:
    success = success_history(history(), ZONE, tool=HOSTILE)
    assert success.layout.title.text == "Learnt success r of &lt;b&gt;evil&lt;/b&gt;, call by call"
    assert success.layout.yaxis.title.text == "r (%)"
    assert [trace.name for trace in success.data] == ["tool", "server"]
    assert list(success.data[0].y) == [90.0, 80.0, pytest.approx(70.0)]
    latency = latency_history(history(), ZONE, tool="read")
    assert latency.layout.yaxis.title.text == "running mean of call time (s)"
    assert list(latency.data[1].y) == [1.0, 0.9, 0.8]
    assert "server: 800 ms<br>after 7 of its calls" in hovers(latency)


def activity_charts() -> list[go.Figure]:
    """The charts of the Activity page over three hours, of real and simulated calls."""
    money = trends().assign(
        spent_usd=[0.1, 0.2, None], unpriced_calls=[0, 0, 3], server=["files", "files", chart_texts.HOSTILE]
    )
    return [
        spending_by_server(money),
        spending_over_time(money, HOUR, ZONE),
        success_over_time(money, HOUR, ZONE, of=chart_texts.HOSTILE),
        latency_over_time(money.iloc[:0], HOUR, ZONE, of=chart_texts.HOSTILE),
        success_history(history(), ZONE, tool=chart_texts.HOSTILE),
        latency_history(history(), ZONE, tool=chart_texts.HOSTILE),
    ]


def test_plotly_takes_them_and_names_are_text() -> None:
    for figure in activity_charts():
        document = figure.to_dict()
        assert go.Figure(**document).layout.title.text
        assert figure.layout.yaxis.title.text or figure.layout.xaxis.title.text
        assert not [text for text in chart_texts.texts(document) if "<" in re.sub("<br>", "", text)]
