"""Labels: people's judgments of decisions. They are kept for good, can be retracted, and are exported and imported as labelled tasks."""

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
LABEL = "label"  # a cause that moved a tool, beside CALIBRATION


class About(TypedDict, total=False):
    """The circumstances of a label: by default the sample, no hint, no decision, no note, and the operator."""

    catalog: str
    server_hint: str
    decision_id: str | None
    note: str
    by: By


@dataclass(frozen=True, slots=True)
class ImportedLabels:
    """The numbers of new labels of a file, of known labels, of labels for tools that the catalog does not have, and of generated tasks."""

    added: int
    known: int
    passed_over: int
    generated: int


@dataclass(frozen=True, slots=True)
class MovedBy:
    """The cause that moved a tool in a decision: a label of the tool or of an equal tool, or, if `label` is None, a sub-task of the
    calibration in force (`CALIBRATION`). `query` is the labelled sub-task."""

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
        """Labels a tool (`server::tool`) as right or wrong for a sub-task. Raises UnknownNameError, WayfareError."""
        label = self._checked(self._label(query, tool, right=right, **about))
        self._keep(label.catalog, label)
        return label

    def should_have_been(self, query: str, *, right: str, shown: str, **about: Unpack[About]) -> tuple[Label, Label]:
        if right == shown:
            raise WayfareError(f"{right} cannot be right and wrong at once; name the tool that it should have been.")
        good, bad = (self._checked(self._label(query, tool, right=tool == right, **about)) for tool in (right, shown))
        bad = replace(bad, at=good.at)
        self._keep(good.catalog, good, bad)
        return good, bad

    def retract(self, label_id: str, *, by: By = OPERATOR) -> Label:
        """Retracts a label. Returns the new entry. Raises UnknownNameError."""
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
        key = (query.strip(), server_hint.strip(), by.visitor, by.origin)
        labels = self.learnt.labels(catalog)
        return {row.tool: row for row in labels if (row.subtask, row.server_hint, row.visitor, row.origin) == key}

    def queries(self, catalog: str = SAMPLE) -> tuple[LabelledQuery, ...]:
        """The labelled sub-tasks of a catalog, oldest first, for a calibration."""
        return labelled_queries(self.learnt.labels(catalog))

    def moved(self, query: str, *, catalog: str = SAMPLE) -> tuple[MovedBy, ...]:
        """The labels that move tools for a sub-task, with their logits of p_fit, the strongest first."""
        shift = self.catalogs.learnt_shift(catalog, query)
        if shift is None:
            return ()
        tools = self.catalogs.catalog(catalog).tools
        solved = self.catalogs.learnt(catalog).values.solved
        cause: dict[str, tuple[str, str, Label | None]] = {
            **{f"{CALIBRATION}:{number}": (CALIBRATION, task.subtask, None) for number, task in enumerate(solved)},
            **{label.id: (LABEL, label.subtask, label) for label in self.learnt.labels(catalog)},
        }
        return tuple(MovedBy(move, tools[move.tool].id, *cause[move.id]) for move in shift.moves() if move.id in cause)

    def export(self, catalog: str = SAMPLE) -> str:
        """The labelled sub-tasks as JSON Lines in the shape of labelled tasks, with `wrong` beside `relevant`. Sub-tasks with only
        wrong tools are left out, because an empty `relevant` says that no tool can do them."""
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
        """Imports labels from JSON Lines of labelled tasks, all or none. An author's known labels are not repeated.

        Raises CatalogError that names file, line and field, WayfareError for too many.
        """
        author = By(origin="file") if by is None else by
        tool_row = self.catalogs.with_servers_off(catalog).tool_row
        stored = {
            (label.subtask, label.server_hint, label.tool, label.right)
            for label in self.labels(catalog)
            if (label.visitor, label.origin) == (author.visitor, author.origin)
        }
        queries, generated = read_labels(text, source=source)
        pairs = dict.fromkeys(pair for labelled in queries for pair in _pairs(labelled))
        in_catalog = [pair for pair in pairs if pair[2] in tool_row]
        fresh = [pair for pair in in_catalog if pair not in stored]
        if len(fresh) > MOST_AT_ONCE:
            raise WayfareError(f"{source} has {len(fresh):,} labels; give at most {MOST_AT_ONCE:,} in one file.")
        moment = self.now()
        labels = (
            self._label(query, tool, right=right, catalog=catalog, server_hint=hint, by=author)
            for query, hint, tool, right in fresh
        )
        self._keep(catalog, *(replace(label, at=moment) for label in labels))
        return ImportedLabels(len(fresh), len(in_catalog) - len(fresh), len(pairs) - len(in_catalog), generated)

    def _label(self, query: str, tool: str, *, right: bool, **about: Unpack[About]) -> Label:
        by = about.get("by", OPERATOR)
        return Label(
            id=uuid.uuid4().hex,
            at=self.now(),
            catalog=about.get("catalog", SAMPLE),
            subtask=checked_query(query),
            server_hint=about.get("server_hint", "").strip(),
            tool=tool,
            right=right,
            visitor=by.visitor,
            origin=by.origin,
            decision_id=about.get("decision_id"),
            note=about.get("note", "")[:MOST_NOTE_CHARACTERS],
        )

    def _checked(self, label: Label) -> Label:
        if label.tool not in self.catalogs.catalog(label.catalog).tool_row:
            raise UnknownNameError(
                f"There is no tool {label.tool!r} in catalog {label.catalog!r}; write server::tool as the catalog has it."
            )
        return label

    def _keep(self, catalog: str, *labels: Label) -> None:
        if labels:
            self.store.labels.append(*labels)
            self.learnt.forget(catalog)


def _pairs(query: LabelledQuery) -> Iterator[tuple[str, str, str, bool]]:
    for tools, right in ((query.right, True), (query.wrong, False)):
        for tool in tools:
            yield query.query, query.server_hint, tool, right
