"""The fit on toy catalogs: what gains is taken, what does not is refused, and nothing of a held-back fold is learnt from."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.errors import WayfareError
from core.domain.feedback import LabelledQuery
from core.relevance.calibration import FOLDS, change_of, change_of_means, fit, folds_of
from core.relevance.encoder import unit_rows
from core.relevance.labelled import (
    LabelledSet,
    QuerySignals,
    Recipe,
    calibration_error,
    fit_line,
    fit_weights,
    log_losses,
    reciprocal_ranks,
)
from core.relevance.scoring import sigmoid
from tests.cases import each

TOOLS, WIDTH = 40, 16
TOOL_ROW = {f"s::t{n}": n for n in range(TOOLS)}


class ToyScorer:
    """Signals `dense` and `words`. Sub-task "N about M" has the direction of tool M in it; its words point at tool N."""

    weights: Mapping[str, float] = {"dense": 0.5, "words": 0.5}
    slope = 1.5

    def __init__(self, *, words: float = 0.0) -> None:
        rng = np.random.default_rng(0)
        self.rows = unit_rows(rng.normal(size=(TOOLS, WIDTH)))
        self._drift = unit_rows(rng.normal(size=(1, WIDTH)))[0]
        self._words = words

    def found(self, query: LabelledQuery) -> QuerySignals:
        number, _, row = query.query.partition(" about ")
        rng = np.random.default_rng(int(number))
        vector = unit_rows((self.rows[int(row)] + self._drift + 3.0 * unit_rows(rng.normal(size=(1, WIDTH)))[0])[None])[
            0
        ]
        words = rng.normal(size=TOOLS).astype(np.float32)
        words[int(row)] += self._words
        return QuerySignals(vector, vector, {"dense": self.rows @ vector, "words": words})

    def dense(self, vector: np.ndarray, moved: np.ndarray) -> np.ndarray:
        return self.rows @ moved

    def normalised(self, name: str, raw: np.ndarray) -> np.ndarray:
        return (raw - raw.mean()) / max(float(raw.std()), 1e-6)

    def logits(self, found, weights, vector, shift) -> np.ndarray:
        raw = {**found.raw, "dense": self.rows @ vector}
        score = sum(weights[name] * self.normalised(name, values) for name, values in raw.items())
        return self.slope * score - 3.0 + (0.0 if shift is None else shift)


def tasks(count: int, *, tools: int = TOOLS) -> list[LabelledQuery]:
    """So many sub-tasks over the first so many tools."""
    return [LabelledQuery(f"{n} about {n % tools}", "", (f"s::t{n % tools}",)) for n in range(count)]


def test_a_signal_that_tells_gets_its_weight_and_the_gain_is_beyond_noise() -> None:
    steps: list[int] = []
    fitted = fit(tasks(60), ToyScorer(words=4.0), TOOL_ROW, progress=lambda step, total: steps.append(step))
    assert "ranking" in fitted.accepted
    assert fitted.measures["mrr"].low > 0
    assert fitted.values.weights["words"] > fitted.values.weights["dense"]
    assert sum(fitted.values.weights.values()) == pytest.approx(1.0)
    assert (fitted.remark, fitted.more) == ("", None)
    assert steps == list(range(1, FOLDS + 1))
    json.dumps(fitted.report(), allow_nan=False)


def test_labels_that_teach_nothing_are_refused_with_a_sentence() -> None:
    rng = np.random.default_rng(5)
    noise = [LabelledQuery(f"{n} about 0", "", (f"s::t{rng.integers(40)}",)) for n in range(30)]
    fitted = fit(noise, ToyScorer(), TOOL_ROW)
    assert "ranking" not in fitted.accepted
    assert fitted.values.weights == {}
    assert fitted.values.query_map.ridge is None
    assert fitted.values.solved == ()
    assert "95 %" in fitted.remark
    assert fitted.remark.endswith(".")
    assert ("more labels" in fitted.remark) == (fitted.more is not None)


@each(("count", "more"), [(0, 20), (1, 19), (19, 1)])
def test_too_few_labels_are_refused_and_it_says_how_many_more(count: int, more: int) -> None:
    with pytest.raises(WayfareError, match=f"label at least {more} more") as error:
        fit(tasks(count), ToyScorer(), TOOL_ROW)
    assert str(error.value).startswith(f"{count} labelled sub-tasks")


def test_sub_tasks_whose_tools_are_not_there_are_passed_over() -> None:
    strange = LabelledQuery("900 about 1", "", ("moon::walk",))
    assert fit([*tasks(25), strange], ToyScorer(), TOOL_ROW).passed_over == 1


class Overrating(ToyScorer):
    """Says of every tool that it fits better than it does."""

    def logits(self, found, weights, vector, shift) -> np.ndarray:
        return super().logits(found, weights, vector, shift) + 4.0


def test_the_line_is_fitted_to_what_was_not_seen() -> None:
    fitted = fit(tasks(60), Overrating(words=3.0), TOOL_ROW)
    assert fitted.measures["log_loss"].after < fitted.measures["log_loss"].before / 2
    assert "probability" in fitted.accepted
    assert fitted.values.fit.offset < -1


def test_labels_that_the_memory_has_are_no_gain_of_the_fit() -> None:
    """Each sub-task is asked twice over: the memory alone ranks them, and a fit that adds nothing is refused."""
    twice = [LabelledQuery(f"{n % 20} about {n % 20}", "", (f"s::t{n % 20}",), group=str(n)) for n in range(40)]
    with_memory = fit(twice, ToyScorer(), TOOL_ROW, known=True)
    without = fit(twice, ToyScorer(), TOOL_ROW)
    assert without.measures["mrr"].before < with_memory.measures["mrr"].before
    if "ranking" in without.accepted and without.recipe.bound:
        assert without.values.teaches
    assert not with_memory.values.teaches
    assert with_memory.values.memory.bound > 0


def test_a_sub_task_is_not_moved_by_its_own_label() -> None:
    labelled = LabelledSet(ToyScorer(), tasks(30), TOOL_ROW)
    without = labelled.parts(Recipe(bound=0.0), np.arange(1, 30))
    others = labelled.parts(
        Recipe(bound=6.0), np.array([n for n in range(1, 30) if labelled.right[n] != labelled.right[0]])
    )
    right = labelled.right[0][0]
    assert labelled.logits(others, 0)[right] == pytest.approx(labelled.logits(without, 0)[right])
    with_own = labelled.parts(Recipe(bound=6.0), np.arange(30))
    assert labelled.logits(with_own, 0)[right] == pytest.approx(labelled.logits(without, 0)[right] + 3.0)


def test_ranks_while_choosing_are_those_of_the_scorer() -> None:
    labelled = LabelledSet(ToyScorer(words=2.0), tasks(30), TOOL_ROW)
    train, held_out = np.arange(15), np.arange(15, 30)
    for recipe in (Recipe(bound=0.0), Recipe(4.0, 3.0, 6.0), Recipe(None, 10.0, 3.0)):
        parts = labelled.parts(recipe, train)
        expected = [
            reciprocal_ranks(labelled.logits(parts, int(n))[None], labelled.is_right(int(n))[None])[0] for n in held_out
        ]
        assert labelled.reciprocal_ranks(parts, held_out) == pytest.approx(np.array(expected))


def test_ties_count_against_the_right_tool() -> None:
    assert reciprocal_ranks(np.zeros((1, 4)), np.array([[True, False, False, False]])).tolist() == [0.25]


@given(st.lists(st.sampled_from("abcdefghij"), min_size=5, max_size=60), st.integers(2, 5), st.integers(0, 9))
@settings(max_examples=30)
def test_a_group_is_never_split(groups: list[str], count: int, seed: int) -> None:
    fold = folds_of(groups, count, seed=seed)
    assert all(len(set(fold[np.array(groups) == name])) == 1 for name in set(groups))
    assert set(fold.tolist()) <= set(range(count))
    assert folds_of(groups, count, seed=seed).tolist() == fold.tolist()


def test_whole_groups_are_drawn() -> None:
    after = np.array([1.0, 0.0] * 20)
    change = change_of_means(np.zeros(40), after)
    assert change.low < 0.5 < change.high
    assert (
        change_of_means(np.zeros(40), after, [str(n // 2) for n in range(40)]).low == 0.5
    )  # each pair has a gain of 1
    assert change_of_means(np.zeros(40), after, ["one"] * 40).high == 0.5


def test_a_measure_that_is_no_mean_has_its_interval_too() -> None:
    rows = np.arange(40.0)[:, None]
    change = change_of(lambda values, times: float((times @ values)[0]), rows, rows + 1, [str(n) for n in range(40)])
    assert (change.before, change.after, change.gain) == (780.0, 820.0, 40.0)
    assert change.low == change.high == 40.0


def toy(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sub-tasks whose second signal says which of six tools is right; the first is noise."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(count, 6, 2)).astype(np.float32)
    right = np.zeros((count, 6), dtype=bool)
    right[np.arange(count), features[:, :, 1].argmax(axis=1)] = True
    return features, right


def test_weights_go_to_the_signal_that_tells_and_stay_where_labels_are_few() -> None:
    shipped = np.array([0.5, 0.5])
    fitted = fit_weights(*toy(200, 0), shipped, strength=4.0, slope=1.5)
    assert 0 <= fitted[0] < 0.2
    assert fitted[1] > 0.8
    from_few = fit_weights(*toy(2, 1), shipped, strength=100.0, slope=1.5)
    assert from_few == pytest.approx(shipped, abs=0.05)


def test_the_line_mends_what_is_overrated() -> None:
    rng = np.random.default_rng(1)
    true = rng.normal(-2, 1.5, size=(300, 5))
    fits = rng.random((300, 5)) < sigmoid(true)
    overrated = 2 * true + 1
    slope, offset = fit_line(overrated, fits)
    assert (slope, offset) == (pytest.approx(0.5, abs=0.07), pytest.approx(-0.5, abs=0.3))
    mended = slope * overrated + offset
    assert log_losses(mended, fits).mean() < log_losses(overrated, fits).mean()
    assert calibration_error(mended, fits) < calibration_error(overrated, fits) / 2


@given(st.lists(st.tuples(st.floats(-60, 60), st.booleans()), max_size=30))
@settings(max_examples=30)
def test_the_line_stays_within_its_range(pairs) -> None:
    logits, fits = np.array([x for x, _ in pairs]), np.array([y for _, y in pairs], dtype=bool)
    slope, offset = fit_line(logits, fits)
    assert 0.1 <= slope <= 10
    assert -10 <= offset <= 10
    if not pairs:
        assert (slope, offset) == (1.0, 0.0)
