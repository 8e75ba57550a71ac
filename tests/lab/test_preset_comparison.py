"""Sets of parameters beside each other: each is what the router decides with it, against the first task by task."""

from __future__ import annotations

import numpy as np
import pytest

from core.decisions.preset_comparison import compared
from core.domain.tasks import Task
from core.routers.context import Match
from core.routers.ehrr import Ehrr, EhrrParameters
from tests.decisions import instances
from tests.routers import worlds


def test_each_set_is_what_the_router_decides_and_the_first_differs_from_itself_by_nothing() -> None:
    rng = np.random.default_rng(5)
    context = worlds.context(instances.catalog(rng, 8, 4), {}, {})
    matches = [Match(rng.random(8), rng.random(len(context.tool_ids))) for _ in range(14)]
    tasks = [Task(f"t{at}", f"task {at}", relevant=context.tool_ids[at : at + 8]) for at in range(14)]
    now, quick = EhrrParameters(k=4), EhrrParameters(k=8, alpha_t=0.5, p_ofs=0.06, settlement="posted")
    many = instances.many(context, matches)
    rows = many.winners([now, quick])
    paid = many.payments([now, quick], rows[..., np.newaxis])[..., 0]
    first, other = compared(context, tasks, *(dict(zip(("", "quick"), one, strict=True)) for one in (rows, paid)))
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
