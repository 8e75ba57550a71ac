"""A catalog's tools in two dimensions, and what is near to what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class CatalogMap:
    """Where the tools lie: `ids` (T,), `xy` (T, 2) in [0, 1], read-only.

    `kept` says how far the map can be trusted: of the ten nearest tools of each, the share that is among its ten
    nearest here.
    """

    catalog: str
    ids: tuple[str, ...]
    xy: Array
    kept: float


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
    cosine: Array
