"""The base class of every router: it checks the parameters and the sub-task, times the decision and fills in the record."""

from __future__ import annotations

import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast, get_args

import numpy as np

from core.domain.decision import Decision, Explored, Exposure, NetworkTrace, Stage, SubDecision, TryPlan
from core.domain.errors import WayfareError
from core.domain.params import Parameters
from core.domain.trace import DROPS, KEPT, Array, Drop, ServerTrace, ToolTrace
from core.routers.context import Query, RoutingContext
from core.routers.parameters import FIT, PlanningParameters, RefusingParameters
from core.routers.side_effects import asks_to_know, writes

if TYPE_CHECKING:
    from core.planning.base import Planner

# The titles of the papers, as a router's `paper` names them

EHRR = "Clearing MCP Navigation Fog with Economics-Aware Hierarchical Tool Routing"
ETOM = "ETOM: A Five-Level Benchmark for Evaluating Tool Orchestration within the MCP Ecosystem"
NETMCP = "NetMCP: Network-Aware Model Context Protocol Platform for LLM Capability Extension"
PA_RAG = "PA-RAG: Protocol-Aware Retrieval-Augmented Generation for Tool Discovery in MCP Ecosystems"
TOOL_ATTENTION = "Tool Attention Is All You Need"


# Refusal (ours): a sub-task that no tool seems to fit gets no candidate
#
# refused if P(nothing fits) >= limit(wrong refusals at most)                          `core.relevance.scoring`


def refusal(query: Query, parameters: Parameters) -> str:
    """The reason of a refusal in one sentence, empty without a refusal."""
    if not isinstance(parameters, RefusingParameters) or parameters.wrong_refusals <= 0:
        return ""
    from core.relevance.scoring import limit_of

    chance, limit = query.fit().nothing, limit_of(parameters.wrong_refusals)
    if chance is None or chance < limit:
        return ""
    return (
        f"Refused: nothing seems to fit. P(nothing fits) is {chance:.2f}; from {limit:.2f} on, sub-tasks are turned down where "
        f"{parameters.wrong_refusals:g} % wrong refusals are admitted."
    )


SUBTASK_LIMIT_CHARS = 20_000

P = TypeVar("P", bound=Parameters)


@dataclass(frozen=True, slots=True)
class RoutingResult:
    """The result of `decide`: the trace, the candidates best first, and the reason in one sentence; "" means the lead of the first.

    Without an `exposure` the candidates' definitions are put before the model. `remarks` are phrases on single tools,
    by row.
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
    tries: TryPlan | None = None
    network_trace: NetworkTrace | None = None

    def refused(self, reason: str) -> RoutingResult:
        """This result without candidates. The refusal drops the tools in the race."""
        codes, count = self.tools.dropped, len(self.candidates)
        in_race = np.isin(codes, (KEPT, DROPS.index(Drop.OUTRANKED)))
        drop_codes = np.where(in_race, DROPS.index(Drop.REFUSED), codes).astype(np.int8)
        return replace(
            self,
            tools=replace(self.tools, dropped=drop_codes, rank=np.zeros_like(self.tools.rank)),
            candidates=(),
            reason=reason,
            stages=(*self.stages, Stage("refusal", "candidates", 0, count, reason)),
            tries=None
            if self.tries is None
            else replace(self.tries, tries=(), value_usd=0.0, next_tool=None, next_worth_usd=None),
        )


class Router(ABC, Generic[P]):
    """A routing algorithm and the type of its parameters.

    A subclass sets the class variables and fills `decide`; its docstring begins with the sentence that lists show.
    """

    id: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    summary: ClassVar[str]
    """The first line of the docstring."""
    parameters: ClassVar[type[Parameters]]
    """Taken from the brackets of `Router[...]`."""
    score: ClassVar[str] = "similarity"
    """The ranking score in words."""
    fit_alone: ClassVar[bool] = False
    """Whether it compares texts only by the probability of fit if that is its similarity."""
    economic: ClassVar[bool] = False
    """Whether tools are ranked by utility, EHRR (7). What-if curves and headroom need it."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.summary = (cls.__doc__ or "").partition("\n")[0]
        for base in cls.__dict__.get("__orig_bases__", ()):
            for argument in get_args(base):
                if isinstance(argument, type) and issubclass(argument, Parameters):
                    cls.parameters = argument

    def __init__(
        self,
        planners: Mapping[str, Planner] | None = None,
        *,
        clock: Callable[[], float] = time.perf_counter,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._planners = planners
        self._clock = clock
        self._now = now

    def route(
        self, query: str, context: RoutingContext, parameters: Parameters | None = None, *, server_hint: str = ""
    ) -> Decision:
        """Decides on a sub-task. Raises WayfareError for an empty sub-task, TypeError for parameters of another router."""
        text = checked_query(query)
        p = self.checked(parameters)
        start_s = self._clock()
        name = p.planner if isinstance(p, PlanningParameters) else "rules"
        routing_query = Query(text, server_hint.strip(), context.matcher, self._planner(name), self._clock)
        result = self.decide(routing_query, context, p)
        if result.candidates and not result.reason:
            reason = winning_reason(context.tool_ids, result.tools.utility, result.candidates, self.score)
            result = replace(result, reason=reason)
        if result.candidates and (reason := refusal(routing_query, p)):
            result = result.refused(reason)
        writing_rows = _writing(text, context, result.candidates)
        score_ms = max(0.0, (self._clock() - start_s) * 1e3 - routing_query.embed_ms)
        timings_ms = {"embed": routing_query.embed_ms, "score": score_ms, "total": routing_query.embed_ms + score_ms}
        return Decision(
            id=uuid.uuid4().hex,
            at=self._now(),
            catalog=context.catalog.name,
            router=self.id,
            query=text,
            server_hint=server_hint.strip(),
            parameters=p.values(),
            planner=routing_query.planner.name if routing_query.used_planner else "none",
            reason=result.reason,
            servers=result.servers,
            tools=result.tools,
            candidates=result.candidates,
            tool_tokens=context.tool_tokens,
            statistics_version=context.statistics.version,
            timings_ms={name: round(value, 3) for name, value in timings_ms.items()},
            exposure=result.exposure or Exposure(int(context.tool_tokens[list(result.candidates)].sum())),
            score=self.score,
            economic=self.economic,
            stages=result.stages,
            steps=result.steps,
            remarks=result.remarks,
            explored=result.explored,
            fit=routing_query.known_fit,
            tries=result.tries,
            writing=writing_rows,
            by_words=context.by_words,
            network_trace=result.network_trace,
        )

    def checked(self, parameters: Parameters | None) -> P:
        """The parameters to decide with, the defaults for None. Raises TypeError for parameters of another router."""
        p = _defaults(self.parameters) if parameters is None else parameters
        if not isinstance(p, self.parameters):
            raise TypeError(f"{self.title} takes {self.parameters.__name__}, not {type(p).__name__}.")
        return cast(P, p)

    def _planner(self, name: str) -> Planner:
        from core.planning.rules import RulesPlanner, chosen_planner

        return chosen_planner(self._planners or {"rules": RulesPlanner()}, name)

    def by_fit(self, parameters: P) -> bool:
        """Whether it compares texts only by probabilities of fit, so that words alone can decide while vectors are missing."""
        return self.fit_alone and getattr(parameters, "similarity", FIT) == FIT

    def having_seen(self, parameters: P, tools: Sequence[str]) -> P:  # noqa: ARG002
        """The parameters of a step after calls of these tools, unchanged if outputs do not matter."""
        return parameters

    def event(self, decision: Decision) -> dict[str, Any]:  # noqa: ARG002 - most routers have nothing to add
        """The stored extra of a decision beside its trace, as JSON. Empty by default."""
        return {}

    @abstractmethod
    def decide(self, query: Query, context: RoutingContext, parameters: P) -> RoutingResult:
        """The algorithm itself: a query, similarities and statistics in, traces and candidates out."""


AnyRouter = Router[Any]


@cache
def _defaults(parameters: type[Parameters]) -> Parameters:
    return parameters()


def checked_query(query: str) -> str:
    """The sub-task without surrounding space. Raises WayfareError if it is empty or too long."""
    text = query.strip()
    if not text:
        raise WayfareError("The sub-task is empty; say in a few words what is needed.")
    if len(text) > SUBTASK_LIMIT_CHARS:
        raise WayfareError(f"The sub-task has {len(text):,} characters; shorten it to at most {SUBTASK_LIMIT_CHARS:,}.")
    return text


def winning_reason(ids: Sequence[str], scores: Array, candidates: Sequence[int], score: str) -> str:
    """Why the first candidate is first, in one sentence. `score` is the name of the `scores` (T,).

    >>> winning_reason(["a::x", "a::y"], np.array([0.5, 0.75]), (1, 0), "cosine")
    'a::y has the highest cosine, 0.750, 0.250 ahead of a::x.'
    """
    first = candidates[0]
    lead = f"{ids[first]} has the highest {score}, {scores[first]:z.3f}"
    if len(candidates) == 1:
        return f"{lead}, and is the only candidate."
    return f"{lead}, {scores[first] - scores[candidates[1]]:z.3f} ahead of {ids[candidates[1]]}."


def _writing(text: str, context: RoutingContext, candidates: Sequence[int]) -> tuple[int, ...]:
    """The candidates that write, if the question asks to know."""
    if not asks_to_know(text):
        return ()
    return tuple(row for row in candidates if writes(context.catalog.tools[row]))
