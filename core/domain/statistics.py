"""A snapshot of the statistics of servers and tools, as columns over the catalog with their sources, and the map of a catalog."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Source(IntEnum):
    """The source of a figure. Every page shows it."""

    PRIOR = 0  # neither the catalog nor a call says anything: a configurable assumption
    DECLARED = 1  # the catalog says so
    EDITED = 2  # the operator set it by hand
    MEASURED = 3  # folded from real calls, EHRR (8)
    MEDIAN = 4  # an ask that was not advertised: the median of the prices of the server's tools
    SIMULATED = 5  # as a network profile would make it

    @property
    def label(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class LearntStatistics:
    """Statistics that servers (S,) and tools (T,) have in common. `*_source` hold `Source`.

    `seen_version` is the version of the statistics after the row's last call, 0 before any. `decayed` is the share in [0, 1]
    that time has taken back of what calls taught, 0 with decay off.
    """

    success: Array
    calls: NDArray[np.int64]
    success_source: NDArray[np.int8]
    seen_version: NDArray[np.int64]
    decayed: Array


@dataclass(frozen=True, slots=True)
class ServerStatistics(LearntStatistics):
    """Per server, shape (S,): s, probabilities, USD. `ask_usd` is NaN without an ask.

    `conn_decayed` is the share that time has taken back of what connects taught.
    """

    conn_s: Array
    call_s: Array
    success_variance: Array
    post_accept_failure: Array
    ask_usd: Array
    connects: NDArray[np.int64]
    conn_source: NDArray[np.int8]
    call_source: NDArray[np.int8]
    failure_source: NDArray[np.int8]
    ask_source: NDArray[np.int8]
    conn_decayed: Array


@dataclass(frozen=True, slots=True)
class ToolStatistics(LearntStatistics):
    """Per tool, shape (T,): s, probability, USD. `price_usd` is NaN for an unpriced tool."""

    latency_s: Array
    price_usd: Array
    latency_source: NDArray[np.int8]
    price_source: NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Statistics:
    """A snapshot that a routing reads. `version` counts the outcomes folded into it."""

    servers: ServerStatistics
    tools: ToolStatistics
    version: int = 0


# The map of a catalog.


@dataclass(frozen=True, slots=True)
class CatalogMap:
    """Where the tools lie: `ids` (T,), `xy` (T, 2) in [0, 1], read-only.

    `kept` says how far the map can be trusted: of the ten nearest tools of each, the share that is among its ten
    nearest here. `landmarks` is the number of tools that were arranged, of which the others are placed; None: all were.
    """

    catalog: str
    ids: tuple[str, ...]
    xy: NDArray[np.float32]
    kept: float
    landmarks: int | None = None


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A tool and its exact cosine, in [-1, 1], with the one that was asked about."""

    tool: str
    cosine: float


@dataclass(frozen=True, slots=True)
class Placement:
    """A text on a map: its place in [0, 1], and the exact cosine of every tool, shape (T,)."""

    x: float
    y: float
    cosine: NDArray[np.float32]
