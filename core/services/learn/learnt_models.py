"""What is in force for each catalog: labels, calls that ended well and the active calibration, as one immutable object."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from core.domain.catalog import Catalog
from core.domain.events import OutcomeEvent
from core.domain.feedback import Label, Worked, in_force
from core.domain.outcome import OutcomeKind
from core.relevance.encoder import CachedEncoder, Vectors
from core.relevance.feedback import CALLS, WORKED_WEIGHT, Evidence, Memory, QueryMap, targets_of
from core.relevance.learnt import NOTHING_LEARNT, Learnt, LearntValues
from core.relevance.relevance_index import asked_text
from core.shared.errors import CatalogError
from core.store import Store

MOST_LABELS = 5_000  # the newest; a query is compared with each of their sub-tasks
MOST_WORKED = 1_000
CALIBRATION = "calibration"
"""The visitor under which the labelled sub-tasks of a calibration count, and what their ids begin with."""


@dataclass
class _Known:
    """What the store has of one catalog, and what was made of it."""

    worked: tuple[Worked, ...]
    labels: tuple[Label, ...] | None = None
    vectors: dict[str, Vectors] = field(default_factory=dict[str, Vectors])
    made: tuple[Catalog, Learnt] | None = None


class LearntModels:
    """Learnt models by catalog. A model stays the same object until something is learnt: whoever keeps what follows from it
    compares by identity. Thread-safe. `encoder` is the one that the relevance index was built with."""

    def __init__(self, store: Store, encoder: CachedEncoder) -> None:
        self._store = store
        self._encoder = encoder
        self._known: dict[str, _Known] = {}
        self._lock = threading.RLock()

    def of(self, catalog: Catalog, rows: Callable[[], Vectors]) -> Learnt:
        """What is in force for a catalog. `rows` gives the (T, D) rows of its dense signal, where a query map needs them."""
        with self._lock:
            known = self._known_of(catalog.name)
            if known.made is None or known.made[0] is not catalog:
                known.made = (catalog, self._make(catalog, known, rows))
            return known.made[1]

    def labels(self, name: str) -> tuple[Label, ...]:
        """The labels of a catalog that are in force, oldest first."""
        with self._lock:
            known = self._known_of(name)
            if known.labels is None:
                known.labels = in_force(self._store.labels.history(name))
            return known.labels

    def worked(self, name: str) -> tuple[Worked, ...]:
        """The newest calls of a catalog that count as evidence, newest first."""
        with self._lock:
            return self._known_of(name).worked

    def forget(self, name: str) -> None:
        """Make the model of a catalog anew when it is next asked for: a label came, or another calibration."""
        with self._lock:
            if name in self._known:
                self._known[name].made = self._known[name].labels = None

    def observe(self, event: OutcomeEvent) -> bool:
        """Take in a call that has just been recorded; whether it is evidence. Nothing simulated is, and no failure."""
        real = not event.simulated and not event.injected and event.kind == OutcomeKind.OK.value
        if not real or event.decision_id is None:
            return False
        with self._lock:
            known = self._known.get(event.catalog)
            if known is None:
                return True  # read from the store at first use
            decision = self._store.activity.decision(event.decision_id)
            if decision is None or decision.catalog != event.catalog:
                return False
            tool = f"{event.server}::{event.tool}"
            one = Worked(event.id, decision.subtask, decision.server_hint, tool)
            known.worked = (one, *known.worked)[:MOST_WORKED]
            known.made = None
            return True

    def _known_of(self, name: str) -> _Known:
        if name not in self._known:
            self._known[name] = _Known(self._store.labels.worked(name, limit=MOST_WORKED))
        return self._known[name]

    def _make(self, catalog: Catalog, known: _Known, rows: Callable[[], Vectors]) -> Learnt:
        labels = self.labels(catalog.name)[-MOST_LABELS:]
        active = self._store.calibrations.active(catalog.name)
        if not labels and not known.worked and active is None:
            return NOTHING_LEARNT
        values, name = LearntValues(), ""
        if active is not None:
            with suppress(CatalogError, ValueError):  # of another version: what Wayfare comes with stays in force
                values = LearntValues.parse(json.loads(active.values_json), where=f"calibration {active.name}")
                name = active.name
        facts = _facts(labels, known.worked, values, catalog.tool_row)
        return Learnt(
            values, name, self._memory(facts, known, values, catalog), self._map(values, known, catalog, rows)
        )

    def _memory(
        self, facts: Sequence[tuple[str, Evidence]], known: _Known, values: LearntValues, catalog: Catalog
    ) -> Memory | None:
        if not facts or values.bound == 0:
            return None
        texts = {text: row for row, text in enumerate(dict.fromkeys(text for text, _ in facts))}
        evidence = [Evidence(one.id, texts[text], one.tool, one.weight, one.visitor) for text, one in facts]
        return Memory(
            evidence,
            self._vectors(list(texts), known),
            tools=len(catalog.tools),
            bound=values.bound,
            half=values.half,
            floor=values.floor,
        )

    def _map(
        self, values: LearntValues, known: _Known, catalog: Catalog, rows: Callable[[], Vectors]
    ) -> QueryMap | None:
        right = [[catalog.tool_row[tool] for tool in one.relevant if tool in catalog.tool_row] for one in values.solved]
        solved = [(one, tools) for one, tools in zip(values.solved, right, strict=True) if tools]
        if values.ridge is None or not solved:
            return None
        queries = self._vectors([asked_text(one.subtask, one.server_hint) for one, _ in solved], known)
        return QueryMap.fit(queries, targets_of(rows(), [tools for _, tools in solved]), ridge=values.ridge)

    def _vectors(self, texts: Sequence[str], known: _Known) -> Vectors:
        fresh = [text for text in dict.fromkeys(texts) if text not in known.vectors]
        if fresh:
            known.vectors.update(zip(fresh, self._encoder.encode_documents(fresh), strict=True))
        return np.stack([known.vectors[text] for text in texts])


def _facts(
    labels: Iterable[Label], worked: Iterable[Worked], values: LearntValues, rows: Mapping[str, int]
) -> list[tuple[str, Evidence]]:
    """What is known, each with the text of its sub-task; of tools that the catalog has. What a person has judged is not
    taken from a calibration again."""
    found: list[tuple[str, Evidence]] = []
    judged: set[tuple[str, str]] = set()
    for label in labels:
        judged.add((label.subtask, label.tool))
        if label.tool in rows:
            visitor = f"{label.origin}:{label.visitor}"
            found.append(
                (label.subtask, Evidence(label.id, 0, rows[label.tool], 1.0 if label.right else -1.0, visitor))
            )
    for call in worked:
        if call.tool in rows:
            found.append((call.subtask, Evidence(call.outcome_id, 0, rows[call.tool], WORKED_WEIGHT, CALLS)))
    for number, one in enumerate(values.solved if values.teaches else ()):
        for tool in one.relevant:
            if tool in rows and (one.subtask, tool) not in judged:
                found.append((one.subtask, Evidence(f"{CALIBRATION}:{number}", 0, rows[tool], 1.0, CALIBRATION)))
    return found
