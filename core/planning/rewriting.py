"""A question in other words: without courtesy, with its literals as kinds, as the kind of tool that would answer it.

>>> rewrite("Hi there! Could you please find me a good dentist in Utrecht? Thanks")
'find me a good dentist in Utrecht?'
>>> predict_tool("Please translate notes.md into Dutch")
'translation: translate md file into Dutch'
"""

from __future__ import annotations

import re

from core.planning.base import ToolRequest
from core.planning.literals import MASK, masked, plain
from core.planning.server_kinds import kind_of

_COURTESY = re.compile(
    r"^\s*(?:hi|hello|hey|dear|good (?:morning|afternoon|evening|day))\b[^.!,:\n]{0,30}[.!,:\n]\s*"
    r"|\b(?:can|could|would|will) you (?:please |kindly |maybe |perhaps |just |also |quickly )*(?:help me (?:to )?)?(?=[a-z])"
    r"|\b(?:i(?:'d| would) like|i (?:need|want)) you to |\b(?:please|kindly)\b,? ?"
    r"|[\s,.!-]{0,9}\b(?:many thanks|thanks|thank you)\b(?: in advance| a lot| so much| very much)*[\s,.!)]*$",
    re.IGNORECASE,
)


def rewrite(question: str) -> str:
    """The question without greetings, politeness, thanks and control characters; literals stay."""
    text = "".join(letter if letter.isprintable() or letter.isspace() else " " for letter in question)
    wording = masked(text)
    kept, at = "", 0
    for found in _COURTESY.finditer(wording):
        if MASK not in found[0]:
            kept, at = kept + text[at : found.start()], found.end()
    found = re.sub(r"[ \t]{2,}", " ", kept + text[at:]).strip(",; \t\r\n")
    return found if found.strip() else question.strip()


def predict_tool(question: str) -> str:
    """What the tool would do: the kind of server where the words point to one, and the question with its literals as kinds."""
    kind = kind_of(question)
    return f"{kind}: {_plain(question)}" if kind else _plain(question)


def expand(question: str, count: int = 3) -> tuple[str, ...]:
    """At most `count` other ways to ask the same: rewritten, with literals as kinds, with the kind of server.

    >>> expand("Please translate notes.md into Dutch")
    ('translate notes.md into Dutch', 'translate md file into Dutch', 'translation: translate md file into Dutch')
    """
    ways = dict.fromkeys((rewrite(question), _plain(question), predict_tool(question)))
    return tuple(way for way in ways if way != question.strip())[: max(0, count)]


def request(question: str) -> ToolRequest:
    """Which kind of server and which kind of tool would do (MCP-Zero's "server: / tool:").

    >>> request("Do I need an umbrella in Oslo?")
    ToolRequest(server='weather: Do I need an umbrella in Oslo?', tool='Do I need an umbrella in Oslo?')
    """
    return ToolRequest(predict_tool(question), _plain(question))


def _plain(question: str) -> str:
    return plain(rewrite(question)) or question.strip()
