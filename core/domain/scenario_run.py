"""Scenario runs as the store keeps them: under which conditions, what was measured, and what happened at each step."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

SIMULATED, LIVE = "simulated", "live"


@dataclass(frozen=True, slots=True)
class Conditions:
    """What all runs of a scenario share. Fingerprints tell apart what has the same name and another content."""

    profile: str
    profile_fingerprint: str
    catalog: str
    catalog_fingerprint: str
    tasks: str  # the name of the catalog they came with, or of a file
    tasks_fingerprint: str
    seed: int
    steps: int
    lead_in: int
    predicted: str
    raw_questions: bool


@dataclass(frozen=True, slots=True)
class KeptRun(Conditions):
    """One router under one setting; measures as in `ScenarioRun`. `version` is that of Wayfare, `at` is UTC."""

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
        """The router's parameters; none where their text is damaged."""
        try:
            found: object = json.loads(self.parameters_json)
        except ValueError:
            return {}
        return cast(dict[str, Any], found) if isinstance(found, dict) else {}


@dataclass(frozen=True, slots=True)
class RunSteps:
    """What happened at each of N steps: columns (N,). `server` and `tool` are places in the names, -1 where a query went
    nowhere; `network_s` is NaN there."""

    servers: tuple[str, ...]
    tools: tuple[str, ...]
    task: NDArray[np.int32]
    server: NDArray[np.int32]
    tool: NDArray[np.int32]
    network_s: NDArray[np.float64]
    price_usd: NDArray[np.float64]
    ok: NDArray[np.bool_]


def run_id(conditions: Conditions, mode: str, router: str, setting: str, parameters_json: str) -> str:
    """The id of a run follows from its inputs: the same run made again has the same id."""
    return fingerprint([asdict(conditions), mode, router, setting, parameters_json])


def fingerprint(content: object) -> str:
    """16 hexadecimal digits of the SHA-256 of a JSON value.

    >>> fingerprint({"a": 1}), fingerprint({"a": 1}) == fingerprint({"a": 2})
    ('f9d86028c6e0d64e', False)
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
