from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.catalog import Server, Tool
from core.relevance.text_views import (
    FULL_CHARACTERS,
    SERVER_VIEWS,
    SUMMARY_CHARACTERS,
    TOOL_VIEWS,
    parameters,
    profile,
    summary,
)
from tests.cases import each

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=30)
@given(st.text(), st.text(), st.text(), json_values, st.dictionaries(st.text(max_size=9), json_values, max_size=5))
def test_every_view_of_any_tool_is_a_bounded_text(server: str, name: str, text: str, odd: Any, properties: Any) -> None:
    for schema in (odd, {"properties": odd}, {"properties": properties}):
        tool = Tool(server, name, text, input_schema=schema)
        for view in TOOL_VIEWS.values():
            assert len(view(tool)) <= max(FULL_CHARACTERS, len(server) + len(name) + 1)
            assert view(tool) == view(tool)
        for view in SERVER_VIEWS.values():
            assert len(view(Server(server, text, tools=(tool,)))) <= SUMMARY_CHARACTERS


@each("schema", [None, {}, {"properties": None}, {"properties": ["a"]}, {"$ref": "#/x"}, "text", 7])
def test_a_schema_without_parameters_has_an_empty_view(schema: Any) -> None:
    assert parameters(Tool("s", "t", input_schema=schema)) == ""


def test_long_texts_are_cut() -> None:
    tools = tuple(Tool("s", f"name_{n}", "d" * 5000) for n in range(500))
    assert len(TOOL_VIEWS["full"](tools[0])) == FULL_CHARACTERS
    assert len(summary(Server("s", tools=tools))) == SUMMARY_CHARACTERS
    assert len(profile(Server("s", tools=tools))) == SUMMARY_CHARACTERS
