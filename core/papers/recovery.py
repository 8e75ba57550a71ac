"""Does a router come back to a server after its outage? Small seeded worlds, regret against the best server in hindsight.

Two to five servers do one thing. The best server is down for a while and comes back. At each step EHRR decides over the
statistics of the calls so far, the chosen server is called, and the outcome is drawn. All cures share the random draws. The value
of a call is its gain less its time, in the unit of utility:

    v = Sim * success - alpha_t * time

Regret is the sum of the expected value of the best server at each step less the value of the called server.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import repeat
from types import MappingProxyType, SimpleNamespace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog, Server, Tool
from core.domain.events import OutcomeEvent
from core.domain.outcome import OutcomeKind
from core.papers.report import Chart, Column, Row, Series, Table, ours, rounded
from core.planning.rules import RulesPlanner
from core.routers.context import IndexMatcher, Match, Query, RoutingContext
from core.routers.ehrr import Ehrr, EhrrParameters
from core.routers.presets import applied
from core.routers.projection import StatisticsProjection

Floats = NDArray[np.float64]
WORLDS = 10
START = datetime(2026, 1, 1, tzinfo=UTC)
STEP_S = 10.0
RETURN_WINDOW = 20  # steps; the server is back once it gets at least half of so many calls
CURES: Mapping[str, Mapping[str, object]] = MappingProxyType({
    "paper": {},
    "failures fade": {"half_life_s": 120.0, "fading": "failures"},
    "decay": {"half_life_s": 600.0, "fading": "everything"},
    "thompson": {"exploration": "thompson"},
    "optimism": {"exploration": "optimism"},
    "decay + thompson": {"half_life_s": 600.0, "fading": "everything", "exploration": "thompson"},
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class World:
    """Servers (N,) that do one thing: similarity, success, seconds a call. Server 0 is down in [down_from, down_to).

    A call to it then ends as `outage` says, after `outage_s` seconds. The catalog declares the real figures, or for every server the
    seconds and success that are `claimed`.
    """

    similarity: Floats
    success: Floats
    latency_s: Floats
    down_from: int
    down_to: int
    steps: int
    outage: OutcomeKind = OutcomeKind.CRASH
    outage_s: float = 0.1
    claimed: tuple[float | None, float | None] | None = None

    def values(self, alpha_t: float) -> Floats:
        """(steps, N) expected value of a call to each server at each step."""
        value = np.tile(self.similarity * self.success - alpha_t * self.latency_s, (self.steps, 1))
        value[self.down_from : self.down_to, 0] = -alpha_t * self.outage_s
        return value

    def catalog(self) -> Catalog:
        """The servers as a catalog with their declared figures, one tool each."""
        real = zip(self.latency_s.tolist(), self.success.tolist(), strict=True)
        declared = real if self.claimed is None else repeat(self.claimed, len(self.success))
        return Catalog("recovery", tuple(
            Server(f"s{row}", conn_s=0.0, call_s=latency_s, success=success, post_accept_failure=0.0,
                   tools=(Tool(f"s{row}", "do", latency_s=latency_s, success=success),))
            for row, (latency_s, success) in enumerate(declared)
        ))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Run:
    """One world under one cure: regret so far at each step (steps,), calls to the server while it was down, whether it was called
    again after its outage, and the steps until it was back, NaN if it was not.
    """

    regret: Floats
    wasted: int
    tried: bool
    back_after: float


def drawn_world(seed: int, *, steps: int = 1000, rivals: tuple[float, float] = (0.9, 0.99), **fields: Any) -> World:
    """Two to five servers; the success of the rivals is drawn from a range. The best server, row 0, is down for 5 to 20 % of
    the time, from about a third on.

    >>> world = drawn_world(1)
    >>> len(world.success), bool(np.all(world.values(0.25)[0].argmax() == 0)), world.down_to - world.down_from
    (3, True, 130)
    """
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 6))
    down_from = int(steps * rng.uniform(0.25, 0.35))
    world = World(
        similarity=rng.uniform(0.75, 0.85, count),
        success=rng.uniform(*rivals, count),
        latency_s=rng.uniform(0.3, 1.2, count),
        down_from=down_from,
        down_to=down_from + int(steps * rng.uniform(0.05, 0.2)),
        steps=steps,
        **fields,
    )
    order = np.argsort(-world.values(0.25)[0], kind="stable")  # the best first, by a clear margin
    latency_s = world.latency_s[order]
    latency_s[0] = max(0.1, latency_s[0] - 0.2)
    return replace(world, similarity=world.similarity[order], success=world.success[order], latency_s=latency_s)


def recover(world: World, parameters: EhrrParameters, *, seed: int) -> Run:
    draws = np.random.default_rng([seed, 1]).random((world.steps, len(world.success)))
    projection = StatisticsProjection(world.catalog(), priors=parameters.priors(), rates=parameters.rates())

    def match(*_: object) -> Match:
        return Match(world.similarity, world.similarity)  # each server has one tool

    matcher = cast(IndexMatcher, SimpleNamespace(match=match))
    context = RoutingContext.of(
        world.catalog(), projection.snapshot(), matcher, np.zeros(len(world.success), dtype=np.int64)
    )
    router, query = Ehrr(), Query("the same thing", "", matcher, RulesPlanner())
    called_rows = np.zeros(world.steps, dtype=np.int64)
    for step in range(world.steps):
        moment = START + timedelta(seconds=STEP_S * step)
        result = router.decide(query, replace(context, statistics=projection.snapshot(moment)), parameters)
        called_rows[step] = result.candidates[0]
        projection.observe(_called(world, int(called_rows[step]), step, float(draws[step, called_rows[step]]), moment))
    return _judged(world, called_rows, parameters.alpha_t)


def _judged(world: World, called_rows: NDArray[np.int64], alpha_t: float) -> Run:
    values = world.values(alpha_t)
    losses = values.max(axis=1) - values[np.arange(world.steps), called_rows]
    to_best = called_rows == 0
    later_calls = to_best[world.down_to :]
    calls = np.cumsum([0, *later_calls])
    busy = 2 * (calls[RETURN_WINDOW:] - calls[:-RETURN_WINDOW]) >= RETURN_WINDOW
    return Run(
        regret=np.cumsum(losses),
        wasted=int(to_best[world.down_from : world.down_to].sum()),
        tried=bool(later_calls.any()),
        back_after=float(busy.argmax()) if busy.any() else math.nan,
    )


def _called(world: World, row: int, step: int, draws: float, at: datetime) -> OutcomeEvent:
    down = row == 0 and world.down_from <= step < world.down_to
    if down:
        kind, latency_s = world.outage, world.outage_s
    else:
        kind = OutcomeKind.OK if draws < world.success[row] else OutcomeKind.TOOL_ERROR
        latency_s = float(world.latency_s[row])
    return OutcomeEvent(
        id=str(step), at=at, decision_id=None, catalog="recovery", server=f"s{row}", tool="do", kind=kind.value,
        latency_s=latency_s, connect_s=None, attempts=1, price_usd=None, simulated=False, error="", origin="lab",
    )  # fmt: skip


def recovery() -> tuple[Table, Chart]:
    """Regret over a thousand calls around an outage: the paper's (8), and our cures."""
    base, worlds = applied(EhrrParameters, "paper"), [drawn_world(seed) for seed in range(WORLDS)]
    rows: list[Row] = []
    lines: list[Series] = []
    for cure, settings in CURES.items():
        runs = [
            recover(world, base.replaced({**settings, "explore_seed": seed}), seed=seed)
            for seed, world in enumerate(worlds)
        ]
        mean, steps = np.mean([run.regret for run in runs], axis=0), range(0, worlds[0].steps, 20)
        lines.append(Series(cure, tuple(map(float, steps)), tuple(rounded(float(mean[step])) for step in steps)))
        back = [run.back_after for run in runs if not math.isnan(run.back_after)]
        row = {
            "regret": float(mean[-1]), "down": float(np.mean([run.wasted for run in runs])),
            "back": 100 * len(back) / len(runs), "after": float(np.mean(back)) if back else math.nan,
        }  # fmt: skip
        rows.append(ours(f"{cure} (8)" if cure == "paper" else cure, row))
    columns = (
        Column("regret", "Regret", 1), Column("down", "Calls while down", 1), Column("back", "Comes back", 0, "%"),
        Column("after", "After steps", 0),
    )  # fmt: skip
    about = "The best server is down for a while and comes back. Does the router? Regret is in units of utility (7)."
    differs = "With (8) alone a server that failed is not called again, so that its figures never mend; docs/decisions/0012-recovery.md."
    table = Table(
        "recovery", "Recovery after an outage (ours)", about, "none: the paper learns online and shows no curve of it",
        f"{WORLDS} drawn worlds of 2 to 5 servers, simulated", columns, tuple(rows), differs=differs,
    )  # fmt: skip
    return table, Chart(
        "recovery-curve", "Regret so far (ours)", about, "calls", "regret", "line", tuple(lines), differs=differs
    )
