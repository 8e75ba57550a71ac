"""What if over tasks: knobs turned, sets compared and the auction are what the router decides, task by task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from core.app import App
from core.decisions.curves import money_against_cap
from core.decisions.layer import LayeredMatcher, Supposed
from core.decisions.over_tasks import TURNS, compared, tornado
from core.decisions.routing import Asked
from core.decisions.whatif import auction_of
from core.domain.catalog import Catalog, Server, Tool
from core.domain.decision import Fit
from core.domain.params import Parameters
from core.domain.tasks import Task
from core.domain.units import price
from core.routers.context import IndexMatcher, Match
from core.routers.ehrr import Ehrr, EhrrParameters
from tests.cases import each
from tests.decisions import instances
from tests.routers import worlds
from tests.world import open_test_app

WORDS = ["read", "write", "send", "draw", "sing", "plan", "sort", "find", "cook", "sail"]
PLAIN = EhrrParameters(k=4, alpha_s=0.05, alpha_t=0.1, kappa=60.0, p_ofs=0.02, budget_usd=0.04, half_life_s=0.0)
POINTS = {
    "plain": PLAIN,
    "drawn": replace(PLAIN, exploration="thompson", explore_seed=5),
    "bonus": replace(PLAIN, exploration="optimism", optimism=0.2),
    "refusing": replace(PLAIN, wrong_refusals=20.0),
    "all of it": replace(PLAIN, exploration="thompson", wrong_refusals=20.0, execution_signals=False),
    "by similarity": replace(PLAIN, execution_signals=False, similarity="views"),
}


@pytest.fixture(scope="module")
def shop() -> Iterator[App]:
    """An app with a catalog of eight servers; descriptions have a few words, figures are random."""
    rng = np.random.default_rng(3)

    def tool(server: str, number: int) -> Tool:
        words = " ".join(rng.choice(WORDS, 3, replace=False))
        return Tool(
            server, f"t{number}", description=words, price_usd=float(rng.random() * 0.05), latency_s=float(rng.random() * 4),
            success=float(rng.random()),
        )  # fmt: skip

    servers = tuple(
        Server(name, description=" ".join(rng.choice(WORDS, 3)), tools=tuple(tool(name, index) for index in range(3)),
               ask_usd=float(rng.random() * 0.05), conn_s=float(rng.random()), call_s=float(rng.random() * 3), success=float(rng.random()))
        for name in "abcdefgh"
    )  # fmt: skip
    with open_test_app(None) as app:
        app.catalogs.add(Catalog("shop", servers), "drawn")
        yield app


def tasks_of(app: App) -> list[Task]:
    """Sub-tasks of two words, some with a hint; any tool with both of them is right."""
    rng, tools = np.random.default_rng(4), app.catalogs.catalog("shop").tools
    pairs = [rng.choice(WORDS, 2, replace=False) for _ in range(8)]
    return [
        Task(str(index), " ".join(pair), " a " if index % 3 == 0 else "", tuple(t.id for t in tools if set(pair) & {*t.description.split()}))
        for index, pair in enumerate(pairs)
    ]  # fmt: skip


def decided(app: App, tasks: Sequence[Task], parameters: Parameters) -> list[str | None]:
    """The winner of each task, asked alone."""
    decisions = [
        app.routing.route(t.subtask, catalog="shop", parameters=parameters, server_hint=t.server_hint, record=False)
        for t in tasks
    ]
    return [decision.winner.tool if decision.winner else None for decision in decisions]


def test_the_two_knobs_of_the_map_change_the_winner_or_none_do(shop: App) -> None:
    names = ("alpha_t", "kappa", "alpha_s", "budget_usd")
    for task in tasks_of(shop):
        query = Asked(task.subtask, PLAIN, "shop", hint=task.server_hint)
        contested = shop.what_if.contested(query, names)
        assert contested is not None
        plane = shop.what_if.plane(query, contested.x, contested.y, near=contested.near)
        assert plane is not None
        assert plane.contested > 0
    single = Catalog("alone", (Server("one", tools=(Tool("one", "only", description="sing"),)),))
    shop.catalogs.add(single, "one tool")
    assert shop.what_if.contested(Asked("sing", PLAIN, "alone"), names) is None


def test_a_sweep_measures_what_single_decisions_come_to(shop: App) -> None:
    tasks = tasks_of(shop)
    points = [replace(point, k=k) for point in POINTS.values() for k in (1, 4)]
    swept = shop.sweeps.measured(tasks, points, catalog="shop", router="ehrr", hints=True)
    for point, result in zip(points, swept, strict=True):
        right = [won in task.relevant for won, task in zip(decided(shop, tasks, point), tasks, strict=True)]
        assert result["hit@1"] == pytest.approx(np.mean(right)), point


def test_the_auction_lists_servers_and_their_best_tools_as_the_router_ranks_them(shop: App) -> None:
    for task in tasks_of(shop):
        for name, parameters in POINTS.items():
            case = shop.what_if.case(Asked(task.subtask, parameters, "shop", hint=task.server_hint))
            decision = shop.routing.route(
                task.subtask, catalog="shop", parameters=parameters, server_hint=task.server_hint, record=False
            )
            tools, best = decision.tools, list[str]()
            for server in decision.shortlist():
                rows = np.flatnonzero(tools.server_row == server)
                first = min(
                    rows,
                    key=lambda row: (
                        not tools.affordable[row],
                        -tools.utility[row],
                        -tools.similarity[row],
                        tools.ids[row],
                    ),
                )
                best.append(tools.ids[first])
            assert [offer.tool for offer in auction_of(case, np.zeros(len(tools.ids)), 0.1)] == best, (
                task.subtask,
                name,
            )


@pytest.mark.parametrize(
    ("settlement", "similarity"), [("price", "fit"), ("price", "views"), ("posted", "fit"), ("ask", "fit")]
)
def test_decision_and_auction_name_one_payment_and_both_sides_gain_by_it(
    shop: App, settlement: str, similarity: str
) -> None:
    query = Asked("read and write words", replace(PLAIN, settlement=settlement, similarity=similarity), "shop")
    decision = shop.routing.preview(query)
    case, fit = shop.what_if.case(query), shop.what_if.fit(query).tools
    agreed = [offer for offer in auction_of(case, fit, 0.1) if offer.accepts]
    assert agreed
    for offer in agreed:
        row = list(decision.tools.ids).index(offer.tool)
        tool = decision.tool_at(row)
        paid = {"price": tool.price_usd, "posted": offer.posted_usd, "ask": offer.ask_usd}[settlement]
        assert offer.payment_usd == tool.payment_usd == paid
        assert offer.server_usd == pytest.approx(paid - offer.ask_usd)
        assert offer.buyer_usd == pytest.approx(0.1 * decision.fit_at(row)["p_success"] - paid)
        assert decision.agreed_usd(offer.tool) == (None if settlement == "price" else paid)
    rows = [row for row, server in enumerate(decision.tools.server_row) if not decision.servers.accepted[server]]
    assert all(tool.payment_usd == tool.price_usd for tool in decision.tools_at(rows))
    if similarity == "views":
        _, chance = money_against_cap(case, shop.what_if.strips(query)["budget_usd"], fit)
        p_success = decision.fit_at(decision.candidates[0])["p_success"]
        assert float(chance.filled.split(" = ")[1]) == pytest.approx(p_success, rel=1e-3)


def test_a_supposed_fit_says_itself_how_sure_it_is() -> None:
    unsure = Fit(np.array([0.5]), np.array([0.5]), 0.1, np.zeros(1), {})
    inner = cast(IndexMatcher, SimpleNamespace(fit=lambda *_: (unsure, 0.0)))

    def supposed(value: float) -> Fit:
        return LayeredMatcher(inner, {0: value}, np.zeros(1, dtype=np.int64)).fit("x", "")[0]

    assert supposed(1.0).confidence == "sure"
    assert supposed(0.4).relevance < supposed(0.5).relevance == unsure.relevance < supposed(0.6).relevance


@each("router", ["ehrr", "rag_mcp", "full_catalog", "expected_value", "simple_retrieval"])
def test_a_tool_that_is_supposed_to_fit_best_wins(shop: App, router: str) -> None:
    text, parameters = (
        "sing plan",
        shop.routing.parameters(router, {"alpha_t": 0.0, "auction": False} if router == "ehrr" else {}),
    )
    asked = Asked(text, parameters, "shop", router)
    last = int(np.argmin(shop.what_if.fit(asked).tools))
    tool = shop.catalogs.catalog("shop").tools[last].id
    winner = shop.what_if.decision(
        replace(asked, supposed=(Supposed(tool, "fit", 1.0), Supposed(tool, "success", 1.0)))
    ).winner
    assert winner is not None
    assert winner.tool == tool


@each("settlement", ["price", "posted"])
def test_each_bar_is_what_the_router_decides_with_the_knob_turned(settlement: str) -> None:
    rng = np.random.default_rng(12)
    context = worlds.context(instances.catalog(rng, 8, 4), {}, {})
    matches = [Match(rng.random(8), rng.random(len(context.tool_ids))) for _ in range(12)]
    tasks = [Task(f"t{i}", f"task {i}", relevant=(context.tool_ids[i],)) for i in range(12)]
    today = EhrrParameters(alpha_t=0.2, kappa=60.0, k=4, p_ofs=0.02, budget_usd=0.04, settlement=settlement)

    def asked(parameters: EhrrParameters) -> list[tuple[str | None, float]]:
        outcomes = []
        for match in matches:
            context.matcher.answer = match
            decision = Ehrr().route("x", context, parameters)
            won = decision.winner
            outcomes.append((won.tool, np.nan if won.payment_usd is None else won.payment_usd) if won else (None, 0.0))
        return outcomes

    chart = tornado(context, tasks, instances.many(context, matches), today)
    plain, pays = zip(*asked(today), strict=True)
    assert np.isclose(chart.usd, np.mean(np.nan_to_num(pays)))
    assert chart.unpriced == np.isnan(pays).sum()
    assert chart.winners == plain
    assert chart.success == np.mean([name in task.relevant for name, task in zip(plain, tasks, strict=True)])
    assert {bar.turn for bar in chart.bars} == set(TURNS)
    assert any(bar.changed for bar in chart.bars)
    for bar in chart.bars:
        value = int(bar.value) if bar.name == "k" else bar.value
        turned, paid = zip(*asked(replace(today, **{bar.name: value})), strict=True)
        assert [i for i in range(12) if turned[i] != plain[i]] == list(bar.changed)
        assert bar.share == len(bar.changed) / 12
        assert np.isclose(bar.usd, np.mean(np.nan_to_num(np.subtract(paid, pays))))
    fragile = chart.fragile(within=0.25)
    assert all(abs(bar.turn) <= 0.25 and place in bar.changed for place, bars in fragile for bar in bars)
    assert [len(bars) for _, bars in fragile] == sorted((len(bars) for _, bars in fragile), reverse=True)


@each(("price_usd", "money"), [(0.01, "5 m$"), (0.0, "0 m$")])
def test_winners_of_unknown_prices_are_unpriced_and_not_free(price_usd: float, money: str) -> None:
    served = worlds.catalog(Server("s", ask_usd=0.0, tools=(worlds.tool("a"), worlds.tool("b", price_usd=price_usd))))
    context = worlds.context(served, {}, {})
    matches = [Match(np.ones(1), np.array(fits)) for fits in ([0.9, 0.1], [0.1, 0.9])]
    tasks = [Task(tool, tool, relevant=(tool,)) for tool in context.tool_ids]
    parameters = EhrrParameters(worthwhile=False)
    for count, shown, unpriced in ((1, "unpriced", 1), (2, money, 1)):
        chart = tornado(context, tasks[:count], instances.many(context, matches[:count]), parameters)
        (measures,) = compared(context, tasks[:count], instances.many(context, matches[:count]), {"": parameters})
        assert [(price(found.usd), found.unpriced) for found in (chart, measures)] == [(shown, unpriced)] * 2


def test_a_knob_at_zero_has_nothing_to_turn() -> None:
    case = instances.case(np.random.default_rng(2))
    zero = replace(case.parameters, kappa=0.0, budget_usd=None)
    task = Task("t", "x", relevant=(case.context.tool_ids[0],))
    chart = tornado(case.context, [task], instances.many(case.context, [case.match]), zero)
    assert not {"kappa", "budget_usd"} & {bar.name for bar in chart.bars}


def test_each_set_is_what_the_router_decides_and_the_first_differs_from_itself_by_nothing() -> None:
    rng = np.random.default_rng(5)
    context = worlds.context(instances.catalog(rng, 8, 4), {}, {})
    matches = [Match(rng.random(8), rng.random(len(context.tool_ids))) for _ in range(14)]
    tasks = [Task(f"t{i}", f"task {i}", relevant=context.tool_ids[i : i + 8]) for i in range(14)]
    baseline, quick = EhrrParameters(k=4), EhrrParameters(k=8, alpha_t=0.5, p_ofs=0.06, settlement="posted")
    first, second = compared(context, tasks, instances.many(context, matches), {"": baseline, "quick": quick})
    winners = []
    for parameters, measures in ((baseline, first), (quick, second)):
        choices = []
        for match in matches:
            context.matcher.answer = match
            choices.append(Ehrr().route("x", context, parameters).winner)
        winners.append([choice.tool if choice else None for choice in choices])
        solved = [name in task.relevant for name, task in zip(winners[-1], tasks, strict=True)]
        assert measures.success == pytest.approx(np.mean(solved))
        assert measures.usd == pytest.approx(
            np.mean([(choice.payment_usd or 0.0) if choice else 0.0 for choice in choices])
        )
        assert measures.time_s == pytest.approx(np.mean([choice.time_cost_s if choice else 0.0 for choice in choices]))
    assert [i for i in range(14) if winners[0][i] != winners[1][i]] == list(second.changed) != []
    difference = second.time_against
    assert difference.mean == pytest.approx(second.time_s - first.time_s)
    assert difference.low < difference.mean < difference.high
    assert (first.success_against.mean, first.usd_against.high, first.changed) == (0.0, 0.0, ())
