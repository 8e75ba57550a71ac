"""The planner that asks a language model. Its replies are checked before they are used.

A tool that the model names and that was not offered is refused and counted; texts are cut; parts need earlier parts only. The
same question is sent once: replies are cached by everything that was sent.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from cachetools import LRUCache

from core.planning import model_replies as replies
from core.planning import prompts
from core.planning.base import Card, Complexity, Selection, SubQuery, ToolRequest
from core.planning.endpoint import Endpoint, Message
from core.planning.model_replies import ModelReply, one_line
from core.planning.turns import Action, Turn
from core.planning.usage import Meter, Usage
from core.shared.errors import PlannerError

QUESTION_CHARACTERS = 8_000
CARDS_SHOWN, CARD_CHARACTERS = 50, 400
SERVERS_SHOWN, SERVER_CHARACTERS = 10, 300
SERVER_SUMMARY_CHARACTERS = 2_000
TOOL_CHARACTERS = 4_000
LINE_CHARACTERS, PART_CHARACTERS = 300, 1_000
SAID_CHARACTERS, ANSWER_CHARACTERS = 4_000, 4_000
REPLIES_CACHED = 4096  # a summary for each of many servers among them

R = TypeVar("R", bound=ModelReply)


class ModelPlanner:
    """Understands questions by asking a model. Safe for several threads."""

    def __init__(self, endpoint: Endpoint, *, replies_cached: int = REPLIES_CACHED) -> None:
        self.name = endpoint.model
        self._endpoint = endpoint
        self._meter = Meter(endpoint.model)
        self._cache: LRUCache[str, ModelReply] = LRUCache(replies_cached)
        self._lock = threading.Lock()

    @property
    def usage(self) -> Usage:
        """Calls, tokens and money so far."""
        return self._meter.usage

    def predict_tool(self, question: str) -> str:
        """See `Planner.predict_tool`."""
        reply = self._ask(replies.Description, prompts.PREDICT, {"question": _cut(question)})
        return one_line(reply.description, LINE_CHARACTERS) or question.strip()

    def complexity(self, question: str, servers: Sequence[str]) -> Complexity:
        """See `Planner.complexity`."""
        shown = [server[:SERVER_CHARACTERS] for server in servers[:SERVERS_SHOWN]]
        reply = self._ask(replies.ComplexityReply, prompts.COMPLEXITY, {"question": _cut(question), "servers": shown})
        certainty = replies.share(reply.confidence) / 2
        evidence = tuple(line for text in reply.evidence[:4] if (line := one_line(text, 120)))
        if reply.complex:
            return Complexity("complex", 0.5 + certainty, evidence)
        return Complexity("simple", min(0.499, 0.5 - certainty), evidence)

    def decompose(self, question: str, limit: int = 8) -> tuple[SubQuery, ...]:
        """See `Planner.decompose`."""
        reply = self._ask(replies.Parts, prompts.DECOMPOSE, {"question": _cut(question), "limit": limit})
        return replies.ordered(reply.parts, max(1, limit), PART_CHARACTERS) or (SubQuery(question.strip()),)

    def rewrite(self, question: str) -> str:
        """See `Planner.rewrite`."""
        reply = self._ask(replies.Question, prompts.REWRITE, {"question": _cut(question)})
        return one_line(reply.question, QUESTION_CHARACTERS) or question.strip()

    def expand(self, question: str, count: int = 3) -> tuple[str, ...]:
        """See `Planner.expand`."""
        if count < 1:
            return ()
        reply = self._ask(replies.Questions, prompts.EXPAND, {"question": _cut(question), "count": count})
        ways = dict.fromkeys(one_line(text, PART_CHARACTERS) for text in reply.questions)
        return tuple(way for way in ways if way and way != question.strip())[:count]

    def request(self, question: str) -> ToolRequest:
        """See `Planner.request`."""
        reply = self._ask(replies.Wanted, prompts.REQUEST, {"question": _cut(question)})
        server, tool = one_line(reply.server, LINE_CHARACTERS), one_line(reply.tool, LINE_CHARACTERS)
        return ToolRequest(server or tool or question.strip(), tool or question.strip())

    def summarise(self, server: str) -> str:
        """See `Planner.summarise`."""
        reply = self._ask(replies.Description, prompts.SUMMARISE, {"server": server[:SERVER_SUMMARY_CHARACTERS]})
        return one_line(reply.description, PART_CHARACTERS) or server

    def select(self, question: str, cards: Sequence[Card], count: int) -> Selection:
        """See `Planner.select`. Names that are not on a card are refused and counted."""
        if not cards or count < 1:
            return Selection((), "Nothing was offered.")
        shown = sorted(cards, key=lambda card: -card.score)[:CARDS_SHOWN]
        tools = [{"id": card.id, "text": card.text[:CARD_CHARACTERS]} for card in shown]
        reply = self._ask(replies.Chosen, prompts.SELECT, {"question": _cut(question), "count": count, "tools": tools})
        offered = {card.id for card in shown}
        named = tuple(dict.fromkeys(reply.tools))
        ids = tuple(name for name in named if name in offered)[:count]
        invented = sum(name not in offered for name in named)
        self._meter.invented(invented)
        refused = f" {invented} named that nobody offered." if invented else ""
        return Selection(
            ids, f"{one_line(reply.reason, LINE_CHARACTERS)}{refused}".strip() or "No reason given.", invented
        )

    def grade(self, subtask: str, server_hint: str, tool: Card) -> tuple[int, str]:
        """How well a tool does a sub-task, 0 to 3, and why in one line."""
        data = {
            "subtask": _cut(subtask),
            "server_hint": server_hint[:LINE_CHARACTERS],
            "tool": tool.text[:TOOL_CHARACTERS],
        }
        reply = self._ask(replies.Graded, prompts.JUDGE, data)
        return reply.grade, one_line(reply.why, LINE_CHARACTERS)

    def act(self, turn: Turn) -> Action:
        """See `Planner.act`. A tool that was not offered is counted; whether it may be called is the loop's to say."""
        data: dict[str, str | int | Sequence[object]] = {
            "question": _cut(turn.question),
            "subtask": _cut(turn.subtask),
            "last": turn.last,
            "rounds_left": turn.rounds_left,
            "summaries": turn.summaries,
            "offered": [{"id": tool.id, **tool.definition()} for tool in turn.offered],
            "nothing_offered_because": "" if turn.offered else turn.reason,
            "attempts": [{"tool": a.tool, "error": a.error, "said": a.said[:SAID_CHARACTERS]} for a in turn.attempts],
            "earlier": [{"subtask": text, "result": said[:SAID_CHARACTERS]} for text, said in turn.earlier],
        }
        reply = self._ask(replies.ActionReply, prompts.ACT, data, prompts.AGENT_RULES)
        if reply.action == "execute":
            self._meter.invented(reply.tool not in {tool.id for tool in turn.offered})
        return Action(
            reply.action,
            reply.words.strip()[:ANSWER_CHARACTERS],
            reply.tool,
            _arguments(reply.arguments_json),
            one_line(reply.subtask, PART_CHARACTERS),
        )

    def _ask(
        self,
        kind: type[R],
        task: str,
        data: Mapping[str, str | int | Sequence[object]],
        rules: str = prompts.RULES,
    ) -> R:
        message = Message(rules, prompts.with_data(task, data), kind.model_json_schema(), kind.__name__.lower())
        key = hashlib.sha256(f"{kind.__name__}\0{message.user}".encode()).hexdigest()
        cached = self._cached(key)
        if isinstance(cached, kind):
            return cached
        try:
            reply = self._sent(kind, message)
        except PlannerError:
            self._meter.failed()
            raise
        with self._lock:
            self._cache[key] = reply
        return reply

    def _sent(self, kind: type[R], message: Message) -> R:
        """A new reply. Its tokens and price are counted, whether it can be used or not."""
        reply = self._endpoint.ask(message)
        self._meter.answered(reply.input_tokens, reply.output_tokens, reply.cost_usd)
        if reply.whole:
            return kind.read(reply.text)
        raise PlannerError(
            f"The answer of {self.name!r} was cut off before its end; ask for less, or choose planner=rules."
        )

    def _cached(self, key: str) -> ModelReply | None:
        with self._lock:
            reply = self._cache.get(key)
            if reply is not None:
                self._meter.cache_hit()
            return reply


def _cut(question: str) -> str:
    return question.strip()[:QUESTION_CHARACTERS]


def _arguments(text: str) -> dict[str, Any] | None:
    """The arguments that a model wrote, None where they are no JSON object."""
    try:
        values = json.loads(text or "{}")
        json.dumps(values, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", values) if isinstance(values, dict) else None
