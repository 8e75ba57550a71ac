"""The network under which a question is decided: as calls measured it, with simulated calls too, or a simulated profile at a moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.domain.params import Parameters, Range, knob

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
        """Whether figures are simulated: they are not only those that calls measured."""
        return self.network != MEASURED

    @property
    def with_simulated(self) -> bool:
        """Whether simulated calls count beside the real ones."""
        return self.network == WITH_SIMULATED

    @property
    def has_profile(self) -> bool:
        """Whether a profile takes the place of the measured network."""
        return self.simulated and not self.with_simulated

    def to_json(self) -> dict[str, Any]:
        """`network` in JSON documents; empty for the measured network."""
        return {"network": {"name": self.network, "at_s": self.at_s}} if self.simulated else {}

    def __str__(self) -> str:
        return f"{self.network} at {self.at_s:g} s" if self.has_profile else self.network


AS_MEASURED = NetworkMoment()
SIMULATED_TOO = NetworkMoment(WITH_SIMULATED)
