"""The planner without a model: deterministic rules over English words. Other languages stay whole. Also lists the
planners of this process.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from core.domain.errors import PlannerError
from core.domain.execution import APPROVAL_DENIED, APPROVAL_NEEDED
from core.planning import decomposition
from core.planning.arguments import filled
from core.planning.base import (
    BASE_URL,
    KEY,
    MAY_WRITE,
    MODEL,
    Action,
    Card,
    Planner,
    Selection,
    ToolRequest,
    Turn,
    Usage,
)
from core.planning.words import MASK, content, kind_of, masked, plain

A_PERSONS = {MAY_WRITE, APPROVAL_NEEDED, APPROVAL_DENIED}
"""Errors of calls that a person has to decide. Another candidate would evade the decision."""


def act(turn: Turn) -> Action:
    """Returns the next action. STOP after a success, without candidates, and if a person has to act.

    >>> act(Turn("q", "dance", offered=(), reason="Nothing fits.")).words
    'Nothing fits.'
    """
    newest = turn.attempts[-1] if turn.attempts else None
    if newest is not None and (not newest.error or newest.error in A_PERSONS):
        return Action("stop")
    tried_ids = {attempt.tool for attempt in turn.attempts}
    tool = next((tool for tool in turn.offered if tool.id not in tried_ids), None)
    if tool is None:
        return Action("stop", "No candidate is left." if turn.offered else turn.reason)
    arguments, missing = filled(tool.input_schema, turn.query, tool.server)
    if missing:
        return Action(
            "stop",
            f"{tool.id} needs {', '.join(missing)}, which the sub-task does not contain: add it (texts in quotes), "
            "or choose the planner model.",
        )
    return Action("execute", tool=tool.id, arguments=arguments)


# Rewording: without courtesy, with literals as kinds, as the kind of tool that would answer

_COURTESY = re.compile(
    r"^\s*(?:hi|hello|hey|dear|good (?:morning|afternoon|evening|day))\b[^.!,:\n]{0,30}[.!,:\n]\s*"
    r"|\b(?:can|could|would|will) you (?:please |kindly |maybe |perhaps |just |also |quickly )*(?:help me (?:to )?)?(?=[a-z])"
    r"|\b(?:i(?:'d| would) like|i (?:need|want)) you to |\b(?:please|kindly)\b,? ?"
    r"|[\s,.!-]{0,9}\b(?:many thanks|thanks|thank you)\b(?: in advance| a lot| so much| very much)*[\s,.!)]*$",
    re.IGNORECASE,
)


def rewrite(question: str) -> str:
    """Returns the question without greetings, politeness, thanks and control characters. Literals stay.

    >>> rewrite("Hi there! Could you please find me a good dentist in Utrecht? Thanks")
    'find me a good dentist in Utrecht?'
    """
    text = "".join(letter if letter.isprintable() or letter.isspace() else " " for letter in question)
    wording = masked(text)
    kept_text, position = "", 0
    for match in _COURTESY.finditer(wording):
        if MASK not in match[0]:
            kept_text, position = kept_text + text[position : match.start()], match.end()
    text_left = re.sub(r"[ \t]{2,}", " ", kept_text + text[position:]).strip(",; \t\r\n")
    return text_left if text_left.strip() else question.strip()


def predict_tool(question: str) -> str:
    """Returns the tool's task: the kind of server if the words indicate one, and the question with its literals as
    kinds.

    >>> predict_tool("Please translate notes.md into Dutch")
    'translation: translate md file into Dutch'
    """
    kind = kind_of(question)
    return f"{kind}: {_plain(question)}" if kind else _plain(question)


def expand(question: str, count: int = 3) -> tuple[str, ...]:
    """Returns at most `count` other wordings: rewritten, with literals as kinds, with the kind of server.

    >>> expand("Please translate notes.md into Dutch")
    ('translate notes.md into Dutch', 'translate md file into Dutch', 'translation: translate md file into Dutch')
    """
    ways = dict.fromkeys((rewrite(question), _plain(question), predict_tool(question)))
    return tuple(way for way in ways if way != question.strip())[: max(0, count)]


def request(question: str) -> ToolRequest:
    """Returns the kind of server and the kind of tool (MCP-Zero's "server: / tool:").

    >>> request("Do I need an umbrella in Oslo?")
    ToolRequest(server='weather: Do I need an umbrella in Oslo?', tool='Do I need an umbrella in Oslo?')
    """
    return ToolRequest(predict_tool(question), _plain(question))


def _plain(question: str) -> str:
    return plain(rewrite(question)) or question.strip()


# Refusing: whether any found tool fits, from its retrieval scores (ETOM, level 5)
#     fit = 9 * cos_best + 4 * coverage          refused if fit < 2.7
# `cos_best` is the best cosine of the question with a tool's name and description (MiniLM), `coverage` the share of the question's
# words in the texts of the three best tools. Both are absolute; the margin over the rest tells less. The weights are near a logistic
# fit on labelled questions; the limit refuses few possible questions (`tests/benchmarks/refusing.py`, docs/decisions/0006-planner.md).
# Requests for hands or senses that use the words of a tool are not recognised.

COSINE, COVERAGE, LIMIT = 9.0, 4.0, 2.7
TEXTS_READ = 3


def objection(question: str, best: float, texts: Sequence[str]) -> str:
    """Returns why no tool fits, in one sentence, or "". `best` is the best cosine in [0, 1], `texts` the texts of the
    best tools, best first.

    >>> objection("Send an e-mail to Bo", 0.55, ["send an e-mail message"])
    ''
    >>> print(objection("Taste the soup on my stove", 0.12, ["search recipes for soups"]))
    Nothing offered fits: the best is 0.12 similar, and 33 % of the words are met.
    """
    if not texts:
        return "Nothing was offered."
    met = coverage(question, texts)
    if fit(best, met) >= LIMIT:
        return ""
    return f"Nothing offered fits: the best is {best:.2f} similar, and {100 * met:.0f} % of the words are met."


def fit(best: float, met: float) -> float:
    """Returns how well the best tools fit, from the best cosine and the coverage, both in [0, 1]."""
    return COSINE * best + COVERAGE * met


def coverage(question: str, texts: Sequence[str]) -> float:
    """Returns the share of the question's words, in [0, 1], that the first few texts have.

    >>> coverage("list the files", ["shows files", "list of users"])
    1.0
    """
    question_words = set(content(question))
    offered_words = {word for text in texts[:TEXTS_READ] for word in content(text)}
    return len(question_words & offered_words) / len(question_words) if question_words else 0.0


NEAR = 0.8  # of the best score


def select(question: str, cards: Sequence[Card], count: int) -> Selection:
    """Returns at most `count` cards, best first, ties in their order. Returns none if no card fits.

    >>> cards = [Card("a::x", "send an e-mail", 0.5), Card("b::y", "send a letter", 0.45), Card("c::z", "list files", 0.2)]
    >>> select("send an e-mail to Bo", cards, 3).ids
    ('a::x', 'b::y')
    """
    ranked_cards = sorted(cards, key=lambda card: -card.score)
    best = ranked_cards[0].score if ranked_cards else 0.0
    if reason := objection(question, best, [card.text for card in ranked_cards]):
        return Selection((), reason)
    near = [card for card in ranked_cards if card.score >= NEAR * best][: max(0, count)]
    others = f", {len(near) - 1} more near it" if len(near) > 1 else ""
    return Selection(tuple(card.id for card in near), f"Best score {best:.2f}{others}.")


class RulesPlanner:
    name = "rules"
    usage = Usage()
    predict_tool = staticmethod(predict_tool)
    complexity = staticmethod(decomposition.complexity)
    decompose = staticmethod(decomposition.decompose)
    rewrite = staticmethod(rewrite)
    expand = staticmethod(expand)
    request = staticmethod(request)
    select = staticmethod(select)
    act = staticmethod(act)

    def summarise(self, server: str) -> str:
        return server

    def reword(self, request: str, tools: Sequence[str], server: str = "") -> str:  # noqa: ARG002 - of the port
        return request


NO_MODEL = (
    f"No model is set; set {MODEL}, with {BASE_URL} and {KEY} if the endpoint needs them, or choose planner=rules."
)


def planners(environment: Mapping[str, str]) -> dict[str, Planner]:
    """Returns the planners by the values of the parameter `planner`.

    >>> list(planners({})), list(planners({"WAYFARE_LLM_MODEL": "local-7b", "WAYFARE_LLM_BASE_URL": "http://127.0.0.1:1/v1"}))
    (['rules'], ['rules', 'model'])
    """
    result: dict[str, Planner] = {"rules": RulesPlanner()}
    if environment.get(MODEL, "").strip():
        from core.planning.model import ModelPlanner  # pydantic and httpx2 take a third of a second
        from core.planning.model_endpoint import endpoint_of

        result["model"] = ModelPlanner(endpoint_of(environment))
    return result


def chosen_planner(known: Mapping[str, Planner], name: str) -> Planner:
    if name not in known:
        raise PlannerError(NO_MODEL)
    return known[name]
