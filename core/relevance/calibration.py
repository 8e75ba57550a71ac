"""Fitting the relevance model to a catalog's own labels, judged on held-back folds.

Three parts change the ranking: weights of the signals, a query map, and the reach of the memory. Inner folds of the training folds
choose which to fit, anew for each held-back fold, so that the whole procedure is measured. A fourth part is a line through p_fit's
logits, fitted to the sub-tasks of the other folds as fits without them ranked them. A part without a gain beyond its 95 % interval
is left out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.errors import WayfareError
from core.domain.feedback import LabelledQuery
from core.relevance.feedback import BOUND
from core.relevance.labelled import (
    IndexScorer,
    LabelledSet,
    Recipe,
    calibration_error,
    fit_line,
    log_losses,
    reciprocal_ranks,
)
from core.relevance.learnt import FitLine, LearntValues, MapValues, MemoryValues, Solved

# scipy carries no types
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

# Folds of whole groups, and the change of a measure with its paired interval
#     change   = mean(after) - mean(before)                     over the same sub-tasks
#     interval = 2.5 % and 97.5 % quantile of the change over 2,000 draws of whole groups, with replacement

DRAWS = 2000
LEAST_LABELS = 20
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Change:
    """A measure before and after, the change, and its 95 % interval."""

    before: float
    after: float
    low: float
    high: float

    @property
    def gain(self) -> float:
        return self.after - self.before

    def to_json(self) -> dict[str, float]:
        numbers = {"before": self.before, "after": self.after, "gain": self.gain, "low": self.low, "high": self.high}
        return {name: round(value, 4) for name, value in numbers.items()}


def folds_of(groups: Sequence[str], count: int, *, seed: int = 0) -> Rows:
    """(Q,) the fold of each sub-task, 0 to count - 1. A group is never split; folds are as even as whole groups allow.

    >>> folds_of(["a", "a", "b", "c"], 2).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 1, 0], [1, 1, 0, 1])
    True
    """
    names, group, sizes = np.unique(np.asarray(groups, dtype=str), return_inverse=True, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(names))
    order = order[np.argsort(-sizes[order], kind="stable")]
    filled, fold = np.zeros(count, dtype=np.int64), np.zeros(len(names), dtype=np.int64)
    for name in order:
        fold[name] = int(filled.argmin())
        filled[fold[name]] += sizes[name]
    return fold[group]


def change_of_means(before: Floats, after: Floats, groups: Sequence[str] | None = None) -> Change:
    """The change of a mean over sub-tasks, (Q,) each. Without `groups` each sub-task is drawn by itself."""
    low, high, _ = _mean_interval(after - before, groups)
    return Change(float(before.mean()), float(after.mean()), low, high)


def change_of(
    measure: Callable[[Floats, Floats], float], before: Floats, after: Floats, groups: Sequence[str]
) -> Change:
    """The change of a measure other than a mean. `before` and `after` have a row per sub-task; `measure` takes such rows
    and the weight of each, (Q,)."""
    names, group = np.unique(np.asarray(groups, dtype=str), return_inverse=True)

    def changed(drawn: Rows) -> float:
        times = np.bincount(drawn, minlength=len(names))[group].astype(np.float64)
        return measure(after, times) - measure(before, times)

    low, high, _ = _bootstrap((np.arange(len(names)),), changed, draws=DRAWS // 10, vectorized=False)
    once = np.ones(len(before))
    return Change(measure(before, once), measure(after, once), low, high)


def more_labels(before: Floats, after: Floats, groups: Sequence[str]) -> int | None:
    """The number of further sub-tasks that would show a gain of this size beyond its noise. None without a gain.

        needed = n (1.96 se / gain)^2            se by bootstrap

    >>> wins = np.array([0.1, 0.3, -0.2, 0.0] * 5)
    >>> more_labels(np.zeros(20), wins, [str(i) for i in range(20)])
    32
    """
    gain = float((after - before).mean())
    if gain <= 0:
        return None
    _, _, error = _mean_interval(after - before, groups)
    needed = len(before) * (1.96 * error / gain) ** 2
    return max(1, math.ceil(needed - len(before)))


def _mean_interval(values: Floats, groups: Sequence[str] | None) -> tuple[float, float, float]:
    """The 95 % interval of a mean (Q,) and its standard error; whole groups are drawn."""
    if groups is None:
        sums, sizes = values, np.ones(len(values))
    else:
        _, group = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
        sums, sizes = np.bincount(group, values), np.bincount(group).astype(np.float64)
    return _bootstrap((sums, sizes), _ratio, draws=DRAWS, vectorized=True)


def _ratio(sums: Floats, sizes: Floats, axis: int = -1) -> Floats:
    return sums.sum(axis=axis) / sizes.sum(axis=axis)


def _bootstrap(
    data: tuple[NDArray[Any], ...], statistic: Callable[..., Any], *, draws: int, vectorized: bool
) -> tuple[float, float, float]:
    """The 95 % percentile interval of a statistic and its standard error. A single group has no spread."""
    from scipy.stats import bootstrap  # takes half a second to load

    if len(data[0]) < 2:
        only = float(statistic(*data))
        return only, only, 0.0
    result = bootstrap(
        data, statistic, n_resamples=draws, paired=True, vectorized=vectorized, method="percentile",
        rng=np.random.default_rng(0),
    )  # fmt: skip
    interval = result.confidence_interval
    return float(interval.low), float(interval.high), float(result.standard_error)


FOLDS, INNER_FOLDS = 5, 4
STRENGTHS, RIDGES = (None, 4.0), (None, 10.0, 3.0)
MEMORIES = ((6.0, 0.6), (9.0, 0.5), (6.0, 0.7))  # bound in logits and floor
JUDGED = 30  # the likeliest tools of each sub-task, for judging probabilities
RANKING, PROBABILITY = "ranking", "probability"
MOST_LABELS, MOST_CELLS = 5_000, 20_000_000  # sub-tasks, and sub-tasks times tools: 0.6 GB of signals
Progress = Callable[[int, int], None]  # folds done, all folds


@dataclass(frozen=True, slots=True)
class CalibrationFit:
    """A fit over `labels` sub-tasks. `passed_over` sub-tasks have no right tool in the catalog.

    `measures` compare held-back folds before and after the complete fit. `accepted` names the parts with a gain, which are in `values`.
    Without the ranking `remark` is the reason in a sentence, and `more` is the number of further labels that would show a gain of that
    size, None without a gain.
    """

    labels: int
    passed_over: int
    recipe: Recipe
    values: LearntValues
    measures: Mapping[str, Change]
    accepted: tuple[str, ...]
    remark: str = ""
    more: int | None = None

    def report(self) -> dict[str, Any]:
        return {
            "labels": self.labels,
            "passed_over": self.passed_over,
            "folds": FOLDS,
            "accepted": list(self.accepted),
            "measures": {name: change.to_json() for name, change in self.measures.items()},
            "weights_strength": self.recipe.strength,
            "map_ridge": self.recipe.ridge,
            "memory_bound": self.recipe.bound,
            "memory_floor": self.recipe.floor,
            "remark": self.remark,
            "more_labels": self.more,
        }


@dataclass(frozen=True, slots=True)
class _HeldBack:
    """Results of fits on sub-tasks outside their training: the reciprocal rank of the first right tool (Q,), and the logits and fits of
    the JUDGED likeliest tools (Q, K).
    """

    ranks: Floats
    logits: Floats
    fits: NDArray[np.bool_]


def sampled(
    queries: Sequence[LabelledQuery], tool_row: Mapping[str, int], *, cells: int = MOST_CELLS, seed: int = 0
) -> list[LabelledQuery]:
    """The labels for a fit: all, or whole groups drawn by chance if the signals of all labels over all tools would fill the memory.

    Labels without a right tool in the catalog stay; the fit counts them and leaves them out.
    """
    usable = [any(tool in tool_row for tool in query.right) for query in queries]
    most = max(LEAST_LABELS, min(MOST_LABELS, cells // max(1, len(tool_row))))
    if sum(usable) <= most:
        return list(queries)
    sizes = Counter(query.group or query.query for query, use in zip(queries, usable, strict=True) if use)
    names = list(sizes)
    order = np.random.default_rng(seed).permutation(len(names)).tolist()
    kept_groups: set[str] = set()
    left = most
    for name in (names[place] for place in order):
        if sizes[name] <= left:
            kept_groups.add(name)
            left -= sizes[name]
    return [q for q, use in zip(queries, usable, strict=True) if not use or (q.group or q.query) in kept_groups]


def fit(
    queries: Sequence[LabelledQuery],
    scorer: IndexScorer,
    tool_row: Mapping[str, int],
    *,
    known: bool = False,
    progress: Progress | None = None,
) -> CalibrationFit:
    """Fits and judges. `known` labels are in the memory already, so their effect is no gain of the fit.

    Raises WayfareError if fewer than LEAST_LABELS sub-tasks have a right tool in the catalog.
    """
    tasks = LabelledSet(scorer, queries, tool_row)
    if len(tasks) < LEAST_LABELS:
        raise WayfareError(
            f"{len(tasks)} labelled sub-tasks with a right tool of this catalog are too few to judge a fit; label at least "
            f"{LEAST_LABELS - len(tasks)} more."
        )
    fold, today = folds_of(tasks.groups, FOLDS), Recipe() if known else Recipe(bound=0.0)
    before = _held_back(tasks, fold, lambda _: today)
    tried = _held_back(tasks, fold, lambda train: chosen(tasks, train, today), progress)
    mrr = change_of_means(before.ranks, tried.ranks, tasks.groups)
    recipe = chosen(tasks, np.arange(len(tasks)), today) if mrr.low > 0 else today
    ranking = recipe != today
    after = tried if ranking else before
    lined = replace(after, logits=_lined(after, fold))
    probability = change_of_means(_losses(after), _losses(lined), tasks.groups).high < 0
    line = fit_line(after.logits, after.fits) if probability else (1.0, 0.0)
    more = None if ranking else more_labels(before.ranks, tried.ranks, tasks.groups)
    return CalibrationFit(
        labels=len(tasks),
        passed_over=len(queries) - len(tasks),
        recipe=recipe,
        values=_values(tasks, recipe, line, today=today),
        measures=_rank_measures(tasks.groups, before, tried) | _probability_measures(tasks.groups, before, lined),
        accepted=tuple(name for name, on in ((RANKING, ranking), (PROBABILITY, probability)) if on),
        remark="" if ranking else _remark(mrr, more),
        more=more,
    )


def chosen(tasks: LabelledSet, among: Rows, today: Recipe) -> Recipe:
    """The recipe with the best MRR on inner folds of some sub-tasks. Tries weights and map together, then the memory. Today's recipe wins
    a draw. A gain from noise fails on the outer folds.
    """
    numbers: list[int] = among.tolist()
    fold = folds_of([tasks.groups[number] for number in numbers], INNER_FOLDS, seed=1)

    def better(recipe: Recipe, options: Iterable[Recipe]) -> Recipe:
        best, mrr = recipe, _inner_mrr(tasks, among, fold, recipe)
        for option in options:
            tried = _inner_mrr(tasks, among, fold, option)
            if tried > mrr:
                best, mrr = option, tried
        return best

    ranked = better(today, [replace(today, strength=s, ridge=r) for s, r in product(STRENGTHS, RIDGES) if s or r])
    return better(ranked, [replace(ranked, bound=bound, floor=floor) for bound, floor in MEMORIES])


def _inner_mrr(tasks: LabelledSet, among: Rows, fold: Rows, recipe: Recipe) -> float:
    ranks = np.zeros(len(among))
    for number in range(INNER_FOLDS):
        held_out = fold == number
        if held_out.any():
            ranks[held_out] = tasks.reciprocal_ranks(tasks.parts(recipe, among[~held_out]), among[held_out])
    return float(ranks.mean())


def _held_back(
    tasks: LabelledSet, fold: Rows, choose: Callable[[Rows], Recipe], progress: Progress | None = None
) -> _HeldBack:
    size = min(JUDGED, len(tasks.scorer.rows))
    ranks, logits = np.zeros(len(tasks)), np.zeros((len(tasks), size))
    fits = np.zeros((len(tasks), size), dtype=np.bool_)
    for number in range(FOLDS):
        train = np.flatnonzero(fold != number)
        parts = tasks.parts(choose(train), train)
        for place in np.flatnonzero(fold == number):
            scores, right = tasks.logits(parts, int(place)), tasks.is_right(int(place))
            ranks[place] = reciprocal_ranks(scores[None], right[None])[0]
            top = np.argsort(-scores, kind="stable")[:size]
            logits[place], fits[place] = scores[top], right[top]
        if progress is not None:
            progress(number + 1, FOLDS)
    return _HeldBack(ranks, logits, fits)


def _lined(results: _HeldBack, fold: Rows) -> Floats:
    lined = results.logits.copy()
    for number in range(FOLDS):
        held_out = fold == number
        slope, offset = fit_line(results.logits[~held_out], results.fits[~held_out])
        lined[held_out] = slope * results.logits[held_out] + offset
    return lined


def _rank_measures(groups: Sequence[str], before: _HeldBack, after: _HeldBack) -> dict[str, Change]:
    def hits(results: _HeldBack, k: int) -> Floats:
        return (results.ranks > 1 / (k + 0.5)).astype(np.float64)

    return {
        "mrr": change_of_means(before.ranks, after.ranks, groups),
        "hit@1": change_of_means(hits(before, 1), hits(after, 1), groups),
        "hit@3": change_of_means(hits(before, 3), hits(after, 3), groups),
    }


def _probability_measures(groups: Sequence[str], before: _HeldBack, after: _HeldBack) -> dict[str, Change]:
    def pairs(results: _HeldBack) -> Floats:
        return np.concatenate([results.logits, results.fits.astype(np.float64)], axis=1)

    def error(rows: Floats, times: Floats) -> float:
        size = rows.shape[1] // 2
        return calibration_error(rows[:, :size], rows[:, size:] > 0, times)

    return {
        "log_loss": change_of_means(_losses(before), _losses(after), groups),
        "ece": change_of(error, pairs(before), pairs(after), groups),
    }


def _losses(results: _HeldBack) -> Floats:
    return log_losses(results.logits, results.fits)


def _values(tasks: LabelledSet, recipe: Recipe, line: tuple[float, float], *, today: Recipe) -> LearntValues:
    values = LearntValues(fit=FitLine(*line))
    if recipe == today:
        return values
    parts = tasks.parts(recipe, np.arange(len(tasks)))
    return replace(
        values,
        weights=dict(parts.weights) if recipe.strength is not None else {},
        memory=MemoryValues(recipe.bound or BOUND, floor=recipe.floor),  # later labels move their tools in any case
        query_map=MapValues(recipe.ridge),
        solved=tuple(Solved(query.query, query.right, query.server_hint) for query in tasks.queries),
        teaches=today.bound == 0 and recipe.bound > 0,
    )


def _remark(mrr: Change, more: int | None) -> str:
    change = f"MRR goes from {mrr.before:.3f} to {mrr.after:.3f}, a change of {mrr.low:+.3f} to {mrr.high:+.3f} at 95 %"
    if more is None:
        return f"A fitted ranking gains nothing on held-back folds ({change}); the ranking stays as it is."
    return f"The gain of a fitted ranking is within noise ({change}); about {more} more labels would show a gain of this size."
