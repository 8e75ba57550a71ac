"""The Reranker port: a second, closer look at the few documents that retrieval brought up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from core.shared.errors import WayfareError

Scores = NDArray[np.float64]
Tokens = Callable[[Sequence[str]], Sequence[NDArray[Any]]]  # texts -> (tokens, D) unit rows each


class RerankerError(WayfareError):
    """A reranker that is not there or cannot be used."""


@dataclass(frozen=True, slots=True)
class Documents:
    """N texts of tools or servers; `views` holds what retrieval already knows of each, (N,) a view, any scale."""

    texts: tuple[str, ...]
    views: Mapping[str, Scores] = field(default_factory=lambda: MappingProxyType({}))


class Reranker(Protocol):
    """Scores documents against a query. Safe for several threads; documents never influence one another's text."""

    name: str
    """Who speaks, as a stage shows it."""

    def rerank(self, query: str, documents: Documents) -> Scores:
        """(N,) in [0, 1], higher is better. Equal documents get equal scores."""
        ...
