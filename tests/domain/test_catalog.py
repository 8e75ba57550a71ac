"""Catalog rows, server profiles and the small text helpers."""

import pytest

from core.domain.catalog import Catalog, Server, Tool, ToolHints, first_sentence, words
from tests.cases import each

FILES = Server(
    "fileBox",
    tools=(Tool("fileBox", "read_file", "Reads a file. Slowly."), Tool("fileBox", "list", "Lists")),
)


def test_a_described_server_is_its_name_and_description():
    assert Server("fileBox", "Keeps files.", tools=FILES.tools).profile() == "file Box: Keeps files."


@pytest.mark.parametrize("description", ["", "  \n"])
def test_a_server_without_a_description_is_its_tools_names_and_first_sentences(description):
    server = Server("fileBox", description, tools=FILES.tools)
    assert server.profile() == "file Box: read file (Reads a file.); list (Lists)"


def test_rows_count_servers_and_tools_in_order():
    catalog = Catalog("c", (FILES, Server("empty"), Server("z", tools=(Tool("z", "a"),))))
    assert catalog.server_row == {"fileBox": 0, "empty": 1, "z": 2}
    assert catalog.tool_row == {"fileBox::read_file": 0, "fileBox::list": 1, "z::a": 2}
    assert [tool.id for tool in catalog.tools] == list(catalog.tool_row)


@each(
    ("hints", "safe"),
    [
        (ToolHints(), False),
        (ToolHints(read_only=True), True),
        (ToolHints(idempotent=True), True),
        (ToolHints(read_only=False, idempotent=False), False),
        (ToolHints(destructive=False), False),
    ],
)
def test_only_a_tool_that_says_so_may_be_called_twice(hints, safe):
    assert hints.retry_safe is safe


@each(
    ("text", "head"),
    [("One. Two.", "One."), ("v1.2 works", "v1.2 works"), ("One\nTwo", "One"), ("", ""), ("查天气。 第二", "查天气。")],
)
def test_the_first_sentence_ends_at_its_stop_or_line(text, head):
    assert first_sentence(text) == head


def test_the_first_sentence_of_a_very_long_text_is_cut():
    assert len(first_sentence("x" * 1_000_000)) == 160


@each(("name", "text"), [("getWeather", "get Weather"), ("a_b-c.d", "a b c d"), ("__x__", "x"), ("", "")])
def test_identifiers_become_words(name, text):
    assert words(name) == text
