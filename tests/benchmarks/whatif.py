"""Strips of all parameters of a new sub-task, and their breakpoints against a dense grid on larger random instances."""

from __future__ import annotations

import itertools

import numpy as np

from core.app import open_app
from core.decisions.ehrr_strips import SMOOTH, strip
from core.decisions.routing import Asked
from core.domain.settings import Settings
from tests.benchmarks import brute_force
from tests.benchmarks.measuring import percentile, report, timed
from tests.decisions import instances

INSTANCES = 1_000
SUBTASK = "where is the Super Bowl shown in Germany"


def strips() -> None:
    """On the sample catalog, then on random ones of 20 servers with up to 12 tools each."""
    with open_app(Settings(db=":memory:")) as app:
        for router in ("ehrr", "expected_value"):
            parameters, seeds = app.routing.parameters(router), itertools.count()
            app.what_if.strips(Asked(SUBTASK, parameters, router=router))

            def fresh(router: str = router, parameters=parameters, seeds=seeds) -> object:
                other = parameters.replaced({"kappa": float(parameters.kappa) + next(seeds) % 97})
                return app.what_if.strips(Asked(SUBTASK, other, router=router))

            times = timed(fresh, 60, warm_up=3)
            report(
                f"all strips of a sub-task, {router}, 81 servers, 950 tools (vector given)",
                {"p50": percentile(times, 0.5) * 1e3, "p90": percentile(times, 0.9) * 1e3},
                "ms",
                "100 ms",
            )
    knobs = {knob.name: knob for knob in instances.EhrrParameters.knobs()}
    found = {"breakpoints": 0.0, "missed": 0.0, "invented": 0.0}
    for seed in range(INSTANCES):
        name = SMOOTH[seed % len(SMOOTH)]
        case = instances.case(np.random.default_rng([seed, 7]), servers=20, tools=12)
        made = strip(case, knobs[name])
        found["breakpoints"] += len(made.breakpoints())
        found["missed"] += len(brute_force.missed(case, made, points=2_000, step=float(knobs[name].step or 0)))
        found["invented"] += len(brute_force.invented(case, made))
    report(
        f"breakpoints of {INSTANCES:,} random instances against a grid of 2,000 values",
        found,
        "",
        "no band wider than a step missed, none invented",
    )
