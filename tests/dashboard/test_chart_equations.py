"""The charts of a decision draw what the equations say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from core.lab import curves
from core.routers.ehrr import EhrrParameters
from core.whatif.strips import Segment, Strip
from dashboard.pages.route.winning_interval import winning_interval
from tests.cases import each
from tests.dashboard.decision_charts import CASES, chart, decision, marks, numbers, written


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
@each("axis", curves.AXES)
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
    def sentence(value: float, *winners: tuple[float, float, str | None]) -> str:
        segments = tuple(Segment(low, high, winner, "", "", 0.1) for low, high, winner in winners)
        knob = next(one for one in EhrrParameters.knobs() if one.name == "alpha_t")
        return winning_interval(Strip("alpha_t", 0.0, 2.0, segments), knob, value)

    assert sentence(0.1, (0.0, 2.0, "a::x")) == "The winner stays the same for every αt up to 2 1/s."
    between = sentence(0.5, (0.0, 0.1, "<b>::y"), (0.1, 0.4, "a::x"), (0.4, 1.2, "a::x"), (1.2, 2.0, None))
    assert between.startswith("The winner stays the same for αt from 0.1 to 1.2 1/s; below it \\<b\\>")
    assert between.endswith("wins, above it nobody wins.")
    assert "No tool can win" in sentence(1.5, (0.0, 1.0, "a::x"), (1.0, 2.0, None))


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
