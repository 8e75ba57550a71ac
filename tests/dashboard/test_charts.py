"""Every chart of a decision: valid for Plotly, labelled with units, equal to the equations, and free of strangers' markup."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

import dashboard.pages.compare.charts
import dashboard.pages.route.charts
import dashboard.ui.charts
from core.domain.catalog import Server
from core.domain.decision import Decision
from core.domain.plan import Plan
from core.lab import curves
from core.lab.comparison import agreement
from core.lab.token_meter import Counted, utilisation_lines
from core.routers.ehrr import Ehrr
from core.routers.ehrr_parameters import EhrrParameters
from core.routers.presets import applied
from dashboard.pages.activity.charts.spending import spending_by_server, spending_over_time
from dashboard.pages.activity.charts.statistics import latency_history, success_history
from dashboard.pages.activity.charts.trends import latency_over_time, success_over_time
from dashboard.pages.compare.charts.agreement import agreement_map
from dashboard.pages.route.charts.auction import auction
from dashboard.pages.route.charts.plan_steps import plan_steps
from dashboard.pages.route.charts.posted_price import posted_price
from dashboard.pages.route.charts.server_ranking import server_ranking
from dashboard.pages.route.charts.tool_breakdown import tool_breakdown
from dashboard.pages.route.charts.tool_scores import tool_scores
from dashboard.pages.route.charts.utility_lines import utility_lines
from dashboard.pages.route.winning_interval import winning_interval
from dashboard.ui.charts.stages import stages
from dashboard.ui.charts.token_utilisation import token_utilisation
from tests.routers import worlds

HOSTILE = "<img src=x onerror=alert(1)> %{y} <b>&amp;</b> $a$\n\x00"
OUR_TAGS = re.compile(r'<br>|<b>-?\d+\.\d{3}</b>|<span style="color:#[0-9A-F]{6}">[◆a-z]+</span>')

PAPER = applied(EhrrParameters, "paper")  # the values of the paper's tables
CHARTS: dict[str, Callable[[Decision], go.Figure]] = {
    "server_ranking": server_ranking,
    "auction": auction,
    "tool_breakdown": tool_breakdown,
    "posted_price": lambda decision: posted_price(decision, curves.posted_price_curve(decision)),
    "utility_lines alpha_t": lambda decision: utility_lines(curves.utility_lines(decision, "alpha_t")),
    "utility_lines kappa": lambda decision: utility_lines(curves.utility_lines(decision, "kappa")),
    "tool_scores": tool_scores,
    "plan_steps": lambda decision: plan_steps(
        Plan.of("q", "rules", [(HOSTILE, ()), ("b", ()), ("c", (0, 1))], lambda *_: decision)
    ),
    "stages": lambda decision: stages(decision.stages),
    "token_utilisation": lambda decision: token_utilisation(
        [decision.subtask, *decision.servers.names[:1]],
        [utilisation_lines(Counted.of(decision), (1, 10, 100))] * (1 + len(decision.servers.names[:1])),
        turns=30,
    ),
    "agreement_map": lambda decision: agreement_map(
        [decision.subtask, *decision.servers.names[:1]], agreement([decision] * (1 + len(decision.servers.names[:1])))
    ),
}


def decide(*servers: Server, likes: float = 0.7, **parameters: object) -> Decision:
    """A decision over these servers; the first tools fit best."""
    catalog = worlds.catalog(*servers)
    of_tools = {tool.id: likes - 0.04 * place for place, tool in enumerate(catalog.tools)}
    of_servers = {server.name: likes - 0.05 * place for place, server in enumerate(catalog.servers)}
    context = worlds.context(catalog, of_servers, of_tools)
    return Ehrr().route("anything", context, PAPER.replaced(parameters))


def server(name: str, *prices: float | None, ask_usd: float | None = 0.004, latency_s: float = 0.5) -> Server:
    tools = tuple(worlds.tool(f"t{n}", price_usd=price, latency_s=latency_s) for n, price in enumerate(prices))
    return Server(name, name, ask_usd=ask_usd, conn_s=0.2, call_s=0.8, success=0.9, tools=tools)


def market() -> tuple[Server, ...]:
    """Seven servers: one without an ask, one too dear, one with a tool that is too dear."""
    return (
        server("alpha", 0.001, 0.02, None),
        server("beta", 0.002, ask_usd=0.9),
        server("gamma", 0.003, 5.0),
        server("delta", None, ask_usd=None),
        *(server(f"more{n}", 0.001, 0.002) for n in range(3)),
    )


DECISIONS: dict[str, Callable[[], Decision]] = {
    "tables I and II": lambda: Ehrr().route("anything", worlds.tables_context(), PAPER),
    "typical": lambda: decide(*market()),
    "nothing accepted": lambda: decide(*market()[:2], budget_usd=0.0, p_bs=0.0),
    "nothing affordable": lambda: decide(server("dear", 5.0, 6.0, ask_usd=0.0)),
    "capped": lambda: decide(*market(), budget_usd=0.005, p_bs=0.05),
    "auction off": lambda: decide(*market(), auction=False),
    "no execution signals": lambda: decide(*market(), execution_signals=False),
    "no hierarchy": lambda: decide(*market(), hierarchy=False),
    "billed per attempt": lambda: decide(*market(), billing="per_attempt", kappa=150.0),
    "unpriced tools": lambda: decide(server("free", None, None, ask_usd=None), server("other", None)),
    "server without ask": lambda: decide(server("silent", None, ask_usd=None)),
    "server without tools": lambda: decide(server("empty"), server("full", 0.001)),
    "one server with one tool": lambda: decide(server("only", 0.001)),
    "empty catalog": decide,
    "negative utilities": lambda: decide(*(server(f"slow{n}", 0.01, latency_s=60.0) for n in range(3)), alpha_s=2.0),
    "no similarity at all": lambda: decide(*market(), likes=0.0),
    "50 servers, k = 50": lambda: decide(*(server(f"s{n:02}", 0.001, 0.002) for n in range(50)), k=50, n=50),
    "hostile names": lambda: decide(server(HOSTILE, 0.001, 0.002), server(f"{HOSTILE}2", None, ask_usd=None)),
    "endless names": lambda: decide(server("x" * 5000, 0.001), server("y " * 5000, 0.001)),
}
DECISION_CHARTS = (dashboard.ui.charts, dashboard.pages.route.charts, dashboard.pages.compare.charts)
SHARED = {"dashboard.ui.charts.base", "dashboard.ui.charts.time_axes"}
CASES = pytest.mark.parametrize("case", list(DECISIONS))


@cache
def decision(case: str) -> Decision:
    return DECISIONS[case]()


@cache
def chart(case: str, name: str) -> go.Figure:
    return CHARTS[name](decision(case))


def marks(case: str, name: str) -> list[Any]:
    """The traces that draw something, without those that only write names and figures."""
    return [trace for trace in chart(case, name).data if trace.to_plotly_json().get("mode") != "text"]


def written(case: str, name: str) -> list[str]:
    """The names and figures that stand in the chart."""
    figure = chart(case, name)
    notes = [note.text for note in figure.layout.annotations]
    return notes + [
        text for trace in figure.data if trace.to_plotly_json().get("mode") == "text" for text in trace.text
    ]


def numbers(values: Any) -> list[float]:
    return [float(value) for value in values if value is not None]


def texts(part: Any) -> Iterator[str]:
    """Every text that Plotly may draw; customdata comes back with a click and is not drawn."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        for key, value in part.items():
            if key != "customdata":
                yield from texts(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from texts(value)


def test_every_chart_of_a_decision_is_in_the_table() -> None:
    modules = (
        importlib.import_module(found.name)
        for room in DECISION_CHARTS
        for found in pkgutil.iter_modules(room.__path__, f"{room.__name__}.")
        if found.name not in SHARED
    )
    drawing = {
        name
        for module in modules
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and function.__annotations__.get("return") == "go.Figure"
    }
    assert drawing == {name.split()[0] for name in CHARTS}


@CASES
@pytest.mark.parametrize("name", CHARTS)
def test_plotly_takes_the_chart_with_full_validation(case, name) -> None:
    drawn = chart(case, name).to_dict()
    assert go.Figure(**drawn).layout.title.text == drawn["layout"]["title"]["text"]


def activity_charts() -> list[go.Figure]:
    """The charts of the Activity page over two hours, of real and simulated calls."""
    at = pd.date_range("2026-03-01 12:00", periods=2, freq="h", tz="UTC")
    hour, zone = timedelta(hours=1), "Europe/Berlin"
    trends = pd.DataFrame(
        {
            "at": at, "simulated": [False, True], "calls": [4, 2], "success_share": [0.75, 1.0], "spent_usd": [0.1, None],
            "unpriced_calls": [0, 2], "latency_p50_s": [0.01, 0.02], "latency_p95_s": [10.0, None], "server": ["files", HOSTILE],
        }
    )  # fmt: skip
    history = pd.DataFrame({"at": at, "tool_calls": [1, 2], "server_calls": [1, 3]})
    history[["tool_success", "server_success", "tool_latency_s", "server_call_s"]] = 0.5
    return [
        spending_by_server(trends),
        spending_over_time(trends, hour, zone),
        success_over_time(trends, hour, zone, of=HOSTILE),
        latency_over_time(trends, hour, zone, of=HOSTILE),
        success_history(history, zone, tool=HOSTILE),
        latency_history(history, zone, tool=HOSTILE),
    ]


def test_plotly_takes_the_activity_charts_too_and_their_names_are_text() -> None:
    for figure in activity_charts():
        drawn = figure.to_dict()
        assert go.Figure(**drawn).layout.title.text
        assert figure.layout.yaxis.title.text or figure.layout.xaxis.title.text
        assert not [text for text in texts(drawn) if "<" in OUR_TAGS.sub("", text)]


def test_the_table_of_decisions_holds_what_its_names_say() -> None:
    assert decision("typical").winner
    for case in ("nothing accepted", "nothing affordable", "empty catalog"):
        assert decision(case).winner is None
    assert not decision("nothing accepted").servers.accepted.any()
    assert decision("nothing affordable").servers.accepted.all()
    assert max(decision("capped").servers.posted_price_usd) == 0.005
    assert max(decision("negative utilities").tools.utility) < 0
    assert max(decision("negative utilities").servers.utility) < 0
    assert sum(decision("50 servers, k = 50").servers.shortlisted) == 50
    assert sum(decision("no hierarchy").servers.shortlisted) == 7


@CASES
@pytest.mark.parametrize("name", CHARTS)
def test_every_number_is_finite_and_every_column_as_long_as_its_rows(case, name) -> None:
    for trace in chart(case, name).data:
        assert all(map(math.isfinite, numbers([*trace.x, *trace.y])))
        columns = (trace.x, trace.y, trace.customdata, trace.hovertext, trace.text)
        lengths = {len(column) for column in columns if column is not None}
        assert len(lengths) == 1


@pytest.mark.parametrize(
    ("name", "title", "x", "y"),
    [
        ("server_ranking", "1 · Servers by utility", "U = Sim − αs·C", None),
        ("auction", "2 · Auction: ask ● ≤ posted |", "m$ per call", None),
        ("tool_breakdown", "3 · Tools: ◆ = similarity − time − money", "U = Sim − αt·(time + κ·price)", None),
        (
            "posted_price", "Posted price ◆ and ask ● by expected time", "expected time to success C (s)", "m$ per call",
        ),
        ("utility_lines alpha_t", "Utility against αt", "αt (1/s)", "U"),
        ("utility_lines kappa", "Utility against κ", "κ (s/$)", "U"),
    ],
)  # fmt: skip
def test_titles_say_what_is_drawn_and_axes_carry_units(name, title, x, y) -> None:
    layout = chart("typical", name).layout
    assert re.sub(r"<[^>]+>", "", layout.title.text) == title
    assert (layout.xaxis.title.text, layout.yaxis.title.text) == (x, y)


@pytest.mark.parametrize("case", ["hostile names", "endless names"])
@pytest.mark.parametrize("name", CHARTS)
def test_strangers_names_are_text(case, name) -> None:
    drawn = chart(case, name).to_dict()
    for text in texts(drawn):
        assert "<" not in OUR_TAGS.sub("", text), text
        assert text.isprintable()
        assert len(text) < 400
    for trace in drawn["data"]:
        assert not {"hovertemplate", "texttemplate"} & set(trace)  # there %{…} would be read


@CASES
def test_the_ranking_draws_equation_3_best_on_top(case) -> None:
    made = decision(case)
    (bars,) = marks(case, "server_ranking")
    names = list(bars.customdata)[::-1]
    assert names == [made.servers.names[row] for row in made.servers_by_rank()][: len(names)]
    assert len(names) == min(9, len(made.servers.names))
    alpha_s = made.parameters["alpha_s"] if made.parameters["execution_signals"] else 0.0
    for name, drawn in zip(bars.customdata, bars.x, strict=True):
        row = made.servers.names.index(name)
        assert drawn == pytest.approx(made.servers.similarity[row] - alpha_s * made.servers.cost_s[row])
    low, high = chart(case, "server_ranking").layout.xaxis.range
    assert all(low <= x <= high for x in bars.x)


def test_the_ranking_marks_chosen_accepted_rejected_and_left_off() -> None:
    signs = {name: sign for sign, name in (text.split() for text in written("typical", "server_ranking"))}
    assert signs == {
        "alpha": "★", "beta": "✗", "gamma": "✓", "delta": "✓", "more0": "✓", "more1": "·", "more2": "·",
    }  # fmt: skip


@CASES
def test_the_auction_draws_ask_and_posted_price_in_thousandths_of_a_dollar(case) -> None:
    made = decision(case)
    *spans, posted, asked = marks(case, "auction")
    p = made.parameters
    assert len(asked.customdata) == min(9, len(made.shortlist()))
    for name, ask, offer in zip(asked.customdata, asked.x, posted.x, strict=True):
        row = made.servers.names.index(name)
        known = made.servers.ask_usd[row]
        assert ask is None if math.isnan(known) else ask == pytest.approx(known * 1e3)
        if not p["auction"]:
            assert offer is None
            continue
        cap = math.inf if p["budget_usd"] is None else p["budget_usd"]
        by_hand = p["p_bs"] * made.servers.similarity[row] + p["p_ofs"] * math.log(
            1 + made.servers.cost_s[row] / p["l0_s"]
        )
        assert offer == pytest.approx(min(cap, by_hand) * 1e3)
    joined = [(a, o) for a, o in zip(asked.x, posted.x, strict=True) if a is not None and o is not None]
    assert [tuple(span.x) for span in spans] == joined


def test_the_auction_says_who_accepts() -> None:
    asked = marks("typical", "auction")[-1]
    hovers = dict(zip(asked.customdata, asked.hovertext, strict=True))
    assert "rejects" in hovers["beta"]
    assert "900 m$" in hovers["beta"]
    assert "accepts" in hovers["alpha"]
    assert "none advertised" in hovers["delta"]
    assert all("the auction is off" in text for text in marks("auction off", "auction")[-1].hovertext)


@CASES
def test_the_parts_of_a_tool_sum_to_its_utility_and_the_diamond_stands_there(case) -> None:
    made = decision(case)
    similarity, time, money, diamond = marks(case, "tool_breakdown")
    assert [similarity.name, time.name, money.name] == ["similarity", "time", "money"]
    sums = np.array([similarity.x, time.x, money.x], dtype=float).reshape(3, -1).sum(axis=0)
    assert sums.tolist() == pytest.approx(list(diamond.x))
    utilities = dict(zip(made.tools.ids, made.tools.utility, strict=True))
    assert [utilities[tool] for tool in diamond.customdata] == pytest.approx(list(diamond.x))
    assert all(x <= 0 for x in (*time.x, *money.x))
    best = [made.tools.ids[row] for row in made.evaluated_tools()][: len(diamond.customdata)]
    assert list(diamond.customdata)[::-1] == best
    figures = [text for text in written(case, "tool_breakdown") if text.startswith("<b>")]
    assert figures == [f"<b>{x:.3f}</b>" for x in diamond.x]


def test_tables_i_and_ii_stand_in_the_charts() -> None:
    *_, posted, asks = marks("tables I and II", "auction")
    assert list(posted.x) == pytest.approx([35.1, 24.9], abs=0.05)
    assert list(asks.x) == pytest.approx([50, 10])
    diamond = marks("tables I and II", "tool_breakdown")[-1]
    utilities = dict(zip(diamond.customdata, diamond.x, strict=True))
    assert utilities["s1::t12"] == pytest.approx(0.516, abs=0.0005)
    assert utilities["s1::t13"] == pytest.approx(0.483, abs=0.0005)


@CASES
@pytest.mark.parametrize("axis", curves.AXES)
def test_lines_pass_the_decisions_utilities_at_the_current_value(case, axis) -> None:
    made = decision(case)
    figure = chart(case, f"utility_lines {axis}")
    feasible = [made.tools.ids[row] for row in curves.feasible_rows(made)][:8]
    assert [trace.customdata[0] for trace in figure.data] == feasible
    for trace, row in zip(figure.data, curves.feasible_rows(made), strict=False):
        assert trace.x[1] == made.parameters[axis]
        assert trace.y[1] == pytest.approx(made.tools.utility[row])
        assert f"U = {made.tools.utility[row]:.3f}" in trace.hovertext[1]
    dotted, *band = figure.layout.shapes
    assert dotted.x0 == dotted.x1 == made.parameters[axis]
    assert len(band) == bool(made.candidates)


@pytest.mark.parametrize("axis", curves.AXES)
def test_the_band_is_the_interval_in_which_the_winner_stays(axis) -> None:
    made = decision("tables I and II")
    interval = curves.utility_lines(made, axis).winner_interval
    band = chart("tables I and II", f"utility_lines {axis}").layout.shapes[1]
    assert (band.x0, band.x1) == (interval.low, interval.high)
    crossing = {
        "alpha_t": 0.10
        / (made.tools.time_cost_s[2] + 0.020 - made.tools.time_cost_s[1] - 0.002),  # t13 fits better by 0.10
        "kappa": 0.0,
    }
    assert interval.low == pytest.approx(crossing[axis])


def test_the_interval_is_one_sentence() -> None:
    made = decision("tables I and II")
    assert (
        winning_interval(curves.utility_lines(made, "kappa")) == "The winner stays the same for every κ up to 1000 s/$."
    )
    sentence = winning_interval(curves.utility_lines(made, "alpha_t"))
    assert sentence.startswith("The winner stays the same for αt from 0.1")
    assert sentence.endswith("below it s1\\:\\:t13 wins.")
    assert "No tool can win" in winning_interval(curves.utility_lines(decision("nothing accepted"), "kappa"))
    assert "<" not in winning_interval(curves.utility_lines(decision("hostile names"), "alpha_t")).replace("\\<", "")


@CASES
def test_the_posted_price_curve_is_equation_4_and_holds_every_offer(case) -> None:
    made = decision(case)
    lowest, highest, offers, asks = chart(case, "posted_price").data
    p = made.parameters
    cap = math.inf if p["budget_usd"] is None else p["budget_usd"]
    for similarity, line in ((0.0, lowest), (1.0, highest)):
        by_hand = [min(cap, p["p_bs"] * similarity + p["p_ofs"] * math.log(1 + c / p["l0_s"])) * 1e3 for c in line.x]
        assert list(line.y) == pytest.approx(by_hand)
    shortlist = [made.server_at(row) for row in made.shortlist()]
    assert list(offers.x) == list(asks.x) == [row.cost_s for row in shortlist]
    assert numbers(offers.y) == pytest.approx(
        [row.posted_price_usd * 1e3 for row in shortlist if row.posted_price_usd is not None]
    )
    assert numbers(asks.y) == pytest.approx([row.ask_usd * 1e3 for row in shortlist if row.ask_usd is not None])
    assert all(x <= lowest.x[-1] for x in offers.x)


def test_long_catalogs_are_cut_to_what_fits() -> None:
    rows = {
        name: len(marks("50 servers, k = 50", name)[-1].y) for name in ("server_ranking", "auction", "tool_breakdown")
    }
    assert rows == {"server_ranking": 9, "auction": 9, "tool_breakdown": 8}
    assert len(chart("50 servers, k = 50", "utility_lines kappa").data) == 8
    assert len(chart("50 servers, k = 50", "posted_price").data[-1].x) == 50
