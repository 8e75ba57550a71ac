"""A number within the bounds of a schema."""

from __future__ import annotations

import math
from typing import Any

from core.virtual.field_names import number_named
from core.virtual.sample_values import Plausible
from core.virtual.schema_flattening import Schema

SPAN = 100.0  # beyond a bound that stands alone


def number(schema: Schema, name: str, plausible: Plausible, *, whole: bool = False) -> float | int:
    """A number that fits the schema's bounds and steps; one that the name suggests where that is within them.

    >>> import random
    >>> number({"minimum": 3, "exclusiveMaximum": 5, "multipleOf": 2}, "n", Plausible(random.Random(1)), whole=True)
    4
    """
    made = _number(schema, name, plausible, whole=whole)
    return int(made) if whole or float(made).is_integer() else made


def _number(schema: Schema, name: str, plausible: Plausible, *, whole: bool) -> float | int:
    low, high = _bounds(schema, whole=whole)
    suggested = number_named(name, plausible)
    if suggested is None or not (low is None or suggested >= low) or not (high is None or suggested <= high):
        suggested = _drawn(low, high, plausible)
    step = schema.get("multipleOf", 1 if whole else None)
    if step is None:
        rounded = round(suggested, 2)
        return rounded if (low is None or rounded >= low) and (high is None or rounded <= high) else suggested
    return _stepped(suggested, step, low, high, whole=whole)


def _bounds(schema: Schema, *, whole: bool) -> tuple[float | None, float | None]:
    """The least and the largest value, inclusive."""
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    nudge = 1 if whole else 1e-6
    if isinstance(above, int | float) and not isinstance(above, bool):
        low = max(above + nudge, above if low is None else low)
    if isinstance(below, int | float) and not isinstance(below, bool):
        high = min(below - nudge, below if high is None else high)
    return low, high


def _drawn(low: float | None, high: float | None, plausible: Plausible) -> float:
    if low is None and high is None:
        return plausible.rng.randrange(1, int(SPAN))
    start = low if low is not None else (high or 0) - SPAN
    return plausible.rng.uniform(start, high if high is not None else start + SPAN)


def _stepped(value: float, step: Any, low: float | None, high: float | None, *, whole: bool) -> float | int:
    """The nearest multiple of the step that is within the bounds, if there is one."""
    if whole and isinstance(step, float) and not step.is_integer():
        step = 1
    nearest = round(value / step)
    if low is not None:
        nearest = max(nearest, math.ceil(low / step))
    if high is not None:
        nearest = min(nearest, math.floor(high / step))
    return nearest * step
