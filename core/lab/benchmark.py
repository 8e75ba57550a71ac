"""Retrieval and routing measures over labelled tasks."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from core.domain.decision import Decision
from core.domain.params import Value
from core.domain.task import Task
from core.lab.metrics import METRICS

RouteTask = Callable[[Task], Decision]


@dataclass(frozen=True, slots=True)
class BenchmarkRun:
    """One router with one parameter set over all tasks. Measures are means over the tasks that something can do; a
    task with no result counts as 0. `rejection` is the share of impossible tasks that got no candidate, None where
    there are none. Latencies are the decision's own times in ms."""

    router: str
    parameters: dict[str, Value]
    n: int
    measures: dict[str, float]
    rejection: float | None
    latency_ms_p50: float
    latency_ms_p95: float

    def to_json(self) -> dict[str, object]:
        """One entry of `wayfare bench --json`."""
        return {
            "router": self.router,
            "parameters": self.parameters,
            "n": self.n,
            **self.measures,
            "rejection": self.rejection,
            "latency_ms_p50": self.latency_ms_p50,
            "latency_ms_p95": self.latency_ms_p95,
        }


def run_benchmark(router: str, parameters: dict[str, Value], tasks: Sequence[Task], route: RouteTask) -> BenchmarkRun:
    """Route every task and measure the ranked candidates against its labels."""
    decisions = [(task, route(task)) for task in tasks]
    possible = [({t: task.gain(t) for t in task.relevant}, _ranked(d)) for task, d in decisions if task.relevant]
    impossible = [decision for task, decision in decisions if not task.relevant]
    latencies = [decision.timings_ms["total"] for _, decision in decisions]
    return BenchmarkRun(
        router=router,
        parameters=parameters,
        n=len(tasks),
        measures={
            name: _mean(metric(ranked, grades) for grades, ranked in possible) for name, metric in METRICS.items()
        },
        rejection=_mean(float(not d.candidates) for d in impossible) if impossible else None,
        latency_ms_p50=percentile(latencies, 50),
        latency_ms_p95=percentile(latencies, 95),
    )


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile, 0 for no values.

    >>> percentile([1.0, 2.0, 3.0, 4.0], 50)
    2.0
    """
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * int(percent) // 100) - 1)]


def _ranked(decision: Decision) -> list[str]:
    return [decision.tools.ids[row] for row in decision.candidates]


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return statistics.fmean(numbers) if numbers else 0.0
