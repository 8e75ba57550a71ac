"""Of a large catalog the first tools are scored: as they would be among all tools, and the best are among them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from core.domain.catalog import Catalog, Server, Tool
from core.relevance import fit_matcher
from core.relevance.encoder import unit_rows
from core.relevance.fit_matcher import FitMatcher, WordsFit
from core.relevance.learnt import NOTHING_LEARNT, FitLine, Learnt, LearntValues
from core.relevance.relevance_index import OF_WORDS
from core.relevance.scoring import moments, moments_around
from core.relevance.vectors import HalfRows, Moments
from tests.cases import each
from tests.relevance.many_tools import TOOLS, ManyTools, many_tools, some_requests, with_labels

ALL = np.arange(TOOLS)
HALVES = 2e-3  # what vectors in sixteen-bit floats may move p_fit by


def drawn(rows: int, width: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)


@pytest.mark.parametrize("times", [None, np.random.default_rng(2).integers(0, 9, 700)])
def test_moments_in_closed_form_are_those_of_all_products(times: np.ndarray | None) -> None:
    rows, query = unit_rows(drawn(700, 384, 5) + 0.3), unit_rows(drawn(1, 384, 6))[0]
    products = np.repeat(rows @ query, np.ones(700, np.int64) if times is None else times)
    prior = (0.05, 0.08)
    closed = moments_around(len(products), *Moments.of(rows, times).of_products(query), prior)
    np.testing.assert_allclose(closed, moments(products, prior), rtol=0, atol=1e-9)


def test_faiss_gives_the_products_of_the_rows_that_it_holds() -> None:
    exact = unit_rows(drawn(400, 384, 1))
    rows, query = HalfRows(exact.astype(np.float16)), exact[7]
    np.testing.assert_allclose(rows @ query, rows[:] @ query, atol=1e-6)
    products, nearest = rows.nearest(query, 20)
    assert nearest.tolist() == np.argsort(-(rows @ query), kind="stable")[:20].tolist()
    assert (rows.shape, nearest[0], round(float(products[0]), 3)) == (exact.shape, 7, 1.0)
    assert np.abs(rows[:] - exact).max() < 1e-3


@cache
def every_learnt(*, large: bool) -> dict[str, Learnt]:
    world = many_tools(large=large)
    of_some = replace(NOTHING_LEARNT, requests=some_requests(world, ALL[::7], 3))
    return {
        "nothing": NOTHING_LEARNT,
        "requests of some": of_some,
        "requests of all": replace(NOTHING_LEARNT, requests=some_requests(world, ALL, 8)),
        "labels": with_labels(world, of_some),
        "calibrated": replace(of_some, values=LearntValues(weights={"dense": 1.1, "words": 0.3, "asked": 0.4}, fit=FitLine(0.8, -0.4))),
    }  # fmt: skip


def matcher(world: ManyTools, name: str, *, large: bool) -> FitMatcher:
    return FitMatcher.of(world.index, world.encoder, every_learnt(large=large)[name])


@each("name", ["nothing", "requests of some", "requests of all", "labels", "calibrated"])
def test_the_first_tools_fit_as_they_do_among_all_and_the_best_are_among_them(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for setting in ("NEAREST", "BY_WORDS", "BY_REQUESTS"):
        monkeypatch.setattr(fit_matcher, setting, 100)
    large = many_tools()
    first, whole_matcher = matcher(large, name, large=True), matcher(many_tools(large=False), name, large=False)
    for question in large.questions[::16]:
        expected, _ = whole_matcher.fit(question, "weather" if name == "labels" else "")
        fitted, _ = first.fit(question, "weather" if name == "labels" else "")
        assert expected.scored is None
        assert fitted.scored is not None
        assert len(fitted.scored) < 500
        rows = fitted.scored
        np.testing.assert_allclose(fitted.tools[rows], expected.tools[rows], atol=HALVES)
        np.testing.assert_allclose(fitted.tools, expected.tools, atol=0.05)
        np.testing.assert_allclose(fitted.servers, expected.servers, atol=0.05)
        by_words = sum(expected.signals[name] for name in OF_WORDS)
        for values in (expected.relevance, by_words, expected.signals["dense"]):
            assert set(np.argsort(-values)[:5]) <= set(rows.tolist())
        assert fitted.relevance.argmax() in np.argsort(-expected.relevance)[:2]
        assert sum(signal[rows] for signal in fitted.signals.values()) == pytest.approx(
            fitted.relevance[rows] - (0 if fitted.learnt is None else fitted.learnt[rows] / first.model.fit["behind"])
        )
        assert fitted.nothing == pytest.approx(expected.nothing, abs=HALVES)


ABOUT = {
    "mail": {"send_letter": "Sends a letter by post.", "bin": "Deletes a letter."},
    "post": {"post_letter": "Sends a letter by post to somebody."},
    "shell": {"prune": "Removes unused images."},
}


@pytest.fixture(scope="module")
def words() -> WordsFit:
    return WordsFit(
        Catalog("small", tuple(Server(server, tools=tuple(Tool(server, *item) for item in tools.items())) for server, tools in ABOUT.items()))
    )  # fmt: skip


def test_words_in_common_and_everyday_words_find_a_tool(words: WordsFit) -> None:
    fit, embed_ms = words.fit("delete that letter", "")
    assert fit.tools.argmax() == 1
    assert fit.servers == pytest.approx([fit.tools[0:2].max(), fit.tools[2], fit.tools[3]])
    assert fit.tools.min() > 0
    assert fit.tools.max() < 1
    assert embed_ms == 0
    everyday, _ = words.fit("chuck out what is old", "")
    assert set(np.flatnonzero(everyday.tools > everyday.tools.min()).tolist()) == {1, 3}


def test_it_is_not_known_whether_nothing_fits_and_nothing_is_sure(words: WordsFit) -> None:
    fit, _ = words.fit("prune removes unused images of a shell", "")
    assert fit.tools.max() > 0.7
    assert (fit.nothing, fit.confidence) == (None, "unsure")


def test_a_hint_joins_the_words(words: WordsFit) -> None:
    assert words.fit("clean up", "shell")[0].tools.argmax() == 3


def test_tools_that_say_the_same_take_nothing_from_each_other(words: WordsFit) -> None:
    likeness = words.likeness(np.array([0, 2, 3]))
    assert likeness[0, 1] > 0.7
    assert likeness[0, 2] == pytest.approx(0.1)
    assert likeness.diagonal() == pytest.approx(1.0)
    fit = words.fit("send a letter by post", "")[0]
    assert min(fit.tools[0], fit.tools[2]) > 2 * max(fit.tools[1], fit.tools[3])


def test_a_catalog_without_tools_has_no_fit() -> None:
    fit, _ = WordsFit(Catalog("empty", (Server("bare"),))).fit("anything", "")
    assert (fit.tools.size, fit.servers.tolist(), fit.nothing) == (0, [0.0], None)
