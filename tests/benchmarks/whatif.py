"""Strips of all parameters of a new sub-task."""

from __future__ import annotations

import itertools

from core.app import open_app
from core.decisions.routing import Asked
from core.domain.settings import Settings
from tests.benchmarks.measuring import percentile, report, timed

SUBTASK = "where is the Super Bowl shown in Germany"


def strips() -> None:
    """On the sample catalog."""
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
