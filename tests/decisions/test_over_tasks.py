"""Knobs turned and sets compared over tasks are what the router decides, task by task."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.decisions.over_tasks import TURNS, compared, tornado
from core.domain.tasks import Task
from core.routers.context import Match
from core.routers.ehrr import Ehrr, EhrrParameters
from tests.cases import each
from tests.decisions import instances
from tests.routers import worlds


@each("settlement", ["price", "posted"])
def test_each_bar_is_what_the_router_decides_with_the_knob_turned(settlement: str) -> None:
    rng = np.random.default_rng(12)
    context = worlds.context(instances.catalog(rng, 8, 4), {}, {})
    matches = [Match(rng.random(8), rng.random(len(context.tool_ids))) for _ in range(12)]
    tasks = [Task(f"t{at}", f"task {at}", relevant=(context.tool_ids[at],)) for at in range(12)]
    today = EhrrParameters(alpha_t=0.2, kappa=60.0, k=4, p_ofs=0.02, budget_usd=0.04, settlement=settlement)

    def asked(parameters: EhrrParameters) -> list[tuple[str | None, float]]:
        found = []
        for match in matches:
            context.matcher.answer = match
            decision = Ehrr().route("x", context, parameters)
            won = decision.winner
            found.append((won.tool, won.payment_usd or 0.0) if won else (None, 0.0))
        return found

    found = tornado(context, tasks, instances.many(context, matches), today)
    plain, pays = zip(*asked(today), strict=True)
    assert np.isclose(found.usd, np.mean(pays))
    assert found.winners == plain
    assert found.success == np.mean([name in task.relevant for name, task in zip(plain, tasks, strict=True)])
    assert {bar.turn for bar in found.bars} == set(TURNS)
    assert any(bar.changed for bar in found.bars)
    for bar in found.bars:
        value = int(bar.value) if bar.name == "k" else bar.value
        turned, paid = zip(*asked(replace(today, **{bar.name: value})), strict=True)
        assert [at for at in range(12) if turned[at] != plain[at]] == list(bar.changed)
        assert bar.share == len(bar.changed) / 12
        assert np.isclose(bar.usd, np.mean(paid) - np.mean(pays))
    fragile = found.fragile(within=0.25)
    assert all(abs(bar.turn) <= 0.25 and place in bar.changed for place, bars in fragile for bar in bars)
    assert [len(bars) for _, bars in fragile] == sorted((len(bars) for _, bars in fragile), reverse=True)


def test_a_knob_at_zero_has_nothing_to_turn() -> None:
    case = instances.case(np.random.default_rng(2))
    zero = replace(case.parameters, kappa=0.0, budget_usd=None)
    task = Task("t", "x", relevant=(case.context.tool_ids[0],))
    found = tornado(case.context, [task], instances.many(case.context, [case.match]), zero)
    assert not {"kappa", "budget_usd"} & {bar.name for bar in found.bars}


def test_each_set_is_what_the_router_decides_and_the_first_differs_from_itself_by_nothing() -> None:
    rng = np.random.default_rng(5)
    context = worlds.context(instances.catalog(rng, 8, 4), {}, {})
    matches = [Match(rng.random(8), rng.random(len(context.tool_ids))) for _ in range(14)]
    tasks = [Task(f"t{at}", f"task {at}", relevant=context.tool_ids[at : at + 8]) for at in range(14)]
    now, quick = EhrrParameters(k=4), EhrrParameters(k=8, alpha_t=0.5, p_ofs=0.06, settlement="posted")
    first, other = compared(context, tasks, instances.many(context, matches), {"": now, "quick": quick})
    winners = []
    for parameters, found in ((now, first), (quick, other)):
        decided = []
        for match in matches:
            context.matcher.answer = match
            decided.append(Ehrr().route("x", context, parameters).winner)
        winners.append([one.tool if one else None for one in decided])
        solved = [name in task.relevant for name, task in zip(winners[-1], tasks, strict=True)]
        assert found.success == pytest.approx(np.mean(solved))
        assert found.usd == pytest.approx(np.mean([(one.payment_usd or 0.0) if one else 0.0 for one in decided]))
        assert found.time_s == pytest.approx(np.mean([one.time_cost_s if one else 0.0 for one in decided]))
    assert [at for at in range(14) if winners[0][at] != winners[1][at]] == list(other.changed) != []
    against = other.time_against
    assert against.mean == pytest.approx(other.time_s - first.time_s)
    assert against.low < against.mean < against.high
    assert (first.success_against.mean, first.usd_against.high, first.changed) == (0.0, 0.0, ())
