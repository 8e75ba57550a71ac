"""Tells whether a tool writes and whether a question only asks to know. A tool that writes should not answer such a question.

| a tool writes | a question asks to know |
|---|---|
| its server declares readOnlyHint: that decides | it begins with what, who, when, how, is, did and the like |
| else destructiveHint: true | or with "do" or "have" and a pronoun, "tell me", "give me" |
| else the first known verb of its name | or with a verb of looking: show, find, list, check |
| else the first verb of its description | and no later part of it begins with a verb of doing: "find it and send it" |
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog, Tool, words
from core.domain.english import DESTROYS, REMOVES, WRITES, base_form, leading_verb, words_of
from core.routers.context import per_catalog
from core.routers.utility import Mask, Rows

CHANGES = DESTROYS | REMOVES | WRITES
DOES = CHANGES | words_of("answer ask book invite mark move order pay post remind reply schedule tell")
ASKS = words_of(
    """
    what what's whats who who's whose whom when when's where where's which why how how's is are was were am does did has any anyone
    anybody
    """
)
LOOKS = words_of(
    "browse check compare count describe explain fetch find get inspect list look lookup query read search see show view watch"
)
FOLLOWED = {
    **dict.fromkeys(("do", "have"), words_of("i we you they any anyone anybody")),
    **dict.fromkeys(("tell", "give"), words_of("me us")),
}
_PART = re.compile(r"[,;.]|\b(?:and|then)\b")
_WORD = re.compile(r"[\w']+")


def writes(tool: Tool) -> bool:
    """Returns whether a call of the tool changes something, by its server's declaration or by its name and description.

    >>> from core.domain.catalog import ToolHints
    >>> writes(Tool("mail", "send_mail")), writes(Tool("mail", "mail", "Sends a letter.")), writes(Tool("mail", "get_sent_mail"))
    (True, True, False)
    >>> writes(Tool("mail", "send_mail", hints=ToolHints(read_only=True))), writes(Tool("x", "y", hints=ToolHints(read_only=False)))
    (False, True)
    """
    if tool.hints.read_only is not None:
        return not tool.hints.read_only
    if tool.hints.destructive:
        return True
    if verb := leading_verb(words(tool.name)):
        return verb in CHANGES
    first = _WORD.search(tool.description.lower())
    return first is not None and base_form(first[0]) in CHANGES


@per_catalog
def _writing_known(catalog: Catalog) -> NDArray[np.int8]:
    """(T,) 1 for a tool that writes, 0 for a tool that does not, -1 for an unread tool. Reading 100,000 tools takes seconds."""
    return np.full(len(catalog.tools), -1, dtype=np.int8)


def writing_tools(catalog: Catalog, rows: Rows) -> Mask:
    """Whether the tools in these rows write, in the shape of the rows. Each tool is read once.

    >>> from core.domain.catalog import Server, Tool
    >>> mail = Catalog("demo", (Server("mail", tools=(Tool("mail", "send_mail"), Tool("mail", "list_mails"))),))
    >>> writing_tools(mail, np.array([1, 0])).tolist()
    [False, True]
    """
    write_flags = _writing_known(catalog)
    unread_rows: list[int] = rows[write_flags[rows] < 0].tolist()
    for row in unread_rows:
        write_flags[row] = writes(catalog.tools[row])
    return write_flags[rows] == 1


def asks_to_know(question: str) -> bool:
    """Returns whether a question asks to know something and not to do anything.

    >>> [asks_to_know(text) for text in ("did anyone open a bug", "what did Maria write to me", "show that I am away", "tell me the time")]
    [True, True, False, True]
    >>> [asks_to_know(text) for text in ("send Maria a letter", "find the ticket and assign it to me", "have it posted", "")]
    [False, False, False, False]
    """
    head, *parts = _PART.split(question.lower().replace("\u2019", "'"))
    head_words = _WORD.findall(head)
    if not head_words:
        return False
    first, second = head_words[0], head_words[1] if len(head_words) > 1 else ""
    if first in FOLLOWED:
        asks = second in FOLLOWED[first]
    else:
        asks = first in ASKS or (first in LOOKS and (first, second) != ("show", "that"))
    first_words = (_WORD.search(part) for part in parts)
    return asks and not any(word is not None and word[0] in DOES for word in first_words)
