"""What every router is: a name, parameters, and one hook. `route` validates, matches and times; `decide` decides."""

from __future__ import annotations

import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.domain.decision import Decision, Explored, Exposure, ServerTrace, Stage, SubDecision, ToolTrace
from core.domain.params import Parameters
from core.domain.statistics import Statistics
from core.embedding.base import Vectors
from core.errors import WayfareError
from core.network.traces import NetworkView
from core.planning.base import Planner
from core.planning.environment import chosen_planner
from core.planning.rules import RulesPlanner
from core.routers.parameters import MatchingParameters, PlanningParameters

SUBTASK_LIMIT_CHARS = 20_000


Layer = Literal["tools", "servers"]


@dataclass(frozen=True, slots=True)
class Match:
    """How well each server (S,) and tool (T,) fits the sub-task, in [0, 1]; `embed_ms` is the time to embed it."""

    servers: NDArray[np.float64]
    tools: NDArray[np.float64]
    embed_ms: float = 0.0


class Matcher(Protocol):
    """The ways to compare a text with a catalog's servers and tools."""

    def match(self, subtask: str, server_hint: str, parameters: MatchingParameters) -> Match:
        """Similarities under the parameters' weights."""
        ...

    def embed(self, text: str) -> Vectors:
        """(D,) unit vector of a text; zeros for a blank one."""
        ...

    def cosines(self, layer: Layer, view: str, vector: Vectors) -> NDArray[np.float64]:
        """(T,) or (S,) cosines in [-1, 1] of a vector with one view of the tools or servers (`core.index.views`)."""
        ...

    def cosines_of(self, texts: tuple[str, ...], vector: Vectors) -> NDArray[np.float64]:
        """(N,) cosines in [-1, 1] of a vector with texts of a router's own; they are embedded at their first use."""
        ...

    def bm25(self, layer: Layer, text: str) -> NDArray[np.float64]:
        """(T,) or (S,) BM25 scores of at least 0 of a text with the tools' or servers' texts."""
        ...

    def tokens(self, texts: Sequence[str]) -> Sequence[NDArray[Any]]:
        """(tokens, D) unit rows of each text: what a reranker compares token by token."""
        ...


@dataclass(frozen=True, slots=True)
class Scene:
    """What a router looks at. `tool_tokens` holds the tokens of each tool's definition; `name_order_*` the alphabetical
    place of each server and tool, for ties. `network` is what is known of recent latencies; None where nothing is."""

    catalog: Catalog
    statistics: Statistics
    matcher: Matcher
    tool_tokens: NDArray[np.int64]
    server_names: tuple[str, ...]
    tool_ids: tuple[str, ...]
    tool_server: NDArray[np.int64]
    tool_order: NDArray[np.int64]
    server_order: NDArray[np.int64]
    network: NetworkView | None = None

    @classmethod
    def of(
        cls,
        catalog: Catalog,
        statistics: Statistics,
        matcher: Matcher,
        tool_tokens: NDArray[np.int64],
        network: NetworkView | None = None,
    ) -> Scene:
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
            network=network,
        )


class Question:
    """What one decision is asked, with every way to look it up in the scene. It measures the time that embedding takes.

    `planner` is who may be asked to understand it: the one that the parameters name.
    """

    def __init__(
        self, text: str, hint: str, matcher: Matcher, planner: Planner, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.text = text
        self.hint = hint
        self.embed_ms = 0.0
        self._matcher = matcher
        self._planner = planner
        self._clock = clock
        self.asked_planner = False

    @property
    def planner(self) -> Planner:
        """Who is asked to understand the question; the decision says that it spoke."""
        self.asked_planner = True
        return self._planner

    def match(self, parameters: MatchingParameters, text: str | None = None) -> Match:
        """Similarities of the sub-task, or of another text, under the parameters' weights."""
        found = self._matcher.match(self.text if text is None else text, self.hint, parameters)
        self.embed_ms += found.embed_ms
        return found

    def cosines(self, layer: Layer, view: str, text: str | None = None) -> NDArray[np.float64]:
        """(T,) or (S,) cosines of the sub-task, or of another text, with one view."""
        return self._matcher.cosines(layer, view, self._embedded(text))

    def cosines_of(self, texts: tuple[str, ...], text: str | None = None) -> NDArray[np.float64]:
        """(N,) cosines of the sub-task, or of another text, with texts of the router's own, such as its summaries."""
        return self._matcher.cosines_of(texts, self._embedded(text))

    def bm25(self, layer: Layer, text: str | None = None) -> NDArray[np.float64]:
        """(T,) or (S,) BM25 scores of the sub-task, or of another text."""
        return self._matcher.bm25(layer, self.text if text is None else text)

    def tokens(self, texts: Sequence[str]) -> Sequence[NDArray[Any]]:
        """(tokens, D) unit rows of each text."""
        started = self._clock()
        found = self._matcher.tokens(texts)
        self.embed_ms += (self._clock() - started) * 1e3
        return found

    def _embedded(self, text: str | None) -> Vectors:
        started = self._clock()
        vector = self._matcher.embed(self.text if text is None else text)
        self.embed_ms += (self._clock() - started) * 1e3
        return vector


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the hook returns: the trace, the candidates best first, and the reason in one sentence.

    Without an `exposure` the candidates' definitions are what is put before the model. `remarks` are phrases on single
    tools, by row.
    """

    servers: ServerTrace
    tools: ToolTrace
    candidates: tuple[int, ...]
    reason: str
    stages: tuple[Stage, ...] = ()
    steps: tuple[SubDecision, ...] = ()
    exposure: Exposure | None = None
    remarks: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    explored: Explored | None = None


class Router(ABC):
    """A routing algorithm. A subclass sets the class variables and fills `decide`."""

    id: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    summary: ClassVar[str]
    parameters: ClassVar[type[Parameters]]
    score: ClassVar[str] = "utility"
    """What tools are ranked by, in words."""

    def __init__(
        self,
        planners: Mapping[str, Planner] | None = None,
        *,
        clock: Callable[[], float] = time.perf_counter,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._planners = planners or {"rules": RulesPlanner()}
        self._clock = clock
        self._now = now

    def route(
        self, subtask: str, scene: Scene, parameters: Parameters | None = None, *, server_hint: str = ""
    ) -> Decision:
        """Decide where a sub-task goes. Raises WayfareError where there is no sub-task."""
        text = checked_subtask(subtask)
        chosen = parameters if parameters is not None else self.parameters()
        started = self._clock()
        name = chosen.planner if isinstance(chosen, PlanningParameters) else "rules"
        planner = chosen_planner(self._planners, name)
        question = Question(text, server_hint.strip(), scene.matcher, planner, self._clock)
        verdict = self.decide(question, scene, chosen)
        elapsed_ms = (self._clock() - started) * 1e3
        return Decision(
            id=uuid.uuid4().hex,
            at=self._now(),
            catalog=scene.catalog.name,
            router=self.id,
            subtask=text,
            server_hint=server_hint.strip(),
            parameters=chosen.values(),
            planner=question.planner.name if question.asked_planner else "none",
            reason=verdict.reason,
            servers=verdict.servers,
            tools=verdict.tools,
            candidates=verdict.candidates,
            tool_tokens=scene.tool_tokens,
            statistics_version=scene.statistics.version,
            timings_ms=_timings(question.embed_ms, max(0.0, elapsed_ms - question.embed_ms)),
            exposure=verdict.exposure or Exposure(int(scene.tool_tokens[list(verdict.candidates)].sum())),
            score=self.score,
            stages=verdict.stages,
            steps=verdict.steps,
            remarks=verdict.remarks,
            explored=verdict.explored,
        )

    def having_seen(self, parameters: Parameters, tools: Sequence[str]) -> Parameters:  # noqa: ARG002
        """The parameters of a step that comes after calls of these tools; the same where outputs seen do not matter."""
        return parameters

    def event(self, decision: Decision) -> dict[str, Any]:  # noqa: ARG002 - most routers have nothing to add
        """What the algorithm reports of a decision beside its trace, as JSON; it is stored with it. Nothing by default."""
        return {}

    @abstractmethod
    def decide(self, question: Question, scene: Scene, parameters: Parameters) -> Verdict:
        """The algorithm itself: a question, similarities and statistics in, trace and candidates out."""


def checked_subtask(subtask: str) -> str:
    """The sub-task without surrounding space. Raises WayfareError where it is empty or too long."""
    text = subtask.strip()
    if not text:
        raise WayfareError("The sub-task is empty; say in a few words what is needed.")
    if len(text) > SUBTASK_LIMIT_CHARS:
        raise WayfareError(f"The sub-task has {len(text):,} characters; shorten it to at most {SUBTASK_LIMIT_CHARS:,}.")
    return text


def _timings(embed_ms: float, score_ms: float) -> Mapping[str, float]:
    return {"embed": round(embed_ms, 3), "score": round(score_ms, 3), "total": round(embed_ms + score_ms, 3)}


def _order(names: tuple[str, ...]) -> NDArray[np.int64]:
    order = np.empty(len(names), dtype=np.int64)
    order[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return order
