"""A plan's totals: what may run at the same time does, and nothing is counted that is not there."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from core.planning.plans import Plan
from tests.cases import each


def decision(time_s: float | None, price_usd: float | None = 0.001, exposed: int = 10) -> Any:
    """A decision as far as a plan looks at it; without a time nothing can do it."""
    winner = None if time_s is None else SimpleNamespace(time_cost_s=time_s, payment_usd=price_usd, tool=f"t{time_s:g}")
    return SimpleNamespace(winner=winner, tokens={"exposed": exposed})


def plan(*parts: tuple[tuple[int, ...], Any]) -> Plan:
    by_part = {f"part {n}": outcome for n, (_, outcome) in enumerate(parts)}
    return Plan.of(
        "q", "rules", [(f"part {n}", needs) for n, (needs, _) in enumerate(parts)], lambda text, _: by_part[text]
    )


def test_steps_that_need_no_other_run_at_once() -> None:
    result = plan(((), decision(2.0)), ((), decision(3.0)), ((0, 1), decision(0.5)))
    assert [(step.start_s, step.finish_s) for step in result.steps] == [(0, 2), (0, 3), (3, 3.5)]
    assert (result.elapsed_s, result.work_s) == (3.5, 5.5)
    assert result.longest_path == (1, 2)


def test_what_has_no_price_or_no_tool_is_counted_apart() -> None:
    result = plan(((), decision(1.0, 0.002)), ((), decision(1.0, None)), ((0,), decision(None)))
    assert (result.price_usd, result.unpriced, result.unanswered) == (0.002, 1, (2,))
    assert result.elapsed_s == 1.0
    assert result.exposed_tokens == 30


@each("needs", [(0,), (1,), (-1,)])
def test_a_step_needs_earlier_ones_only(needs: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="earlier ones only"):
        plan((needs, decision(1.0)))


def test_a_step_is_decided_knowing_what_it_builds_on() -> None:
    built_on: dict[str, list[str]] = {}

    def decide(text: str, results: Sequence[str]) -> Any:
        built_on[text] = list(results)
        return decision(None) if text == "c" else decision(float(len(built_on)))

    Plan.of("q", "rules", [("a", ()), ("b", (0,)), ("c", ()), ("d", (1, 2)), ("e", ())], decide)
    assert built_on == {
        "a": [],
        "b": ["t1"],
        "c": [],
        "d": ["t1", "t2"],
        "e": [],
    }  # nothing can do c: it brings nothing
