"""The Planner port: the questions of routers to a language model or to rules, its usage, and the turns of the agent
loop.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from core.domain.catalog import Tool

MODEL, BASE_URL, KEY = "WAYFARE_LLM_MODEL", "WAYFARE_LLM_BASE_URL", "WAYFARE_LLM_API_KEY"


@dataclass(frozen=True, slots=True)
class Usage:
    """Totals of one model since the start. `calls` counts answers, `failed` unusable replies. `cost_usd` is None after a
    call without a known price. `invented` counts names that were not offered."""

    model: str = ""
    calls: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    cache_hits: int = 0
    invented: int = 0


class Meter:
    """Sums up usage. Thread-safe.

    >>> meter = Meter("small")
    >>> meter.add(calls=1, cost_usd=0.5)
    >>> meter.add(calls=1, cost_usd=None)
    >>> meter.usage.calls, meter.usage.cost_usd
    (2, None)
    """

    def __init__(self, model: str) -> None:
        self._usage = Usage(model)
        self._lock = threading.Lock()

    @property
    def usage(self) -> Usage:
        return self._usage

    def add(self, *, cost_usd: float | None = 0.0, **counts: int) -> None:
        """Adds counts to the fields of `Usage`, and a price, None if unknown."""
        run_meter = _ONE_RUN.get()
        for meter in (self,) if run_meter is None else (self, run_meter):
            with meter._lock:
                usage = meter._usage
                total = None if usage.cost_usd is None or cost_usd is None else usage.cost_usd + cost_usd
                sums = {name: getattr(usage, name) + count for name, count in counts.items()}
                meter._usage = replace(usage, cost_usd=total, **sums)


_ONE_RUN: ContextVar[Meter | None] = ContextVar("wayfare_usage_of_one_run", default=None)


@contextmanager
def also_counted(meter: Meter) -> Generator[None]:
    """Also counts the usage of any model in this thread or task in `meter`, to separate concurrent runs.

    >>> total, run = Meter("small"), Meter("small")
    >>> with also_counted(run):
    ...     total.add(calls=1)
    >>> total.add(calls=1)
    >>> total.usage.calls, run.usage.calls
    (2, 1)
    """
    token = _ONE_RUN.set(meter)
    try:
        yield
    finally:
        _ONE_RUN.reset(token)


@dataclass(eq=False)
class Watch:
    """A person who waits for answers of a model. `tokens` counts the current answer, 0 while the model reads, None while it is not
    asked. Setting `stop` ends the answer."""

    stop: threading.Event = field(default_factory=threading.Event)
    tokens: int | None = None

    def words(self) -> str:
        """Returns the model's current activity, "" if it is not asked.

        >>> Watch().words(), Watch(tokens=0).words(), Watch(tokens=57).words()
        ('', 'the model reads', 'the model writes, tokens so far: 57')
        """
        if self.tokens is None:
            return ""
        return f"the model writes, tokens so far: {self.tokens:,}" if self.tokens else "the model reads"


_WATCH: ContextVar[Watch | None] = ContextVar("wayfare_watch", default=None)


def who_waits() -> Watch | None:
    return _WATCH.get()


@contextmanager
def watched(watch: Watch) -> Generator[None]:
    """Shows the answers of any model in this thread or task to `watch`, token by token."""
    token = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(token)


# A turn of the agent loop, EHRR Algorithm 1: the context C_e that a planner reads, and its decision d_e

MAY_WRITE = "may_write"
"""The error of a call that was not made because its tool may write."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A call of this sub-task with its unchanged result. `error` is its kind, "" for a success."""

    tool: str
    said: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """C_e: the question, the sub-task and its candidates, best first (`reason` says why there are none), the attempts
    so far, and the results of earlier sub-tasks by their texts. `summaries` are phase 1 of Tool Attention, empty for
    other routers."""

    question: str
    query: str
    offered: tuple[Tool, ...]
    reason: str = ""
    attempts: tuple[Attempt, ...] = ()
    earlier: tuple[tuple[str, str], ...] = ()
    summaries: tuple[str, ...] = ()
    rounds_left: int = 1
    last: bool = True


@dataclass(frozen=True, slots=True)
class Action:
    """d_e: ROUTE with other words (`subtask`), EXECUTE a tool with arguments (None if unreadable), or STOP.

    `words` are the planner's own. `approved_by` is the origin of a person who acts in its place and approves the call.
    """

    kind: Literal["route", "execute", "stop"]
    words: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] | None = None
    query: str = ""
    approved_by: str = ""


@dataclass(frozen=True, slots=True)
class SubQuery:
    text: str
    needs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Complexity:
    """Whether one pass is enough: `score` in [0, 1], simple below one half. `evidence` gives the reasons as phrases."""

    label: Literal["simple", "complex"]
    score: float
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolRequest:
    server: str
    tool: str


@dataclass(frozen=True, slots=True)
class Card:
    """A tool as the planner sees it. `score` in [0, 1] is its score in retrieval."""

    id: str
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Selection:
    """Tools chosen among cards, best first, empty if none fits. `invented` counts names that are on no card."""

    ids: tuple[str, ...]
    reason: str
    invented: int = 0


class Planner(Protocol):
    """Interprets questions. Every method is thread-safe and raises PlannerError if it cannot answer."""

    name: str
    """`rules`, or the model's name."""

    @property
    def usage(self) -> Usage:
        """Calls, tokens and money so far; zeros without a model."""
        ...

    def predict_tool(self, question: str) -> str:
        """Returns a short description of the tool that would answer the question (SONAR's tool prediction)."""
        ...

    def complexity(self, question: str, servers: Sequence[str]) -> Complexity:
        """Returns simple or complex, from the question and the texts of the servers that retrieval found (PA-RAG)."""
        ...

    def decompose(self, question: str, limit: int = 8) -> tuple[SubQuery, ...]:
        """Returns the question as at most `limit` sub-queries, a single one if it cannot be split. A model makes each
        self-contained. Rules keep its words."""
        ...

    def rewrite(self, question: str) -> str:
        """Returns the question without parts that do not help retrieval, such as greetings and thanks (ToolShed)."""
        ...

    def expand(self, question: str, count: int = 3) -> tuple[str, ...]:
        """Returns at most `count` other wordings of the question (ToolShed)."""
        ...

    def request(self, question: str) -> ToolRequest:
        """Returns the question as a structured request (MCP-Zero)."""
        ...

    def summarise(self, server: str) -> str:
        """Returns the purpose of a server from its extracted text (PA-RAG's functional summary). Rules return the text."""
        ...

    def reword(self, request: str, tools: Sequence[str], server: str = "") -> str:
        """Returns a request that was written from the texts of `tools`, in the words of a person, with the server if given. Rules return
        the request."""
        ...

    def select(self, question: str, cards: Sequence[Card], count: int) -> Selection:
        """Returns at most `count` of the cards, best first; none if no card fits."""
        ...

    def act(self, turn: Turn) -> Action:
        """Returns the next action of the agent loop, EHRR Algorithm 1, line 3."""
        ...
