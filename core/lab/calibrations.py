"""Calibrations of a catalog: fitted to labels, judged, kept under a name, switched on and undone, exported and imported.

The file is one JSON object with a mark, the values and the report. A part of a calibration is Tool Attention's threshold (its section
5.2): sweep theta, take the best F1.

    active(q)  = the k best tools with ISO(q, t) >= theta
    precision  = |active and right| / |active|        recall = |active and right| / |right|        summed over all tasks
    F1         = 2 * precision * recall / (precision + recall)

Precision and recall are quotients of sums over all tasks, because a task without active tools has no precision of its own. Impossible
tasks have no right tool; `rejection` is the share of them without active tools.

>>> fit = calibrate(np.array([[0.6, 0.2], [0.1, 0.4]]), np.array([[True, False], [False, True]]), k=10)
>>> fit.best.theta, fit.best.f1, round(fit.points[0].f1, 3)
(0.22, 1.0, 0.667)
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from core.catalogs.catalogs import CatalogService
from core.decisions.routing import RoutingService
from core.domain.errors import CatalogError, WayfareError
from core.domain.feedback import By, Calibration, CalibrationSwitch, LabelledQuery, catalog_fingerprint, steps_to_undo
from core.domain.people import actions
from core.domain.tasks import Task
from core.importers.reading import line_fault, parse
from core.importers.shipped_catalogs import SAMPLE
from core.lab.benchmark import RouteTask
from core.learning.feedback import OPERATOR, FeedbackService
from core.relevance.calibration import LEAST_LABELS, CalibrationFit, Change, Progress, change_of, fit, folds_of, sampled
from core.relevance.learnt import LearntModels, LearntValues
from core.relevance.relevance_index import SIGNALS
from core.relevance.requests import ASKED, ASKED_WORDS
from core.routers.parameters import VIEW_WEIGHTS
from core.routers.tool_attention import ToolAttention, ToolAttentionParameters
from core.store import Store

Floats = NDArray[np.float64]
FOLDS = 5
THETAS = tuple(round(0.10 + 0.02 * step, 2) for step in range(21))  # 0.10 to 0.50


@dataclass(frozen=True, slots=True)
class ThresholdPoint:
    """One threshold: its measures, the mean number of active tools, and `rejection`, None without impossible tasks."""

    theta: float
    precision: float
    recall: float
    f1: float
    active: float
    rejection: float | None


@dataclass(frozen=True, slots=True)
class ThresholdSweep:
    """A sweep over `tasks` labelled tasks. `best` has the highest F1, the lowest threshold among equals."""

    tasks: int
    k: int
    points: tuple[ThresholdPoint, ...]

    @property
    def best(self) -> ThresholdPoint:
        return max(self.points, key=lambda point: (point.f1, -point.theta))

    def to_json(self) -> dict[str, object]:
        """The document of `wayfare calibrate --json`."""
        return {**asdict(self), "best": asdict(self.best)}


def calibrate(
    iso: NDArray[np.float64], right: NDArray[np.bool_], *, k: int, thetas: Sequence[float] = THETAS
) -> ThresholdSweep:
    """The sweep. `iso` (Q, T) are overlaps of Q tasks with T tools, `right` (Q, T) marks the right tools."""
    best = _best(iso, right, k)
    return ThresholdSweep(len(iso), k, tuple(_point(theta, *best, right) for theta in thetas))


def _best(iso: Floats, right: NDArray[np.bool_], k: int) -> tuple[Floats, NDArray[np.bool_]]:
    """(Q, k) each: the overlaps of the best tools, and whether they are right."""
    order = np.argsort(-iso, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(iso, order, axis=1), np.take_along_axis(right, order, axis=1)


def _counts(active: NDArray[np.bool_], best_right: NDArray[np.bool_], right: NDArray[np.bool_]) -> Floats:
    """(Q, 3) hits, active tools, right tools; zeros for impossible tasks."""
    counts = np.stack([(active & best_right).sum(axis=1), active.sum(axis=1), right.sum(axis=1)], axis=1)
    return counts * right.any(axis=1, keepdims=True).astype(np.float64)


def _point(theta: float, iso: Floats, best_right: NDArray[np.bool_], right: NDArray[np.bool_]) -> ThresholdPoint:
    active, impossible = iso >= theta, ~right.any(axis=1)
    hits, active_count, right_count = _counts(active, best_right, right).sum(axis=0).tolist()
    precision, recall = hits / active_count if active_count else 0.0, hits / right_count if right_count else 0.0
    refusals: NDArray[np.bool_] = np.logical_not(active.any(axis=1))[impossible]
    return ThresholdPoint(
        theta=float(theta),
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / (precision + recall) if hits else 0.0,
        active=float(active.sum(axis=1).mean()) if len(active) else 0.0,
        rejection=float(refusals.mean()) if len(refusals) else None,
    )


@dataclass(frozen=True, slots=True)
class ThresholdFit:
    """The sweep over all tasks, and F1 on held-back folds with the threshold in use and with fitted thresholds.

    The fit is `accepted` if the gain is beyond its interval.
    """

    sweep: ThresholdSweep
    today: float
    f1: Change

    @property
    def accepted(self) -> bool:
        return self.f1.low > 0

    def to_json(self) -> dict[str, Any]:
        """The entry `threshold` of `wayfare calibrate --json`."""
        return {**self.sweep.to_json(), "today": self.today, "f1": self.f1.to_json(), "accepted": self.accepted}


def fit_threshold_on_folds(tasks: Sequence[Task], route: RouteTask, *, k: int, today: float) -> ThresholdFit:
    """Sweep over labelled tasks, and judge the best threshold of the other folds against the threshold in use. `route` decides by Tool
    Attention, whose score is ISO. Tasks of one question stay in one fold.
    """
    decisions = [route(task) for task in tasks]
    iso = np.array([decision.tools.utility for decision in decisions])
    right = np.array([[tool in task.relevant for tool in decisions[0].tools.ids] for task in tasks], dtype=np.bool_)
    groups = [task.question or task.subtask for task in tasks]
    fold = folds_of(groups, FOLDS)
    fold_thetas = np.full(len(tasks), today)
    for number in range(FOLDS):
        if right[fold != number].any():
            fold_thetas[fold == number] = calibrate(iso[fold != number], right[fold != number], k=k).best.theta
    best_iso, best_right = _best(iso, right, k)
    # F1 is not a mean over tasks, so each task keeps its counts, and the interval draws whole tasks
    old_counts, new_counts = (_counts(best_iso >= theta, best_right, right) for theta in (today, fold_thetas[:, None]))
    return ThresholdFit(calibrate(iso, right, k=k), today, change_of(_f1, old_counts, new_counts, groups))


def _f1(counts: Floats, times: Floats) -> float:
    hits, active, right = times @ counts
    return float(2 * hits / (active + right)) if active + right else 0.0


MARK, VERSION = "wayfare_calibration", 1


def read(text: str | bytes, *, source: str, signals: Mapping[str, float]) -> tuple[Mapping[str, Any], LearntValues]:
    """The document of a calibration's file, and its checked values. `signals` are the signals of this version, with their weights.

    Raises CatalogError.
    """
    content: object = parse(text, source=source)
    document: Mapping[str, Any] = cast(dict[str, Any], content) if isinstance(content, dict) else {}
    if document.get(MARK) != VERSION:
        raise CatalogError(f"{source} is no calibration; give a file that `wayfare calibrate --export` wrote.")
    values = LearntValues.parse(document.get("values"), where=f"{source}, values")
    strange = sorted(set(values.weights) - set(signals))
    if strange:
        raise CatalogError(f"{source}: weights has {strange[0][:40]!r}; the signals are {', '.join(signals)}.")
    if values.weights and not any({**signals, **values.weights}.values()):
        raise CatalogError(f"{source}: all weights are 0; give one of {', '.join(signals)} a weight above 0.")
    return document, values


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
        return (*self.fit.accepted, *((THRESHOLD,) if self.threshold.accepted else ()))

    @property
    def refused(self) -> str:
        return "" if self.accepted else self.fit.remark

    @property
    def sampled(self) -> str:
        if not self.not_drawn:
            return ""
        return (
            f"{self.not_drawn:,} further labelled sub-tasks were not drawn: a fit holds the signals of every tool for each sub-task in memory, "
            "so a sample by chance is fitted and judged. The intervals allow for that."
        )

    @property
    def values(self) -> LearntValues:
        return replace(self.fit.values, theta=self.threshold.sweep.best.theta if self.threshold.accepted else None)

    def report(self) -> dict[str, Any]:
        report = {**self.fit.report(), "accepted": list(self.accepted), "refused": self.refused}
        return {**report, "threshold": self.threshold.to_json(), "not_drawn": self.not_drawn}


@actions("tune", fit="fit a calibration", save="save a calibration", apply="switch a calibration", undo="undo a calibration", import_file="import a calibration")  # fmt: skip
@dataclass(eq=False)
class CalibrationService:
    """Every decision uses the calibration in force at once. Thread-safe."""

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
        """Fit to labelled tasks, or to the labels of the catalog if `tasks` is None. Keeps nothing.

        `attention` holds Tool Attention's threshold in use and its k. Raises WayfareError if there are too few labels.
        """
        tasks = None if tasks is None else [task for task in tasks if not task.provenance]  # no person labelled these
        all_queries = (
            self.feedback.queries(catalog)
            if tasks is None
            else [LabelledQuery(t.subtask, t.server_hint, t.relevant, (), t.question) for t in tasks if t.relevant]
        )
        parameters = (attention or ToolAttentionParameters()).replaced({"similarity": VIEW_WEIGHTS})  # theta is of ISO
        scorer, tool_row = self.catalogs.scorer(catalog), self.catalogs.catalog(catalog).tool_row
        queries = sampled(all_queries, tool_row)
        fit_tasks = _tasks(queries) if tasks is None or len(queries) < len(all_queries) else tasks
        fit_result = fit(queries, scorer, tool_row, known=tasks is None, progress=progress)
        threshold = fit_threshold_on_folds(
            fit_tasks,
            lambda task: self.routing.route(
                task.subtask, catalog=catalog, router=ToolAttention.id, parameters=parameters, record=False
            ),
            k=parameters.n,
            today=parameters.theta,
        )
        return CalibrationResult(catalog, fit_result, threshold, len(all_queries) - len(queries))

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
        catalog = self.catalogs.catalog(result.catalog)
        return self._keep(
            result.catalog, name or self._next_name(result.catalog), result.values, result.report(), result.fit.labels,
            catalog_fingerprint(catalog), apply=apply, by=by,
        )  # fmt: skip

    def of_catalog(self, catalog: str = SAMPLE) -> tuple[Calibration, ...]:
        return self.store.calibrations.of_catalog(catalog)

    def active(self, catalog: str = SAMPLE) -> Calibration | None:
        """The calibration in force. Returns None for the shipped values."""
        return self.store.calibrations.active(catalog)

    def apply(self, name: str, *, catalog: str = SAMPLE, by: By = OPERATOR) -> Calibration | None:
        """Switch a calibration on; "" goes back to the shipped values. Raises UnknownNameError."""
        calibration = self.store.calibrations.find(catalog, name) if name else None
        self._switch(catalog, calibration.id if calibration else "", by)
        return calibration

    def can_undo(self, catalog: str = SAMPLE) -> bool:
        return bool(steps_to_undo(self.store.calibrations.history(catalog)))

    def undo(self, catalog: str = SAMPLE, *, by: By = OPERATOR) -> Calibration | None:
        """Undo one step. Returns the calibration in force then. Raises WayfareError without a step to undo."""
        if not self.can_undo(catalog):
            raise WayfareError(f"No calibration of catalog {catalog!r} was switched on; there is nothing to undo.")
        self._switch(catalog, None, by)
        return self.active(catalog)

    def export(self, catalog: str = SAMPLE, name: str = "") -> str:
        """A calibration as the text of a file; "" is the calibration in force. Raises UnknownNameError, WayfareError."""
        calibration = self.store.calibrations.find(catalog, name) if name else self.active(catalog)
        if calibration is None:
            raise WayfareError(f"No calibration of catalog {catalog!r} is switched on; name one, or fit one first.")
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
        """Keep a calibration that `export` wrote. Its tools and signals that this catalog lacks have no effect.

        Raises CatalogError if the file is wrong.
        """
        no_weights = dict.fromkeys((*SIGNALS, ASKED, ASKED_WORDS), 0.0)
        signals = {**no_weights, **self.catalogs.scorer(catalog).weights}
        document, values = read(text, source=source, signals=signals)
        labels, report = document.get("labels"), document.get("report")
        return self._keep(
            catalog, name or str(document.get("name", "")), values, cast(dict[str, Any], report) if isinstance(report, dict) else {},
            labels if isinstance(labels, int) and 0 <= labels < 2**31 else 0,
            str(document.get("catalog_fingerprint", ""))[:64], apply=apply, by=by,
        )  # fmt: skip

    def _keep(
        self, catalog: str, name: str, values: LearntValues, report: Mapping[str, Any], labels: int, fingerprint: str, *,
        apply: bool, by: By,
    ) -> Calibration:  # fmt: skip
        if fault := line_fault(name, MOST_NAME_CHARACTERS) if name.strip() else "is empty; give a name":
            raise CatalogError(f"The calibration's name {fault}.")
        calibration = Calibration(
            id=uuid.uuid4().hex,
            at=self.now(),
            catalog=catalog,
            name=name.strip(),
            values_json=json.dumps(values.to_json(), allow_nan=False),
            report_json=json.dumps(report),
            labels=labels,
            catalog_fingerprint=fingerprint,
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
        names = {calibration.name for calibration in self.of_catalog(catalog)}
        return next(name for number in range(1, len(names) + 2) if (name := f"fit {number}") not in names)


def _tasks(queries: Sequence[LabelledQuery]) -> list[Task]:
    return [
        Task(str(number), query.query, query.server_hint, query.right, question=query.group)
        for number, query in enumerate(queries)
        if query.right
    ]
