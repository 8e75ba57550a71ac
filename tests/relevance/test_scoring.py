"""From signals to probabilities: what a tool's lead, a label's shift and the evidence of the query do."""

from __future__ import annotations

import numpy as np
import pytest

from core.domain.catalog import Catalog, Server, Tool
from core.relevance.encoder import CachedEncoder, EncoderSource, MemoryVectorStore
from core.relevance.relevance_index import SIGNALS, RelevanceIndex, RelevanceModel
from core.relevance.scoring import damped, fit_of, leads, nothing_fits, z_scores
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
    """Every signal of so many tools; what is not given is 0 for all."""
    zero = [0.0] * len(dense)
    return {name: np.array(dense if name == "dense" else others.get(name, zero), np.float32) for name in SIGNALS}


def test_a_catalog_of_one_tool_has_a_scale_too() -> None:
    assert np.isfinite(z_scores(np.array([0.7], np.float32), (0.05, 0.08))).all()


def test_the_same_distance_from_the_mean_counts_the_same_whatever_the_catalogs_scale() -> None:
    near = z_scores(np.tile(np.array([0.1, 0.2, 0.3], np.float32), 2000), (0.0, 0.1))
    far = z_scores(np.tile(np.array([1.0, 2.0, 3.0], np.float32), 2000), (0.0, 0.1))
    np.testing.assert_allclose(near, far, atol=0.02)


def test_a_peak_of_one_word_counts_less_than_in_proportion() -> None:
    low, high = damped(np.array([6.0], np.float32))[0], damped(np.array([12.0], np.float32))[0]
    assert low == pytest.approx(6.0)
    assert 6.0 < high < 8.0


def test_a_lead_is_bounded() -> None:
    assert np.abs(leads(np.array([50.0, -50.0]), np.eye(2))).max() == 3.0


def test_more_of_any_signal_makes_a_tool_likelier(index: RelevanceIndex) -> None:
    plain = fit_of(index, signals([0.5, 0.4, 0.1]), MODEL).tools
    for name in ("words", "everyday", "profile"):
        raised = fit_of(index, signals([0.5, 0.4, 0.1], **{name: [0.0, 0.0, 9.0]}), MODEL).tools
        assert raised[2] > plain[2], name


def test_a_label_raises_its_tool_and_takes_the_lead_from_the_others(index: RelevanceIndex) -> None:
    found = signals([0.5, 0.4, 0.1])
    before, after = fit_of(index, found, MODEL), fit_of(index, found, MODEL, shift=np.array([0.0, 0.0, 20.0]))
    assert after.tools.argmax() == 2 != before.tools.argmax()
    assert after.tools[0] < before.tools[0]
    assert after.servers.tolist() == [after.tools[:2].max(), after.tools[2]]


def test_a_calibrations_line_bends_the_logits(index: RelevanceIndex) -> None:
    found = signals([0.5, 0.4, 0.1])
    logit = lambda p: np.log(p / (1 - p))  # noqa: E731
    before, after = fit_of(index, found, MODEL).tools, fit_of(index, found, MODEL, line=(2.0, -1.0)).tools
    np.testing.assert_allclose(logit(after), 2 * logit(before) - 1)


def test_nothing_fits_less_likely_the_nearer_the_best_and_the_further_it_is_ahead() -> None:
    far, near = nothing_fits(signals([0.3, 0.0, 0.0]), MODEL), nothing_fits(signals([0.6, 0.0, 0.0]), MODEL)
    crowded = nothing_fits(signals([0.6, 0.6, 0.6]), MODEL)
    assert near < far
    assert near < crowded


def test_without_its_right_tools_a_question_has_less_of_an_answer(index: RelevanceIndex) -> None:
    found = signals([0.6, 0.2, 0.1])
    assert nothing_fits(found, MODEL) == pytest.approx(fit_of(index, found, MODEL).nothing)
    assert nothing_fits(found, MODEL, without=[0]) > nothing_fits(found, MODEL)
    assert nothing_fits(found, MODEL, without=[0, 1, 2]) == 1.0
