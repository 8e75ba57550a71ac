"""Simulated results: repeatable, fitting for every tool of the sample, readable where the arguments are wrong."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from dataclasses import replace
from typing import Any

from core.domain.catalog import Tool, ToolHints
from core.domain.json_schema import admitted_by
from core.importers.shipped_catalogs import sample
from core.virtual.sample_values import inferred_schema
from core.virtual.schema_values import value_for
from core.virtual.server import simulated_result
from tests.cases import each

SEARCH = Tool("shop", "search_books", "Returns title, price and author of each book.")


def arguments_for(tool: Tool) -> dict[str, Any]:
    """Arguments that the tool's schema admits."""
    return value_for(
        {"additionalProperties": False, "type": "object", **(tool.input_schema or {})}, random.Random(tool.id)
    )


def value_of(result: Any) -> Any:
    return json.loads(result.content[1].text)


def test_every_tool_of_the_sample_returns_what_its_schema_says() -> None:
    promised = 0
    for tool in sample().tools[::3]:
        result = simulated_result(tool, arguments_for(tool), seed=3)
        assert not result.is_error, (tool.id, result.content)
        assert result.content[0].text.startswith("Simulated result of ")
        json.dumps(value_of(result), allow_nan=False)
        if tool.output_schema is not None:
            promised += 1
            assert result.structured_content == value_of(result)
            assert admitted_by(tool.output_schema)(result.structured_content), (tool.id, result.structured_content)
        else:
            assert isinstance(value_of(result), dict)
            assert value_of(result)
            assert result.structured_content is None
    assert promised > 30


def test_the_same_call_has_the_same_result_in_every_process_and_a_start_loads_nothing_heavy() -> None:
    schema = {
        "type": "object",
        "properties": {"code": {"type": "string", "pattern": "^[^a-c]{8}$"}, "books": {"type": "array"}},
        "required": ["code"],
    }
    result = simulated_result(replace(SEARCH, output_schema=schema), {"query": "tides", "n": 2}, seed=5)
    heavy = ("torch", "faiss", "streamlit", "duckdb", "numpy", "pandas", "sklearn", "onnxruntime")
    code = (
        f"import sys, core.virtual.__main__; found = [name for name in {heavy} if name in sys.modules];"
        "from core.virtual.server import simulated_result; from core.domain.catalog import Tool; import json; "
        f"tool = Tool('shop', 'search_books', {SEARCH.description!r}, output_schema={schema!r});"
        "print(json.dumps([found, simulated_result(tool, {'query': 'tides', 'n': 2}, seed=5).structured_content]))"
    )
    line, environment = [sys.executable, "-c", code], {"PYTHONHASHSEED": "7"}
    process = subprocess.run(line, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(process.stdout) == [[], result.structured_content]


def test_another_seed_tool_or_argument_has_another_result() -> None:
    base = simulated_result(SEARCH, {"query": "tides"}, seed=1)
    assert base == simulated_result(SEARCH, {"query": "tides"}, seed=1)
    assert value_of(base) != value_of(simulated_result(SEARCH, {"query": "tides"}, seed=2))
    assert value_of(base) != value_of(simulated_result(SEARCH, {"query": "moon"}, seed=1))
    other = Tool("shop", "search_titles", SEARCH.description)
    assert value_of(base)["books"] != value_of(simulated_result(other, {"query": "tides"}, seed=1))["titles"]


@each(
    ("name", "arguments", "expected"),
    [
        ("search_papers", {"query": "tides"}, {"query", "papers", "count"}),
        ("listFiles", {"folder": "/a", "limit": 2}, {"folder", "files", "count"}),
        ("get_user", {"user_id": "u1"}, {"user_id", "id", "name", "description"}),
        ("mail.send", {"subject": "hi"}, {"subject", "mail_id", "at", "status"}),
        ("create_or_update_file", {"path": "/a"}, {"path", "file_id", "at", "status"}),
        ("cancelOrder", {"orderId": "7"}, {"orderId", "status"}),
        ("compute_tax", {"amount": 3}, {"amount", "result"}),
        ("translate_text", {"text": "ja"}, {"text"}),
        ("airports.near", {"city": "Oslo"}, {"city", "airports", "count"}),
        ("status", {}, {"id", "name", "description"}),
    ],
)
def test_verb_and_noun_decide_the_document(name: str, arguments: dict[str, Any], expected: set[str]) -> None:
    result = value_of(simulated_result(Tool("any", name), arguments, seed=1))
    assert set(result) == expected
    assert arguments.items() - {("limit", 2)} <= result.items()


def test_hints_decide_where_the_verb_says_nothing() -> None:
    writes = inferred_schema(Tool("any", "frobnicate", hints=ToolHints(read_only=False)), {})
    assert writes["properties"]["status"] == {"const": "done"}
    assert "status" not in inferred_schema(Tool("any", "frobnicate"), {})["properties"]


def test_private_arguments_are_not_repeated() -> None:
    arguments = {"amount": 5, "cardToken": "t0ps3cret", "api_key": "k3y"}
    result = value_of(simulated_result(Tool("bank", "send_money"), arguments, seed=1))
    assert result["amount"] == 5
    assert not {"t0ps3cret", "k3y"} & {str(value) for value in result.values()}


@each("schema", [{"type": 5}, {"enum": []}, {"$ref": "https://example.org/x"}])
def test_an_output_schema_that_cannot_be_met_is_a_tool_error(schema: dict[str, Any]) -> None:
    result = simulated_result(Tool("any", "get", output_schema=schema), {}, seed=1)
    assert result.is_error
    assert "output schema cannot be met" in result.content[0].text
