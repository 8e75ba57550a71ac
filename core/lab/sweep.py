"""The axes of a router's parameters, and points over one set of tasks compared: the Pareto front, and changes beyond noise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from core.domain.errors import ParameterError
from core.domain.params import CUBE_ROOT, Knob, Parameters, Scale, Value
from core.domain.significance import Compared, compared, margin

# Axes, as `alpha_t=0:1:0.05` writes them, and the points of a grid or a random search

Point = dict[str, Value]

MOST_VALUES, MOST_POINTS = 10_000, 1_000_000


@dataclass(frozen=True, slots=True)
class Axis:
    """One parameter and its `values`. A range without a step has `low`, `high` and the scale of its knob; `values` then lists its
    numbers if all are whole.
    """

    name: str
    text: str
    values: tuple[Value, ...]
    low: float = math.nan
    high: float = math.nan
    scale: Scale = "linear"

    @property
    def continuous(self) -> bool:
        """Whether any number between `low` and `high` may be tried."""
        return not self.values

    @property
    def ranged(self) -> bool:
        """Whether it is a range without a step."""
        return not math.isnan(self.low)

    @property
    def numeric(self) -> bool:
        return all(isinstance(value, int | float) and not isinstance(value, bool) for value in self.values)

    def at(self, share: float) -> float:
        """The value at a share of the track between `low` and `high`, to four digits or the nearest whole number.

        >>> stretched = Axis("kappa", "", (), 0.0, 1000.0, CUBE_ROOT)
        >>> stretched.at(0.5), stretched.share(1000.0), Axis("k", "", (1, 2, 3), 1, 3).at(0.4)
        (125.0, 1.0, 2)
        """
        exact = self.low + (self.high - self.low) * (share**3 if self.scale == CUBE_ROOT else share)
        if self.values:
            return min(cast("tuple[int, ...]", self.values), key=lambda value: abs(value - exact))
        return min(max(float(f"{exact:.4g}"), self.low), self.high)

    def share(self, value: float) -> float:
        """The place of a value on the track between `low` and `high`, in [0, 1]; 0.5 if they are equal."""
        place = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return math.cbrt(place) if self.scale == CUBE_ROOT else place


def read_axis(text: str, parameters: type[Parameters]) -> Axis:
    """An axis from `NAME=LOW:HIGH:STEP`, `NAME=LOW:HIGH` or `NAME=VALUE,VALUE`. Raises ParameterError."""
    name, sign, values_text = (part.strip() for part in text.partition("="))
    if not sign or not name or not values_text:
        raise ParameterError(
            f"--axis {text[:60]!r} is not NAME=LOW:HIGH:STEP or NAME=VALUE,VALUE; write alpha_t=0:1:0.05."
        )
    knob = next((knob for knob in parameters.knobs() if knob.name == name), None)
    if knob is None:
        raise ParameterError(f"There is no parameter {name[:60]!r}; `wayfare parameters` lists those there are.")
    if ":" in values_text and knob.kind in (int, float):
        return _range(knob, text, values_text)
    values = tuple(dict.fromkeys(knob.parse(part) for part in values_text.split(",")))
    return Axis(name, text, values)


def evenly(knob: Knob, low: float, high: float, count: int) -> Axis:
    """An axis of `count` values evenly on the knob's track from `low` to `high`, both included; all values of a choice or a switch.

    Raises ParameterError for a number out of the parameter's range.

    >>> from core.routers.ehrr import EhrrParameters
    >>> known = {knob.name: knob for knob in EhrrParameters.knobs()}
    >>> evenly(known["alpha_t"], 0, 1, 3).text, evenly(known["k"], 1, 3, 9).text, evenly(known["auction"], 0, 0, 0).text
    ('alpha_t=0,0.125,1', 'k=1,2,3', 'auction=False,True')
    """
    if knob.kind in (int, float):
        whole = tuple(range(round(low), round(high) + 1)) if knob.kind is int else ()
        track = Axis(knob.name, "", whole, low, high, knob.scale)
        track_values = (knob.parse(track.at(place / max(1, count - 1))) for place in range(count))
        values = whole if 0 < len(whole) <= count else tuple(dict.fromkeys(track_values))
        return Axis(knob.name, f"{knob.name}={','.join(f'{value:g}' for value in values)}", values)
    values = knob.choices or (False, True)
    return Axis(knob.name, f"{knob.name}={','.join(map(str, values))}", values)


def grid(axes: Sequence[Axis]) -> list[Point]:
    """Every combination, the last axis fastest. Raises ParameterError for a range without a step, and for too many points.

    >>> from core.routers.ehrr import EhrrParameters
    >>> axes = [read_axis("alpha_t=0:1:0.5", EhrrParameters), read_axis("auction=on,off", EhrrParameters)]
    >>> [point["alpha_t"] for point in grid(axes)]
    [0.0, 0.0, 0.5, 0.5, 1.0, 1.0]
    """
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
    """`count` points, each value uniform over the values of its axis, or over the track of its range."""
    rng = np.random.default_rng(seed)
    return [{axis.name: _drawn(axis, rng) for axis in axes} for _ in range(count)]


def _drawn(axis: Axis, rng: np.random.Generator) -> Value:
    if axis.ranged:
        return axis.at(float(rng.uniform()))
    return axis.values[int(rng.integers(len(axis.values)))]


def _range(knob: Knob, text: str, values_text: str) -> Axis:
    parts = values_text.split(":")
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
        whole = tuple(range(int(numbers[0]), int(numbers[1]) + 1)) if knob.kind is int else ()
        return Axis(knob.name, text, whole, numbers[0], numbers[1], knob.scale)
    step = numbers[2]
    if step <= 0 or (numbers[1] - numbers[0]) / step > MOST_VALUES:
        raise ParameterError(
            f"The step of --axis {text[:60]!r} is not above 0 or too small; give at most {MOST_VALUES:,} values."
        )
    count = math.floor((numbers[1] - numbers[0]) / step + 1e-9) + 1
    values = (knob.parse(round(numbers[0] + step * step_number, 12)) for step_number in range(count))
    return Axis(knob.name, text, tuple(values))


# Points that no other beats


def unbeaten(points: Sequence[tuple[float, float]]) -> tuple[bool, ...]:
    """Which points of (success rate, cost per solved task) are on the Pareto front. The cost is in USD, seconds or tokens.

    A point is beaten if another has at least its success for at most its cost, and differs. A router that solved nothing has no
    cost and is never on the front.

    >>> unbeaten([(0.9, 0.008), (0.8, 0.005), (0.7, 0.006), (0.0, float("nan"))])
    (True, True, False, False)
    """
    front = _front(np.array([(-success, cost) for success, cost in points]).reshape(-1, 2))
    return tuple(place in front and math.isfinite(cost) for place, (_, cost) in enumerate(points))


def _front(costs: Floats) -> list[int]:
    """The rows of costs (P, C) that no row beats. A row beats another if it is as low in all columns and lower in one."""
    return [i for i, cost in enumerate(costs) if not ((costs <= cost).all(axis=1) & (costs < cost).any(axis=1)).any()]


SOLVED, USD, SECONDS = "success_rate", "usd_per_task", "s_per_task"
OBJECTIVES: dict[str, Literal["minimize", "maximize"]] = {SOLVED: "maximize", USD: "minimize", SECONDS: "minimize"}
COSTS = (USD, SECONDS)
INVALID = "invalid_tool_calls"
OUTCOMES = (*OBJECTIVES, INVALID)

Floats = NDArray[np.float64]
Result = Mapping[str, Any]

# A change against the present setting, task by task

AGAINST = "against"  # in the result of a searched point: for each of COMPARED its difference from the present setting and the margin
COMPARED = ("mrr", SOLVED, USD, SECONDS)
QUALITY = {"mrr": "RR", SOLVED: "success"}


def against(values: Mapping[str, Floats], present: Mapping[str, Floats], *, tests: int) -> dict[str, list[float]]:
    """For each of COMPARED the mean difference of a point from the present setting, and its margin for `tests` points together."""
    differences = {name: values[name] - present[name] for name in COMPARED}
    return {name: [float(delta.mean()), margin(delta, tests=tests)] for name, delta in differences.items()}


def gains(point: Result, objective: str, *, at_any_loss: bool = False) -> bool:
    """Whether a searched point beats the search's first setting by more than noise. Unless `at_any_loss`, it must not lose RR or success by
    more."""
    if AGAINST not in point:
        return False
    difference, noise = point[AGAINST][objective]
    loss = not at_any_loss and any(gain < -margin for gain, margin in (point[AGAINST][name] for name in QUALITY))
    return _gain(objective, difference) > noise and not loss


@dataclass(frozen=True, slots=True)
class Change:
    """A measure before and after a change of parameters, over one set of tasks. `noise` is the margin of the difference."""

    name: str
    before: float
    after: float
    noise: float
    pair: Compared

    @property
    def gained(self) -> bool:
        """Whether it is better by more than noise."""
        return _gain(self.name, self.pair.difference) > self.noise

    @property
    def lost(self) -> bool:
        """Whether it is worse by more than noise."""
        return -_gain(self.name, self.pair.difference) > self.noise

    @property
    def verdict(self) -> str:
        return "better" if self.gained else "worse" if self.lost else "within noise"


def changes(
    before: Mapping[str, Floats], after: Mapping[str, Floats], names: Sequence[str], *, tests: int = 1
) -> list[Change]:
    """The named measures before and after, task by task; `tests` counts the points that the change was chosen from."""
    return [
        Change(
            name, float(before[name].mean()), float(after[name].mean()), margin(after[name] - before[name], tests=tests),
            compared([before[name], after[name]], name)[0],
        )
        for name in names
    ]  # fmt: skip


def warning(found: Sequence[Change], objective: str) -> str:
    """The objection to a change, "" if it gains in the objective and loses neither RR nor success beyond noise."""
    by_name = {change.name: change for change in found}
    if not by_name[objective].gained:
        return "does not gain beyond noise"
    losses = [words for name, words in QUALITY.items() if by_name[name].lost]
    return f"loses {' and '.join(losses)} beyond noise" if losses else ""


def _gain(name: str, difference: float) -> float:
    return -difference if name in COSTS else difference


def pareto_front(results: Sequence[Result]) -> list[int]:
    """Positions of the results that no result beats. A result beats another if it is as good in success, money and time and better in one.

    If all results have their noise (`against` the first, the present setting), a result is left out if another on the front matches it
    within its noise in all three. The first stays unless another beats it by more.

    >>> pareto_front([{SOLVED: 0.9, USD: 2.0, SECONDS: 1.0}, {SOLVED: 0.9, USD: 1.0, SECONDS: 1.0}, {SOLVED: 0.5, USD: 0.5, SECONDS: 1.0}])
    [1, 2]
    """
    costs = np.array([[-result[SOLVED], result[USD], result[SECONDS]] for result in results]).reshape(len(results), 3)
    front = _front(costs)
    if not results or not all(AGAINST in result for result in results):
        return front
    noise = np.array([[result[AGAINST][name][1] for name in OBJECTIVES] for result in results])
    beaten = (costs <= costs[0]).all(axis=1) & (costs < costs[0] - noise).any(axis=1)
    rows = [] if beaten.any() else [0]
    for row in sorted(front, key=lambda place: (tuple(costs[place]), place)):
        if not any((costs[other] <= costs[row] + noise[row]).all() for other in rows):
            rows.append(row)
    return sorted(rows)
