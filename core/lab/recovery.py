"""Does a router come back to a server after its outage? Small seeded worlds, regret against the best server in hindsight.

Two to five servers do one thing. The best server is down for a while and comes back. At each step EHRR decides over the
statistics of the calls so far, the chosen server is called, and the outcome is drawn. All cures share the random draws. The value
of a call is its gain less its time, in the unit of utility:

    v = Sim * success - alpha_t * time

Regret is the sum of the expected value of the best server at each step less the value of the called server.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog, Server, Tool
from core.domain.decision import Fit
from core.domain.events import OutcomeEvent
from core.domain.outcome import OutcomeKind
from core.planning.rules import RulesPlanner
from core.routers.context import IndexMatcher, Match, Query, RoutingContext
from core.routers.ehrr import Ehrr, EhrrParameters
from core.routers.projection import StatisticsProjection

Floats = NDArray[np.float64]
Claims = Literal["true", "none", "boast"]
START = datetime(2026, 1, 1, tzinfo=UTC)
STEP_S = 10.0
RETURN_WINDOW = 20  # steps; the server is back once it gets at least half of so many calls
NEVER = -1
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

    A call to it then ends as `outage` says, after `outage_s` seconds. The catalog declares the real figures (`true`), nothing, so
    that the priors hold (`none`), or perfection (`boast`).
    """

    similarity: Floats
    success: Floats
    latency_s: Floats
    down_from: int
    down_to: int
    steps: int
    outage: OutcomeKind = OutcomeKind.CRASH
    outage_s: float = 0.1
    claims: Claims = "true"

    def values(self, alpha_t: float) -> Floats:
        """(steps, N) expected value of a call to each server at each step."""
        value = np.tile(self.similarity * self.success - alpha_t * self.latency_s, (self.steps, 1))
        value[self.down_from : self.down_to, 0] = -alpha_t * self.outage_s
        return value

    def catalog(self) -> Catalog:
        """The servers as a catalog with their claimed figures, one tool each."""
        truth = zip(self.latency_s.tolist(), self.success.tolist(), strict=True)
        claim = {"none": (None, None), "boast": (0.1, 1.0)}
        claims = [claim.get(self.claims, figures) for figures in truth]
        return Catalog("recovery", tuple(
            Server(f"s{row}", conn_s=0.0, call_s=latency_s, success=success, post_accept_failure=0.0,
                   tools=(Tool(f"s{row}", "do", latency_s=latency_s, success=success),))
            for row, (latency_s, success) in enumerate(claims)
        ))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Run:
    """One world under one cure: regret so far at each step (steps,), calls to the server while it was down, and the steps after its
    outage until it was called again and until it was back, `NEVER` if it was not.
    """

    regret: Floats
    wasted: int
    tried_after: int
    back_after: int


@dataclass(frozen=True, slots=True)
class Summary:
    """A cure over many seeds: means with standard errors. Times are means over the seeds with a return, NaN without any."""

    cure: str
    seeds: int
    regret: float
    regret_error: float
    wasted: float
    tried_share: float
    back_share: float
    back_after: float
    back_error: float


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
    matcher = cast(IndexMatcher, _Alike(world.similarity))
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


def summary(cure: str, runs: Sequence[Run]) -> Summary:
    regret, regret_error = _mean([float(run.regret[-1]) for run in runs])
    back, back_error = _mean([run.back_after for run in runs if run.back_after != NEVER])
    return Summary(
        cure=cure,
        seeds=len(runs),
        regret=regret,
        regret_error=regret_error,
        wasted=_mean([run.wasted for run in runs])[0],
        tried_share=_mean([run.tried_after != NEVER for run in runs])[0],
        back_share=_mean([run.back_after != NEVER for run in runs])[0],
        back_after=back,
        back_error=back_error,
    )


def _judged(world: World, called_rows: NDArray[np.int64], alpha_t: float) -> Run:
    values = world.values(alpha_t)
    losses = values.max(axis=1) - values[np.arange(world.steps), called_rows]
    to_best = called_rows == 0
    later_calls = to_best[world.down_to :]
    if len(later_calls) >= RETURN_WINDOW:
        busy = np.lib.stride_tricks.sliding_window_view(later_calls, RETURN_WINDOW).mean(axis=1) >= 0.5
    else:
        busy = np.zeros(0, dtype=np.bool_)
    return Run(
        regret=np.cumsum(losses),
        wasted=int(to_best[world.down_from : world.down_to].sum()),
        tried_after=int(later_calls.argmax()) if later_calls.any() else NEVER,
        back_after=int(busy.argmax()) if busy.any() else NEVER,
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


def _mean(values: Sequence[float]) -> tuple[float, float]:
    if not values:
        return math.nan, math.nan
    spread = float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return float(np.mean(values)), spread


class _Alike:
    """A matcher with fixed similarities for any query. Each server has one tool, and there are no texts."""

    def __init__(self, similarity: Floats) -> None:
        self._match = Match(similarity, similarity)

    def match(self, *_: object, **__: object) -> Match:
        return self._match

    def fit(self, *_: object, **__: object) -> tuple[Fit, float]:
        tools = self._match.tools
        return Fit(tools, self._match.servers, 0.0, tools, {}), 0.0

    def likeness(self, rows: NDArray[np.int64]) -> Floats:
        return np.eye(len(rows))

    def embed(self, *_: object, **__: object) -> NDArray[np.float32]:
        return np.zeros(1, dtype=np.float32)

    def cosines(self, *_: object, **__: object) -> Floats:
        return self._match.tools

    cosines_of = bm25 = cosines

    def tokens(self, *_: object, **__: object) -> list[Floats]:
        return []
