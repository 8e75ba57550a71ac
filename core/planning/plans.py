"""Plans a question that asks for several things: its steps with a decision each, and the total time and price.

Independent steps may run at the same time: a step starts when all steps that it needs have finished.

    finish(s) = max(finish(d) for d in needs(s), or 0) + C_s          C_s: expected seconds until its winner succeeds
    elapsed   = max(finish)              work = sum(C_s)              price = sum of the winners' payments
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from core.domain.decision import Decision
from core.domain.outcome import Outcome


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step: its request, the positions of earlier steps whose results it uses, and its decision.

    `start_s` and `finish_s` are expected seconds from the start of the plan. A step without a winner takes no time.
    """

    text: str
    needs: tuple[int, ...]
    decision: Decision
    start_s: float
    finish_s: float


@dataclass(frozen=True, slots=True)
class Plan:
    question: str
    planner: str
    steps: tuple[PlannedStep, ...]

    @classmethod
    def of(
        cls,
        question: str,
        planner: str,
        parts: Sequence[tuple[str, tuple[int, ...]]],
        decide: Callable[[str, Sequence[str]], Decision],
    ) -> Plan:
        """A plan of (text, needs) in order. `decide` gets a text and the winners of all steps that it builds on.

        Raises ValueError if a step needs itself or a later step, and the errors of `decide`.
        """
        steps: list[PlannedStep] = []
        ancestors: list[set[int]] = []  # all steps that each step builds on
        for text, needs in parts:
            if any(not 0 <= need < len(steps) for need in needs):
                raise ValueError(f"step {len(steps)} needs {needs}; it can need earlier ones only")
            ancestors.append(set(needs).union(*(ancestors[need] for need in needs)))
            winners = (steps[step].decision.winner for step in sorted(ancestors[-1]))
            decision = decide(text, [winner.tool for winner in winners if winner])
            start = max((steps[need].finish_s for need in needs), default=0.0)
            duration_s = decision.winner.time_cost_s if decision.winner else 0.0
            steps.append(PlannedStep(text, needs, decision, start, start + duration_s))
        return cls(question, planner, tuple(steps))

    @property
    def elapsed_s(self) -> float:
        """Expected seconds until all steps have finished, with independent steps in parallel."""
        return max((step.finish_s for step in self.steps), default=0.0)

    @property
    def work_s(self) -> float:
        return sum(step.finish_s - step.start_s for step in self.steps)

    @property
    def price_usd(self) -> float:
        """USD of the winners with a known payment. `unpriced` counts the other winners."""
        prices = (step.decision.winner.payment_usd for step in self.steps if step.decision.winner)
        return sum(price for price in prices if price is not None)

    @property
    def unpriced(self) -> int:
        return sum(step.decision.winner is not None and step.decision.winner.payment_usd is None for step in self.steps)

    @property
    def unanswered(self) -> tuple[int, ...]:
        return tuple(position for position, step in enumerate(self.steps) if step.decision.winner is None)

    @property
    def exposed_tokens(self) -> int:
        return sum(step.decision.tokens["exposed"] for step in self.steps)

    @property
    def longest_path(self) -> tuple[int, ...]:
        """Positions of the steps that determine the elapsed time, first to last."""
        if not self.steps:
            return ()
        step = max(range(len(self.steps)), key=lambda position: self.steps[position].finish_s)
        path = [step]
        while needs := self.steps[step].needs:
            step = max(needs, key=lambda position: self.steps[position].finish_s)
            path.append(step)
        return tuple(reversed(path))


@dataclass(frozen=True, slots=True)
class Routed:
    """ROUTE: a sub-task and its decision. `words` are the planner's, if it asked for another decision.

    `model_tokens`, here and below, are the tokens of the planner's model for this turn, 0 by rules, None if the planner was not asked.
    """

    do: ClassVar[str] = "route"
    step: int
    needs: tuple[int, ...]
    decision: Decision
    words: str = ""
    model_tokens: int | None = None

    def to_json(self) -> dict[str, Any]:
        decision = self.decision
        return {
            "do": self.do,
            "step": self.step,
            "needs": list(self.needs),
            "subtask": decision.query,
            "words": self.words,
            "model_tokens": self.model_tokens,
            "decision": decision.id,
            "reason": decision.reason,
            "candidates": [decision.tools.ids[row] for row in decision.candidates],
            "tokens": decision.tokens,
            "total_ms": decision.timings_ms["total"],
        }


@dataclass(frozen=True, slots=True)
class Executed:
    """EXECUTE: a call, or the reason for no call (`error`, without an outcome). `said` is the verbatim text for the planner."""

    do: ClassVar[str] = "execute"
    step: int
    decision_id: str
    tool: str
    arguments: Mapping[str, Any]
    said: str
    error: str = ""
    outcome: Outcome | None = None
    words: str = ""
    model_tokens: int | None = None

    def to_json(self) -> dict[str, Any]:
        outcome = self.outcome
        return {
            "do": self.do,
            "step": self.step,
            "words": self.words,
            "model_tokens": self.model_tokens,
            "decision": self.decision_id,
            "tool": self.tool,
            "arguments": dict(self.arguments),
            "called": outcome is not None and not outcome.simulated,
            "simulated": outcome is not None and outcome.simulated,
            "outcome": None if outcome is None else outcome.kind.value,
            "error": self.error,
            "said": self.said,
            "price_usd": None if outcome is None else outcome.price_usd,
            "latency_s": None if outcome is None else outcome.latency_s,
        }


@dataclass(frozen=True, slots=True)
class Stopped:
    """STOP: a sub-task is over. `done`: its last call succeeded. `words` are the planner's answer, or the missing part."""

    do: ClassVar[str] = "stop"
    step: int
    done: bool
    words: str
    model_tokens: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {"do": self.do, **asdict(self)}


AgentEvent = Routed | Executed | Stopped


@dataclass(frozen=True, slots=True)
class TurnTokens:
    """Tokens of one turn: tool definitions newly put before the planner, tokens of the stable prefix (phase 1 of Tool Attention),
    all definitions of the catalog, and all tokens that the planner's model read and wrote."""

    step: int
    do: str
    exposed: int
    cached: int
    baseline: int
    model: int


def turn_tokens(events: Sequence[AgentEvent]) -> tuple[TurnTokens, ...]:
    turns: list[TurnTokens] = []
    tokens = {"exposed": 0, "cached": 0, "baseline": 0}
    for event in events:
        if event.model_tokens is not None:
            turns.append(TurnTokens(event.step, event.do, **tokens, model=event.model_tokens))
        if isinstance(event, Routed):
            tokens = event.decision.tokens
    return tuple(turns)
