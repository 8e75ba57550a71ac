"""The Decision page while the vectors of a catalog are still made: words alone decide, and the page says how far the vectors are."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from streamlit.testing.v1 import AppTest

from core.app import App
from core.catalogs.loaded_catalog import Embedding
from core.relevance.encoder import EncoderSource
from dashboard.ui.text import escaped
from tests.dashboard.harness import checked, live_of, metrics_of, open_page, opened, press, text_of, titles, words_of
from tests.dashboard.test_route_page import ASKED, CATALOG, cards
from tests.relevance.toy_encoders import Gated

visit = partial(open_page, "route")


@pytest.fixture
def encoder() -> Iterator[Gated]:
    gated = Gated()
    yield gated
    gated.gate.set()


@pytest.fixture(autouse=True)
def app(encoder: Gated) -> Iterator[App]:
    with opened({"small": CATALOG}, encoder=EncoderSource.of(encoder), words_after_s=0.0) as opened_app:
        yield opened_app
        encoder.gate.set()


def progress_of(page: AppTest) -> list[str]:
    return [bar.proto.text for bar in page.get("progress")]


def test_words_decide_until_the_vectors_are_there(app: App, encoder: Gated) -> None:
    page = visit(**ASKED)
    assert cards(page)[0] == "files::read"
    head = words_of(live_of(page)["route:headline"])
    assert "by words alone" in head
    assert "the catalog has no vectors yet" in head
    assert "nothing fits" not in head
    assert progress_of(page) == ["By words alone until the vectors are there."]
    assert not any(title.startswith("Refused sub-tasks") for title in titles(page))
    assert not encoder.seen

    encoder.gate.set()
    job = app.readiness.begin("small")
    assert job is None or job.wait(60)
    page = checked(page.run())
    assert progress_of(page) == []
    assert "by words" not in words_of(live_of(page)["route:headline"]).lower()
    assert "Fits" in metrics_of(page)
    assert any(title.startswith("Refused sub-tasks") for title in titles(page))


def test_every_part_of_the_page_goes_by_words(encoder: Gated) -> None:
    page = visit(**ASKED, plan="rules")
    assert "Steps" in text_of(page) or progress_of(page)
    page = visit(**ASKED, router="expected_value")
    assert "by words alone" in words_of(live_of(page)["route:headline"])
    assert not encoder.seen


def test_vectors_that_are_stopped_can_be_gone_on_with(app: App, encoder: Gated) -> None:
    page = press(visit(**ASKED), "by-words.stop")
    encoder.gate.set()
    (job,) = [job for job in app.background.listed() if job.title == "Embedding small"]
    assert job.wait(60)
    page = checked(page.run())
    assert "vectors are not there" in text_of(page)
    assert "by words alone" in words_of(live_of(page)["route:headline"])
    page = press(page, "by-words.again")
    job = app.readiness.begin("small")
    assert job is None or job.wait(60)
    assert "by words" not in words_of(live_of(checked(page.run()))["route:headline"]).lower()


def test_how_far_the_vectors_are_is_said_in_texts_and_seconds() -> None:
    text = str(Embedding(1_200, 4_000, 30.0))
    assert text == "By words alone until the vectors are there: 1,200 of 4,000 texts, about 70 s left."
    assert Embedding(1_200, 4_000, 30.0).share == 0.3
    assert escaped(str(Embedding())) == escaped("By words alone until the vectors are there.")
