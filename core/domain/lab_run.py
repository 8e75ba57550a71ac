"""Runs of the lab as the store keeps them: under which conditions, and what was measured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, cast

from core.domain.scenario_run import fingerprint


@dataclass(frozen=True, slots=True)
class LabConditions:
    """All that a result follows from, and so all that repeats it.

    `catalog` is a name or a file, `tasks` where the tasks came from; their fingerprints tell apart what has the same name and
    another content. `outcomes` counts the calls that the statistics know, `labels` the labels, `calibration` is the one in
    force ("" for none): what was learnt until then. `versions_json` has Wayfare's version and those of what computes.
    `played_json` says how the tasks were played out, "" where they were not.
    """

    catalog: str
    catalog_fingerprint: str
    tasks: str
    tasks_fingerprint: str
    hints: bool
    router: str
    preset: str
    parameters_json: str
    outcomes: int
    labels: int
    calibration: str
    seed: int
    versions_json: str
    played_json: str

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The router's parameters."""
        return cast("dict[str, Any]", json.loads(self.parameters_json))

    @property
    def played(self) -> Mapping[str, Any] | None:
        """The options of `wayfare bench --execute`; None where tasks were only routed."""
        return cast("dict[str, Any]", json.loads(self.played_json)) if self.played_json else None

    def to_json(self) -> dict[str, Any]:
        """As `wayfare runs --json` prints them."""
        names = [field.name for field in fields(LabConditions)]
        found = {name: getattr(self, name) for name in names if not name.endswith("_json")}
        return {
            **found,
            "parameters": dict(self.parameters),
            "versions": json.loads(self.versions_json),
            "played": self.played,
        }


@dataclass(frozen=True, slots=True)
class LabRun(LabConditions):
    """One run of `wayfare bench`; `result_json` is its entry in `runs`."""

    id: str
    at: datetime
    result_json: str

    @property
    def result(self) -> Mapping[str, Any]:
        """What was measured."""
        return cast("dict[str, Any]", json.loads(self.result_json))


@dataclass(frozen=True, slots=True)
class Sweep(LabConditions):
    """A sweep as it was asked for; its points are stored one by one. `plan_json` has axes, method and number of points."""

    id: str
    at: datetime
    plan_json: str


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One point: the `number` in the order of the sweep, the values of the axes, and what was measured there."""

    sweep: str
    number: int
    values_json: str
    result_json: str


@dataclass(frozen=True, slots=True)
class RunPart:
    """One task of a run that is under way: `phase` is what it is routed for, `number` its place among the tasks of the phase."""

    run: str
    phase: str
    number: int
    routed_json: str


def lab_id(conditions: LabConditions, plan: object = None) -> str:
    """The id of a run, or of a sweep by its plan: the same inputs have the same id."""
    return fingerprint([{field.name: getattr(conditions, field.name) for field in fields(LabConditions)}, plan])


def differing(before: LabConditions, now: LabConditions) -> tuple[str, ...]:
    """The names of the conditions that are not the same."""
    return tuple(
        field.name.removesuffix("_json")
        for field in fields(LabConditions)
        if getattr(before, field.name) != getattr(now, field.name)
    )
