"""How a virtual server behaves: one table of profiles, each a few chances and factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DEFAULT_PROFILE = "declared"


@dataclass(frozen=True, slots=True)
class Profile:
    """Chances are per call, in [0, 1]; None means what the catalog declares.

    `time_factor` scales the declared call times, `start_s` is the time until the server responds at all. An outage begins
    with the chance `outage_start` and lasts `outage_calls` calls on average; its calls hang or lose their connection.
    """

    help: str
    time_factor: float = 1.0
    start_s: float = 0.0
    error: float | None = None
    crash: float | None = None
    outage_start: float = 0.0
    outage_calls: float = 1.0
    outage: Literal["hang", "drop"] = "hang"


PROFILES = {
    "declared": Profile("Times, tool errors and crashes as the catalog declares them."),
    "steady": Profile("Answers at once and never fails.", time_factor=0.0, error=0.0, crash=0.0),
    "flaky": Profile("Three calls in ten end with a tool error.", error=0.3),
    "crashing": Profile("One call in four is accepted, then its connection is lost.", crash=0.25),
    "outages": Profile("Now and then about five calls in a row hang.", outage_start=0.1, outage_calls=5.0),
    "drops": Profile(
        "Now and then about five calls in a row lose their connection.",
        outage_start=0.1,
        outage_calls=5.0,
        outage="drop",
    ),
    "slow": Profile("Every call takes five times the declared time.", time_factor=5.0),
    "slow-start": Profile("Takes five seconds to start, then behaves as declared.", start_s=5.0),
}
