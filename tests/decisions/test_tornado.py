"""The bars of a tornado are what the router decides when it is asked with the knob turned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.decisions.tornado import TURNS, measured
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

    found = measured(context, tasks, instances.many(context, matches), today)
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
    found = measured(case.context, [task], instances.many(case.context, [case.match]), zero)
    assert not {"kappa", "budget_usd"} & {bar.name for bar in found.bars}
