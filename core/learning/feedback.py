"""Labels: what people say of decisions, kept for good, taken back with a word, given out and taken in as labelled tasks."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from datetime import UTC, datetime
from typing import TypedDict, Unpack

from core.catalogs.catalogs import CatalogService
from core.domain.errors import UnknownNameError, WayfareError
from core.domain.feedback import By, Label, LabelledQuery, labelled_queries
from core.domain.people import actions
from core.importers.judgments import read_labels
from core.importers.shipped_catalogs import SAMPLE
from core.relevance.feedback import Move
from core.relevance.learnt import CALIBRATION, LearntModels
from core.routers.base import checked_query
from core.store import Store

MOST_NOTE_CHARACTERS = 2_000
MOST_AT_ONCE = 20_000
OPERATOR = By()
LABEL = "label"  # what moved a tool, beside CALIBRATION


class About(TypedDict, total=False):
    """The circumstances of a label: by default the sample, no hint, no decision, no note, and the operator."""

    catalog: str
    server_hint: str
    decision_id: str | None
    note: str
    by: By


@dataclass(frozen=True, slots=True)
class ImportedLabels:
    """The number of new labels of a file, of known ones, and of those for tools that the catalog does not have."""

    added: int
    known: int
    passed_over: int


@dataclass(frozen=True, slots=True)
class MovedBy:
    """The cause that moved a tool in one decision: a label of the tool or of an equal tool, or, if `label` is None, a sub-task that the
    calibration in force was fitted to (`CALIBRATION`). `subtask` is the labelled one."""

    move: Move
    tool: str
    by: str
    query: str
    label: Label | None = None

    @property
    def shared_from(self) -> str:
        return "" if self.label is None or self.label.tool == self.tool else self.label.tool


@actions("tune", label="label a tool", should_have_been="label another tool", retract="take a label back", import_tasks="import labels")  # fmt: skip
@dataclass(eq=False)
class FeedbackService:
    store: Store
    catalogs: CatalogService
    learnt: LearntModels
    _: KW_ONLY
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def label(self, query: str, tool: str, *, right: bool, **about: Unpack[About]) -> Label:
        """Label a tool (`server::tool`) as right or wrong for a sub-task. Raises UnknownNameError, WayfareError."""
        label = self._label(query, tool, right=right, **about)
        self._keep(label.catalog, label)
        return label

    def should_have_been(self, query: str, *, right: str, shown: str, **about: Unpack[About]) -> tuple[Label, Label]:
        if right == shown:
            raise WayfareError(f"{right} cannot be right and wrong at once; name the tool that it should have been.")
        good, bad = (self._label(query, tool, right=tool == right, **about) for tool in (right, shown))
        bad = replace(bad, at=good.at)
        self._keep(good.catalog, good, bad)
        return good, bad

    def retract(self, label_id: str, *, by: By = OPERATOR) -> Label:
        """Take a label back; gives the entry that does so. Raises UnknownNameError."""
        label = self.store.labels.find(label_id)
        entry = replace(
            label,
            id=uuid.uuid4().hex,
            at=self.now(),
            visitor=by.visitor,
            origin=by.origin,
            note="",
            retracts=label.id,
        )
        self._keep(label.catalog, entry)
        return entry

    def labels(self, catalog: str = SAMPLE) -> tuple[Label, ...]:
        return self.learnt.labels(catalog)[::-1]

    def said(self, query: str, *, catalog: str = SAMPLE, server_hint: str = "", by: By = OPERATOR) -> dict[str, Label]:
        asked = (query.strip(), server_hint.strip(), by.visitor, by.origin)
        labels = self.learnt.labels(catalog)
        return {one.tool: one for one in labels if (one.subtask, one.server_hint, one.visitor, one.origin) == asked}

    def queries(self, catalog: str = SAMPLE) -> tuple[LabelledQuery, ...]:
        """The labelled sub-tasks of a catalog, oldest first: what a calibration is fitted to."""
        return labelled_queries(self.learnt.labels(catalog))

    def moved(self, query: str, *, catalog: str = SAMPLE) -> tuple[MovedBy, ...]:
        """The labels that move tools for a sub-task, with their logits of p_fit, the strongest first."""
        found = self.catalogs.learnt_shift(catalog, query)
        if found is None:
            return ()
        tools = self.catalogs.catalog(catalog).tools
        solved = self.catalogs.learnt(catalog).values.solved
        said: dict[str, tuple[str, str, Label | None]] = {
            **{f"{CALIBRATION}:{number}": (CALIBRATION, one.subtask, None) for number, one in enumerate(solved)},
            **{label.id: (LABEL, label.subtask, label) for label in self.learnt.labels(catalog)},
        }
        return tuple(MovedBy(move, tools[move.tool].id, *said[move.id]) for move in found.moves() if move.id in said)

    def export(self, catalog: str = SAMPLE) -> str:
        """The labelled sub-tasks as JSON Lines in the shape of labelled tasks, with `wrong` beside `relevant`. Sub-tasks of
        which nothing is known but what is wrong are left out: an empty `relevant` says that nothing can do them."""
        lines = [
            {
                "id": f"label-{number}",
                "subtask": query.query,
                "server_hint": query.server_hint,
                "relevant": list(query.right),
                "wrong": list(query.wrong),
            }
            for number, query in enumerate((query for query in self.queries(catalog) if query.right), start=1)
        ]
        return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)

    def import_tasks(
        self, text: str | bytes, *, source: str, catalog: str = SAMPLE, by: By | None = None
    ) -> ImportedLabels:
        """Import labels from JSON Lines of labelled tasks, all or none. Known labels of the same author are not repeated.

        Raises CatalogError that names file, line and field, WayfareError for too many.
        """
        who = By(origin="file") if by is None else by
        tool_row = self.catalogs.catalog(catalog).tool_row
        said = {
            (label.subtask, label.server_hint, label.tool, label.right)
            for label in self.labels(catalog)
            if (label.visitor, label.origin) == (who.visitor, who.origin)
        }
        wanted = dict.fromkeys(pair for labelled in read_labels(text, source=source) for pair in _pairs(labelled))
        there = [pair for pair in wanted if pair[2] in tool_row]
        fresh = [pair for pair in there if pair not in said]
        if len(fresh) > MOST_AT_ONCE:
            raise WayfareError(f"{source} has {len(fresh):,} labels; give at most {MOST_AT_ONCE:,} in one file.")
        at = self.now()
        labels = (
            self._label(query, tool, right=right, catalog=catalog, server_hint=hint, by=who)
            for query, hint, tool, right in fresh
        )
        self._keep(catalog, *(replace(label, at=at) for label in labels))
        return ImportedLabels(len(fresh), len(there) - len(fresh), len(wanted) - len(there))

    def _label(
        self,
        query: str,
        tool: str,
        *,
        right: bool,
        catalog: str = SAMPLE,
        server_hint: str = "",
        decision_id: str | None = None,
        note: str = "",
        by: By = OPERATOR,
    ) -> Label:
        if tool not in self.catalogs.catalog(catalog).tool_row:
            raise UnknownNameError(
                f"There is no tool {tool!r} in catalog {catalog!r}; write server::tool as the catalog has it."
            )
        return Label(
            id=uuid.uuid4().hex,
            at=self.now(),
            catalog=catalog,
            subtask=checked_query(query),
            server_hint=server_hint.strip(),
            tool=tool,
            right=right,
            visitor=by.visitor,
            origin=by.origin,
            decision_id=decision_id,
            note=note[:MOST_NOTE_CHARACTERS],
        )

    def _keep(self, catalog: str, *labels: Label) -> None:
        if labels:
            self.store.labels.append(*labels)
            self.learnt.forget(catalog)


def _pairs(query: LabelledQuery) -> Iterator[tuple[str, str, str, bool]]:
    for tools, right in ((query.right, True), (query.wrong, False)):
        for tool in tools:
            yield query.query, query.server_hint, tool, right
