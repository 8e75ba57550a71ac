"""Finds the literals of a question, and the required arguments of a tool that no literal can fill. PA-RAG checks neither.

    missing = required arguments for which no literal of the question has the wanted kind and satisfies the schema

Literals are web pages, e-mail addresses, numbers, dates and times, files, quoted texts, identifiers. The enum, format and type of an
argument decide its kind; for a plain string, the last word of its name. Free text, switches and objects never count as missing,
because any question can give them. Deterministic. An unusable schema requires nothing.

>>> schema = {"properties": {"to": {"type": "string", "format": "email"}, "text": {"type": "string"}}, "required": ["to", "text"]}
>>> missing_arguments(schema, QuestionLiterals.of("tell Bo that I am late"))
('to (an e-mail address)',)
>>> missing_arguments(schema, QuestionLiterals.of("tell bo@a.example that I am late"))
()
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.domain.catalog import words
from core.domain.json_schema import admitted_by
from core.domain.tools import mapping, required_properties

READ_CHARACTERS, TOKEN_CHARACTERS = 20_000, 300
CHOICES_SHOWN = 4
MONTHS = "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
DAYS = "(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_SPANS = "minutes?|hours?|days?|weeks?|weekends?|months?|quarters?|years?|morning|afternoon|evening|night|summer|autumn|fall|winter|spring"
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_EDGES = "\"'“”„«»‘’()[]{}<>.,;:!?`"
_TOKENS = {
    "web page": re.compile(r"https?://\S+"),
    "e-mail address": re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    "file": re.compile(r"[\w./~-]*[\w-]\.[A-Za-z][A-Za-z0-9]{1,4}|[~/.]*/[\w./-]+"),
    "identifier": re.compile(r"[#@]\w[\w-]*|(?=\D*\d)\w[\w.:/-]*\w|\w+(?:[-_/.]\w+)+|[A-Z]{2,}"),
}  # of a single token
_PASSAGES = {
    "date or time": re.compile(
        rf"\b\d{{4}}-\d\d-\d\d\b|\b\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}\b|\b(?:{MONTHS})\b|\b{DAYS}\b|\b(?:19|20)\d\d\b"
        r"|\b(?:today|tonight|now|tomorrow|yesterday|noon|midnight|latest|currently)\b|\b\d{1,2}:\d\d\b|\b\d{1,2} ?(?:am|pm|o'clock)\b"
        rf"|\b(?:this|next|last|past|coming|these|each|every|in|for|\d+) (?:\w+ )?(?:{_SPANS})\b",
        re.IGNORECASE,
    ),
    "quoted text": re.compile(
        r"\"[^\"]{1,2000}\"|“[^”]{1,2000}”|«[^»]{1,2000}»|(?<!\w)['‘](?!\s)[^\n]{1,400}?(?<!\s)['’](?!\w)"
    ),
}
_NUMBER = re.compile(  # a comma divides thousands; 3,5 may be a decimal or two numbers, so it is none
    rf"(?<![\w.])(?:-|(?<!\d,))(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?(?![.,]?\d)|\b(?:{'|'.join(_NUMBERS)})\b",
    re.IGNORECASE,
)
_FORMATS = {"uri": "web page", "url": "web page", "email": "e-mail address", "date": "date or time",
            "date-time": "date or time", "time": "date or time", "uuid": "identifier"}  # fmt: skip
_NAMES = {
    "web page": "url uri link href", "e-mail address": "email mail", "date or time": "date day since until deadline time",
    "file": "path file filename filepath", "identifier": "id key sku isbn doi uuid",
}  # fmt: skip
_WANTED = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_ALSO = {"file": ("quoted text", "identifier", "web page"), "identifier": ("quoted text", "number", "file")}
_ARTICLES = {"e-mail address": "an", "identifier": "an"}


@dataclass(frozen=True, slots=True)
class QuestionLiterals:
    """The literals of a question: values by kind, as JSON has them, and its words in lower case."""

    values: Mapping[str, tuple[Any, ...]]
    words: str

    @classmethod
    def of(cls, question: str) -> QuestionLiterals:
        text = question[:READ_CHARACTERS]
        tokens = [token.strip(_EDGES) for token in text.split() if len(token) <= TOKEN_CHARACTERS]
        values: dict[str, tuple[Any, ...]] = {
            kind: tuple(dict.fromkeys(filter(pattern.fullmatch, tokens))) for kind, pattern in _TOKENS.items()
        }
        values |= {kind: tuple(dict.fromkeys(pattern.findall(text))) for kind, pattern in _PASSAGES.items()}
        values["number"] = tuple(dict.fromkeys(map(_number, _NUMBER.findall(text))))
        return cls(values, _padded(text))

    def has(self, kind: str, schema: Mapping[str, Any]) -> bool:
        values = self.of_kind(kind)
        return bool(values) if kind == "date or time" else any(map(_admitting(schema), values))

    def of_kind(self, kind: str) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(value for name in (kind, *_ALSO.get(kind, ())) for value in self.values[name]))

    def chosen(self, choices: Sequence[object]) -> tuple[object, ...]:
        return tuple(choice for choice in choices if _padded(words(str(choice))) in self.words)


def missing_arguments(schema: Mapping[str, Any] | None, literals: QuestionLiterals) -> tuple[str, ...]:
    """Returns required arguments without a value in the question, each with its kind: `to (an e-mail address)`."""
    missing_kinds = ((name, _missing(name, spec, literals)) for name, spec in required_properties(schema).items())
    return tuple(f"{name} ({missing})" for name, missing in missing_kinds if missing)


def missing_note(names: Sequence[str], *, from_earlier: bool) -> str:
    """Returns the remark on a tool whose arguments are missing.

    >>> missing_note(["to (an e-mail address)"], from_earlier=True)
    'needs to (an e-mail address), which the question does not say; an earlier part may give it'
    """
    note = f"needs {', '.join(names)}, which the question does not say"
    return f"{note}; an earlier part may give it" if from_earlier else note


def _missing(name: str, spec: Mapping[str, Any], literals: QuestionLiterals) -> str:
    """Returns the missing kind, or "" if the question has it or anything fits."""
    if "default" in spec or "const" in spec:
        return ""
    if isinstance(spec.get("enum"), list):
        return "" if literals.chosen(spec["enum"]) else choice_note(spec["enum"])
    if spec.get("type") == "array":
        return _missing(name.removesuffix("s"), mapping(spec.get("items")), literals)
    kind = literal_kind(name, spec)
    return "" if not kind or literals.has(kind, spec) else kind_note(kind)


def kind_note(kind: str) -> str:
    return f"{_ARTICLES.get(kind, 'a')} {kind}"


def literal_kind(name: str, schema: Mapping[str, Any]) -> str:
    """Returns the kind of literal that an argument takes, or "" for free text and structures."""
    if schema.get("type") in ("integer", "number"):
        return "number"
    if schema.get("type") != "string":
        return ""
    return _FORMATS.get(str(schema.get("format")), _WANTED.get(last_word(name), ""))


def choice_note(choices: Sequence[object]) -> str:
    """Returns the choices of an argument as a phrase.

    >>> choice_note(["png", "svg"])
    'one of "png", "svg"'
    """
    choice_texts = ", ".join(json.dumps(choice, ensure_ascii=False) for choice in choices[:CHOICES_SHOWN])
    return f"one of {choice_texts}{', …' if len(choices) > CHOICES_SHOWN else ''}"


def _padded(text: str) -> str:
    """Returns words in lower case with single spaces around, so that a contained text has its words contained."""
    text_words = " ".join(re.findall(r"[^\W_]+", text.lower()))
    return f" {text_words} "


def _admitting(schema: Mapping[str, Any]) -> Callable[[object], bool]:
    """Whether the schema admits the value. An unusable schema admits everything."""
    try:
        return admitted_by({key: value for key, value in schema.items() if key != "format"})
    except ValueError:
        return lambda _: True


def _number(text: str) -> float | int:
    if text.lower() in _NUMBERS:
        return _NUMBERS.index(text.lower())
    value = float(text.replace(",", ""))
    return int(value) if value.is_integer() else value


def last_word(name: str) -> str:
    return (words(name).lower().split() or [""])[-1]
