"""A calibration as a file: one JSON object with a mark, the values and the report."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from datetime import UTC, datetime
from typing import Any, cast

from core.catalogs.catalogs import CatalogService
from core.decisions.routing import RoutingService
from core.domain.errors import CatalogError, WayfareError
from core.domain.feedback import By, Calibration, CalibrationSwitch, LabelledQuery, catalog_fingerprint, steps_to_undo
from core.domain.people import actions
from core.domain.tasks import Task
from core.importers.reading import name_fault, parse
from core.importers.shipped_catalogs import SAMPLE
from core.lab.threshold import ThresholdFit, fit_threshold_on_folds
from core.learning.feedback import OPERATOR, FeedbackService
from core.relevance.calibration import LEAST_LABELS, CalibrationFit, Progress, fit, sampled
from core.relevance.learnt import LearntModels, LearntValues
from core.routers.parameters import VIEW_WEIGHTS
from core.routers.tool_attention import ToolAttention, ToolAttentionParameters
from core.store import Store

MARK, VERSION = "wayfare_calibration", 1


@dataclass(frozen=True, slots=True)
class CalibrationFile:
    """The content of a file."""

    name: str
    values: LearntValues
    report: Mapping[str, Any]
    labels: int
    catalog_fingerprint: str


def written(calibration: Calibration) -> str:
    """The text of a calibration's file."""
    document = {
        MARK: VERSION,
        "name": calibration.name,
        "catalog": calibration.catalog,
        "at": calibration.at.isoformat(),
        "labels": calibration.labels,
        "catalog_fingerprint": calibration.catalog_fingerprint,
        "values": json.loads(calibration.values_json),
        "report": calibration.report,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def read(text: str | bytes, *, source: str, signals: Mapping[str, float]) -> CalibrationFile:
    """A calibration from its file. `signals` are those that this version weighs, with their weights.

    Raises CatalogError that says what is wrong.
    """
    found: object = parse(text, source=source)
    document: Mapping[str, Any] = cast(dict[str, Any], found) if isinstance(found, dict) else {}
    if document.get(MARK) != VERSION:
        raise CatalogError(f"{source} is no calibration; give a file that `wayfare calibrate --export` wrote.")
    values = LearntValues.parse(document.get("values"), where=f"{source}, values")
    strange = sorted(set(values.weights) - set(signals))
    if strange:
        raise CatalogError(f"{source}: weights has {strange[0][:40]!r}; the signals are {', '.join(signals)}.")
    if values.weights and not any({**signals, **values.weights}.values()):
        raise CatalogError(f"{source}: all weights are 0; give one of {', '.join(signals)} a weight above 0.")
    labels, report = document.get("labels"), document.get("report")
    return CalibrationFile(
        name=str(document.get("name", "")),
        values=values,
        report=cast(dict[str, Any], report) if isinstance(report, dict) else {},
        labels=labels if isinstance(labels, int) and 0 <= labels < 2**31 else 0,
        catalog_fingerprint=str(document.get("catalog_fingerprint", ""))[:64],
    )


# Calibrations of a catalog: fitted to labels, judged, kept under a name, switched on and undone, given out and taken in.

MOST_NAME_CHARACTERS = 80
THRESHOLD = "threshold"


@dataclass(frozen=True, slots=True)
class CalibrationResult:
    """A fit with its measures, before anything is kept. `threshold` is the part of Tool Attention. `not_drawn` labelled sub-tasks were
    left out of a sample."""

    catalog: str
    fit: CalibrationFit
    threshold: ThresholdFit
    not_drawn: int = 0

    @property
    def accepted(self) -> tuple[str, ...]:
        """The parts that gained beyond their interval."""
        return (*self.fit.accepted, *((THRESHOLD,) if self.threshold.accepted else ()))

    @property
    def refused(self) -> str:
        """The reason why no part gained, in one sentence, or ""."""
        return "" if self.accepted else self.fit.remark

    @property
    def sampled(self) -> str:
        """What was drawn and why, in one sentence; "" if every label was used."""
        if not self.not_drawn:
            return ""
        return (
            f"{self.not_drawn:,} further labelled sub-tasks were not drawn: a fit holds the signals of every tool for each sub-task in memory, "
            "so a sample by chance is fitted and judged. The intervals allow for that."
        )

    @property
    def values(self) -> LearntValues:
        """The values of the fit."""
        return replace(self.fit.values, theta=self.threshold.sweep.best.theta if self.threshold.accepted else None)

    def report(self) -> dict[str, Any]:
        """As one JSON object."""
        report = {**self.fit.report(), "accepted": list(self.accepted), "refused": self.refused}
        return {**report, "threshold": self.threshold.to_json(), "not_drawn": self.not_drawn}


@actions("tune", fit="fit a calibration", save="save a calibration", apply="switch a calibration", undo="undo a calibration", import_file="import a calibration")  # fmt: skip
@dataclass(eq=False)
class CalibrationService:
    """Fits, keeps and switches. What is in force is used by every decision at once. Thread-safe."""

    store: Store
    catalogs: CatalogService
    learnt: LearntModels
    routing: RoutingService
    feedback: FeedbackService
    _: KW_ONLY
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def fit(
        self,
        catalog: str = SAMPLE,
        tasks: Sequence[Task] | None = None,
        *,
        attention: ToolAttentionParameters | None = None,
        progress: Progress | None = None,
    ) -> CalibrationResult:
        """Fit to labelled tasks, or to the labels of the catalog where none are given. Nothing is kept yet.

        `attention` holds Tool Attention's threshold in use and its k. Raises WayfareError where there are too few labels.
        """
        tasks = None if tasks is None else [task for task in tasks if not task.provenance]  # no person labelled these
        every = self.feedback.queries(catalog) if tasks is None else _queries(tasks)
        parameters = (attention or ToolAttentionParameters()).replaced({"similarity": VIEW_WEIGHTS})  # theta is of ISO
        scorer, tool_row = self.catalogs.scorer(catalog), self.catalogs.catalog(catalog).tool_row
        queries = sampled(every, tool_row)
        labelled = _tasks(queries) if tasks is None or len(queries) < len(every) else tasks
        found = fit(queries, scorer, tool_row, known=tasks is None, progress=progress)
        threshold = fit_threshold_on_folds(
            labelled,
            lambda task: self.routing.route(
                task.subtask, catalog=catalog, router=ToolAttention.id, parameters=parameters, record=False
            ),
            k=parameters.n,
            today=parameters.theta,
        )
        return CalibrationResult(catalog, found, threshold, len(every) - len(queries))

    def missing(self, catalog: str = SAMPLE) -> int:
        """The number of further labelled sub-tasks that a fit needs, each with a right tool of the catalog."""
        tool_row = self.catalogs.catalog(catalog).tool_row
        usable = sum(any(tool in tool_row for tool in query.right) for query in self.feedback.queries(catalog))
        return max(0, LEAST_LABELS - usable)

    def save(self, result: CalibrationResult, name: str = "", *, apply: bool = False, by: By = OPERATOR) -> Calibration:
        """Keep a fit under a name ("": the next number), replacing an older one, and switch it on with `apply`.

        Raises WayfareError if no part gained beyond noise.
        """
        if not result.accepted:
            raise WayfareError(result.refused)
        file = CalibrationFile(
            name or self._next_name(result.catalog),
            result.values,
            result.report(),
            result.fit.labels,
            catalog_fingerprint(self.catalogs.catalog(result.catalog)),
        )
        return self._keep(result.catalog, file, apply=apply, by=by)

    def of_catalog(self, catalog: str = SAMPLE) -> tuple[Calibration, ...]:
        """The calibrations of a catalog, newest first."""
        return self.store.calibrations.of_catalog(catalog)

    def active(self, catalog: str = SAMPLE) -> Calibration | None:
        """The calibration in force. Returns None for the shipped values."""
        return self.store.calibrations.active(catalog)

    def apply(self, name: str, *, catalog: str = SAMPLE, by: By = OPERATOR) -> Calibration | None:
        """Switch a calibration on; "" goes back to what Wayfare comes with. Raises UnknownNameError."""
        chosen = self.store.calibrations.find(catalog, name) if name else None
        self._switch(catalog, chosen.id if chosen else "", by)
        return chosen

    def can_undo(self, catalog: str = SAMPLE) -> bool:
        """Whether there is a step to undo."""
        return bool(steps_to_undo(self.store.calibrations.history(catalog)))

    def undo(self, catalog: str = SAMPLE, *, by: By = OPERATOR) -> Calibration | None:
        """Undo one step. Returns the calibration in force then. Raises WayfareError without a step to undo."""
        if not self.can_undo(catalog):
            raise WayfareError(f"No calibration of catalog {catalog!r} was switched on; there is nothing to undo.")
        self._switch(catalog, None, by)
        return self.active(catalog)

    def export(self, catalog: str = SAMPLE, name: str = "") -> str:
        """A calibration as the text of a file; "" is the one in force. Raises UnknownNameError, WayfareError."""
        chosen = self.store.calibrations.find(catalog, name) if name else self.active(catalog)
        if chosen is None:
            raise WayfareError(f"No calibration of catalog {catalog!r} is switched on; name one, or fit one first.")
        return written(chosen)

    def import_file(
        self,
        text: str | bytes,
        *,
        source: str,
        catalog: str = SAMPLE,
        name: str = "",
        apply: bool = False,
        by: By = OPERATOR,
    ) -> Calibration:
        """Keep a calibration that `export` wrote. Tools that this catalog does not have are passed over when it is used.

        Raises CatalogError that says what is wrong with the file.
        """
        file = read(text, source=source, signals=self.catalogs.scorer(catalog).weights)
        return self._keep(catalog, replace(file, name=name or file.name), apply=apply, by=by)

    def _keep(self, catalog: str, file: CalibrationFile, *, apply: bool, by: By) -> Calibration:
        calibration = Calibration(
            id=uuid.uuid4().hex,
            at=self.now(),
            catalog=catalog,
            name=_checked_name(file.name),
            values_json=json.dumps(file.values.to_json(), allow_nan=False),
            report_json=json.dumps(file.report),
            labels=file.labels,
            catalog_fingerprint=file.catalog_fingerprint,
            origin=by.origin,
        )
        switch = CalibrationSwitch(calibration.at, catalog, calibration.id, by.visitor, by.origin)
        self.store.calibrations.save(calibration, switch if apply else None)
        self.learnt.forget(catalog)
        return calibration

    def _switch(self, catalog: str, calibration: str | None, by: By) -> None:
        switch = CalibrationSwitch(self.now(), catalog, calibration, by.visitor, by.origin)
        self.store.calibrations.switch(switch)
        self.learnt.forget(catalog)

    def _next_name(self, catalog: str) -> str:
        taken = {calibration.name for calibration in self.of_catalog(catalog)}
        return next(name for number in range(1, len(taken) + 2) if (name := f"fit {number}") not in taken)


def _checked_name(name: str) -> str:
    fault = name_fault(name)
    if not fault and len(name) > MOST_NAME_CHARACTERS:
        fault = f"has {len(name)} characters; give at most {MOST_NAME_CHARACTERS}"
    if fault:
        raise CatalogError(f"The calibration's name {fault}.")
    return name.strip()


def _queries(tasks: Sequence[Task]) -> list[LabelledQuery]:
    return [LabelledQuery(t.subtask, t.server_hint, t.relevant, (), t.question) for t in tasks if t.relevant]


def _tasks(queries: Sequence[LabelledQuery]) -> list[Task]:
    return [
        Task(str(number), query.subtask, query.server_hint, query.right, question=query.group)
        for number, query in enumerate(queries)
        if query.right
    ]
