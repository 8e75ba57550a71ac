"""What is known of servers and tools at one moment: figures as arrays, each with its source."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Source(IntEnum):
    """Where a figure comes from; every screen says it."""

    PRIOR = 0  # nobody said anything: a configurable assumption
    DECLARED = 1  # the catalog says so
    EDITED = 2  # the operator set it by hand
    MEASURED = 3  # folded from real calls, EHRR (8)
    MEDIAN = 4  # an ask that nobody advertised: the median of the server's tools' prices

    @property
    def label(self) -> str:
        """The word on the screen."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class ServerFigures:
    """Per server, shape (S,): s, probabilities, USD. `ask_usd` is NaN where nobody asks. `*_source` hold `Source`.

    `seen_version` is the version of the statistics after the server's last call, 0 before any; `decayed` and `conn_decayed`
    are the shares in [0, 1] that time has taken back of what calls and connects taught, 0 with decay off.
    """

    conn_s: Array
    call_s: Array
    success: Array
    success_variance: Array
    post_accept_failure: Array
    ask_usd: Array
    calls: NDArray[np.int64]
    connects: NDArray[np.int64]
    conn_source: NDArray[np.int8]
    call_source: NDArray[np.int8]
    success_source: NDArray[np.int8]
    failure_source: NDArray[np.int8]
    ask_source: NDArray[np.int8]
    seen_version: NDArray[np.int64]
    decayed: Array
    conn_decayed: Array


@dataclass(frozen=True, slots=True)
class ToolFigures:
    """Per tool, shape (T,): s, probability, USD. `price_usd` is NaN for an unpriced tool. `*_source` hold `Source`.

    `seen_version` and `decayed` as in `ServerFigures`.
    """

    latency_s: Array
    success: Array
    price_usd: Array
    calls: NDArray[np.int64]
    latency_source: NDArray[np.int8]
    success_source: NDArray[np.int8]
    price_source: NDArray[np.int8]
    seen_version: NDArray[np.int64]
    decayed: Array


@dataclass(frozen=True, slots=True)
class Statistics:
    """A snapshot that a routing reads. `version` counts the outcomes folded into it."""

    servers: ServerFigures
    tools: ToolFigures
    version: int = 0
