"""The benchmarks' own questions to a model: judgments of traces and answers, and ReAct's next action."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from core.domain.untrusted_text import one_line
from core.planning.base import Attempt
from core.planning.model import PART_CHARACTERS, SAID_CHARACTERS, ModelPlanner
from core.planning.model_replies import ModelReply, share

ANSWER_CHARACTERS = 4_000

JUDGE = """\
Was the question done by these calls? Each has its tool, and what came back. It was, if the right tools were called in a right order with
what they need, and the last that was tried for each thing went well. Give "why" in at most 15 words, then "solved".
"""

GRADE = """\
How good is "answer" to "question"? "truth" is the right answer. Give "why" in at most 15 words, then "score" from 0 to 10: 10 if the
answer says all that the truth says, 0 if it says none of it or contradicts it. Style and length do not count.
"""

NEEDED = """\
Does the question need tools ("TOOLS": current or stored data, files, services, actions) or can it be answered from what is generally
known ("CONVERSATIONAL": explanations, advice, texts to write, things that no software can do)? Give "why" in at most 15 words, then
"kind".
"""

NEXT = """\
Say which one action, done by one tool, comes next for the question: "reasoning" in at most 20 words, "status" "continue", and
"next_action" in at most 15 words. "done" are the actions so far, each with its tool or the error of a step that failed; do none
twice. If all that the question asks is done, or nothing can do the rest, "status" is "finish" and "next_action" is empty. {way}
"""


TRUTHS = {
    "search-007": "Marie Tharp mapped the ocean floor.",
    "search-012": "In 1990, when the federal court ordered it for Appenzell Innerrhoden.",
    "search-022": "12,262 metres, the Kola borehole in Russia; the heat of about 180 degrees stopped it.",
    "search-026": "It ends in an inland delta in Botswana, where most of the water evaporates.",
    "search-070": "The New Testament in the translation of Oddur Gottskalksson, printed in Roskilde in 1540.",
    "search-081": "17 to 20 kilograms; the granite comes from Ailsa Craig in Scotland and from Trefor in Wales.",
    "search-085": "One million, from at least seven member states.",
    "search-093": "On 1 January 2027, because the term is 70 years after the author's death.",
}
"""Right answers by question of search-15."""


class Verdict(ModelReply):
    why: str
    solved: bool


class Grade(ModelReply):
    why: str
    score: float


class Needed(ModelReply):
    why: str
    kind: Literal["TOOLS", "CONVERSATIONAL"]


class NextAction(ModelReply):
    reasoning: str
    status: Literal["continue", "finish"]
    next_action: str


def judge(model: ModelPlanner, question: str, attempts: Sequence[Attempt]) -> bool:
    """Whether these calls solved the question."""
    calls = [{"tool": call.tool, "error": call.error, "said": call.said[:SAID_CHARACTERS]} for call in attempts]
    return model.ask(Verdict, JUDGE, {"question": question, "calls": calls}).solved


def grade(model: ModelPlanner, question: str, answer: str, truth: str) -> float:
    """The quality of an answer against the true answer, in [0, 1] (NetMCP, module 5)."""
    data = {"question": question, "answer": answer[:ANSWER_CHARACTERS], "truth": truth[:ANSWER_CHARACTERS]}
    return share(model.ask(Grade, GRADE, data).score / 10)


def needs_tools(model: ModelPlanner, question: str) -> bool:
    """Whether a question needs tools: TOOLS or CONVERSATIONAL (ETOM, appendix J.1)."""
    return model.ask(Needed, NEEDED, {"question": question}).kind == "TOOLS"


def next_action(model: ModelPlanner, question: str, done: Sequence[tuple[str, str]], way: str = "") -> str:
    """The next action after the `done` actions and their observations, "" at the end (ETOM, appendix C.1)."""
    steps = [{"action": action, "observed": observed[:PART_CHARACTERS]} for action, observed in done]
    reply = model.ask(NextAction, NEXT.format(way=way), {"question": question, "done": steps})
    return one_line(reply.next_action, PART_CHARACTERS) if reply.status == "continue" else ""
