"""The failure model of a virtual server: how long each call takes, and how it ends."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from enum import StrEnum

from core.domain.catalog import Server, Tool
from core.virtual.profiles import Profile

SPREAD = 0.35  # standard deviation of the logarithm of a call's time
UNDECLARED_S = 0.3


class Ending(StrEnum):
    """How a call ends."""

    RESULT = "result"
    ERROR = "error"  # a result that says that the tool failed
    DROP = "drop"  # accepted, then the connection is lost
    HANG = "hang"  # accepted, and no response


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """How one call will go: after `wait_s` it ends."""

    wait_s: float
    ending: Ending


class FailureModel:
    """Plans the calls of one process, one after the other; the n-th is the same for the same generator and calls.

    >>> from core.virtual.profiles import PROFILES
    >>> flaky = FailureModel(Server("a"), PROFILES["flaky"], rng=random.Random(1), speed=0.0)
    >>> [flaky.next(Tool("a", "t")).ending.value for _ in range(5)]
    ['error', 'result', 'error', 'result', 'result']
    """

    def __init__(self, server: Server, profile: Profile, *, rng: random.Random, speed: float = 1.0) -> None:
        self._server = server
        self._profile = profile
        self._rng = rng
        self._speed = speed
        self._outage_left = 0

    def next(self, tool: Tool) -> PlannedCall:
        """How the next call goes, which is one of this tool."""
        profile, chance = self._profile, self._rng.random
        noise, crash, error, outage = self._rng.gauss(0.0, SPREAD), chance(), chance(), chance()
        length = 1 + int(math.log(1 - chance()) / math.log1p(-1 / max(profile.outage_calls, 1 + 1e-9)))
        wait_s = self._speed * profile.time_factor * self._call_s(tool) * math.exp(noise - SPREAD**2 / 2)
        if self._outage_left == 0 and outage < profile.outage_start:
            self._outage_left = length
        if self._outage_left > 0:
            self._outage_left -= 1
            return PlannedCall(wait_s, Ending(profile.outage))
        if crash < _or(profile.crash, _or(self._server.post_accept_failure, 0.0)):
            return PlannedCall(wait_s, Ending.DROP)
        failing = error < _or(profile.error, 1.0 - self._success(tool))
        return PlannedCall(wait_s, Ending.ERROR if failing else Ending.RESULT)

    def _call_s(self, tool: Tool) -> float:
        return _or(tool.latency_s, _or(self._server.call_s, UNDECLARED_S))

    def _success(self, tool: Tool) -> float:
        return _or(tool.success, _or(self._server.success, 1.0))


def _or(value: float | None, default: float) -> float:
    return default if value is None else value
