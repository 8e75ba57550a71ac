"""Folds, paired intervals, how many more labels, weights and the line through the logits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.relevance.calibration import change_of, change_of_means, folds_of, more_labels
from core.relevance.labelled import fit_weights
from core.relevance.scoring import calibration_error, fit_line, log_losses, sigmoid


@given(st.lists(st.sampled_from("abcdefghij"), min_size=5, max_size=60), st.integers(2, 5), st.integers(0, 9))
@settings(max_examples=30)
def test_a_group_is_never_split(groups: list[str], count: int, seed: int) -> None:
    fold = folds_of(groups, count, seed=seed)
    assert all(len(set(fold[np.array(groups) == name])) == 1 for name in set(groups))
    assert set(fold.tolist()) <= set(range(count))
    assert folds_of(groups, count, seed=seed).tolist() == fold.tolist()


def test_folds_without_groups_are_even() -> None:
    sizes = np.bincount(folds_of([str(n) for n in range(52)], 5))
    assert sizes.tolist() == [11, 11, 10, 10, 10]


def test_whole_groups_are_drawn() -> None:
    after = np.array([1.0, 0.0] * 20)
    alone = change_of_means(np.zeros(40), after)
    assert alone.low < 0.5 < alone.high
    assert (
        change_of_means(np.zeros(40), after, [str(n // 2) for n in range(40)]).low == 0.5
    )  # each pair has a gain of 1
    assert change_of_means(np.zeros(40), after, ["one"] * 40).high == 0.5


def test_a_measure_that_is_no_mean_has_its_interval_too() -> None:
    rows = np.arange(40.0)[:, None]
    change = change_of(lambda found, times: float((times @ found)[0]), rows, rows + 1, [str(n) for n in range(40)])
    assert (change.before, change.after, change.gain) == (780.0, 820.0, 40.0)
    assert change.low == change.high == 40.0


def test_more_labels_is_said_only_where_something_was_gained() -> None:
    groups = [str(n) for n in range(30)]
    noise = np.random.default_rng(3).normal(0, 0.3, 30)
    assert more_labels(np.zeros(30), noise - noise.mean() - 0.01, groups) is None
    few, many = (more_labels(np.zeros(30), noise - noise.mean() + gain, groups) for gain in (0.08, 0.02))
    assert few < many


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
    few = fit_weights(*toy(2, 1), shipped, strength=100.0, slope=1.5)
    assert few == pytest.approx(shipped, abs=0.05)


def test_the_line_mends_what_is_overrated() -> None:
    rng = np.random.default_rng(1)
    true = rng.normal(-2, 1.5, size=(300, 5))
    fits = rng.random((300, 5)) < sigmoid(true)
    said = 2 * true + 1
    slope, offset = fit_line(said, fits)
    assert (slope, offset) == (pytest.approx(0.5, abs=0.07), pytest.approx(-0.5, abs=0.3))
    mended = slope * said + offset
    assert log_losses(mended, fits).mean() < log_losses(said, fits).mean()
    assert calibration_error(mended, fits) < calibration_error(said, fits) / 2


@given(st.lists(st.tuples(st.floats(-60, 60), st.booleans()), max_size=30))
@settings(max_examples=30)
def test_the_line_stays_within_its_range(pairs) -> None:
    logits, fits = np.array([x for x, _ in pairs]), np.array([y for _, y in pairs], dtype=bool)
    slope, offset = fit_line(logits, fits)
    assert 0.1 <= slope <= 10
    assert -10 <= offset <= 10
    if not pairs:
        assert (slope, offset) == (1.0, 0.0)
