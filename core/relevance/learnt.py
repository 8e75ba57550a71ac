"""What a catalog's labels taught, as one immutable object for the scorer, and the values of a calibration as JSON and back.

    dense   = rows @ (q + delta(q))                        QueryMap, where the calibration has one
    score   = sum over signals n of weight_n f_n(x_n) + shift / slope_of_fit
    logit'  = slope * logit(p_fit) + offset

>>> LearntValues.parse(LearntValues(theta=0.24).to_json(), where="mine.json").theta
0.24
>>> LearntValues.parse({"fit": {"slope": -1}}, where="mine.json")
Traceback (most recent call last):
core.shared.errors.CatalogError: mine.json: fit.slope is -1; give a number from 0.1 to 10.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from core.relevance.feedback import BOUND, FLOOR, HALF, Memory, QueryMap, Shift, Vectors
from core.shared.errors import CatalogError

MOST_SOLVED = 20_000
MOST_BOUND = 12.0


@dataclass(frozen=True, slots=True)
class Solved:
    """A sub-task with the tools that can do it, as a calibration keeps it."""

    subtask: str
    server_hint: str
    relevant: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LearntValues:
    """What a calibration sets; the defaults are what Wayfare comes with.

    `weights` of the signals, empty: unchanged. `slope` and `offset` of p_fit's logit. `bound` (logits), `half` and `floor` of
    the memory. `ridge` of the query map, None: no map. `theta` of Tool Attention, None: unchanged. `solved` are the sub-tasks
    it was fitted to: the map is learnt from them, and where `teaches` they are in the memory as well (those of a file; labels
    of the store are there anyhow).
    """

    weights: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    slope: float = 1.0
    offset: float = 0.0
    bound: float = BOUND
    half: float = HALF
    floor: float = FLOOR
    ridge: float | None = None
    theta: float | None = None
    solved: tuple[Solved, ...] = ()
    teaches: bool = False

    def to_json(self) -> dict[str, Any]:
        """The values as one JSON object."""
        return {
            "weights": dict(self.weights),
            "fit": {"slope": self.slope, "offset": self.offset},
            "memory": {"bound": self.bound, "half": self.half, "floor": self.floor},
            "query_map": {"ridge": self.ridge},
            "theta": self.theta,
            "teaches": self.teaches,
            "solved": [
                {"subtask": one.subtask, "server_hint": one.server_hint, "relevant": list(one.relevant)}
                for one in self.solved
            ],
        }

    @classmethod
    def parse(cls, document: object, *, where: str) -> LearntValues:
        """The values of a JSON object; what is missing stays as Wayfare has it. Raises CatalogError, with `where`, for a
        value that is none."""
        read = _Reader(where, _mapping(document, where, "values"))
        fit, memory, query_map = read.part("fit"), read.part("memory"), read.part("query_map")
        weights = read.part("weights")
        return cls(
            weights=MappingProxyType({name: weights.number(name, 0.0, 100.0, 0.0) for name in weights.found}),
            slope=fit.number("slope", 0.1, 10.0, 1.0),
            offset=fit.number("offset", -10.0, 10.0, 0.0),
            bound=memory.number("bound", 0.0, MOST_BOUND, BOUND),
            half=memory.number("half", 0.1, 100.0, HALF),
            floor=memory.number("floor", 0.0, 0.99, FLOOR),
            ridge=query_map.optional("ridge", 0.01, 1000.0),
            theta=read.optional("theta", 0.0, 1.0),
            solved=_solved(read.found.get("solved", []), where),
            teaches=read.found.get("teaches", False) is True,
        )


@dataclass(frozen=True, slots=True)
class Learnt:
    """What is in force for one catalog: a calibration's values, its query map, and the memory of labels. Immutable: a new
    label or another calibration makes a new one. `calibration` is the name, "" where there is none."""

    values: LearntValues = field(default_factory=LearntValues)
    calibration: str = ""
    memory: Memory | None = None
    query_map: QueryMap | None = None

    def moved(self, query: Vectors) -> Vectors:
        """(D,) the query's vector for the dense signal: the query itself where there is no map."""
        return query if self.query_map is None else query + self.query_map.delta(query)

    def found(self, query: Vectors) -> Shift | None:
        """What labels of like sub-tasks do to the tools, and which labels those are; None where none is near."""
        return None if self.memory is None else self.memory.shift(query)

    def shift(self, vector: Vectors) -> NDArray[np.float64] | None:
        """(T,) the same in logits of p_fit alone."""
        found = self.found(vector)
        return None if found is None else found.values


NOTHING_LEARNT = Learnt()


@dataclass(frozen=True, slots=True)
class _Reader:
    where: str
    found: Mapping[str, Any]
    path: str = ""

    def part(self, name: str) -> _Reader:
        return _Reader(self.where, _mapping(self.found.get(name) or {}, self.where, name), f"{name}.")

    def optional(self, name: str, low: float, high: float) -> float | None:
        return None if self.found.get(name) is None else self.number(name, low, high, low)

    def number(self, name: str, low: float, high: float, default: float) -> float:
        value = self.found.get(name, default)
        good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not good or not low <= value <= high:
            raise CatalogError(
                f"{self.where}: {self.path}{name} is {str(value)[:40]}; give a number from {low:g} to {high:g}."
            )
        return float(value)


def _mapping(value: object, where: str, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise CatalogError(f"{where}: {name} is no JSON object; give the file that `wayfare calibrate --export` wrote.")
    return cast(dict[str, Any], value)


def _solved(found: object, where: str) -> tuple[Solved, ...]:
    if not isinstance(found, list) or len(cast(list[Any], found)) > MOST_SOLVED:
        raise CatalogError(f"{where}: solved is no list of at most {MOST_SOLVED:,} sub-tasks; export it again.")
    return tuple(_one_solved(one, number, where) for number, one in enumerate(cast(list[Any], found)))


def _one_solved(one: object, number: int, where: str) -> Solved:
    entry = _mapping(one, where, f"solved[{number}]")
    subtask, hint, relevant = entry.get("subtask"), entry.get("server_hint", ""), entry.get("relevant")
    tools = cast(list[Any], relevant) if isinstance(relevant, list) else []
    named = bool(tools) and all(isinstance(tool, str) and all(tool.partition("::")) for tool in tools)
    if not isinstance(subtask, str) or not subtask.strip() or not isinstance(hint, str) or not named:
        raise CatalogError(
            f'{where}: solved[{number}] is not {{"subtask": text, "relevant": ["server::tool"]}}; export it again.'
        )
    return Solved(subtask, hint, tuple(tools))
