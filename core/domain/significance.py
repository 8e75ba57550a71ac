"""Whether runs over the same tasks differ: intervals, a test, a correction, an effect size, a sample size.

Every function takes the values of each task and a seed. The same values and seed give the same figures.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

# scipy carries no types
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

Floats = NDArray[np.float64]

RESAMPLES, DRAWS = 2_000, 10_000
LEVEL, POWER = 0.95, 0.8
EQUAL = 1e-12  # sums that differ by less differ by rounding


def interval(values: Floats, *, seed: int = 0, resamples: int = RESAMPLES) -> tuple[float, float]:
    """The 95 % percentile interval of a mean over tasks, by bootstrap (Efron 1979).

    Shape: (T,). NaN is left out. Returns two NaN if nothing is left.

    >>> interval(np.array([1.0, 1.0, 1.0]))
    (1.0, 1.0)
    """
    from scipy.stats import bootstrap  # takes half a second to load

    numbers = values[np.isfinite(values)]
    if len(numbers) < 2:
        mean = float(numbers[0]) if len(numbers) else math.nan
        return mean, mean
    rng = np.random.default_rng(seed)
    result = bootstrap((numbers,), np.mean, n_resamples=resamples, confidence_level=LEVEL, method="percentile", rng=rng)
    return float(result.confidence_interval.low), float(result.confidence_interval.high)


def randomisation_p(differences: Floats, *, seed: int = 0, draws: int = DRAWS) -> Floats:
    """Two-sided p of a mean difference of 0, by the paired randomisation test (Fisher; Smucker et al., CIKM 2007).

    Under the hypothesis the two runs can be exchanged task by task, so the sign of each difference is drawn. All 2^T signs are
    tried if they are at most `draws`. Else p = (1 + draws with as large a mean) / (1 + draws). One matrix product serves all
    pairs. `scipy.stats.permutation_test` gives equal values and takes 4 to 13 times as long.
    Shapes: (T, C) differences of C pairs -> (C,), all under the same signs.

    >>> randomisation_p(np.array([[1.0], [1.0], [1.0]])).tolist()      # 2 of 8 signs are as extreme
    [0.25]
    """
    tasks = len(differences)
    if 2**tasks <= draws:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=tasks))).reshape(2**tasks, tasks)
        extra = 0
    else:
        signs = np.random.default_rng(seed).integers(0, 2, size=(draws, tasks)) * 2.0 - 1.0
        extra = 1
    observed = np.abs(differences.sum(axis=0))
    as_large = (np.abs(signs @ differences) >= observed - EQUAL * tasks).sum(axis=0)
    return (as_large + extra) / (len(signs) + extra)


def margin(differences: Floats, *, tests: int = 1) -> float:
    """Half the width of the 95 % interval of a mean paired difference: t_(1 - 0.05 / 2m, T - 1) s / sqrt(T) (Student 1908).

    `tests` m corrects the level for the best of m differences (Bonferroni). Shape: (T,). A single task gives its whole difference.

    >>> round(margin(np.array([0.0, 1.0, 2.0])), 3), margin(np.array([-1.0]))
    (2.484, 1.0)
    """
    from scipy.special import stdtrit

    if len(differences) < 2:
        return float(np.abs(differences).sum())
    quantile = float(stdtrit(len(differences) - 1, 1 - (1 - LEVEL) / 2 / max(1, tests)))
    return quantile * float(differences.std(ddof=1)) / math.sqrt(len(differences))


def holm(p: Sequence[float]) -> tuple[float, ...]:
    """p values adjusted for several tests (Holm 1979): the i-th smallest of m times (m - i + 1), never falling, at most 1.

    >>> holm([0.01, 0.04, 0.03])
    (0.03, 0.06, 0.06)
    """
    adjusted, largest = [0.0] * len(p), 0.0
    for rank, index in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        largest = max(largest, min(1.0, (len(p) - rank) * p[index]))
        adjusted[index] = largest
    return tuple(adjusted)


def effect_size(differences: Floats) -> float | None:
    """Cohen's d for paired values: the mean difference over its standard deviation. None if the deviation is 0.

    >>> effect_size(np.array([0.0, 1.0, 2.0]))
    1.0
    """
    deviation = float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    return float(differences.mean()) / deviation if deviation > EQUAL else None


def tasks_needed(effect: float | None) -> int | None:
    """The number of tasks to show an effect of this size at 5 % with a power of 80 %: ((z_0.975 + z_0.8) / d)^2.

    None if the effect is 0 or unknown.

    >>> tasks_needed(0.5), tasks_needed(0.1)
    (32, 785)
    """
    if not effect:
        return None
    normal = NormalDist()
    return math.ceil(((normal.inv_cdf((1 + LEVEL) / 2) + normal.inv_cdf(POWER)) / effect) ** 2)


@dataclass(frozen=True, slots=True)
class Compared:
    """Run `b` against run `a` (positions in the list of runs) by a measure over their common tasks.

    `difference` is the mean of b minus the mean of a, with its 95 % interval. `p_holm` is p corrected for all compared pairs.
    `won`, `lost` and `same` count the tasks of b.
    """

    a: int
    b: int
    measure: str
    n: int
    difference: float
    low: float
    high: float
    p: float
    p_holm: float
    effect_size: float | None
    tasks_needed: int | None
    won: int
    lost: int
    same: int

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def compared(values: Sequence[Floats], measure: str, *, seed: int = 0) -> tuple[Compared, ...]:
    """Compares every pair of runs. `values` holds the values of each run, (T,), with the tasks in one order."""
    pairs = list(itertools.combinations(range(len(values)), 2))
    if not pairs or not len(values[0]):
        return ()
    differences = np.stack([values[b] - values[a] for a, b in pairs], axis=1)
    p = [float(value) for value in randomisation_p(differences, seed=seed)]
    p_holm = holm(p)
    return tuple(_compared(pair, measure, differences[:, i], p[i], p_holm[i], seed) for i, pair in enumerate(pairs))


def _compared(pair: tuple[int, int], measure: str, differences: Floats, p: float, p_holm: float, seed: int) -> Compared:
    low, high = interval(differences, seed=seed)
    effect = effect_size(differences)
    won, lost = int((differences > EQUAL).sum()), int((differences < -EQUAL).sum())
    return Compared(
        *pair, measure, len(differences), float(differences.mean()), low, high, p, p_holm, effect, tasks_needed(effect),
        won, lost, len(differences) - won - lost,
    )  # fmt: skip
