"""Does EHRR come back to a server after its outage: the paper's form beside decay and exploration, `core.papers.recovery`.

Regret is in units of utility over 1,000 calls, against the server that was best at each step. "tried" and "back" are shares
of the seeds in which the server was called at all, and again had at least half of the calls, after its outage.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.domain.outcome import OutcomeKind
from core.papers.recovery import CURES, Run, World, drawn_world, recover
from core.routers.ehrr import EhrrParameters
from core.routers.presets import applied

SEEDS = 20
SITUATIONS: Mapping[str, Callable[[int], World]] = {
    "rivals never fail": lambda seed: drawn_world(seed, rivals=(1.0, 1.0)),
    "rivals succeed at 0.9 to 0.99": drawn_world,
    "rivals succeed at 0.8 to 0.95": lambda seed: drawn_world(seed, rivals=(0.8, 0.95)),
    "the outage shows as time-outs of 5 s": lambda seed: drawn_world(seed, outage=OutcomeKind.TIMEOUT, outage_s=5.0),
    "the catalog declares nothing": lambda seed: drawn_world(seed, claimed=(None, None)),
    "the catalog declares perfection": lambda seed: drawn_world(seed, claimed=(0.1, 1.0)),
    "no outage": lambda seed: _quiet(drawn_world(seed)),
}
SETTINGS: Mapping[str, Mapping[str, object]] = {
    **{
        f"decay, half-life {s:.0f} s": {"half_life_s": s, "fading": "everything"}
        for s in (120.0, 300.0, 1800.0, 3600.0)
    },
    **{f"thompson, memory {m}": {"exploration": "thompson", "explore_memory": m} for m in (10, 100)},
    **{f"optimism, c {c}": {"exploration": "optimism", "optimism": c} for c in (0.1, 0.6)},
}


def recovering() -> None:
    """Every cure in every situation, then other settings of each cure in the ordinary situation."""
    print(f"recovery: {SEEDS} seeds, 1,000 steps of 10 s; mean ± standard error")
    for name, make in SITUATIONS.items():
        _table(name, make, CURES)
    _table("other settings, rivals succeed at 0.9 to 0.99", drawn_world, SETTINGS)


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

    @classmethod
    def of(cls, cure: str, runs: Sequence[Run]) -> Summary:
        back = [run.back_after for run in runs if not math.isnan(run.back_after)]
        wasted, tried = (float(np.mean(values)) for values in ([r.wasted for r in runs], [r.tried for r in runs]))
        regret = _mean([float(run.regret[-1]) for run in runs])
        return cls(cure, len(runs), *regret, wasted, tried, len(back) / len(runs), *_mean(back))


def _mean(values: Sequence[float]) -> tuple[float, float]:
    if not values:
        return math.nan, math.nan
    spread = float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return float(np.mean(values)), spread


def compare(
    worlds: Sequence[World], cures: Mapping[str, Mapping[str, object]] = CURES, **parameters: object
) -> tuple[Summary, ...]:
    """Each cure over the same worlds and draws, on top of the preset `paper`. The seed of a world is its position."""
    start = applied(EhrrParameters, "paper", parameters)
    return tuple(
        Summary.of(name, [recover(world, start.replaced({**cure, "explore_seed": seed}), seed=seed) for seed, world in enumerate(worlds)])
        for name, cure in cures.items()
    )  # fmt: skip


def _table(name: str, make: Callable[[int], World], cures: Mapping[str, Mapping[str, object]]) -> None:
    print(f"{name:<40}{'regret':>16}{'calls while down':>18}{'tried':>7}{'back':>7}{'back after steps':>18}")
    for row in compare([make(seed) for seed in range(SEEDS)], cures):
        spread = "" if math.isnan(row.back_error) else f" ± {row.back_error:.0f}"
        back = f"{row.back_after:.0f}{spread}" if row.back_share else "never"
        print(
            f"  {row.cure:<38}{row.regret:>9.1f} ± {row.regret_error:4.1f}{row.wasted:>18.1f}"
            f"{row.tried_share:>7.0%}{row.back_share:>7.0%}{back:>18}",
            flush=True,
        )


def _quiet(world: World) -> World:
    return replace(world, down_to=world.down_from)
