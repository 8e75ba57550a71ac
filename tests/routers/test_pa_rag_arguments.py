"""The literals of a question for a tool's required arguments."""

from __future__ import annotations

from core.planning.literals import QuestionLiterals, missing_arguments
from tests.cases import each

MAIL = {"type": "string", "format": "email"}


def lacking(question, **arguments):
    schema = {"type": "object", "properties": arguments, "required": list(arguments)}
    return missing_arguments(schema, QuestionLiterals.of(question))


@each(
    ("argument", "wanted", "holds", "holds_not"),
    [
        ({"to": MAIL}, "an e-mail address", "mail bo@a.example.", "mail Bo at example"),
        ({"url": {"type": "string"}}, "a web page", "read (https://a.example/x).", "read a.example"),
        ({"page": {"type": "string", "format": "uri"}}, "a web page", "read http://a.example", "read it"),
        ({"count": {"type": "integer"}}, "a number", "the last 5", "the last ones"),
        ({"count": {"type": "integer"}}, "a number", "the last five", "the last ones"),
        ({"amount": {"type": "number"}}, "a number", "12.50 euros", "some euros"),
        ({"amount": {"type": "number"}}, "a number", "1,250 euros", "12,75 euros"),
        ({"start_date": {"type": "string"}}, "a date or time", "from 3 October on", "from Lisbon on"),
        ({"when": {"type": "string", "format": "date-time"}}, "a date or time", "tomorrow at noon", "at the harbour"),
        ({"day": {"type": "string", "format": "date"}}, "a date or time", "next Tuesday", "next door"),
        ({"day": {"type": "string", "format": "date"}}, "a date or time", "on 2026-05-04", "on 20-5"),
        ({"path": {"type": "string"}}, "a file", "show notes/today.md", "show it"),
        ({"path": {"type": "string"}}, "a file", "open '/root/my list'", "open it"),
        ({"issue_id": {"type": "string"}}, "an identifier", "close HAR-221", "close it"),
        ({"deal_id": {"type": "string"}}, "an identifier", "close 'Otto'", "close it"),
        ({"unit": {"enum": ["celsius", "fahrenheit"]}}, 'one of "celsius", "fahrenheit"', "in Celsius", "in Oslo"),
        ({"size": {"enum": [1, 2, 3, 4, 5]}}, "one of 1, 2, 3, 4, …", "size 4", "large"),
        ({"mode": {"enum": ["free_busy"]}}, 'one of "free_busy"', "free/busy only", "busy"),
        ({"emails": {"type": "array", "items": MAIL}}, "an e-mail address", "to bo@a.example", "to Bo"),
    ],
)  # fmt: skip
def test_an_argument_wants_its_kind_of_literal(argument, wanted, holds, holds_not) -> None:
    (name,) = argument
    assert lacking(holds, **argument) == ()
    assert lacking(holds_not, **argument) == (f"{name} ({wanted})",)


def test_a_comma_divides_thousands_or_makes_a_number_doubtful() -> None:
    numbers = "1,200, 5, 6 and -2,000,000.5, not 3,5 or 1,2,3 or 1,2345 or 1,234,5 or 1234,567 or 1.500,75"
    assert QuestionLiterals.of(numbers).of_kind("number") == (1200, 5, 6, -2_000_000.5)
    assert QuestionLiterals.of("at 52.52,-13.40").of_kind("number") == (52.52, -13.4)


def test_a_number_that_the_schema_does_not_admit_is_none() -> None:
    assert lacking("rate it 9", stars={"type": "integer", "minimum": 1, "maximum": 5}) == ("stars (a number)",)
    assert lacking("rate it 4", stars={"type": "integer", "minimum": 1, "maximum": 5}) == ()
    assert lacking("half: 0.5", count={"type": "integer"}) == ("count (a number)",)


def test_an_identifier_has_to_satisfy_the_pattern() -> None:
    schema = {"type": "string", "pattern": "^[A-Z]+-[0-9]+$"}
    assert lacking("close HAR-221", ticket_id=schema) == ()
    assert lacking("close har_221", ticket_id=schema) == ("ticket_id (an identifier)",)


@each(
    "schema",
    [
        {"type": "string"}, {"type": "boolean"}, {"type": "object"}, {"type": ["string", "null"]}, {}, True, 7, None,
        {"type": "integer", "default": 3}, {"enum": ["a"], "default": "a"}, {"const": 5}, {"anyOf": [{"type": "integer"}]},
        {"type": "array"}, {"type": "array", "items": 5},
    ],
)  # fmt: skip
def test_what_can_be_made_from_any_question_lacks_nothing(schema) -> None:
    assert lacking("read it", value=schema) == ()


@each(
    "schema",
    [
        None, {}, {"required": ["a"]}, {"properties": []}, {"properties": {"a": MAIL}, "required": "a"},
        {"properties": {"a": MAIL}, "required": 5}, {"properties": {"a": MAIL}, "required": [None, 3, "b"]},
        {"properties": {"n_id": {"type": "string", "pattern": "("}}, "required": ["n_id"]},
    ],
)  # fmt: skip
def test_a_schema_that_cannot_be_used_asks_for_nothing(schema) -> None:
    assert missing_arguments(schema, QuestionLiterals.of("close HAR-221")) == ()


@each("text", ["", " ", "\x00\u202e", "a." * 10_000, "1" * 20_000, "'" * 5_000, "a@" * 9_000, "读取 🗂️"])
def test_any_text_can_be_read(text) -> None:
    assert lacking(text, to=MAIL, n={"type": "integer", "maximum": 5}) == ("to (an e-mail address)", "n (a number)")
