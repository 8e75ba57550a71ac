"""What a catalog's labels taught, as one immutable object for the scorer, and the values of a calibration as JSON and back.

    dense   = rows @ (q + delta(q))                        QueryMap, where the calibration has one
    score   = sum over signals n of weight_n f_n(x_n) + shift / slope_of_fit
    logit'  = slope * logit(p_fit) + offset

>>> LearntValues.parse(LearntValues(theta=0.24).to_json(), where="mine.json").theta
0.24
>>> LearntValues.parse({"fit": {"slope": -1}}, where="mine.json")
Traceback (most recent call last):
core.domain.errors.CatalogError: mine.json: fit.slope is -1; give a number from 0.1 to 10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from core.domain import documents
from core.domain.documents import ToolId, Wanted, number
from core.domain.errors import CatalogError
from core.relevance.feedback import BOUND, FLOOR, HALF, Memory, QueryMap, Shift, Vectors

if TYPE_CHECKING:
    from core.relevance.requests import RequestIndex

MOST_SOLVED = 20_000
MOST_BOUND = 12.0


@dataclass(frozen=True, slots=True)
class Solved:
    """A sub-task with the tools that can do it, as a calibration keeps it."""

    subtask: Annotated[str, Wanted("a sub-task", str.strip)]
    relevant: Annotated[tuple[ToolId, ...], Wanted("a list of server::tool", bool)]
    server_hint: str = ""


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
        """The values of a JSON object. Missing ones keep what Wayfare comes with. Raises CatalogError with `where`."""
        found = documents.read(_Values, document, where)
        if len(found.solved) > MOST_SOLVED:
            raise CatalogError(f"{where}: solved has more than {MOST_SOLVED:,} sub-tasks; export it again.")
        return cls(
            weights=MappingProxyType(found.weights or {}),
            **asdict(found.fit or _Fit()),
            **asdict(found.memory or _Memory()),
            **asdict(found.query_map or _Map()),
            theta=found.theta,
            solved=found.solved,
            teaches=found.teaches is True,
        )


@dataclass(frozen=True, slots=True)
class _Fit:
    slope: Annotated[float, number(0.1, 10)] = 1.0
    offset: Annotated[float, number(-10, 10)] = 0.0


@dataclass(frozen=True, slots=True)
class _Memory:
    bound: Annotated[float, number(0, MOST_BOUND)] = BOUND
    half: Annotated[float, number(0.1, 100)] = HALF
    floor: Annotated[float, number(0, 0.99)] = FLOOR


@dataclass(frozen=True, slots=True)
class _Map:
    ridge: Annotated[float, number(0.01, 1000)] | None = None


@dataclass(frozen=True, slots=True)
class _Values:
    """The document of `LearntValues`. A missing part keeps what Wayfare comes with."""

    weights: dict[str, Annotated[float, number(0, 100)]] | None = None
    fit: _Fit | None = None
    memory: _Memory | None = None
    query_map: _Map | None = None
    theta: Annotated[float, number(0, 1)] | None = None
    solved: tuple[Solved, ...] = ()
    teaches: Any = False


@dataclass(frozen=True, slots=True)
class Learnt:
    """What is in force for one catalog: a calibration's values, its query map, the memory of labels, and the example requests.
    Immutable: a new label, request or calibration makes a new one. `calibration` is the name, "" if there is none."""

    values: LearntValues = field(default_factory=LearntValues)
    calibration: str = ""
    memory: Memory | None = None
    query_map: QueryMap | None = None
    requests: RequestIndex | None = None

    def moved(self, query: Vectors) -> Vectors:
        """(D,) the query's vector for the dense signal: the query itself if there is no map."""
        return query if self.query_map is None else query + self.query_map.delta(query)

    def found(self, query: Vectors) -> Shift | None:
        """The effect of labels of similar sub-tasks on the tools, with these labels. Returns None if no label is near."""
        return None if self.memory is None else self.memory.shift(query)

    def shift(self, vector: Vectors) -> NDArray[np.float64] | None:
        """(T,) the logits of p_fit that labels add, or None."""
        found = self.found(vector)
        return None if found is None else found.values

    @property
    def line(self) -> tuple[float, float]:
        """The slope and offset that a calibration puts on logits of p_fit."""
        return self.values.slope, self.values.offset


NOTHING_LEARNT = Learnt()
