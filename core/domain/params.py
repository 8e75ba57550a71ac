"""Parameters, each declared once. A `knob` gives the slider, the CLI flag, the sweep axis, the column and the URL.

A set of parameters is a frozen dataclass that inherits `Parameters`. Each field is a `knob`, and each number has a `Range`.

>>> @dataclass(frozen=True)
... class Toy(Parameters):
...     alpha: float = knob(0.1, Range(0.0, 1.0, 0.01, "1/s"), group="time", symbol="α", help="A weight.")
...     k: int = knob(5, Range(1, 50), group="size", help="How many.")
>>> Toy().replaced({"alpha": "0.3"}).changed()
{'alpha': 0.3}
>>> Toy(alpha=7.0)
Traceback (most recent call last):
core.domain.errors.ParameterError: alpha = 7.0 is outside 0.0 to 1.0; choose a value within that range.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, Self, cast

from core.domain.errors import ParameterError

Value = float | int | bool | str | None
Scale = Literal["linear", "cube root"]
NOTHING = "none"
TEXT_LIMIT = 10_000
ALIASES: Mapping[object, str] = {"llm": "model"}
"""Other words for choices."""
CUBE_ROOT: Scale = "cube root"


@dataclass(frozen=True, slots=True)
class Range:
    """The values of a number, both ends inclusive, the step of its slider, and its unit.

    `scale` is the scale of its track. Under `cube root` a value stands at ((value - low) / (high - low))^(1/3) of the track, so
    that low values have room.
    """

    low: float
    high: float
    step: float = 1
    unit: str = ""
    scale: Scale = "linear"


SHARE = Range(0.0, 1.0, 0.05)
FINE_SHARE = Range(0.0, 1.0, 0.01)


@dataclass(frozen=True, slots=True)
class Knob:
    """The declaration of a parameter, for drawing, parsing, checking and explaining it. `low` and `high` are inclusive.

    `label` is its plain name beside the symbol. `advanced` marks a parameter that few people change.
    """

    name: str
    kind: type
    default: Value
    symbol: str
    unit: str
    low: float | None
    high: float | None
    step: float | None
    group: str
    help: str
    choices: tuple[str, ...] = ()
    optional: bool = False
    label: str = ""
    advanced: bool = False
    scale: Scale = "linear"

    @property
    def free_text(self) -> bool:
        """Whether it takes any text. An empty value is written as `none`, in a link as well."""
        return self.kind is str and not self.choices

    def parse(self, raw: object) -> Value:
        """Turns a text (from a flag, a URL) or a number into a checked value.

        Raises ParameterError if the text is not of the knob's kind or is out of range.
        """
        if self.optional and (raw is None or (isinstance(raw, str) and raw.strip().lower() in {"", "none", "off"})):
            return None
        value = self._converted(raw)
        if ALIASES.get(value) in self.choices:
            value = ALIASES[value]
        if isinstance(value, float) and not math.isfinite(value):
            raise ParameterError(f"{self.name} = {raw} is not a finite number; give a number {self.range_text()}.")
        if isinstance(value, str) and self.free_text and len(value) > TEXT_LIMIT:
            raise ParameterError(f"{self.name} has {len(value):,} characters; give at most {TEXT_LIMIT:,}.")
        if self.choices and value not in self.choices:
            choices = ", ".join(self.choices)
            raise ParameterError(f"{self.name} = {str(raw)[:60]!r} is not one of {choices}; choose one of them.")
        if self.low is not None and self.high is not None and not self.low <= cast(float, value) <= self.high:
            raise ParameterError(
                f"{self.name} = {value} is outside {self.low} to {self.high}; choose a value within that range."
            )
        return value

    def range_text(self) -> str:
        return f"from {self.low} to {self.high}" if self.low is not None else "of any size"

    def _converted(self, raw: object) -> Value:
        try:
            if self.kind is bool:
                return _to_bool(raw)
            if self.kind is str:
                return (str(raw).strip() or NOTHING) if self.free_text else str(raw)
            if isinstance(raw, bool):
                raise TypeError
            number = float(cast(Any, raw))
            if self.kind is int:
                if number != int(number):
                    raise ValueError
                return int(number)
            return number
        except (TypeError, ValueError, OverflowError):
            form = {"bool": "true or false", "int": "a whole number"}.get(self.kind.__name__, "a number")
            raise ParameterError(
                f"{self.name} = {str(raw)[:60]!r} is not {form}; give {form} {self.range_text()}."
            ) from None


def _to_bool(raw: object) -> bool:
    if isinstance(raw, bool):
        return raw
    word = str(raw).strip().lower()
    if word in {"true", "1", "yes", "on"}:
        return True
    if word in {"false", "0", "no", "off"}:
        return False
    raise ValueError


def knob(
    default: Value,
    within: Range | None = None,
    *,
    help: str,
    group: str = "general",
    symbol: str = "",
    label: str = "",
    advanced: bool = False,
    choices: tuple[str, ...] = (),
    kind: type | None = None,
) -> Any:
    """Declares a parameter: a number within a range, a switch, a choice, or a text.

    `kind` is needed only if the default is None (an optional number).
    """
    low, high, step, unit, scale = (None, None, None, "", "linear") if within is None else dataclasses.astuple(within)
    info = Knob(
        "", kind or type(default), default, symbol, unit, low, high, step, group, help, choices, default is None,
        label, advanced, scale,
    )  # fmt: skip
    return field(default=default, metadata={"knob": info})


@dataclass(frozen=True)
class Parameters:
    """Base of every parameter set: validation, text in and out, differences."""

    def __post_init__(self) -> None:
        for info in self.knobs():
            object.__setattr__(self, info.name, info.parse(getattr(self, info.name)))

    @classmethod
    def knobs(cls) -> tuple[Knob, ...]:
        return _knobs(cls)

    def replaced(self, values: Mapping[str, object]) -> Self:
        """A copy with some values changed. Texts are parsed. Raises ParameterError for an unknown name."""
        knobs = {info.name: info for info in self.knobs()}
        for name in values:
            if name not in knobs:
                raise ParameterError(f"There is no parameter {name!r}; `wayfare parameters` lists those there are.")
        return dataclasses.replace(self, **{name: knobs[name].parse(raw) for name, raw in values.items()})

    def values(self) -> dict[str, Value]:
        return dict(vars(self))  # every field is a knob

    def changed(self) -> dict[str, Value]:
        """The values that differ from their defaults, as a shared link needs them."""
        return {info.name: value for info in self.knobs() if (value := getattr(self, info.name)) != info.default}


@cache
def _knobs(parameters: type[Parameters]) -> tuple[Knob, ...]:
    return tuple(
        dataclasses.replace(cast(Knob, f.metadata["knob"]), name=f.name, symbol=f.metadata["knob"].symbol or f.name)
        for f in dataclasses.fields(parameters)
    )


MEASURED = "as measured"
WITH_SIMULATED = "with simulated calls"
STEP_S = 10.0
LAST_S = 21_600.0  # six hours, as in NetMCP


@dataclass(frozen=True)
class NetworkMoment(Parameters):
    """A network profile, or `as measured`, and the time since the start of the profile."""

    network: str = knob(MEASURED, group="network", symbol="network", label="Network",
        help="As calls measured it, with simulated calls counted, too, or a simulated profile: the figures are then simulated, and nothing is recorded.")  # fmt: skip
    at_s: float = knob(0.0, Range(0.0, LAST_S, STEP_S, "s"), group="network", symbol="moment", label="Moment",
        help="The time since the start of the simulated network.")  # fmt: skip

    @property
    def simulated(self) -> bool:
        """Whether figures are simulated, in whole or in part."""
        return self.network != MEASURED

    @property
    def with_simulated(self) -> bool:
        """Whether simulated calls count beside the real ones."""
        return self.network == WITH_SIMULATED

    @property
    def has_profile(self) -> bool:
        """Whether a profile replaces the measured network."""
        return self.simulated and not self.with_simulated

    def to_json(self) -> dict[str, Any]:
        """`network` in JSON documents. Empty for the measured network."""
        return {"network": {"name": self.network, "at_s": self.at_s}} if self.simulated else {}

    def __str__(self) -> str:
        return f"{self.network} at {self.at_s:g} s" if self.has_profile else self.network


AS_MEASURED = NetworkMoment()
SIMULATED_TOO = NetworkMoment(WITH_SIMULATED)
