"""Example questions move a query towards the tools that people who ask like this are after."""

from __future__ import annotations

import json

import numpy as np
import pytest

from core.relevance import packaged_vectors
from core.relevance.packaged_vectors import FAR, NEAR, QUESTIONS, SHARE, Examples, shipped_examples
from sample_catalog import TASKS_DIR
from sample_catalog.authoring import vectors


@pytest.fixture(scope="module")
def shipped() -> Examples:
    found = shipped_examples(vectors.models()[1].key)
    assert found is not None, "run `make catalog`"
    return found


def kinds() -> list[dict]:
    return [json.loads(line) for line in packaged_vectors.TEXTS.read_text("utf-8").splitlines()]


def test_every_kind_has_its_questions_and_no_question_stands_twice() -> None:
    texts = [text for kind in kinds() for text in kind["questions"]]
    assert {len(kind["questions"]) for kind in kinds()} == {QUESTIONS}
    assert len(set(texts)) == len(texts)


def test_no_question_is_one_that_is_judged_by() -> None:
    judged = {
        json.loads(line)["subtask"].lower() for line in (TASKS_DIR / "everyday.jsonl").read_text("utf-8").splitlines()
    }
    assert not judged & {text.lower() for kind in kinds() for text in kind["questions"]}


def test_an_example_itself_moves_the_query_towards_its_kind(shipped: Examples) -> None:
    found, lengths = [], np.linalg.norm(shipped.tools, axis=1)
    for row in range(0, len(shipped.tools), 23):
        question = shipped.questions[row, 3].astype(np.float32)
        shift = shipped.shift(question / np.linalg.norm(question))
        nearest = int(np.argmax(shipped.tools @ shift / lengths))
        found.append(nearest == row and float(np.linalg.norm(shift)) == pytest.approx(SHARE, abs=1e-3))
    assert (
        np.mean(found) > 0.95
    )  # an odd question may be far from the mean of its kind, which is what is compared first


def test_the_share_grows_from_far_to_near(shipped: Examples) -> None:
    def along(cosine: float) -> float:
        one = Examples.of(np.eye(3, dtype=np.float32)[[[0] * QUESTIONS] * 6], np.eye(3, dtype=np.float32)[[2] * 6])
        query = np.array([cosine, (1 - cosine**2) ** 0.5, 0.0], dtype=np.float32)
        return float(np.linalg.norm(one.shift(query)))

    assert along(FAR - 0.01) == 0.0
    assert along((FAR + NEAR) / 2) == pytest.approx(SHARE / 2, abs=1e-3)
    assert along(NEAR) == pytest.approx(SHARE, abs=1e-3)
    assert not shipped.shift(np.zeros(shipped.tools.shape[1], dtype=np.float32)).any()  # a blank text


def test_another_model_has_none() -> None:
    assert shipped_examples("some-other-encoder") is None
