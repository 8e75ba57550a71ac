"""Tokens of texts and definitions, and values that are made once, however many threads ask."""

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.catalog import Tool, definition_text, definition_tokens
from core.domain.progress import made_once
from core.domain.tools import CHUNK, count_many, count_tokens
from tests.cases import each

THREADS = 8


def test_counts_are_those_of_cl100k_base_and_leave_the_environment_as_it_was() -> None:
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    texts = {"": 0, "hello world": 2, "<|endoftext|>": 7, "tiktoken is great!": 6, "お誕生日おめでとう": 9}
    assert count_many(list(texts)) == list(texts.values())
    assert os.environ.get("TIKTOKEN_CACHE_DIR") == before


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_text_has_a_count_within_its_bytes(text: str) -> None:
    assert 0 <= count_tokens(text) <= 3 * len(text.encode("utf-8", "surrogatepass"))


@each("letter", ["a", "\n", "漢"])
def test_a_very_long_run_of_one_letter_is_counted_in_pieces(letter: str) -> None:
    assert count_tokens(letter * (5 * CHUNK)) == 5 * count_tokens(letter * CHUNK)


def test_a_definition_is_compact_json() -> None:
    schema = MappingProxyType({"type": "object", "properties": MappingProxyType({"städte": {"type": "string"}})})
    tool = Tool("s", "n", "d", input_schema=schema)
    assert json.loads(definition_text(tool))["inputSchema"]["properties"] == {"städte": {"type": "string"}}
    assert definition_tokens(tool) == count_tokens(definition_text(tool))
    assert ("städte" in definition_text(tool), ": " in definition_text(tool)) == (True, False)


def test_threads_that_ask_at_the_same_time_get_the_same_value_and_an_error_is_not_kept() -> None:
    together, models = threading.Barrier(THREADS), list[object]()

    @made_once
    def model(name: str) -> object:
        models.append(object())
        if name == "lost" and len(models) < 3:
            raise ValueError("no file")
        threading.Event().wait(0.05)  # the others ask meanwhile
        return models[-1]

    def asked(_: int) -> object:
        together.wait(30)
        return model("small")

    with ThreadPoolExecutor(THREADS) as pool:
        assert set(pool.map(asked, range(THREADS))) == set(models)
    assert len(models) == 1
    with pytest.raises(ValueError, match="no file"):
        model("lost")
    assert model("lost") is model("lost") is models[-1]
