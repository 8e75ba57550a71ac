"""A counterfactual that is applied makes the tool win; what is said to be blocked stays without a win whatever is tried."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from core.decisions.case import Case, decide
from core.decisions.counterfactuals import Change, counterfactual, of_knobs, room
from core.decisions.ehrr_strips import near_the_short_list, strip, strips
from core.decisions.layer import FIGURES, FIT, Supposed, layered
from core.domain.catalog import Server
from core.routers.ehrr import Ehrr, EhrrParameters, counted_share
from tests.decisions import instances
from tests.routers import worlds

DO, KNOW = "send it", "what is it"


@cache
def cases() -> list[Case]:
    """Sub-tasks whose fit is also that of their servers' best tools, as in the catalogs. Every other one asks to know, so that the tools
    that write count less."""
    all_cases = []
    for seed in range(10):
        case = instances.case(np.random.default_rng([seed, 99]))
        match, server = case.match, case.context.tool_server
        servers = np.zeros(len(match.servers))
        np.maximum.at(servers, server, match.tools)
        case.context.matcher.answer = instances.Match(servers, match.tools)
        counted = counted_share((DO, KNOW)[seed % 2], case.context, case.parameters)
        all_cases.append(replace(case, match=instances.Match(servers, counted * match.tools), counted=counted))
    return [case for case in all_cases if len(case.match.tools) > 1]


def winner(case: Case, parameters: EhrrParameters, *supposed: Supposed) -> str | None:
    query = KNOW if isinstance(case.counted, np.ndarray) else DO
    decision = Ehrr().route(query, layered(case.context, supposed), parameters)
    return decision.winner.tool if decision.winner else None


def applied(case: Case, tool: str, change: Change) -> str | None:
    if not change.of_knob:
        return winner(case, case.parameters, Supposed(tool, change.name, change.then))
    value = int(change.then) if change.name in {"k", "n"} else change.then
    return winner(case, replace(case.parameters, **{change.name: value}))


def test_an_applied_change_makes_the_tool_win() -> None:
    names = set()
    for case in cases():
        by_name, leader = strips(case), int(decide(case, {}).winner[0])
        for row in range(len(case.context.tool_ids)):
            if row == leader:
                continue
            outcome = counterfactual(case, by_name, row)
            for change in outcome.changes:
                assert applied(case, outcome.tool, change) == outcome.tool, change
                names.add(change.name)
    assert {*FIGURES, "alpha_t", "kappa", "p_ofs", "budget_usd", "k"} <= names


def of_servers(parameters: EhrrParameters, **prices: float) -> Case:
    """A case with a server for each price, in order of fit. Each has a tool and accepts every offer."""
    servers = [
        Server(name, ask_usd=0.0, call_s=1.0, success=0.9, tools=(worlds.tool("t", price_usd=price, latency_s=1.0),))
        for name, price in prices.items()
    ]
    fits = {name: 0.95 - 0.15 * place for place, name in enumerate(prices)}
    context = worlds.context(worlds.catalog(*servers), fits, {f"{name}::t": fit for name, fit in fits.items()})
    return Case(context, context.matcher.answer, parameters)


def test_a_cap_beside_a_round_price_is_changed_to_one_below_it() -> None:
    knob = next(knob for knob in EhrrParameters.knobs() if knob.name == "budget_usd")
    for price in np.arange(1, 100) / 1000:
        case = of_servers(EhrrParameters(kappa=1.0, p_bs=0.2), dear=price, cheap=0.0005)
        (change,) = of_knobs(case.parameters, {knob.name: strip(case, knob)}, "cheap::t")
        assert applied(case, "cheap::t", change) == "cheap::t", (price, change)


def test_a_tool_without_a_rival_wins_at_any_price_and_latency_if_it_need_not_be_worthwhile() -> None:
    slack = room(of_servers(worlds.table_v(auction=False), alone=0.001))
    assert slack is not None
    assert (slack.price_usd, slack.latency_s, slack.success) == (None, None, 0.0)


def test_what_is_blocked_has_no_value_that_wins() -> None:
    tried = {"price": [0.0, 1e-5, 0.001], "latency": [0.0, 0.01], "success": [1.0, 0.9], "fit": [1.0, 0.9, 0.6]}
    for case in cases()[:5]:
        by_name, leader = strips(case), int(decide(case, {}).winner[0])
        for row in range(len(case.context.tool_ids)):
            if row == leader:
                continue
            outcome = counterfactual(case, by_name, row)
            assert set(outcome.blocked) | {change.name for change in outcome.changes} >= set(FIGURES)
            for name, reason in outcome.blocked.items():
                assert reason
                for value in tried[name]:
                    if name == FIT and value < case.fitting.tools[row]:
                        continue
                    assert winner(case, case.parameters, Supposed(outcome.tool, name, value)) != outcome.tool, (
                        name,
                        reason,
                    )


def test_the_winner_keeps_winning_up_to_its_room_and_no_further() -> None:
    limited = set()
    for case in cases():
        slack = room(case)
        if slack is None:
            continue
        for name, limit in (
            ("price", slack.price_usd),
            ("latency", slack.latency_s),
            ("success", slack.success),
            (FIT, slack.fit),
        ):
            if limit is None or limit == 0:
                continue
            limited.add(name)
            better, worse = (1 + 1e-6, 1 - 1e-6) if name in {"success", FIT} else (1 - 1e-6, 1 + 1e-6)
            if limit * better <= 1 or name in {"price", "latency"}:
                assert winner(case, case.parameters, Supposed(slack.tool, name, limit * better)) == slack.tool, name
            assert winner(case, case.parameters, Supposed(slack.tool, name, limit * worse)) != slack.tool, name
    assert limited == set(FIGURES)


def test_a_catalog_gives_the_same_without_the_servers_that_do_not_matter() -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        case = instances.case(rng, servers=60, tools=2)
        assert room(near_the_short_list(case)) == room(case)
        by_name = strips(case)
        for row in rng.integers(0, len(case.match.tools), 4).tolist():
            tool = case.context.tool_ids[row]
            reduced = near_the_short_list(case, with_tool=tool)
            assert counterfactual(reduced, by_name, reduced.context.tool_ids.index(tool)) == counterfactual(
                case, by_name, row
            )
