"""The Planner port: what routers ask of a language model, or of rules that stand in for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from core.planning.turns import Action, Turn
from core.planning.usage import Usage


@dataclass(frozen=True, slots=True)
class SubQuery:
    """One part of a question, to be routed by itself; `needs` are positions of the parts whose results it uses."""

    text: str
    needs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Complexity:
    """Whether one pass is enough: `score` in [0, 1], simple below one half; `evidence` says why, one phrase each."""

    label: Literal["simple", "complex"]
    score: float
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """MCP-Zero's structured request: which kind of server and which kind of tool would do, each in a few words."""

    server: str
    tool: str


@dataclass(frozen=True, slots=True)
class Card:
    """A tool as it is put before the planner; `score` in [0, 1] is its score in retrieval."""

    id: str
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Selection:
    """Tools chosen among cards, best first: empty where none can do it. `invented` counts names that are on no card."""

    ids: tuple[str, ...]
    reason: str
    invented: int = 0


class Planner(Protocol):
    """Understands questions. Every method is safe for several threads and raises PlannerError where it cannot answer."""

    name: str
    """`rules`, or the model's name."""

    @property
    def usage(self) -> Usage:
        """Calls, tokens and money so far; zeros where no model is asked."""
        ...

    def predict_tool(self, question: str) -> str:
        """The question as a short description of the one tool that would answer it (SONAR's tool prediction)."""
        ...

    def complexity(self, question: str, servers: Sequence[str]) -> Complexity:
        """Simple or complex, from the question and the texts of the servers that retrieval found (PA-RAG)."""
        ...

    def decompose(self, question: str, limit: int = 8) -> tuple[SubQuery, ...]:
        """The question as at most `limit` sub-queries, one where it cannot be split. A model makes each stand by itself;
        rules leave its words as they are."""
        ...

    def rewrite(self, question: str) -> str:
        """The question without what does not help retrieval, such as greetings and thanks (ToolShed)."""
        ...

    def expand(self, question: str, count: int = 3) -> tuple[str, ...]:
        """At most `count` other ways to ask the same (ToolShed)."""
        ...

    def request(self, question: str) -> ToolRequest:
        """The question as a structured request (MCP-Zero)."""
        ...

    def summarise(self, server: str) -> str:
        """What a server is for, from its extracted text (PA-RAG's functional summary); rules leave it as it is."""
        ...

    def select(self, question: str, cards: Sequence[Card], count: int) -> Selection:
        """At most `count` of the cards, best first; none where nothing offered can do it."""
        ...

    def act(self, turn: Turn) -> Action:
        """The next action of the agent loop, EHRR Algorithm 1, line 3."""
        ...
