"""Where references of a stranger's schema lead: within it, and nowhere else."""

from hypothesis import given
from hypothesis import strategies as st

from core.shared.json_schema import referenced
from tests.cases import each

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


@given(st.text(max_size=30))
def test_any_text_is_taken(reference) -> None:
    referenced(ROOT, reference)
    referenced(ROOT, f"#/{reference}")
