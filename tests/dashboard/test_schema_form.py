"""From a JSON Schema to fields, and between widgets and arguments: a table of schemas, and schemas at random."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from dashboard.pages.call.form import (
    UnfitError,
    gather,
    parsed,
    parsed_object,
    pretty,
    sent_value,
    shown_problems,
    spread,
    start_state,
    widget_state,
)
from dashboard.pages.call.schema import UNSET, Field, Kind, example_of, form_fields, resolved, skeleton
from tests.cases import each

KEYWORDS = [
    "type", "properties", "required", "items", "enum", "const", "default", "anyOf", "oneOf", "allOf", "$ref", "$defs",
    "description", "title", "format", "minimum", "maximum", "multipleOf", "maxLength", "minItems", "additionalProperties",
    "examples", "writeOnly", "a", "b", "text",
]  # fmt: skip
WORDS = [
    "string",
    "integer",
    "number",
    "boolean",
    "array",
    "object",
    "null",
    "#/$defs/a",
    "#/properties/a",
    "#",
    "a",
    "b",
    "",
]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(WORDS)
    | st.text(max_size=6)
    | st.just(10**400)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=5),
    max_leaves=25,
)
SCHEMAS = JSON | st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from(["a", "b", "c"]), JSON, max_size=3)},
    optional={"required": JSON, "$defs": st.dictionaries(st.sampled_from(["a", "b"]), JSON, max_size=2)},
)


def prop(spec: Any, **root: Any) -> Field:
    """The field that a property called `x` becomes."""
    fields = form_fields({"type": "object", "properties": {"x": spec}, **root})
    assert fields is not None
    return fields[0]


@each(
    ("spec", "kind"),
    [
        ({"type": "string"}, Kind.TEXT),
        ({"type": "string", "maxLength": 20}, Kind.TEXT),
        ({"type": "string", "maxLength": 5000}, Kind.LONG_TEXT),
        ({"type": "string", "format": "markdown"}, Kind.LONG_TEXT),
        ({"type": "string", "default": "two\nlines"}, Kind.LONG_TEXT),
        ({"type": "integer"}, Kind.INTEGER),
        ({"type": "number"}, Kind.NUMBER),
        ({"type": "boolean"}, Kind.BOOLEAN),
        ({"enum": ["a", 1, True]}, Kind.CHOICE),
        ({"const": "only"}, Kind.CHOICE),
        ({"enum": [{"a": 1}]}, Kind.JSON),
        ({"enum": [None]}, Kind.JSON),
        ({"type": "array", "items": {"type": "string"}}, Kind.JSON),
        ({"type": "object"}, Kind.JSON),
        ({"type": ["string", "null"]}, Kind.TEXT),
        ({"type": ["string", "integer"]}, Kind.JSON),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, Kind.INTEGER),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, Kind.JSON),
        ({"oneOf": [{"type": "null"}, {"enum": ["a"]}]}, Kind.CHOICE),
        ({"allOf": [{"type": "boolean"}]}, Kind.BOOLEAN),
        ({"$ref": "#/$defs/colour"}, Kind.CHOICE),
        ({"$ref": "#/$defs/loop"}, Kind.JSON),
        ({"$ref": "#/$defs/nowhere"}, Kind.JSON),
        ({"$ref": "https://example.org/schema.json"}, Kind.JSON),
        (True, Kind.JSON),
        ({"type": "integer", "default": "five"}, Kind.INTEGER),
    ],
)
def test_the_kind_of_a_field(spec: Any, kind: Kind) -> None:
    defs = {"colour": {"enum": ["red", "blue"]}, "loop": {"$ref": "#/$defs/loop"}}
    assert prop(spec, **{"$defs": defs}).kind is kind


@each(
    "schema",
    [
        None,
        True,
        False,
        [],
        "x",
        {},
        {"$ref": "#/$defs/a"},
        {"allOf": [{"type": "object"}]},
        {"type": "object", "properties": 5},
        {"type": "object", "additionalProperties": True},
        {"type": "object", "anyOf": [{"required": ["a"]}]},
        {"properties": {f"p{n}": {} for n in range(200)}},
    ],
)
def test_an_odd_schema_is_edited_as_one_json_object(schema: Any) -> None:
    assert form_fields(schema) is None
    assert isinstance(skeleton(schema), dict)


def test_required_fields_come_first_and_one_that_is_only_named_is_there_too() -> None:
    assert form_fields({"type": "object"}) == form_fields({"type": "object", "properties": {}}) == ()
    fields = form_fields({"properties": {"a": {}, "b": {}}, "required": ["b", "c", 7]})
    assert fields is not None
    assert [(field.name, field.required) for field in fields] == [("b", True), ("c", True), ("a", False)]


def test_help_says_title_description_and_limits_once() -> None:
    field = prop({"type": "integer", "title": "Size", "description": "How many", "minimum": 1, "maximum": 20_000})
    assert field.help == "Size – How many – at least 1, at most 20,000"
    assert prop({"type": "string", "title": "x", "description": "x"}).help == "x"


def test_secret_fields_are_known() -> None:
    assert prop({"type": "string", "format": "password"}).secret
    assert prop({"type": "string", "writeOnly": True}).secret
    assert not prop({"type": "string"}).secret


def test_an_example_shows_the_shape_and_ends() -> None:
    root = {
        "$defs": {
            "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "n": {"type": "integer"}}}
        }
    }
    example = example_of(resolved({"type": "array", "items": {"$ref": "#/$defs/node"}}, root), root)
    assert example[0]["n"] == 0
    assert len(json.dumps(example)) < 200


def test_a_skeleton_holds_defaults_and_what_is_required() -> None:
    schema = {"properties": {"a": {"type": "string"}, "b": {"default": 3}, "c": {"type": "string"}}, "required": ["a"]}
    assert skeleton(schema) == {"a": "…", "b": 3}


@each(
    ("field", "state", "value"),
    [
        (Field("x", Kind.TEXT), "", UNSET),
        (Field("x", Kind.TEXT), " a ", " a "),
        (Field("x", Kind.TEXT, default="d"), "", ""),
        (Field("x", Kind.INTEGER), None, UNSET),
        (Field("x", Kind.INTEGER), 7.0, 7),
        (Field("x", Kind.NUMBER), 0.0, 0.0),
        (Field("x", Kind.BOOLEAN), None, UNSET),
        (Field("x", Kind.BOOLEAN), "false", False),
        (Field("x", Kind.CHOICE, choices=("a", 1, True)), 2, True),
        (Field("x", Kind.JSON), "  ", UNSET),
        (Field("x", Kind.JSON), "null", None),
        (Field("x", Kind.JSON), "[1]", [1]),
    ],
)
def test_what_a_widget_sends(field: Field, state: Any, value: Any) -> None:
    result, problem = sent_value(field, state)
    assert (result, type(result), problem) == (value, type(value), "")


@each("text", ["{", "[1,]", "NaN", "Infinity", "a", "[" * 100_000, "9" * 10_000])
def test_what_is_no_json_is_said_and_not_sent(text: str) -> None:
    value, problem = parsed(text)
    assert value is UNSET
    assert problem.startswith("is not JSON")
    assert gather([Field("x", Kind.JSON)], {"x": text}) == ({}, {"x": problem})


def test_all_arguments_have_to_be_one_object() -> None:
    assert parsed_object("") == ({}, "")
    assert parsed_object('{"a": 1}') == ({"a": 1}, "")
    assert parsed_object("[1]")[1] == "must be one JSON object, such as {}"


def test_a_default_that_does_not_fit_its_field_is_left_out() -> None:
    assert start_state(prop({"type": "integer", "default": "five"})) is None
    assert start_state(prop({"type": "integer", "default": 2**60})) is None
    assert start_state(prop({"enum": ["a"], "default": "b"})) is None
    assert start_state(prop({"type": "boolean", "default": True})) == "true"


def test_json_goes_back_into_the_form_or_is_named() -> None:
    fields = [Field("n", Kind.INTEGER), Field("q", Kind.TEXT)]
    assert spread(fields, {"n": 3, "q": "x"}) == ({"n": 3, "q": "x"}, ())
    assert spread(fields, {"n": "three", "more": 1})[1] == ("more", "n")


def test_an_untouched_form_is_not_red() -> None:
    problems = {"a": "is required", "b": "is not of type 'integer'", "c": "is not JSON: expecting value"}
    assert shown_problems(problems, {"b": "x"}, attempted=False) == {name: problems[name] for name in "bc"}
    assert shown_problems(problems, {"b": "x"}, attempted=True) == problems


@settings(max_examples=60)
@given(SCHEMAS)
def test_no_schema_breaks_the_form(schema: Any) -> None:
    skeleton(schema)
    fields = form_fields(schema)
    if fields is None:
        return
    states = {field.name: start_state(field) for field in fields}
    arguments, problems = gather(fields, states)
    assert set(arguments) | set(problems) <= {field.name for field in fields}
    pretty(arguments)


@settings(max_examples=50)
@given(SCHEMAS, JSON)
@example({"type": "object", "properties": {"n": {"type": "integer"}}}, 1.5)
def test_what_a_widget_can_hold_it_sends_unchanged(schema: Any, value: Any) -> None:
    for field in form_fields(schema) or ():
        try:
            state = widget_state(field, value)
        except UnfitError:
            continue
        result, problem = sent_value(field, state)
        if field.kind is not Kind.JSON and not (value == "" and field.default is UNSET):
            assert (result, problem) == (value, "")
