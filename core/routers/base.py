"""What every router is: a name, parameters, and one hook. `route` validates, matches and times; `decide` decides."""

from __future__ import annotations

import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.domain.decision import Decision, ServerTrace, ToolTrace
from core.domain.params import Parameters
from core.domain.statistics import Statistics
from core.errors import WayfareError
from core.routers.parameters import MatchingParameters

SUBTASK_LIMIT_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class Match:
    """How well each server (S,) and tool (T,) fits the sub-task, in [0, 1]; `embed_ms` is the time to embed it."""

    servers: NDArray[np.float64]
    tools: NDArray[np.float64]
    embed_ms: float = 0.0


class Matcher(Protocol):
    """Similarity of a sub-task to a catalog's servers and tools."""

    def match(self, subtask: str, server_hint: str, parameters: MatchingParameters) -> Match:
        """Similarities under the parameters' weights."""
        ...


@dataclass(frozen=True, slots=True)
class Scene:
    """What a router looks at. `tool_tokens` holds the tokens of each tool's definition; `name_order_*` the alphabetical
    place of each server and tool, for ties."""

    catalog: Catalog
    statistics: Statistics
    matcher: Matcher
    tool_tokens: NDArray[np.int64]
    server_names: tuple[str, ...]
    tool_ids: tuple[str, ...]
    tool_server: NDArray[np.int64]
    tool_order: NDArray[np.int64]
    server_order: NDArray[np.int64]

    @classmethod
    def of(cls, catalog: Catalog, statistics: Statistics, matcher: Matcher, tool_tokens: NDArray[np.int64]) -> Scene:
        """The scene of a catalog: the columns that every decision needs are worked out once."""
        server_names = tuple(server.name for server in catalog.servers)
        tool_ids = tuple(tool.id for tool in catalog.tools)
        return cls(
            catalog,
            statistics,
            matcher,
            tool_tokens,
            server_names,
            tool_ids,
            tool_server=np.repeat(np.arange(len(catalog.servers)), [len(s.tools) for s in catalog.servers]),
            tool_order=_order(tool_ids),
            server_order=_order(server_names),
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the hook returns: the trace, the candidates best first, and the reason in one sentence."""

    servers: ServerTrace
    tools: ToolTrace
    candidates: tuple[int, ...]
    reason: str


class Router(ABC):
    """A routing algorithm. A subclass sets the class variables and fills `decide`."""

    id: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    summary: ClassVar[str]
    parameters: ClassVar[type[Parameters]]

    def __init__(
        self, *, clock: Callable[[], float] = time.perf_counter, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._clock = clock
        self._now = now

    def route(
        self, subtask: str, scene: Scene, parameters: Parameters | None = None, *, server_hint: str = ""
    ) -> Decision:
        """Decide where a sub-task goes. Raises WayfareError where there is no sub-task."""
        text = checked_subtask(subtask)
        chosen = parameters if parameters is not None else self.parameters()
        started = self._clock()
        match = scene.matcher.match(text, server_hint.strip(), _matching(chosen))
        matched = self._clock()
        verdict = self.decide(match, scene, chosen)
        ended = self._clock()
        embed_ms = match.embed_ms
        return Decision(
            id=uuid.uuid4().hex,
            at=self._now(),
            catalog=scene.catalog.name,
            router=self.id,
            subtask=text,
            server_hint=server_hint.strip(),
            parameters=chosen.values(),
            planner="none",
            reason=verdict.reason,
            servers=verdict.servers,
            tools=verdict.tools,
            candidates=verdict.candidates,
            tool_tokens=scene.tool_tokens,
            statistics_version=scene.statistics.version,
            timings_ms=_timings(embed_ms, (ended - matched) * 1e3 + max(0.0, (matched - started) * 1e3 - embed_ms)),
        )

    @abstractmethod
    def decide(self, match: Match, scene: Scene, parameters: Parameters) -> Verdict:
        """The algorithm itself: similarities and statistics in, trace and candidates out."""


def checked_subtask(subtask: str) -> str:
    """The sub-task without surrounding space. Raises WayfareError where it is empty or too long."""
    text = subtask.strip()
    if not text:
        raise WayfareError("The sub-task is empty; say in a few words what is needed.")
    if len(text) > SUBTASK_LIMIT_CHARS:
        raise WayfareError(f"The sub-task has {len(text):,} characters; shorten it to at most {SUBTASK_LIMIT_CHARS:,}.")
    return text


def _matching(parameters: Parameters) -> MatchingParameters:
    if not isinstance(parameters, MatchingParameters):
        raise TypeError(f"{type(parameters).__name__} does not say how texts are compared")
    return parameters


def _timings(embed_ms: float, score_ms: float) -> Mapping[str, float]:
    return {"embed": round(embed_ms, 3), "score": round(score_ms, 3), "total": round(embed_ms + score_ms, 3)}


def _order(names: tuple[str, ...]) -> NDArray[np.int64]:
    order = np.empty(len(names), dtype=np.int64)
    order[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return order
