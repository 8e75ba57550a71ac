"""The fit of tools by words alone."""

from __future__ import annotations

import numpy as np
import pytest

from core.domain.catalog import Catalog, Server, Tool
from core.relevance.fit_matcher import WordsFit

ABOUT = {
    "mail": {"send_letter": "Sends a letter by post.", "bin": "Deletes a letter."},
    "post": {"post_letter": "Sends a letter by post to somebody."},
    "shell": {"prune": "Removes unused images."},
}


@pytest.fixture(scope="module")
def words() -> WordsFit:
    return WordsFit(
        Catalog("small", tuple(Server(server, tools=tuple(Tool(server, *one) for one in tools.items())) for server, tools in ABOUT.items()))
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
