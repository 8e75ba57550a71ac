"""A calibration's values as JSON and back, and every way in which a file can be wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.domain.errors import CatalogError
from core.relevance.learnt import LearntValues, Solved
from tests.cases import each

FULL = LearntValues(
    weights={"dense": 0.5, "words": 0.0},
    slope=1.2,
    offset=-0.3,
    bound=9.0,
    half=2.0,
    floor=0.5,
    ridge=3.0,
    theta=0.24,
    solved=(Solved("read a file", ("files::read",), "file access"),),
    teaches=True,
)


def test_it_comes_back_as_it_was() -> None:
    text = json.dumps(FULL.to_json(), allow_nan=False)
    assert LearntValues.parse(json.loads(text), where="x").to_json() == FULL.to_json()
    assert LearntValues.parse({}, where="x") == LearntValues()


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
    with pytest.raises(CatalogError) as caught:
        LearntValues.parse(document, where="mine.json")
    assert str(caught.value).startswith("mine.json: ")
    assert said in str(caught.value)
    assert str(caught.value).count("\n") == 0
