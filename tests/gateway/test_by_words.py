"""Searches of agents while the vectors of a catalog are still made: words alone answer, and say so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from mcp import Client

from core.app import App
from core.relevance.encoder import EncoderError, Vectors
from tests.gateway.conftest import ask, served, talk
from tests.importing import import_text
from tests.relevance.toy_encoders import Gated, WordEncoder
from tests.world import document, open_test_app

TASK = "write a file"


@pytest.fixture
def encoder() -> Iterator[Gated]:
    gated = Gated()
    yield gated
    gated.gate.set()


@pytest.fixture
def app(encoder: Gated) -> Iterator[App]:
    with open_test_app(None, encoder=encoder, words_after_s=0.0) as opened:
        import_text(opened.catalog_editor, document(), "world")
        yield opened


def test_words_answer_until_the_vectors_are_there(app: App, encoder: Gated) -> None:
    async def script(agent: Client) -> None:
        by_words = await ask(agent, "search_tools", task=TASK)
        assert by_words["candidates"][0]["tool"] == "files::write"
        assert by_words["confidence"] == "unsure"
        assert "By words alone until the vectors are there" in by_words["left_out"]
        assert "not known whether no tool fits" in by_words["left_out"]
        assert "has probability" not in by_words["left_out"]
        assert not encoder.seen
        stored = app.routing.decision(by_words["route_id"])
        assert stored is not None
        assert stored.by_words
        encoder.gate.set()
        job = app.readiness.begin("world")
        assert job is None or job.wait(60)
        full = await ask(agent, "search_tools", task=TASK)
        assert "By words alone" not in full["left_out"]
        first = full["candidates"][0]["tool"]
        assert f"{first} fits" in full["left_out"] or f"Nearest: {first}, which fits" in full["left_out"]
        assert "if anything does" in full["left_out"]
        assert TASK in encoder.seen

    talk(served(app), script)


class Broken(WordEncoder):
    """Fails and keeps its texts."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Fails."""
        self.seen += texts
        raise EncoderError("The model is not there.")


def test_vectors_that_cannot_be_made_are_said_and_not_tried_with_each_search() -> None:
    encoder = Broken()
    with open_test_app(None, encoder=encoder) as app:
        import_text(app.catalog_editor, document(), "world")

        async def script(agent: Client) -> None:
            for _ in range(2):
                search = await ask(agent, "search_tools", task=TASK)
                assert search["candidates"][0]["tool"] == "files::write"
                assert "By words alone, because the vectors could not be made" in search["left_out"]

        talk(served(app), script)
        assert len(encoder.seen) == len(set(encoder.seen))
