"""A question in parts: each part is one request that stands by itself, with the earlier parts that it needs.

    "Find the report, boil it down to five points, and mail them to Bo"
    -> 0 find the report   1 boil the report down to five points (needs 0)   2 mail the five points to Bo (needs 1)

Requests come from `clauses`, what they refer to from `references`. What a question says about the place ("On news-wire,
...") goes with every part; what it says besides is context, and lends its noun to a first part that has none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from core.planning.base import SubQuery
from core.planning.clauses import Reading, Request, read, tokens_of
from core.planning.lexicon import ASKING, AUXILIARIES, PREPOSITIONS, SEQUENCES, STOP_WORDS, VERBS
from core.planning.references import needs, points_back, resolved, thing

PLACE_WORDS = 5
CONTEXT_WORDS = 25
FRAGMENT_WORDS = 4
SHOWING = frozenset("show read list look check write say dig bring explain see find".split())
POLITE = frozenset("please dear assistant hi hello hey thanks pls".split())
PLACING = frozenset("in on with using use from via through by at over".split())


def decompose(question: str, limit: int = 8) -> tuple[SubQuery, ...]:
    """At most `limit` parts in order; the question itself where it asks for one thing.

    >>> [part.text for part in decompose("Find the report and mail it to Bo")]
    ['Find the report', 'mail the report to Bo']
    >>> [part.needs for part in decompose("Find the report and mail it to Bo")]
    [(), (0,)]
    >>> len(decompose("Buy bread and butter between nine and ten"))
    1
    """
    reading = read(question)
    places = [request for request in reading.requests if _is_place(request)]
    requests = _merged([request for request in reading.requests if request not in places])
    if len(requests) < 2 or limit < 2:
        return (SubQuery(question.strip()),)
    return _parts(reading, _within(requests, limit), places[-1].text if places else "")


def _merged(requests: Sequence[Request]) -> tuple[Request, ...]:
    """What says nothing of its own goes with the request before: "... and on which days", "... Show it to me"."""
    merged: list[Request] = []
    for request in requests:
        if merged and _says_little(request.text):
            before = merged[-1]
            merged[-1] = replace(before, text=f"{before.text}, {request.text}")
        else:
            merged.append(request)
    return tuple(merged)


def _says_little(text: str) -> bool:
    """A fragment without a verb, or a word of showing that names no thing."""
    tokens = [token for token in tokens_of(text) if token.held or token.word[0].isalnum()]
    told = [token for token in tokens if token.held or token.word not in STOP_WORDS]
    if not told or (len(told) == 1 and told[0].word in SHOWING):
        return True
    asks = {token.word for token in tokens} & (AUXILIARIES | VERBS) or tokens[0].word in ASKING
    return len(tokens) <= FRAGMENT_WORDS and not asks


def _is_place(request: Request) -> bool:
    """A sentence that says where to look and no more: "Use page-reader", "Check with quick-answers"."""
    tokens = tokens_of(request.text)
    told = [token for token in tokens if token.word not in PREPOSITIONS and token.word[0].isalnum()]
    return tokens[0].word in {"use", "ask", "check", "try", "consult"} and len(told) in {2, 3} and not any(
        token.word in STOP_WORDS or token.held for token in told[1:]
    )


def _within(requests: tuple[Request, ...], limit: int) -> tuple[Request, ...]:
    """At most `limit`: what is too much stays with the last one."""
    if len(requests) <= limit:
        return requests
    rest = ", ".join(request.text for request in requests[limit - 1 :])
    return (*requests[: limit - 1], Request(rest, requests[limit - 1].preface, requests[limit - 1].joined))


def _parts(reading: Reading, requests: tuple[Request, ...], place: str) -> tuple[SubQuery, ...]:
    things: list[str] = []
    parts: list[SubQuery] = []
    for position, request in enumerate(requests):
        place = _place(request) or place
        wanted = needs(position, request.text, _sequenced(request), things)
        antecedent = things[wanted[-1]] if wanted else ""
        things.append(thing(request.text) or antecedent)
        text = _polished(request.text)
        if points_back(text):
            text = resolved(text, antecedent) if antecedent else f"{_short(reading.context)} {text}".strip()
        parts.append(SubQuery(f"{place}: {text}" if place else text, wanted))
    return tuple(parts)


def _place(request: Request) -> str:
    """A short preface that names where all happens: "On news-wire", "quick-answers"."""
    words = [word for word in re.split(r"[\s,]+", request.preface) if word and word.lower() not in POLITE]
    placed = 0 < len(words) <= PLACE_WORDS and words[0].lower() in PLACING or len(words) in {1, 2}
    words = words[:-1] if words[-1:] == ["to"] else words
    known = all(word.lower() in STOP_WORDS for word in words)
    return " ".join(words) if placed and not known and not _sequenced(request) else ""


def _sequenced(request: Request) -> bool:
    said = f"{request.joined} {request.preface}".lower()
    return any(re.search(rf"\b{word}\b", said) for word in SEQUENCES)


def _polished(text: str) -> str:
    """Without politeness at its end."""
    return re.sub(r"[\s,]*(?:\b(?:please|thanks|thank you|ok|okay)\b[\s,!.?]*)+$|[?!\s]+$", "", text, flags=re.IGNORECASE) or text


def _short(context: tuple[str, ...]) -> str:
    """The last sentence that asks for nothing, where it is short enough to go along."""
    return context[-1] if context and len(context[-1].split()) <= CONTEXT_WORDS else ""
