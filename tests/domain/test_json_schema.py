"""References of a stranger's schema lead only within it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.json_schema import admitted_by, argument_problems, arguments_fit, misfit, referenced, schema_fault
from tests.cases import each
from tests.servers.odd_entries import multiplying

ROOT = {
    "$id": "https://example.org/root.json",
    "$defs": {
        "plain": {"type": "string"},
        "a/b~c d": {"const": 1},
        "list": [{"const": 2}],
        "named": {"$anchor": "here", "const": 3},
        "own": {"$id": "own.json", "const": 4},
        "never": False,
    },
}


@each(("reference", "found"), [
    ("#", ROOT),
    ("#/$defs/plain", {"type": "string"}),
    ("#/$defs/a~1b~0c%20d", {"const": 1}),
    ("#/$defs/list/0", {"const": 2}),
    ("#here", {"$anchor": "here", "const": 3}),
    ("own.json", {"$id": "own.json", "const": 4}),
    ("https://example.org/root.json#/$defs/plain", {"type": "string"}),
    ("#/$defs/never", False),
    ("#/$defs/list/1", {}),
    ("#/$defs/list/x", {}),
    ("#/$defs/plain/type/deeper", {}),
    ("#nowhere", {}),
    ("other.json", {}),
    ("https://example.com/other.json", {}),
    ("file:///etc/passwd", {}),
    ("", ROOT),
    (None, {}),
    (["#"], {}),
])  # fmt: skip
def test_a_reference_leads_to_its_part(reference, found) -> None:
    assert referenced(ROOT, reference) == found


@each("broken", [{"$schema": "nope"}, {"$id": " bad"}, {"$id": 7}, {"note": "\ud800"}, {1: 2}])
def test_a_pointer_is_followed_in_a_broken_schema_too(broken) -> None:
    assert referenced(broken | {"$defs": {"a": {"const": 1}}}, "#/$defs/a") == {"const": 1}
    assert referenced(broken, "elsewhere.json") == {}


@settings(max_examples=40)
@given(st.text(max_size=30))
def test_any_text_is_taken(reference) -> None:
    referenced(ROOT, reference)
    referenced(ROOT, f"#/{reference}")


@each("keyword", ["anyOf", "oneOf", "allOf"])
def test_a_schema_that_multiplies_is_named_and_its_check_is_bounded(keyword) -> None:
    value = {"x": "text"}
    for levels in (13, 16, 26, 3_000):
        schema = multiplying(levels, keyword)
        assert schema_fault(schema).startswith("grows to more than 10,000 parts")
        assert (argument_problems(schema, value), misfit(schema, value), arguments_fit(schema, value)) == ({}, "", None)
        with pytest.raises(ValueError, match="grows"):
            admitted_by(schema)
    reasons = argument_problems(multiplying(11, keyword), {**value, "y": [1] * 9})
    assert reasons == {"x": "does not fit", "": "do not fit the schema"}
    assert argument_problems(multiplying(3), value) == {
        "x": "\"text\" is not valid under any of the schemas listed in the 'anyOf' keyword"
    }


def test_schemas_that_multiply_by_other_means_are_named_too() -> None:
    names = {f"a{n}": {"$anchor": f"a{n}", "not": {"items": [{"$ref": f"#a{n + 1}"}] * 2}} for n in range(26)}
    assert schema_fault({"$ref": "#a0", "$defs": {**names, "last": {"$anchor": "a26"}}}).startswith("grows")
    by_id = {f"a{n}": {"$id": f"urn:a{n}", "anyOf": [{"$ref": f"urn:a{n + 1}"}] * 2} for n in range(26)}
    assert schema_fault({"$ref": "urn:a0", "$defs": {**by_id, "last": {"$id": "urn:a26"}}}).startswith("grows")
    closed = multiplying(26) | {"allOf": [{"$ref": "#/$defs/a0"}], "unevaluatedProperties": False}
    assert schema_fault(closed).startswith("grows")


def test_reasons_of_a_deep_or_long_value_are_bounded() -> None:
    branch = {"properties": {"c": {"$ref": "#/$defs/n"}}}
    schema = {"properties": {"n": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "object", "anyOf": [branch, branch]}}}
    value: object = 1
    for _ in range(190):
        value = {"c": value}
    assert schema_fault(schema) == ""
    assert argument_problems(schema, {"n": value})["n"] == "does not fit"
    assert misfit(schema, {"n": value}) == "there are too many reasons to name one"
    either = {"items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}
    assert misfit(either, ["x"] * 200_000) == "there are too many reasons to name one"
    assert misfit(either, [1, "x"]).startswith("1: ")
    assert arguments_fit({"properties": {"n": either}}, {"n": [1] * 200_000}) is True
    hostile = {"properties": {"s": {"enum": list(map(str, range(100_000)))}, "p": {"pattern": "^(a|a)+$"}}}
    assert set(argument_problems(hostile, {"s": "x", "p": "a" * 5_000 + "!"})) == {"s", "p"}
