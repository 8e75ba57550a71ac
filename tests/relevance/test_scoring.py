"""From signals to probabilities: what a tool's lead, a label's shift and the evidence of the query do; a calibration's values as JSON, and how a file can be wrong."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from core.domain.catalog import Catalog, Server, Tool
from core.domain.errors import CatalogError
from core.relevance.encoder import CachedEncoder, EncoderSource, MemoryVectorStore
from core.relevance.learnt import FitLine, LearntValues, MapValues, MemoryValues, Solved
from core.relevance.relevance_index import SIGNALS, RelevanceIndex, RelevanceModel
from core.relevance.scoring import (
    NEVER,
    damped,
    evidence_of,
    fit_of,
    fit_of_parts,
    limit_of,
    measured_curve,
    nothing_fits,
    shipped_curve,
    z_scores,
)
from tests.cases import each
from tests.relevance.toy_encoders import WordEncoder

MODEL = RelevanceModel.shipped()
CATALOG = Catalog(
    "toy",
    (
        Server("files", "Files on a disk", tools=(Tool("files", "read", "Reads a file"), Tool("files", "copy", "Copies a file"))),
        Server("mail", "Post", tools=(Tool("mail", "send", "Sends a letter"),)),
    ),
)  # fmt: skip


@pytest.fixture(scope="module")
def index() -> RelevanceIndex:
    return RelevanceIndex.build(CATALOG, CachedEncoder(EncoderSource.of(WordEncoder()), MemoryVectorStore()))


def signals(dense: list[float], **others: list[float]) -> dict[str, np.ndarray]:
    """Every signal of the tools; a signal that is not given is 0."""
    zero = [0.0] * len(dense)
    return {name: np.array(dense if name == "dense" else others.get(name, zero), np.float32) for name in SIGNALS}


def test_the_same_distance_from_the_mean_counts_the_same_whatever_the_catalogs_scale() -> None:
    near = z_scores(np.tile(np.array([0.1, 0.2, 0.3], np.float32), 2000), (0.0, 0.1))
    far = z_scores(np.tile(np.array([1.0, 2.0, 3.0], np.float32), 2000), (0.0, 0.1))
    np.testing.assert_allclose(near, far, atol=0.02)


def test_a_peak_of_one_word_counts_less_than_in_proportion() -> None:
    low, high = damped(np.array([6.0], np.float32))[0], damped(np.array([12.0], np.float32))[0]
    assert low == pytest.approx(6.0)
    assert 6.0 < high < 8.0


def test_more_of_any_signal_makes_a_tool_likelier(index: RelevanceIndex) -> None:
    base = fit_of(index, signals([0.5, 0.4, 0.1]), MODEL).tools
    for name in ("words", "everyday", "profile"):
        raised = fit_of(index, signals([0.5, 0.4, 0.1], **{name: [0.0, 0.0, 9.0]}), MODEL).tools
        assert raised[2] > base[2], name


def test_a_label_raises_its_tool_and_takes_the_lead_from_the_others(index: RelevanceIndex) -> None:
    by_signal = signals([0.5, 0.4, 0.1])
    before, after = fit_of(index, by_signal, MODEL), fit_of(index, by_signal, MODEL, shift=np.array([0.0, 0.0, 20.0]))
    assert after.tools.argmax() == 2 != before.tools.argmax()
    assert after.tools[0] < before.tools[0]
    assert after.servers.tolist() == [after.tools[:2].max(), after.tools[2]]


def test_a_raised_tool_does_not_take_the_lead_from_its_equal_on_another_server() -> None:
    parts, equal = {"dense": np.array([5.0, 4.9, 4.9])}, np.ones((3, 3))
    shift = np.array([6.0, 0.0, 0.0])
    fit = fit_of_parts(parts, lambda rows: equal[np.ix_(rows, rows)], np.array([0, 0, 1]), 2, MODEL, shift=shift)
    assert fit.tools[0] > fit.tools[2] > fit.tools[1]


def test_a_calibrations_line_bends_the_logits(index: RelevanceIndex) -> None:
    by_signal = signals([0.5, 0.4, 0.1])
    logit = lambda p: np.log(p / (1 - p))  # noqa: E731
    before, after = fit_of(index, by_signal, MODEL).tools, fit_of(index, by_signal, MODEL, line=(2.0, -1.0)).tools
    np.testing.assert_allclose(logit(after), 2 * logit(before) - 1)


@each("like", [None, 0.2, 0.9])
def test_nothing_fits_less_likely_the_nearer_the_best_and_the_further_it_is_ahead(
    index: RelevanceIndex, like: float | None
) -> None:
    far, near, crowded = (
        nothing_fits(index, signals(dense), MODEL, lambda _: like)
        for dense in ([0.3, 0, 0], [0.6, 0, 0], [0.6, 0.6, 0.6])
    )
    assert near < far
    assert near < crowded


def test_nothing_fits_less_likely_the_more_the_question_is_like_a_request_of_the_best_tool(
    index: RelevanceIndex,
) -> None:
    by_signal = signals([0.1, 0.2, 0.6])
    rows = list[int]()
    chances = [
        nothing_fits(index, by_signal, MODEL, lambda row, like=like: rows.append(row) or like)
        for like in (0.2, 0.5, 0.9)
    ]
    assert chances == sorted(chances, reverse=True)
    assert set(rows) == {2}


def test_tools_that_are_alike_spread_less_where_requests_tell_how_like_the_question_is() -> None:
    best, strangers, twins = np.array([5.0, 5.0]), np.eye(2, dtype=np.float32), np.ones((2, 2), np.float32)
    spread = {
        like: [evidence_of(best, 0.5, vectors, like, MODEL)[0] for vectors in (strangers, twins)]
        for like in (None, 0.5)
    }
    np.testing.assert_allclose(spread[None], np.log(2), rtol=1e-6)
    np.testing.assert_allclose(spread[0.5], [np.log(2), 0.0], atol=1e-6)


def test_without_its_right_tools_a_question_has_less_of_an_answer(index: RelevanceIndex) -> None:
    by_signal = signals([0.6, 0.2, 0.1])
    like = {0: 0.9, 1: 0.5, 2: None}.__getitem__
    whole = nothing_fits(index, by_signal, MODEL, like)
    assert whole == pytest.approx(fit_of(index, by_signal, MODEL, like=like).nothing)
    assert nothing_fits(index, by_signal, MODEL, like, without=[0]) > whole
    assert nothing_fits(index, by_signal, MODEL, like, without=[0, 1, 2]) == 1.0


def test_where_no_likeness_can_be_had_nothing_is_known_of_it(index: RelevanceIndex) -> None:
    fit = fit_of(index, signals([0.9, 0.1, 0.1]), MODEL)
    assert (fit.nothing, fit.confidence) == (None, "unsure")


def test_more_wrong_refusals_never_refuse_less() -> None:
    limits = [limit_of(percent / 4) for percent in range(201)]
    assert limits[0] == NEVER
    assert all(0 < after <= before for before, after in pairwise(limits))
    for name in ("wrong", "refused"):
        shares = [getattr(point, name) for point in shipped_curve().points]
        assert shares == sorted(shares)


def test_a_measured_curve_counts_what_the_knob_would_refuse() -> None:
    limit = limit_of(10.0)
    curve = measured_curve([limit - 0.01, limit, 0.1, 0.1], [limit + 0.01, 0.1])
    assert curve.questions == 4
    assert (curve.at(10.0).wrong, curve.at(10.0).refused) == (0.25, 0.5)
    assert curve.at(0.0).refused == 0.0


FULL = LearntValues(
    weights={"dense": 0.5, "words": 0.0},
    fit=FitLine(1.2, -0.3),
    memory=MemoryValues(9.0, 2.0, 0.5),
    query_map=MapValues(3.0),
    theta=0.24,
    solved=(Solved("read a file", ("files::read",), "file access"),),
    teaches=True,
)


def test_it_comes_back_as_it_was() -> None:
    text = json.dumps(FULL.to_json(), allow_nan=False)
    assert LearntValues.parse(json.loads(text), where="x").to_json() == FULL.to_json()
    assert (
        LearntValues.parse({}, where="x")
        == LearntValues.parse({"fit": None, "weights": None}, where="x")
        == LearntValues()
    )


@each(
    ("document", "said"),
    [
        ([], "it is a list; give an object"),
        (None, "it is null; give an object"),
        ({"weights": {"dense": -1}}, "weights.dense is -1"),
        ({"weights": {"dense": "much"}}, 'weights.dense is "much"; give a number from 0 to 100'),
        ({"weights": [1]}, "weights is a list; give an object"),
        ({"fit": {"slope": 0}}, "fit.slope is 0; give a number from 0.1 to 10"),
        ({"fit": {"offset": float("nan")}}, "fit.offset is NaN"),
        ({"fit": {"slope": True}}, "fit.slope is true"),
        ({"memory": {"bound": 1e9}}, "memory.bound is 1000000000.0; give a number from 0 to 12"),
        ({"memory": {"half": 0}}, "memory.half is 0"),
        ({"memory": {"floor": 1}}, "memory.floor is 1"),
        ({"query_map": {"ridge": 0}}, "query_map.ridge is 0"),
        ({"theta": 2}, "theta is 2"),
        ({"solved": {}}, "solved is an object; give a list"),
        ({"solved": None}, "solved is null; give a list"),
        ({"solved": [{}]}, "solved[0].subtask is missing"),
        ({"solved": [{"subtask": "x", "relevant": []}]}, "solved[0].relevant is a list; give a list of server::tool"),
        (
            {"solved": [{"subtask": "x", "relevant": ["plain"]}]},
            "solved[0].relevant is a list; give a list of server::tool",
        ),
        ({"solved": [{"subtask": " ", "relevant": ["a::b"]}]}, 'solved[0].subtask is " "; give a sub-task'),
        ({"solved": [7]}, "solved[0] is 7; give an object"),
    ],
)
def test_what_is_wrong_is_one_sentence(document: Any, said: str) -> None:
    with pytest.raises(CatalogError) as error:
        LearntValues.parse(document, where="mine.json")
    assert str(error.value).startswith("mine.json: ")
    assert said in str(error.value)
    assert str(error.value).count("\n") == 0
