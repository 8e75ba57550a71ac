"""What happens in the agent loop, EHRR Algorithm 1, in order: one event for each ROUTE, EXECUTE and STOP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.domain.decision import Decision
from core.domain.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Routed:
    """ROUTE: a sub-task and the decision that it got; `words` are the planner's, where it asked for another one.

    `model_tokens`, here and below, are what the planner's model took for this turn, 0 by rules; None: the planner was not asked.
    """

    step: int
    needs: tuple[int, ...]
    decision: Decision
    words: str = ""
    model_tokens: int | None = None

    def to_json(self) -> dict[str, Any]:
        """One entry of `events` in `wayfare agent --json`."""
        decision = self.decision
        return {
            "do": "route",
            "step": self.step,
            "needs": list(self.needs),
            "subtask": decision.subtask,
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
    """EXECUTE: a call, or why it was not made (`error`, without an outcome). `said` is what goes back to the planner, verbatim."""

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
        """One entry of `events` in `wayfare agent --json`."""
        outcome = self.outcome
        return {
            "do": "execute",
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
    """STOP: a sub-task is over. `done`: its last call ended well. `words` are the planner's: an answer, or what is missing."""

    step: int
    done: bool
    words: str
    model_tokens: int | None = None

    def to_json(self) -> dict[str, Any]:
        """One entry of `events` in `wayfare agent --json`."""
        return {
            "do": "stop",
            "step": self.step,
            "done": self.done,
            "words": self.words,
            "model_tokens": self.model_tokens,
        }


AgentEvent = Routed | Executed | Stopped


@dataclass(frozen=True, slots=True)
class TurnTokens:
    """Tokens of one turn: tool definitions newly put before the planner, those of the stable prefix (phase 1 of Tool Attention),
    all definitions of the catalog, and what the planner's model took with everything else that it was sent and said."""

    step: int
    do: str
    exposed: int
    cached: int
    baseline: int
    model: int


def turn_tokens(events: Sequence[AgentEvent]) -> tuple[TurnTokens, ...]:
    """One for each time that the planner was asked, in order."""
    turns: list[TurnTokens] = []
    shown = {"exposed": 0, "cached": 0, "baseline": 0}
    for event in events:
        if event.model_tokens is not None:
            turns.append(TurnTokens(event.step, _do(event), **shown, model=event.model_tokens))
        if isinstance(event, Routed):
            shown = event.decision.tokens
    return tuple(turns)


def _do(event: AgentEvent) -> str:
    return "route" if isinstance(event, Routed) else "execute" if isinstance(event, Executed) else "stop"
