"""The planner behind which a language model stands. What it says is checked before anybody acts on it.

A tool that the model names and nobody offered is refused and counted; texts are cut; parts need earlier parts only. The same
question is asked once: answers are remembered by all that was sent.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TypeVar

from core.errors import PlannerError
from core.planning import answers, prompts
from core.planning.answers import Answer, one_line
from core.planning.base import Card, Complexity, Selection, SubQuery, ToolRequest
from core.planning.endpoint import Endpoint, Message
from core.planning.usage import Meter, Usage

QUESTION_CHARACTERS = 8_000
CARDS_SHOWN, CARD_CHARACTERS = 50, 400
SERVERS_SHOWN, SERVER_CHARACTERS = 10, 300
SERVER_SUMMARY_CHARACTERS = 2_000
LINE_CHARACTERS, PART_CHARACTERS = 300, 1_000
ANSWERS_KEPT = 4096  # a summary for each of many servers among them

A = TypeVar("A", bound=Answer)


class ModelPlanner:
    """Understands questions by asking a model. Safe for several threads."""

    def __init__(self, endpoint: Endpoint, *, answers_kept: int = ANSWERS_KEPT) -> None:
        self.name = endpoint.model
        self._endpoint = endpoint
        self._meter = Meter(endpoint.model)
        self._kept: OrderedDict[str, Answer] = OrderedDict()
        self._answers_kept = answers_kept
        self._lock = threading.Lock()

    @property
    def usage(self) -> Usage:
        """What it has taken so far."""
        return self._meter.usage

    def predict_tool(self, question: str) -> str:
        """See `Planner.predict_tool`."""
        said = self._ask(answers.Description, prompts.PREDICT, {"question": _cut(question)})
        return one_line(said.description, LINE_CHARACTERS) or question.strip()

    def complexity(self, question: str, servers: Sequence[str]) -> Complexity:
        """See `Planner.complexity`."""
        shown = [server[:SERVER_CHARACTERS] for server in servers[:SERVERS_SHOWN]]
        said = self._ask(answers.Verdict, prompts.COMPLEXITY, {"question": _cut(question), "servers": shown})
        sure = answers.share(said.confidence) / 2
        evidence = tuple(line for text in said.evidence[:4] if (line := one_line(text, 120)))
        if said.complex:
            return Complexity("complex", 0.5 + sure, evidence)
        return Complexity("simple", min(0.499, 0.5 - sure), evidence)

    def decompose(self, question: str, limit: int = 8) -> tuple[SubQuery, ...]:
        """See `Planner.decompose`."""
        said = self._ask(answers.Parts, prompts.DECOMPOSE, {"question": _cut(question), "limit": limit})
        return answers.ordered(said.parts, max(1, limit), PART_CHARACTERS) or (SubQuery(question.strip()),)

    def rewrite(self, question: str) -> str:
        """See `Planner.rewrite`."""
        said = self._ask(answers.Question, prompts.REWRITE, {"question": _cut(question)})
        return one_line(said.question, QUESTION_CHARACTERS) or question.strip()

    def expand(self, question: str, count: int = 3) -> tuple[str, ...]:
        """See `Planner.expand`."""
        if count < 1:
            return ()
        said = self._ask(answers.Questions, prompts.EXPAND, {"question": _cut(question), "count": count})
        ways = dict.fromkeys(one_line(text, PART_CHARACTERS) for text in said.questions)
        return tuple(way for way in ways if way and way != question.strip())[:count]

    def request(self, question: str) -> ToolRequest:
        """See `Planner.request`."""
        said = self._ask(answers.Wanted, prompts.REQUEST, {"question": _cut(question)})
        server, tool = one_line(said.server, LINE_CHARACTERS), one_line(said.tool, LINE_CHARACTERS)
        return ToolRequest(server or tool or question.strip(), tool or question.strip())

    def summarise(self, server: str) -> str:
        """See `Planner.summarise`."""
        said = self._ask(answers.Description, prompts.SUMMARISE, {"server": server[:SERVER_SUMMARY_CHARACTERS]})
        return one_line(said.description, PART_CHARACTERS) or server

    def select(self, question: str, cards: Sequence[Card], count: int) -> Selection:
        """See `Planner.select`. Names that are no card are refused and counted."""
        if not cards or count < 1:
            return Selection((), "Nothing was offered.")
        shown = sorted(cards, key=lambda card: -card.score)[:CARDS_SHOWN]
        tools = [{"id": card.id, "text": card.text[:CARD_CHARACTERS]} for card in shown]
        said = self._ask(answers.Chosen, prompts.SELECT, {"question": _cut(question), "count": count, "tools": tools})
        offered = {card.id for card in shown}
        named = tuple(dict.fromkeys(said.tools))
        ids = tuple(name for name in named if name in offered)[:count]
        invented = sum(name not in offered for name in named)
        self._meter.invented(invented)
        refused = f" {invented} named that nobody offered." if invented else ""
        return Selection(
            ids, f"{one_line(said.reason, LINE_CHARACTERS)}{refused}".strip() or "No reason given.", invented
        )

    def _ask(self, kind: type[A], task: str, data: Mapping[str, str | int | Sequence[object]]) -> A:
        message = Message(prompts.RULES, prompts.with_data(task, data), kind.model_json_schema(), kind.__name__.lower())
        key = hashlib.sha256(f"{kind.__name__}\0{message.user}".encode()).hexdigest()
        known = self._remembered(key)
        if isinstance(known, kind):
            return known
        try:
            answer = self._answer(kind, message)
        except PlannerError:
            self._meter.failed()
            raise
        with self._lock:
            self._kept[key] = answer
            while len(self._kept) > self._answers_kept:
                self._kept.popitem(last=False)
        return answer

    def _answer(self, kind: type[A], message: Message) -> A:
        """Asked anew. What an answer took is counted, whether it can be used or not."""
        reply = self._endpoint.ask(message)
        self._meter.answered(reply.input_tokens, reply.output_tokens, reply.cost_usd)
        if reply.whole:
            return kind.read(reply.text)
        raise PlannerError(
            f"The answer of {self.name!r} was cut off before its end; ask for less, or choose planner=rules."
        )

    def _remembered(self, key: str) -> Answer | None:
        with self._lock:
            answer = self._kept.get(key)
            if answer is not None:
                self._kept.move_to_end(key)
                self._meter.remembered()
            return answer


def _cut(question: str) -> str:
    return question.strip()[:QUESTION_CHARACTERS]
