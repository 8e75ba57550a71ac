"""A snapshot of the statistics of servers and tools, as columns over the catalog with their sources, and the map of a catalog."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Source(IntEnum):
    """The source of a figure. Every page shows it."""

    PRIOR = 0  # a configurable assumption, without a declaration or a call
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

    `seen_version` is the version of the statistics after the row's last call, or 0. `decayed` is the share in [0, 1] of the
    learning from calls that time has undone, 0 with decay off.
    """

    success: Array
    calls: NDArray[np.int64]
    success_source: NDArray[np.int8]
    seen_version: NDArray[np.int64]
    decayed: Array


@dataclass(frozen=True, slots=True)
class ServerStatistics(LearntStatistics):
    """Per server, shape (S,): s, probabilities, USD. `ask_usd` is NaN without an ask.

    `conn_decayed` is the share of the learning from connects that time has undone.
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
    """The places of the tools: `ids` (T,), `xy` (T, 2) in [0, 1], read-only.

    `kept` measures the trust in the map: the share of the ten nearest tools of each tool that are among its ten nearest
    here. `landmarks` is the number of arranged tools, by which the others are placed. None: all were arranged.
    """

    catalog: str
    ids: tuple[str, ...]
    xy: NDArray[np.float32]
    kept: float
    landmarks: int | None = None


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A neighbour of a tool, with their exact cosine in [-1, 1]."""

    tool: str
    cosine: float


@dataclass(frozen=True, slots=True)
class Placement:
    """A text on a map: its place in [0, 1], and the exact cosine of every tool, shape (T,)."""

    x: float
    y: float
    cosine: NDArray[np.float32]
