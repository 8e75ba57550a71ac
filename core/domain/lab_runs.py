"""Scenario runs as stored: conditions, measures and steps; runs of the lab, sweeps, and snapshots."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from core.domain import documents

SIMULATED, LIVE = "simulated", "live"
OPTUNA = "optuna"  # the method of a sweep that is a search


@dataclass(frozen=True, slots=True)
class Conditions:
    """The common conditions of a scenario's runs. Fingerprints distinguish different contents of one name."""

    profile: str
    profile_fingerprint: str
    catalog: str
    catalog_fingerprint: str
    tasks: str  # the name of their catalog, or of a file
    tasks_fingerprint: str
    seed: int
    steps: int
    lead_in: int
    predicted: str
    raw_questions: bool


@dataclass(frozen=True, slots=True)
class KeptRun(Conditions):
    """A router under a setting. Measures are as in `ScenarioRun`. `version` is Wayfare's version, `at` is UTC."""

    mode: str  # SIMULATED or LIVE
    router: str
    setting: str
    parameters_json: str
    id: str
    at: datetime
    ssr: float
    ee: float
    al_ms: float
    sl_ms: float
    fr: float
    cost_usd: float
    utility: float | None
    version: str

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The router's parameters. Empty if their text is damaged."""
        return json_object(self.parameters_json)


@dataclass(frozen=True, slots=True)
class RunSteps:
    """The events at each of N steps, as columns (N,). `server` and `tool` are places in the names. For a query without a
    call they are -1, and `network_s` is NaN."""

    servers: tuple[str, ...]
    tools: tuple[str, ...]
    task: NDArray[np.int32]
    server: NDArray[np.int32]
    tool: NDArray[np.int32]
    network_s: NDArray[np.float64]
    price_usd: NDArray[np.float64]
    ok: NDArray[np.bool_]


def run_id(conditions: Conditions, mode: str, router: str, setting: str, parameters_json: str) -> str:
    """The id of a run, made from its inputs. A repeated run has an equal id."""
    return fingerprint([asdict(conditions), mode, router, setting, parameters_json])


def json_object(text: str) -> dict[str, Any]:
    """The JSON object of a text. Returns an empty object for a damaged text."""
    try:
        document: object = json.loads(text)
    except ValueError:
        return {}
    return cast(dict[str, Any], document) if isinstance(document, dict) else {}


def fingerprint(content: object) -> str:
    """16 hexadecimal digits of the SHA-256 of a JSON value.

    >>> fingerprint({"a": 1}), fingerprint({"a": 1}) == fingerprint({"a": 2})
    ('f9d86028c6e0d64e', False)
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


# Runs of the lab as stored: conditions and results.


@dataclass(frozen=True, slots=True)
class LabConditions:
    """All conditions of a result, which repeat it.

    `catalog` is a name or a file, `tasks` the origin of the tasks. Their fingerprints distinguish different contents of one
    name. The state of learning is in `outcomes` (the number of calls in the statistics), `labels` (their number) and
    `calibration` (in force, "" for none). `versions_json` has the versions of Wayfare and its numeric libraries, the models of encoder
    and reranker, and the fingerprint of a network's profile. `played_json` says how the tasks were played out, "" if they were not.
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
        return cast("dict[str, Any]", json.loads(self.parameters_json))

    @property
    def played(self) -> Mapping[str, Any] | None:
        """The options of `wayfare bench --execute`, or None if tasks were only routed."""
        return cast("dict[str, Any]", json.loads(self.played_json)) if self.played_json else None

    def to_json(self) -> dict[str, Any]:
        names = [field.name for field in fields(LabConditions)]
        conditions = {name: getattr(self, name) for name in names if not name.endswith("_json")}
        return {
            **conditions,
            "parameters": dict(self.parameters),
            "versions": json.loads(self.versions_json),
            "played": self.played,
        }


@dataclass(frozen=True, slots=True)
class LabRun(LabConditions):
    """A run of `wayfare bench`. `result_json` is its entry in `runs`."""

    id: str
    at: datetime
    result_json: str

    @property
    def result(self) -> Mapping[str, Any]:
        return cast("dict[str, Any]", json.loads(self.result_json))


@dataclass(frozen=True, slots=True)
class Sweep(LabConditions):
    """A sweep. Its points are stored apart. `plan_json` has axes, method and number of points."""

    id: str
    at: datetime
    plan_json: str


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """A point of a sweep: its `number` in order, the values of the axes, and the result."""

    sweep: str
    number: int
    values_json: str
    result_json: str


@dataclass(frozen=True, slots=True)
class RunPart:
    """A task of a running run. `phase` is ranked or played, `number` its place among the tasks of the phase."""

    run: str
    phase: str
    number: int
    routed_json: str


def lab_id(conditions: LabConditions, plan: object = None) -> str:
    """The id of a run, or of a sweep with its plan. Equal inputs have equal ids."""
    return fingerprint([{field.name: getattr(conditions, field.name) for field in fields(LabConditions)}, plan])


def differing(before: LabConditions, now: LabConditions) -> tuple[str, ...]:
    return tuple(
        field.name.removesuffix("_json")
        for field in fields(LabConditions)
        if getattr(before, field.name) != getattr(now, field.name)
    )


STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class CommandRun:
    """A long command that ended `at` this time (UTC). `link` is the address of its result. `why` is "" after a success, STOPPED, or
    the sentence of its error."""

    title: str
    link: str
    at: datetime
    took_s: float
    why: str


# Snapshots: named states of the console, and their differences.

Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ConsoleState:
    """The state of the console: its pages, catalogs, calibrations and networks.

    `pages` has the values of each visited page's link (query, catalog, router, knobs, filters). `catalogs` has the fingerprint
    of each catalog that a page shows. `calibrations` has the file of its calibration in force, "" for none. `networks` has the
    file of each saved network that a page shows.
    """

    pages: Mapping[str, Texts]
    catalogs: Texts
    calibrations: Texts
    networks: Texts

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("pages", "catalogs", "calibrations", "networks")}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A stored state of the console. `state_json` is a `ConsoleState`."""

    name: str
    at: datetime
    state_json: str

    @property
    def state(self) -> ConsoleState:
        return documents.read(ConsoleState, json.loads(self.state_json), f"snapshot {self.name}")


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of two states: `where` it is (a page, catalog, calibration, network), its name, and both texts, or "" if
    missing."""

    where: str
    name: str
    one: str
    other: str


def differences(one: ConsoleState, other: ConsoleState) -> tuple[Difference, ...]:
    """The differences of pages, catalogs, calibrations and networks, with names in alphabetical order.

    >>> paper = ConsoleState({"route": {"q": "a", "k": "3"}}, {}, {}, {})
    >>> [(d.where, d.name, d.one, d.other) for d in differences(paper, ConsoleState({"route": {"q": "a"}}, {}, {}, {}))]
    [('route', 'k', '3', '')]
    >>> [d.one for d in differences(ConsoleState({}, {}, {"sample": "no calibration"}, {}), ConsoleState({}, {}, {}, {}))]
    ['unnamed (6aa931)']
    """
    parts: list[tuple[str, Texts, Texts]] = [
        (page, one.pages.get(page, {}), other.pages.get(page, {})) for page in dict.fromkeys((*one.pages, *other.pages))
    ]
    parts += [
        ("catalog", one.catalogs, other.catalogs),
        ("calibration", _named(one.calibrations), _named(other.calibrations)),
        ("network", _named(one.networks), _named(other.networks)),
    ]
    return tuple(
        Difference(where, name, left.get(name, ""), right.get(name, ""))
        for where, left, right in parts
        for name in sorted({*left, *right})
        if left.get(name, "") != right.get(name, "")
    )


def _named(files: Texts) -> Texts:
    """Replaces each file by the name in it and the first digits of its fingerprint."""
    return {
        key: f"{json_object(text).get('name', 'unnamed')} ({fingerprint(text)[:6]})" if text else ""
        for key, text in files.items()
    }
