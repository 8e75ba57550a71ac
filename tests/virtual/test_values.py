"""Values from schemas: every keyword, references, recursion, echoes, and schemas of strangers."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.json_schema import admitted_by
from core.virtual.sample_values import matching_text
from core.virtual.schema_values import FORMATS, NoValueError, value_for
from tests.cases import each

TREE = {"$ref": "#/$defs/tree", "$defs": {"tree": {
    "type": "object", "required": ["name", "kids"], "additionalProperties": False,
    "properties": {"name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
}}}  # fmt: skip
SCHEMAS: dict[str, dict[str, Any]] = {
    "nothing said": {},
    "constant": {"const": {"a": [1]}},
    "choice": {"enum": ["a", 2, None]},
    "several types": {"type": ["null", "integer"]},
    "text limits": {"type": "string", "minLength": 90, "maxLength": 95},
    "one letter": {"type": "string", "maxLength": 1},
    "pattern": {"type": "string", "pattern": "^[A-Z]{2,3}-\\d{4}(-[a-f]+)?$"},
    "pattern with a look-ahead": {"type": "string", "pattern": "^(?=.*\\d)[a-z0-9]{6,}$"},
    "negated classes": {"type": "string", "pattern": "^[^\\s@]+@[^\\s@]+\\.[^\\d\\W]{2,}$"},
    "back reference": {"type": "string", "pattern": "^(a|b)-\\1$"},
    "integer range": {"type": "integer", "minimum": 7, "maximum": 8},
    "number range": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.001},
    "below zero": {"type": "number", "maximum": -5},
    "multiples": {"type": "integer", "multipleOf": 25, "minimum": 60, "maximum": 110},
    "parts of one": {"type": "number", "multipleOf": 0.25, "minimum": 0.3, "maximum": 0.6},
    "older bounds": {"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer", "minimum": 3, "exclusiveMinimum": True},
    "nested lists": {"type": "array", "minItems": 2, "items": {"type": "array", "minItems": 3, "items": {"type": "integer"}}},
    "different items": {"type": "array", "uniqueItems": True, "minItems": 4, "items": {"enum": [1, 2, 3, 4]}},
    "tuple": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
    "older tuple": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": [{"type": "integer"}], "additionalItems": False},
    "contains": {"type": "array", "contains": {"const": "here"}, "items": {"type": "string"}},
    "short list": {"type": "array", "maxItems": 1, "items": {"type": "string"}},
    "required without properties": {"type": "object", "required": ["a", "b"]},
    "closed object": {"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": False},
    "a table": {"type": "object", "additionalProperties": {"type": "integer"}},
    "named by pattern": {"type": "object", "patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False, "minProperties": 2},
    "names checked": {"type": "object", "propertyNames": {"pattern": "^[a-z]{3}$"}, "minProperties": 3},
    "few properties": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 1},
    "all of": {"allOf": [{"type": "object", "required": ["a"]}, {"properties": {"a": {"type": "integer", "minimum": 5}}}, {"properties": {"a": {"maximum": 6}}}]},
    "any of": {"anyOf": [{"type": "string", "format": "date"}, {"type": "integer", "minimum": 3}]},
    "one of": {"oneOf": [{"type": "number", "multipleOf": 5}, {"type": "number", "multipleOf": 3}], "minimum": 1, "maximum": 30},
    "one kind of several": {"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}, "required": ["kind", "n"]},
        {"type": "object", "properties": {"kind": {"const": "b"}, "t": {"type": "string"}}, "required": ["kind", "t"]},
    ]},
    "optional": {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "required": ["a"]},
    "not": {"not": {"type": "string"}},
    "condition": {"type": "object", "properties": {"k": {"enum": ["a", "b"]}}, "required": ["k"],
        "if": {"properties": {"k": {"const": "a"}}}, "then": {"required": ["x"]}, "else": {"required": ["y"]}},
    "dependent": {"type": "object", "properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}},
    "tree": TREE,
    "definitions": {"$ref": "#/definitions/x", "definitions": {"x": {"type": "integer", "const": 3}}},
    "anchor": {"$id": "https://example.org/s", "$ref": "#here", "$defs": {"x": {"$anchor": "here", "const": 7}}},
    "deep": {"type": "object", "required": ["a"], "properties": {"a": {"type": "object", "required": ["a"], "properties": {
        "a": {"type": "object", "required": ["a"], "properties": {"a": {"type": "array", "minItems": 1, "items": TREE["$defs"]["tree"]["properties"]["name"]}}}}}}},
    "whole numbers as floats": {"type": "array", "minItems": 2.0, "maxItems": 3.0, "items": {"type": "string", "minLength": 4.0}},
}  # fmt: skip


def required(**properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object that has these properties."""
    return {"type": "object", "required": [*properties], "properties": properties}


@each("name", SCHEMAS)
def test_a_value_fits_for_many_generators(name: str) -> None:
    fits = admitted_by(SCHEMAS[name])
    for seed in range(8):
        value = value_for(SCHEMAS[name], random.Random(seed))
        assert fits(value), value


@each("name", sorted(set(FORMATS) - {"url", "byte"}))
def test_every_format(name: str) -> None:
    schema = {"type": "string", "format": name}
    fits = admitted_by(schema)
    assert all(fits(value_for(schema, random.Random(seed))) for seed in range(10))


@each(
    "schema",
    [
        {"enum": []},
        {"type": "integer", "minimum": 3, "maximum": 2},
        {"type": "object", "required": ["a"], "properties": {"a": False}},
        {"$ref": "#/nowhere"},
        {"$ref": "https://example.org/elsewhere.json"},
        {"type": 7},
    ],
)
def test_what_no_value_fits_is_said(schema: dict[str, Any]) -> None:
    with pytest.raises(NoValueError):
        value_for(schema, random.Random(1))


def test_a_strangers_sizes_do_not_fill_the_memory() -> None:
    with pytest.raises(NoValueError):
        value_for({"type": "string", "minLength": 10**9}, random.Random(1))
    lists: dict[str, Any] = {"type": "integer"}
    for _ in range(26):
        lists = {"type": "array", "minItems": 2, "items": lists}
    with pytest.raises(NoValueError, match="more than 2,000 values"):
        value_for(lists, random.Random(1))
    assert matching_text("^(x+x+)+y?$", random.Random(1))
    assert len(matching_text("(x{99}){99}{99}", random.Random(1)) or "") < 100_000
    wide = required(**{f"p{n}": {"$ref": "#"} for n in range(9)})
    with pytest.raises(NoValueError):  # nothing finite fits
        value_for(wide, random.Random(1))


def test_arguments_are_repeated_where_they_fit() -> None:
    text, days = {"type": "string"}, {"type": "integer", "maximum": 5}
    schema = required(city=text, userId=text, days=days, unit={"enum": ["C", "F"]})
    value = value_for(schema, random.Random(1), {"city": "Oslo", "user_id": "u7", "days": 9, "unit": "F"})
    assert (value["city"], value["userId"], value["unit"]) == ("Oslo", "u7", "F")
    assert value["days"] <= 5


def test_records_repeat_arguments_but_not_their_ids() -> None:
    record = required(id={"type": "string"}, genre={"type": "string"})
    schema = required(films={"type": "array", "minItems": 3, "items": record})
    films = value_for(schema, random.Random(1), {"id": "f1", "genre": "noir"})["films"]
    assert {film["genre"] for film in films} == {"noir"}
    assert len({film["id"] for film in films}) == len(films)


@each("limit", ["limit", "max_results", "maxResults", "count", "per_page", "pageSize", "top_k"])
def test_a_list_is_no_longer_than_its_limit(limit: str) -> None:
    schema = required(hits={"type": "array", "items": {"type": "string"}}, total={"type": "integer"})
    value = value_for(schema, random.Random(2), {limit: 1, "query": "tides"})
    assert len(value["hits"]) == value["total"] == 1


def test_texts_are_about_the_query() -> None:
    schema = required(title={"type": "string"}, summary={"type": "string"})
    value = value_for(schema, random.Random(1), {"limit": 3, "query": "night trains"})
    assert "night trains" in value["title"].lower()
    assert "night trains" in value["summary"].lower()


scalars = st.one_of(
    st.builds(lambda low, span: {"type": "integer", "minimum": low, "maximum": low + span}, st.integers(-99, 99), st.integers(0, 9)),
    st.builds(lambda low, span: {"type": "string", "minLength": low, "maxLength": low + span}, st.integers(0, 40), st.integers(0, 9)),
    st.builds(lambda values: {"enum": values}, st.lists(st.integers() | st.text(max_size=5), min_size=1, max_size=4)),
    st.sampled_from([{"type": "boolean"}, {"type": "null"}, {"type": "number"}, {"type": "string", "format": "date-time"}]),
)  # fmt: skip
schemas = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.builds(lambda items, least: {"type": "array", "items": items, "minItems": least}, inner, st.integers(0, 3)),
        st.builds(lambda branches: {"anyOf": branches}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(
            lambda properties, open_: {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": open_},
            st.dictionaries(st.text(max_size=8), inner, max_size=4), st.booleans(),
        ),
    ),
    max_leaves=8,
)  # fmt: skip


@given(schema=schemas, seed=st.integers(0, 999))
@settings(max_examples=60)
def test_any_schema_of_the_usual_keywords(schema: dict[str, Any], seed: int) -> None:
    value = value_for(schema, random.Random(seed))
    assert admitted_by(schema)(value)
    assert value == value_for(schema, random.Random(seed))


@given(st.from_regex(r"^[\w*+?.()\[\]{},|^$\\-]{0,12}$", fullmatch=True), st.integers(0, 99))
@settings(max_examples=100)
@pytest.mark.filterwarnings("ignore::FutureWarning")  # Python's, about a nested set in a made-up pattern
def test_a_text_for_a_pattern_matches_it_or_is_none(pattern: str, seed: int) -> None:
    text = matching_text(pattern, random.Random(seed))
    assert text is None or re.search(pattern, text)
