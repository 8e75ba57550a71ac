r"""Replies of a language model, parsed: the first JSON object that fits is used, texts are cut. A reply without one is
an error.

>>> Description.read('Sure! ```json\n{"description": "weather forecast"}\n``` Anything else?').description
'weather forecast'
>>> Description.read("I think that is a weather tool.")
Traceback (most recent call last):
core.domain.errors.PlannerError: The model's answer holds no JSON object that fits; try again, or choose planner=rules.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from core.domain.errors import PlannerError
from core.domain.untrusted_text import one_line
from core.planning.base import SubQuery

STARTS_TRIED = 20
REPLY_CHARACTERS = 50_000


class ModelReply(BaseModel):
    """Base of every reply: a schema that strict endpoints accept, and a reader for those that ignore it."""

    model_config = ConfigDict(extra="ignore", json_schema_extra={"additionalProperties": False})

    @classmethod
    def read(cls, text: str) -> Self:
        for document in _objects(text[:REPLY_CHARACTERS]):
            try:
                return cls.model_validate(document)
            except ValidationError:
                continue
        raise PlannerError("The model's answer holds no JSON object that fits; try again, or choose planner=rules.")


class Description(ModelReply):
    description: str


class ComplexityReply(ModelReply):
    complex: bool
    confidence: float
    evidence: list[str]


class Part(ModelReply):
    text: str
    needs: list[int]


class Parts(ModelReply):
    parts: list[Part]


class Question(ModelReply):
    question: str


class Questions(ModelReply):
    questions: list[str]


class Wanted(ModelReply):
    server: str
    tool: str


class Chosen(ModelReply):
    tools: list[str]
    reason: str


class ToolRequests(ModelReply):
    tool: str
    requests: list[str]


class WrittenRequests(ModelReply):
    tools: list[ToolRequests]


class ActionReply(ModelReply):
    """The next action; arguments are one JSON object as text, because strict schemas take no open object."""

    action: Literal["route", "execute", "stop"]
    tool: str
    arguments_json: str
    subtask: str
    words: str


def share(number: float) -> float:
    """Returns a number clipped to [0, 1], one half if it is not finite.

    >>> share(7.0), share(float("nan"))
    (1.0, 0.5)
    """
    return min(1.0, max(0.0, number)) if math.isfinite(number) else 0.5


def ordered(parts: Sequence[Part], limit: int, characters: int) -> tuple[SubQuery, ...]:
    """Returns the parts in order. Blank parts are left out, surplus ones joined to the last, and needs of later parts
    dropped.

    >>> loop = [Part(text="a", needs=[1]), Part(text="b", needs=[0, 7, 1])]
    >>> ordered(loop, 8, 100)
    (SubQuery(text='a', needs=()), SubQuery(text='b', needs=(0,)))
    """
    texts = {at: one_line(part.text, characters) for at, part in enumerate(parts)}
    place = {at: position for position, at in enumerate(at for at in texts if texts[at])}
    kept = list(place)
    found: list[SubQuery] = []
    for at in kept[:limit]:
        needs = sorted({place[need] for need in parts[at].needs if need in place and place[need] < place[at]})
        found.append(SubQuery(texts[at], tuple(needs)))
    if len(kept) > limit:
        rest = ", ".join(texts[at] for at in kept[limit - 1 :])
        found[-1] = SubQuery(one_line(rest, characters), found[-1].needs)
    return tuple(found)


def _objects(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    start, tried = text.find("{"), 0
    while start >= 0 and tried < STARTS_TRIED:
        tried += 1
        try:
            document, end = decoder.raw_decode(text, start)
            yield document
        except (ValueError, RecursionError):
            end = start + 1
        start = text.find("{", end)
