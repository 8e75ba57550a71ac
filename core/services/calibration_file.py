"""A calibration as a file: one JSON object with a mark, the values and the report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from core.domain.feedback import Calibration
from core.importers.documents import parse
from core.relevance.learnt import LearntValues
from core.shared.errors import CatalogError

MARK, VERSION = "wayfare_calibration", 1


@dataclass(frozen=True, slots=True)
class CalibrationFile:
    """What a file holds."""

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
    values = LearntValues.parse(document.get("values"), where=source)
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
