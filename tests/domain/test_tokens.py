import json
import os
from types import MappingProxyType

from hypothesis import given
from hypothesis import strategies as st

from core.domain.catalog import Tool, definition_text, definition_tokens
from core.domain.tools import CHUNK, count_many, count_tokens
from tests.cases import each


@each(
    ("text", "tokens"),
    [("", 0), ("hello world", 2), ("<|endoftext|>", 7), ("tiktoken is great!", 6), ("お誕生日おめでとう", 9)],
)
def test_counts_are_those_of_cl100k_base(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_text_has_a_count_within_its_bytes(text: str) -> None:
    assert 0 <= count_tokens(text) <= 3 * len(text.encode("utf-8", "surrogatepass"))


@each("letter", ["a", " ", "!", "\n", "漢"])
def test_a_very_long_run_of_one_letter_is_counted_in_pieces(letter: str) -> None:
    assert count_tokens(letter * (5 * CHUNK)) == 5 * count_tokens(letter * CHUNK)


def test_many_and_definitions() -> None:
    assert count_many(["hello world", ""]) == [2, 0]
    schema = MappingProxyType({"type": "object", "properties": MappingProxyType({"städte": {"type": "string"}})})
    tool = Tool("s", "n", "d", input_schema=schema)
    assert json.loads(definition_text(tool))["inputSchema"]["properties"] == {"städte": {"type": "string"}}
    assert definition_tokens(tool) == count_tokens(definition_text(tool))
    assert "städte" in definition_text(tool)
    assert ": " not in definition_text(tool)


def test_the_environment_is_left_as_it_was() -> None:
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    count_tokens("x")
    assert os.environ.get("TIKTOKEN_CACHE_DIR") == before
