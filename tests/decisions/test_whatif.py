"""What if over tasks is what the router decides when it is asked task by task, whatever the knobs; the auction likewise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from core.app import App
from core.decisions.routing import Asked
from core.decisions.whatif import auction_of
from core.domain.catalog import Catalog, Server, Tool
from core.domain.params import Parameters
from core.domain.tasks import Task
from core.routers.ehrr import EhrrParameters
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
    """An app with a catalog of eight servers; what tools do is a few words of each, their figures are drawn."""
    rng = np.random.default_rng(3)

    def tool(server: str, number: int) -> Tool:
        about = " ".join(rng.choice(WORDS, 3, replace=False))
        return Tool(
            server, f"t{number}", description=about, price_usd=float(rng.random() * 0.05), latency_s=float(rng.random() * 4),
            success=float(rng.random()),
        )  # fmt: skip

    servers = tuple(
        Server(name, description=" ".join(rng.choice(WORDS, 3)), tools=tuple(tool(name, at) for at in range(3)),
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
        Task(str(at), " ".join(pair), " a " if at % 3 == 0 else "", tuple(t.id for t in tools if set(pair) & {*t.description.split()}))
        for at, pair in enumerate(pairs)
    ]  # fmt: skip


def decided(app: App, tasks: Sequence[Task], parameters: Parameters) -> list[str | None]:
    """The winner of each task, asked alone."""
    asked = [
        app.routing.route(t.subtask, catalog="shop", parameters=parameters, server_hint=t.server_hint, record=False)
        for t in tasks
    ]
    return [one.winner.tool if one.winner else None for one in asked]


def test_the_two_knobs_of_the_map_change_the_winner_or_none_do(shop: App) -> None:
    names = ("alpha_t", "kappa", "alpha_s", "budget_usd")
    for task in tasks_of(shop):
        asked = Asked(task.subtask, PLAIN, "shop", hint=task.server_hint)
        found = shop.what_if.contested(asked, names)
        assert found is not None
        drawn = shop.what_if.plane(asked, found.x, found.y, near=found.near)
        assert drawn is not None
        assert drawn.contested > 0
    alone = Catalog("alone", (Server("one", tools=(Tool("one", "only", description="sing"),)),))
    shop.catalogs.add(alone, "one tool")
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
            assert [one.tool for one in auction_of(case, 0.1)] == best, (task.subtask, name)


@pytest.mark.parametrize("settlement", ["price", "posted", "ask"])
def test_decision_and_auction_name_one_payment_and_both_sides_gain_by_it(shop: App, settlement: str) -> None:
    asked = Asked("read and write words", replace(PLAIN, settlement=settlement), "shop")
    decision = shop.what_if.decision(asked)
    agreed = [one for one in auction_of(shop.what_if.case(asked), 0.1) if one.accepts]
    assert agreed
    for one in agreed:
        row = list(decision.tools.ids).index(one.tool)
        tool = decision.tool_at(row)
        paid = {"price": tool.price_usd, "posted": one.posted_usd, "ask": one.ask_usd}[settlement]
        assert one.payment_usd == tool.payment_usd == paid
        assert one.server_usd == pytest.approx(paid - one.ask_usd)
        assert one.buyer_usd == pytest.approx(0.1 * decision.fit_at(row)["p_success"] - paid)
        assert decision.agreed_usd(one.tool) == (None if settlement == "price" else paid)
    others = [row for row, server in enumerate(decision.tools.server_row) if not decision.servers.accepted[server]]
    assert all(tool.payment_usd == tool.price_usd for tool in decision.tools_at(others))
