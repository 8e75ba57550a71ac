"""The axes of a sweep, as `alpha_t=0:1:0.05` writes them, and the points of a grid or of a random search over them.

>>> from core.routers.ehrr_parameters import EhrrParameters
>>> axes = [read_axis("alpha_t=0:1:0.5", EhrrParameters), read_axis("auction=on,off", EhrrParameters)]
>>> [point["alpha_t"] for point in grid(axes)]
[0.0, 0.0, 0.5, 0.5, 1.0, 1.0]
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.domain.params import Knob, Parameters, Value
from core.shared.errors import ParameterError

Point = dict[str, Value]

MOST_VALUES, MOST_POINTS = 10_000, 1_000_000


@dataclass(frozen=True, slots=True)
class Axis:
    """One parameter and its `values`; a range without a step has none, and `low` and `high` in their place."""

    name: str
    text: str
    values: tuple[Value, ...]
    low: float = math.nan
    high: float = math.nan

    @property
    def continuous(self) -> bool:
        """Whether any number between `low` and `high` may be tried."""
        return not self.values


def read_axis(text: str, parameters: type[Parameters]) -> Axis:
    """An axis from `NAME=LOW:HIGH:STEP`, `NAME=LOW:HIGH` or `NAME=VALUE,VALUE`. Raises ParameterError that says what is wrong."""
    name, sign, written = (part.strip() for part in text.partition("="))
    if not sign or not name or not written:
        raise ParameterError(
            f"--axis {text[:60]!r} is not NAME=LOW:HIGH:STEP or NAME=VALUE,VALUE; write alpha_t=0:1:0.05."
        )
    knob = next((knob for knob in parameters.knobs() if knob.name == name), None)
    if knob is None:
        raise ParameterError(f"There is no parameter {name[:60]!r}; `wayfare parameters` lists those there are.")
    if ":" in written and knob.kind in (int, float):
        return _range(knob, text, written)
    values = tuple(dict.fromkeys(knob.parse(part) for part in written.split(",")))
    return Axis(name, text, values)


def evenly(knob: Knob, low: float, high: float, count: int) -> Axis:
    """An axis of `count` values from `low` to `high`, both included; of a choice or a switch: all that it can be.

    Raises ParameterError for a number out of the parameter's range.

    >>> from core.routers.ehrr_parameters import EhrrParameters
    >>> known = {knob.name: knob for knob in EhrrParameters.knobs()}
    >>> evenly(known["alpha_t"], 0, 1, 3).text, evenly(known["k"], 1, 3, 9).text, evenly(known["auction"], 0, 0, 0).text
    ('alpha_t=0,0.5,1', 'k=1,2,3', 'auction=False,True')
    """
    if knob.kind in (int, float):
        numbers = (low + (high - low) * at / max(1, count - 1) for at in range(count))
        values = tuple(dict.fromkeys(knob.parse(round(one, 0 if knob.kind is int else 12)) for one in numbers))
        return Axis(knob.name, f"{knob.name}={','.join(f'{value:g}' for value in values)}", values)
    values = knob.choices or (False, True)
    return Axis(knob.name, f"{knob.name}={','.join(map(str, values))}", values)


def grid(axes: Sequence[Axis]) -> list[Point]:
    """Every combination, the last axis fastest. Raises ParameterError for a range without a step, and for too many points."""
    for axis in axes:
        if axis.continuous:
            raise ParameterError(
                f"--axis {axis.text} has no step; write {axis.text}:STEP, or search with --random or --optuna."
            )
    size = math.prod(len(axis.values) for axis in axes)
    if size > MOST_POINTS:
        raise ParameterError(f"The grid has {size:,} points; take at most {MOST_POINTS:,}, or draw some with --random.")
    names = [axis.name for axis in axes]
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*(axis.values for axis in axes))]


def drawn(axes: Sequence[Axis], count: int, *, seed: int) -> list[Point]:
    """`count` points, each value uniform over its axis."""
    rng = np.random.default_rng(seed)
    return [{axis.name: _drawn(axis, rng) for axis in axes} for _ in range(count)]


def _drawn(axis: Axis, rng: np.random.Generator) -> Value:
    if axis.continuous:
        return float(rng.uniform(axis.low, axis.high))
    return axis.values[int(rng.integers(len(axis.values)))]


def _range(knob: Knob, text: str, written: str) -> Axis:
    parts = written.split(":")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        raise ParameterError(
            f"--axis {text[:60]!r} holds something that is not a number; write alpha_t=0:1:0.05."
        ) from None
    if len(numbers) not in (2, 3) or not all(map(math.isfinite, numbers)):
        raise ParameterError(f"--axis {text[:60]!r} is not LOW:HIGH or LOW:HIGH:STEP; write alpha_t=0:1:0.05.")
    for number in numbers[:2]:
        knob.parse(number)
    if numbers[0] > numbers[1]:
        raise ParameterError(f"--axis {text[:60]!r} begins above its end; write the lower number first.")
    if len(numbers) == 2:
        if knob.kind is int:
            return Axis(knob.name, text, tuple(range(int(numbers[0]), int(numbers[1]) + 1)))
        return Axis(knob.name, text, (), *numbers)
    step = numbers[2]
    if step <= 0 or (numbers[1] - numbers[0]) / step > MOST_VALUES:
        raise ParameterError(
            f"The step of --axis {text[:60]!r} is not above 0 or too small; give at most {MOST_VALUES:,} values."
        )
    count = math.floor((numbers[1] - numbers[0]) / step + 1e-9) + 1
    values = (knob.parse(round(numbers[0] + step * at, 12)) for at in range(count))
    return Axis(knob.name, text, tuple(values))
