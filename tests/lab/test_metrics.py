"""Retrieval measures: by hand, and what holds for every ranked list."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.lab.metrics import METRICS, hit, ndcg, recall, reciprocal_rank

RANKED = ["a", "b", "c", "d"]
TOOLS = st.sampled_from([f"s::t{n}" for n in range(12)])
LISTS = st.lists(TOOLS, unique=True, max_size=12)
GRADES = st.dictionaries(TOOLS, st.sampled_from([0.0, 1.0, 2.0, 3.0]), max_size=6)
promise = settings(deadline=None, derandomize=True, max_examples=100)


@pytest.mark.parametrize(
    ("grades", "rank", "hit_1", "hit_3", "recall_3", "ndcg_10"),
    [
        ({"a": 1.0}, 1.0, 1.0, 1.0, 1.0, 1.0),
        ({"b": 1.0}, 0.5, 0.0, 1.0, 1.0, 1 / math.log2(3)),
        ({"d": 1.0}, 0.25, 0.0, 0.0, 0.0, 1 / math.log2(5)),
        ({"x": 1.0}, 0.0, 0.0, 0.0, 0.0, 0.0),
        ({}, 0.0, 0.0, 0.0, 0.0, 0.0),
        ({"a": 0.0, "b": 1.0}, 0.5, 0.0, 1.0, 1.0, 1 / math.log2(3)),
        ({"a": 1.0, "d": 1.0}, 1.0, 1.0, 1.0, 0.5, (1 + 1 / math.log2(5)) / (1 + 1 / math.log2(3))),
        # gains 3 and 1: the better tool stands second
        ({"b": 2.0, "a": 1.0}, 1.0, 1.0, 1.0, 1.0, (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))),
    ],
)
def test_by_hand(grades, rank, hit_1, hit_3, recall_3, ndcg_10) -> None:
    names = ("mrr", "hit@1", "hit@3", "recall@3", "ndcg@10")
    got = [METRICS[name](RANKED, grades) for name in names]
    assert got == pytest.approx([rank, hit_1, hit_3, recall_3, ndcg_10])


def test_the_cut_is_the_one_that_the_name_says() -> None:
    ranked = [f"t{n}" for n in range(1, 13)]
    for place in (1, 3, 4, 5, 6, 10, 11):
        grades = {f"t{place}": 1.0}
        assert [METRICS[f"hit@{k}"](ranked, grades) for k in (1, 3, 5, 10)] == [place <= k for k in (1, 3, 5, 10)]
        assert [METRICS[f"recall@{k}"](ranked, grades) for k in (3, 10)] == [place <= k for k in (3, 10)]
        assert (METRICS["ndcg@10"](ranked, grades) > 0) == (place <= 10)


@promise
@given(LISTS, GRADES)
def test_every_measure_lies_between_0_and_1(ranked, grades) -> None:
    for name, metric in METRICS.items():
        assert 0.0 <= metric(ranked, grades) <= 1.0 + 1e-12, name


@promise
@given(LISTS, GRADES)
def test_a_longer_look_never_finds_less(ranked, grades) -> None:
    for metric in (hit, recall):
        values = [metric(ranked, grades, k=k) for k in range(14)]
        assert values == sorted(values)
    found = [tool for tool in ranked if grades.get(tool, 0) > 0]
    assert recall(ranked, grades, k=12) == (len(found) / sum(g > 0 for g in grades.values()) if found else 0)


@promise
@given(LISTS, GRADES, st.randoms(use_true_random=False))
def test_the_order_within_the_cut_matters_to_rank_measures_only(ranked, grades, random) -> None:
    shuffled = random.sample(ranked, len(ranked))
    for metric in (hit, recall):
        assert metric(shuffled, grades, k=12) == metric(ranked, grades, k=12)


@promise
@given(LISTS, GRADES)
def test_the_order_by_grade_is_the_best_there_is(ranked, grades) -> None:
    best = sorted(ranked, key=lambda tool: -grades.get(tool, 0.0))
    assert ndcg(best, grades, k=10) >= ndcg(ranked, grades, k=10) - 1e-12
    assert reciprocal_rank(best, grades) in (0.0, 1.0)
