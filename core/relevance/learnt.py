"""The model learnt from a catalog's labels, as an immutable object for the scorer, and the values of a calibration as JSON and back.

    dense   = rows @ (q + delta(q))                        QueryMap, if the calibration has a map
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
from typing import Annotated, Any, cast

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
PARTS = ("weights", "fit", "memory", "query_map")


@dataclass(frozen=True, slots=True)
class Solved:
    """A sub-task of a calibration with the tools that can do it."""

    subtask: Annotated[str, Wanted("a sub-task", str.strip)]
    relevant: Annotated[tuple[ToolId, ...], Wanted("a list of server::tool", bool)]
    server_hint: str = ""


@dataclass(frozen=True, slots=True)
class FitLine:
    """The line through p_fit's logits."""

    slope: Annotated[float, number(0.1, 10)] = 1.0
    offset: Annotated[float, number(-10, 10)] = 0.0


@dataclass(frozen=True, slots=True)
class MemoryValues:
    """`bound` (logits), `half` and `floor` of the memory."""

    bound: Annotated[float, number(0, MOST_BOUND)] = BOUND
    half: Annotated[float, number(0.1, 100)] = HALF
    floor: Annotated[float, number(0, 0.99)] = FLOOR


@dataclass(frozen=True, slots=True)
class MapValues:
    """`ridge` of the query map, None: no map."""

    ridge: Annotated[float, number(0.01, 1000)] | None = None


@dataclass(frozen=True, slots=True)
class LearntValues:
    """The values of a calibration; the defaults are Wayfare's.

    `weights` of the signals, empty: unchanged. `theta` of Tool Attention, None: unchanged. `solved` are the sub-tasks of the fit.
    The map is learnt from them. If `teaches`, they are in the memory as well (for sub-tasks of a file; the memory has the store's
    labels anyway).
    """

    weights: dict[str, Annotated[float, number(0, 100)]] = field(default_factory=dict[str, float])
    fit: FitLine = FitLine()
    memory: MemoryValues = MemoryValues()
    query_map: MapValues = MapValues()
    theta: Annotated[float, number(0, 1)] | None = None
    teaches: Any = False
    solved: tuple[Solved, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def parse(cls, document: object, *, where: str) -> LearntValues:
        """The values of a JSON object. Missing values keep their defaults, and so do null PARTS. Raises CatalogError with `where`."""
        if isinstance(document, dict):
            values = cast("dict[str, Any]", document)
            document = {name: value for name, value in values.items() if value is not None or name not in PARTS}
        values = documents.read(cls, document, where)
        if len(values.solved) > MOST_SOLVED:
            raise CatalogError(f"{where}: solved has more than {MOST_SOLVED:,} sub-tasks; export it again.")
        return replace(values, teaches=values.teaches is True)


@dataclass(frozen=True, slots=True)
class Learnt:
    """The model in force for a catalog: a calibration's values, its query map, the memory of labels, and the example requests.
    Immutable. A new label, request or calibration makes a new model. `calibration` is the name, "" without a calibration."""

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
        shift = self.found(vector)
        return None if shift is None else shift.values

    @property
    def line(self) -> tuple[float, float]:
        return self.values.fit.slope, self.values.fit.offset


NOTHING_LEARNT = Learnt()


MOST_LABELS = 5_000  # the newest; a query is compared with each of their sub-tasks
TOGETHER = 256  # labelled tools that are compared with the catalog at once
CALIBRATION = "calibration"
"""The visitor of a calibration's labelled sub-tasks, and the beginning of their ids."""


@dataclass
class _Known:
    """The stored labels of a catalog, and the model made of them. `forgotten` counts invalidations. The lock `making` guards `shared`."""

    labels: tuple[Label, ...] | None = None
    made: tuple[Catalog, Learnt] | None = None
    forgotten: int = 0
    making: threading.Lock = field(default_factory=threading.Lock)
    shared: dict[int, Sharing] = field(default_factory=dict[int, Sharing])
    shared_by: tuple[Catalog, Sequence[EqualJudgment]] | None = None
    """The inputs of `shared`."""


@dataclass(eq=False)
class LearntModels:
    """Learnt models by catalog. A model is an identical object until the next change, so that caches can compare by identity.
    Thread-safe. Embedding labels does not block the observation of calls or the invalidation of labels. `encoder` is the
    relevance index's."""

    store: Store
    encoder: CachedEncoder

    def __post_init__(self) -> None:
        self.requests = RequestBook(self.store, self.encoder)
        self._known: dict[tuple[str, str], _Known] = {}
        self._lock = threading.RLock()

    def of(self, catalog: Catalog, index: Callable[[], RelevanceIndex], part: str = "") -> Learnt:
        """The learnt model of a catalog, or of a `part` of its tools. `index` returns the relevance index if it is needed.

        It may embed texts, which takes long. Do not hold a lock that a call needs.
        """
        with self._lock:
            entry = self._known_of(catalog.name, part)
        with entry.making:
            with self._lock:
                if entry.made is not None and entry.made[0] is catalog:
                    return entry.made[1]
                forgotten = entry.forgotten
            labels = self.labels(catalog.name)[-MOST_LABELS:]
            model = self._make(catalog, labels, entry, index, part)
            with self._lock:
                if entry.forgotten == forgotten:  # else the model is outdated
                    entry.made = (catalog, model)
            return model

    def labels(self, name: str) -> tuple[Label, ...]:
        with self._lock:
            entry = self._known_of(name)
            if entry.labels is not None:
                return entry.labels
            forgotten = entry.forgotten
        labels = in_force(self.store.labels.history(name))
        with self._lock:
            if entry.forgotten == forgotten:
                entry.labels = labels
        return labels

    def forget(self, name: str) -> None:
        """Invalidates the model of a catalog after a change of labels, equal tools or calibration."""
        with self._lock:
            for entry in [entry for (catalog, _), entry in self._known.items() if catalog == name]:
                entry.made = entry.labels = None
                entry.forgotten += 1

    def forget_all(self) -> None:
        self.requests = RequestBook(self.store, self.encoder)
        for name in {name for name, _ in tuple(self._known)}:
            self.forget(name)

    def _known_of(self, name: str, part: str = "") -> _Known:
        return self._known.setdefault((name, part), _Known())

    def _make(
        self, catalog: Catalog, labels: Sequence[Label], entry: _Known, index: Callable[[], RelevanceIndex], part: str
    ) -> Learnt:
        active = self.store.calibrations.active(catalog.name)
        requests = self.requests.index(catalog, index, part)
        if not labels and active is None:
            return NOTHING_LEARNT if requests is None else Learnt(requests=requests)
        values, name = LearntValues(), ""
        if active is not None:
            with suppress(CatalogError, ValueError):  # of another version; the defaults stay in force
                values = LearntValues.parse(json.loads(active.values_json), where=f"calibration {active.name}")
                name = active.name
        facts, memory = _facts(labels, values, catalog.tool_row), None
        if facts and values.memory.bound > 0:
            texts = {text: row for row, text in enumerate(dict.fromkeys(text for text, _ in facts))}
            memory = Memory(
                [replace(evidence, text=texts[text]) for text, evidence in facts],
                self.encoder.encode_documents(list(texts)),
                tools=len(catalog.tools),
                **asdict(values.memory),
                shared=self._shared({evidence.tool for _, evidence in facts}, entry, catalog, index()),
            )
        return Learnt(values, name, memory, self._map(values, catalog, index), requests)

    def _shared(
        self, rows: Iterable[int], entry: _Known, catalog: Catalog, index: RelevanceIndex
    ) -> Mapping[int, Sharing]:
        """The tools that share the labels of these tools: equal tools of other servers, and tools that people judged equal."""
        judgments = self.store.equal_judgments.of_catalog(catalog.name)
        if entry.shared_by is None or entry.shared_by[0] is not catalog or entry.shared_by[1] != judgments:
            entry.shared_by, entry.shared = (catalog, judgments), {}
        equal, different = _judged_pairs(judgments, catalog.tool_row)
        fresh = [row for row in rows if row not in entry.shared]
        for start in range(0, len(fresh), TOGETHER):
            block = fresh[start : start + TOGETHER]
            for row, same in zip(block, (index.own @ index.own[block].T).T >= SAME_HIGH, strict=True):
                elsewhere = index.server_of != index.server_of[row]
                entry.shared[row] = sharing(same & elsewhere, equal.get(row, ()), different.get(row, ()))
        return dict(entry.shared)

    def _map(self, values: LearntValues, catalog: Catalog, index: Callable[[], RelevanceIndex]) -> QueryMap | None:
        right = [[catalog.tool_row[key] for key in task.relevant if key in catalog.tool_row] for task in values.solved]
        solved = [(task, tools) for task, tools in zip(values.solved, right, strict=True) if tools]
        ridge = values.query_map.ridge
        if ridge is None or not solved:
            return None
        queries = self.encoder.encode_documents([asked_text(task.subtask, task.server_hint) for task, _ in solved])
        return QueryMap.fit(queries, targets_of(index().rows, [tools for _, tools in solved]), ridge=ridge)


def _judged_pairs(
    judgments: Sequence[EqualJudgment], row_of: Mapping[str, int]
) -> tuple[Mapping[int, set[int]], Mapping[int, set[int]]]:
    """The tools (rows) that people judged equal to each tool, also through other tools, and the tools that they judged different."""
    pairs = [(row_of[entry.one], row_of[entry.other], entry) for entry in judgments if {*entry.pair} <= row_of.keys()]
    equal: dict[int, set[int]] = {}
    for tools in joined(entry.pair for _, _, entry in pairs if entry.says == "equal"):
        members = {row_of[tool] for tool in tools}
        equal.update({row: members - {row} for row in members})
    different: dict[int, set[int]] = {}
    for tool, other, entry in pairs:
        if entry.says == "different":
            different.setdefault(tool, set()).add(other)
            different.setdefault(other, set()).add(tool)
    return equal, different


def _facts(labels: Iterable[Label], values: LearntValues, rows: Mapping[str, int]) -> list[tuple[str, Evidence]]:
    """The evidence on tools of the catalog, each with the text of its sub-task. A labelled pair is not taken from a calibration again.
    A successful call is no evidence, because it shows that its server works, and not that its tool fits."""
    facts: list[tuple[str, Evidence]] = []
    labelled: set[tuple[str, str]] = set()
    for label in labels:
        labelled.add((label.subtask, label.tool))
        if label.tool in rows:
            weight = (1.0 if label.right else -1.0) * (AGENT_WEIGHT if label.by_agent else 1.0)
            visitor = AGENTS if label.by_agent else f"{label.origin}:{label.visitor}"
            facts.append((label.subtask, Evidence(label.id, 0, rows[label.tool], weight, visitor)))
    for place, task in enumerate(values.solved if values.teaches else ()):
        for tool in task.relevant:
            if tool in rows and (task.subtask, tool) not in labelled:
                facts.append((task.subtask, Evidence(f"{CALIBRATION}:{place}", 0, rows[tool], 1.0, CALIBRATION)))
    return facts
