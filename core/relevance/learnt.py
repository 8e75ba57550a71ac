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

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from core.domain import documents
from core.domain.catalog import Catalog
from core.domain.documents import ToolId, Wanted, number
from core.domain.errors import CatalogError
from core.domain.feedback import Label, in_force
from core.domain.tasks import EqualJudgment, joined
from core.relevance.encoder import CachedEncoder, Vectors
from core.relevance.feedback import (
    AGENT_WEIGHT,
    AGENTS,
    BOUND,
    FLOOR,
    HALF,
    Evidence,
    Memory,
    QueryMap,
    Sharing,
    Shift,
    sharing,
    targets_of,
)
from core.relevance.relevance_index import RelevanceIndex, asked_text
from core.relevance.requests import RequestBook, RequestIndex
from core.relevance.scoring import SAME_HIGH
from core.store import Store

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
        return query if self.query_map is None else query + self.query_map.delta(query)

    def found(self, query: Vectors) -> Shift | None:
        return None if self.memory is None else self.memory.shift(query)

    def shift(self, vector: Vectors) -> NDArray[np.float64] | None:
        found = self.found(vector)
        return None if found is None else found.values

    @property
    def line(self) -> tuple[float, float]:
        return self.values.slope, self.values.offset


NOTHING_LEARNT = Learnt()


MOST_LABELS = 5_000  # the newest; a query is compared with each of their sub-tasks
TOGETHER = 256  # labelled tools that are compared with the catalog at once
CALIBRATION = "calibration"
"""The visitor under which the labelled sub-tasks of a calibration count, and what their ids begin with."""


@dataclass
class _Known:
    """The labels of one catalog in the store, and the model made of them. `forgotten` counts. The holder of `making` reads and writes `shared`."""

    labels: tuple[Label, ...] | None = None
    made: tuple[Catalog, Learnt] | None = None
    forgotten: int = 0
    making: threading.Lock = field(default_factory=threading.Lock)
    shared: dict[int, Sharing] = field(default_factory=dict[int, Sharing])
    shared_by: tuple[Catalog, Sequence[EqualJudgment]] | None = None
    """The inputs of `shared`."""


@dataclass(eq=False)
class LearntModels:
    """Learnt models by catalog. A model stays the same object until something is learnt: whoever keeps what follows from it
    compares by identity. Thread-safe: while thousands of labels are embedded, calls are observed and labels forgotten.
    `encoder` is the one that the relevance index was built with."""

    store: Store
    encoder: CachedEncoder

    def __post_init__(self) -> None:
        self.requests = RequestBook(self.store, self.encoder)
        self._known: dict[tuple[str, str], _Known] = {}
        self._lock = threading.RLock()

    def of(self, catalog: Catalog, index: Callable[[], RelevanceIndex], part: str = "") -> Learnt:
        """The learnt model of a catalog, or of a `part` of its tools. `index` returns the relevance index if it is needed.

        It may embed texts, which takes long: do not hold a lock that a call needs.
        """
        with self._lock:
            known = self._known_of(catalog.name, part)
        with known.making:
            with self._lock:
                if known.made is not None and known.made[0] is catalog:
                    return known.made[1]
                forgotten = known.forgotten
            labels = self.labels(catalog.name)[-MOST_LABELS:]
            made = self._make(catalog, labels, known, index, part)
            with self._lock:
                if known.forgotten == forgotten:  # else there is more to learn by now
                    known.made = (catalog, made)
            return made

    def labels(self, name: str) -> tuple[Label, ...]:
        with self._lock:
            known = self._known_of(name)
            if known.labels is not None:
                return known.labels
            forgotten = known.forgotten
        labels = in_force(self.store.labels.history(name))
        with self._lock:
            if known.forgotten == forgotten:
                known.labels = labels
        return labels

    def forget(self, name: str) -> None:
        """Make the model of a catalog anew at its next use, after a change of labels, equal tools or calibration."""
        with self._lock:
            for known in [known for (of, _), known in self._known.items() if of == name]:
                known.made = known.labels = None
                known.forgotten += 1

    def forget_all(self) -> None:
        for name in {name for name, _ in tuple(self._known)}:
            self.requests.forget(name)
            self.forget(name)

    def _known_of(self, name: str, part: str = "") -> _Known:
        return self._known.setdefault((name, part), _Known())

    def _make(
        self, catalog: Catalog, labels: Sequence[Label], known: _Known, index: Callable[[], RelevanceIndex], part: str
    ) -> Learnt:
        active = self.store.calibrations.active(catalog.name)
        requests = self.requests.index(catalog, index, part)
        if not labels and active is None:
            return NOTHING_LEARNT if requests is None else Learnt(requests=requests)
        values, name = LearntValues(), ""
        if active is not None:
            with suppress(CatalogError, ValueError):  # of another version: what Wayfare comes with stays in force
                values = LearntValues.parse(json.loads(active.values_json), where=f"calibration {active.name}")
                name = active.name
        facts, memory = _facts(labels, values, catalog.tool_row), None
        if facts and values.bound > 0:
            texts = {text: row for row, text in enumerate(dict.fromkeys(text for text, _ in facts))}
            memory = Memory(
                [replace(one, text=texts[text]) for text, one in facts],
                self.encoder.encode_documents(list(texts)),
                tools=len(catalog.tools),
                bound=values.bound,
                half=values.half,
                floor=values.floor,
                shared=self._shared({one.tool for _, one in facts}, known, catalog, index()),
            )
        return Learnt(values, name, memory, self._map(values, catalog, index), requests)

    def _shared(
        self, rows: Iterable[int], known: _Known, catalog: Catalog, index: RelevanceIndex
    ) -> Mapping[int, Sharing]:
        """The tools that share the labels of these tools: equal tools of other servers, and those judged equal by people."""
        judged = self.store.equal_judgments.of_catalog(catalog.name)
        if known.shared_by is None or known.shared_by[0] is not catalog or known.shared_by[1] != judged:
            known.shared_by, known.shared = (catalog, judged), {}
        equal, different = _judged_pairs(judged, catalog.tool_row)
        fresh = [row for row in rows if row not in known.shared]
        for at in range(0, len(fresh), TOGETHER):
            block = fresh[at : at + TOGETHER]
            for row, same in zip(block, (index.own @ index.own[block].T).T >= SAME_HIGH, strict=True):
                elsewhere = index.server_of != index.server_of[row]
                known.shared[row] = sharing(same & elsewhere, equal.get(row, ()), different.get(row, ()))
        return dict(known.shared)

    def _map(self, values: LearntValues, catalog: Catalog, index: Callable[[], RelevanceIndex]) -> QueryMap | None:
        right = [[catalog.tool_row[tool] for tool in one.relevant if tool in catalog.tool_row] for one in values.solved]
        solved = [(one, tools) for one, tools in zip(values.solved, right, strict=True) if tools]
        if values.ridge is None or not solved:
            return None
        queries = self.encoder.encode_documents([asked_text(one.subtask, one.server_hint) for one, _ in solved])
        return QueryMap.fit(queries, targets_of(index().rows, [tools for _, tools in solved]), ridge=values.ridge)


def _judged_pairs(
    judged: Sequence[EqualJudgment], row_of: Mapping[str, int]
) -> tuple[Mapping[int, set[int]], Mapping[int, set[int]]]:
    """The tools (rows) that people found equal to each tool, through others too, and those that they found different."""
    pairs = [(row_of[one.one], row_of[one.other], one) for one in judged if {*one.pair} <= row_of.keys()]
    equal: dict[int, set[int]] = {}
    for tools in joined(one.pair for _, _, one in pairs if one.says == "equal"):
        members = {row_of[tool] for tool in tools}
        equal.update({row: members - {row} for row in members})
    different: dict[int, set[int]] = {}
    for one, other, judgment in pairs:
        if judgment.says == "different":
            different.setdefault(one, set()).add(other)
            different.setdefault(other, set()).add(one)
    return equal, different


def _facts(labels: Iterable[Label], values: LearntValues, rows: Mapping[str, int]) -> list[tuple[str, Evidence]]:
    """The evidence on tools of the catalog, each with the text of its sub-task. A labelled pair is not taken from a calibration again.
    A successful call is no evidence: it shows that its server works, and not that its tool fits."""
    found: list[tuple[str, Evidence]] = []
    judged: set[tuple[str, str]] = set()
    for label in labels:
        judged.add((label.subtask, label.tool))
        if label.tool in rows:
            weight = (1.0 if label.right else -1.0) * (AGENT_WEIGHT if label.by_agent else 1.0)
            visitor = AGENTS if label.by_agent else f"{label.origin}:{label.visitor}"
            found.append((label.subtask, Evidence(label.id, 0, rows[label.tool], weight, visitor)))
    for place, one in enumerate(values.solved if values.teaches else ()):
        for tool in one.relevant:
            if tool in rows and (one.subtask, tool) not in judged:
                found.append((one.subtask, Evidence(f"{CALIBRATION}:{place}", 0, rows[tool], 1.0, CALIBRATION)))
    return found
