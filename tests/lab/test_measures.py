"""Retrieval measures: by hand, against ir_measures asked directly, and what holds for every ranked list."""

from __future__ import annotations

import math

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.lab.benchmark import JUDGED, MEASURES, first_right, measured
from tests.cases import each

RANKED = ["a", "b", "c", "d"]
TOOLS = st.sampled_from([f"s::t{n}" for n in range(12)])
LISTS = st.lists(TOOLS, unique=True, max_size=12)
GRADES = st.dictionaries(TOOLS, st.sampled_from([0.0, 1.0, 2.0, 3.0]), max_size=6)
promise = settings(derandomize=True, max_examples=25)


def one(ranked, grades) -> dict[str, float]:
    """The measures of one task by our keys."""
    scores = measured([(ranked, grades)])
    return {key: float(scores[name][0]) for key, name in MEASURES.items()}


@each(
    ("grades", "rank", "hit_1", "hit_3", "recall_3", "precision_3", "ndcg_10"),
    [
        ({"a": 1.0}, 1.0, 1.0, 1.0, 1.0, 1 / 3, 1.0),
        ({"b": 1.0}, 0.5, 0.0, 1.0, 1.0, 1 / 3, 1 / math.log2(3)),
        ({"d": 1.0}, 0.25, 0.0, 0.0, 0.0, 0.0, 1 / math.log2(5)),
        ({"x": 1.0}, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        ({}, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        ({"a": 0.0, "b": 1.0}, 0.5, 0.0, 1.0, 1.0, 1 / 3, 1 / math.log2(3)),
        ({"a": 1.0, "d": 1.0}, 1.0, 1.0, 1.0, 0.5, 1 / 3, (1 + 1 / math.log2(5)) / (1 + 1 / math.log2(3))),
        # gains 3 and 1: the better tool stands second
        ({"b": 2.0, "a": 1.0}, 1.0, 1.0, 1.0, 1.0, 2 / 3, (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))),
        # gains 2^0.5 - 1 and 1
        ({"a": 0.5, "b": 1.0}, 1.0, 1.0, 1.0, 1.0, 2 / 3, (0.414 + 1 / math.log2(3)) / (1 + 0.414 / math.log2(3))),
    ],
)
def test_by_hand(grades, rank, hit_1, hit_3, recall_3, precision_3, ndcg_10) -> None:
    found = one(RANKED, grades)
    got = [found[name] for name in ("mrr", "hit@1", "hit@3", "recall@3", "P@3", "ndcg@10")]
    assert got == pytest.approx([rank, hit_1, hit_3, recall_3, precision_3, ndcg_10], abs=1e-6)


def test_the_cut_is_the_one_that_the_name_says() -> None:
    ranked = [f"t{n}" for n in range(1, 13)]
    for place in (1, 3, 4, 5, 6, 10, 11):
        found = one(ranked, {f"t{place}": 1.0})
        assert [found[f"hit@{k}"] for k in (1, 3, 5, 10)] == [place <= k for k in (1, 3, 5, 10)]
        assert [found[f"recall@{k}"] for k in (3, 10)] == [place <= k for k in (3, 10)]
        assert (found["ndcg@10"] > 0) == (place <= 10)


@promise
@given(st.lists(st.tuples(LISTS, GRADES), min_size=1, max_size=5))
def test_binary_labels_give_what_ir_measures_says_of_them(tasks) -> None:
    binary = [(ranked, {tool: float(grade > 0) for tool, grade in grades.items()}) for ranked, grades in tasks]
    scores = measured(binary)
    labels = {str(n): {tool: int(grade) for tool, grade in grades.items()} for n, (_, grades) in enumerate(binary)}
    run = {str(n): {tool: 100.0 - at for at, tool in enumerate(tools)} for n, (tools, _) in enumerate(binary) if tools}
    for name in MEASURES.values():
        expected = dict.fromkeys(labels, 0.0)
        for metric in ir_measures.iter_calc([ir_measures.parse_measure(name)], labels, run) if run else ():
            expected[metric.query_id] = metric.value
        assert scores[name].tolist() == pytest.approx(list(expected.values())), name


@promise
@given(LISTS, GRADES)
def test_the_order_by_grade_is_the_best_there_is(ranked, grades) -> None:
    best = sorted(ranked, key=lambda tool: -grades.get(tool, 0.0))
    assert one(best, grades)["ndcg@10"] >= one(ranked, grades)["ndcg@10"] - 1e-12
    assert one(best, grades)["mrr"] in (0.0, 1.0)
    rank = first_right(ranked, grades)
    assert one(ranked, grades)["mrr"] == pytest.approx(0.0 if rank is None else 1 / rank)


def test_judged_is_the_share_that_somebody_judged_right_or_wrong() -> None:
    scores = measured([(RANKED, {"a": 1.0, "b": 0.0}), (RANKED, {}), ([], {"a": 1.0})])[JUDGED["judged@10"]]
    assert scores[:2].tolist() == [0.5, 0.0]
    assert math.isnan(scores[2])
