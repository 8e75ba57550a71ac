r"""Parses replies of a language model: takes the first JSON object that fits and cuts texts. A reply without such an
object is an error.

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
    """Base of every reply: a schema that strict endpoints accept, and a reader for endpoints that ignore it."""

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
    """Returns the parts in order. Blank parts are left out, surplus parts joined to the last, and needs of later parts
    dropped.

    >>> loop = [Part(text="a", needs=[1]), Part(text="b", needs=[0, 7, 1])]
    >>> ordered(loop, 8, 100)
    (SubQuery(text='a', needs=()), SubQuery(text='b', needs=(0,)))
    """
    texts = {index: one_line(part.text, characters) for index, part in enumerate(parts)}
    place = {index: position for position, index in enumerate(index for index in texts if texts[index])}
    kept_indices = list(place)
    result: list[SubQuery] = []
    for index in kept_indices[:limit]:
        needs = sorted({place[need] for need in parts[index].needs if need in place and place[need] < place[index]})
        result.append(SubQuery(texts[index], tuple(needs)))
    if len(kept_indices) > limit:
        rest = ", ".join(texts[index] for index in kept_indices[limit - 1 :])
        result[-1] = SubQuery(one_line(rest, characters), result[-1].needs)
    return tuple(result)


def _objects(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    start, attempts = text.find("{"), 0
    while start >= 0 and attempts < STARTS_TRIED:
        attempts += 1
        try:
            document, end = decoder.raw_decode(text, start)
            yield document
        except (ValueError, RecursionError):
            end = start + 1
        start = text.find("{", end)
