"""How likely the tools of a catalog can do a query: calibrated probabilities, and what each is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Fit:
    """`tools` (T,) and `servers` (S,): the chance that a tool, or some tool of a server, can do what is asked; `nothing`: the
    chance that no tool of the catalog can. `signals` (T,) each: what every signal adds to a tool's relevance; `learnt` (T,)
    what labels added in logits, None where there are none."""

    tools: NDArray[np.float64]
    servers: NDArray[np.float64]
    nothing: float
    relevance: NDArray[np.float64]
    signals: Mapping[str, NDArray[np.float32]]
    learnt: NDArray[np.float64] | None = None
