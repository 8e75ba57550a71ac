"""A question in parts: each is one request, with the earlier parts that it needs; and whether it is simple or complex.

    "Find the report, look up the rate in Oslo, and mail the report to Bo"
    -> 0 find the report   1 look up the rate in Oslo (needs 0)   2 mail the report to Bo (needs 0)

A part needs, for each of its words, the last earlier one that has it too. A part with a pronoun ("it", "those")
needs the one before as well, and so does a part that points back ("the", "then") and shares no word. A place that a question names ("On git-forge: ...") is put before every later part. Pronouns are not
resolved: that was tried, and finds no more tools (docs/decisions/0006-planner.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from core.planning.base import Complexity, SubQuery
from core.planning.words import (
    ADVERBS,
    AUXILIARIES,
    BACK_REFERENCES,
    DETERMINERS,
    INTERROGATIVES,
    PREPOSITIONS,
    PRONOUNS,
    RELATIVE_PRONOUNS,
    STOP_WORDS,
    VERBS,
    WISH_SUBJECTS,
    WISH_VERBS,
    Token,
    content,
    masked,
    sentences,
    tokens_of,
)

# Requests: a new one opens behind a joint (a comma, "and", "then", a colon)
# It opens with a verb of command ("find", or any word before an object), a question ("what is", "does it") or a wish ("I need"), and
# only if the one before has an object of its own, so that "bread and butter" and "check and correct the text" stay whole. A sentence
# without a request is left out.

_JOINTS = frozenset({",", ";", ":", "and", "then", "&", "plus", "-", "–", "—"})
_NO_OBJECT = frozenset({",", ".", ")", "-", "of", "is", "are", "and", "or"})
_NO_VERB = re.compile(r"(?:ly|ing|ed|[^s]s)$")
_OBJECTS = (DETERMINERS | PRONOUNS) - {"i", "we", "they", "he", "she"}
_ASKS_ANYWAY = re.compile(r"\?[\s\"')]*$|\b(?:please|pls)\b", re.IGNORECASE)
_JOINT_AT_END = re.compile(r"(?:[\s,;:–—-]{1,9}(?:and|then|also|plus|&)){0,3}[\s,;:.–—-]{0,9}$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `preface` stood before it in its sentence, `joint` joined it to the last."""

    text: str
    preface: str
    joint: str


def requests(question: str) -> tuple[Request, ...]:
    """Returns the requests of a question in order, empty if no known form is found.

    >>> [request.text for request in requests("The fair is near. Find the report, boil it down and mail it to Bo, ok?")]
    ['Find the report', 'boil it down', 'mail it to Bo, ok?']
    >>> requests("On git-forge: make a branch")[0].preface
    'On git-forge'
    """
    wording = masked(question)
    found: list[Request] = []
    for start, end in sentences(wording):
        tokens = tokens_of(wording[start:end], start)
        opened = _openings(tokens) or ([0] if tokens and _ASKS_ANYWAY.search(wording[start:end]) else [])
        found += _cut(question, tokens, opened, start, end)
    return tuple(found)


def _cut(question: str, tokens: Sequence[Token], opened: Sequence[int], start: int, end: int) -> Iterator[Request]:
    for number, at in enumerate(opened):
        until = tokens[opened[number + 1]].start if number + 1 < len(opened) else end
        before = question[start : tokens[at].start] if number == 0 else ""
        text = _JOINT_AT_END.sub("", question[tokens[at].start : until])
        joint = tokens[at - 1].word if at else ""
        if text:
            yield Request(text, before.strip(" ,:;"), joint)


def _openings(tokens: Sequence[Token]) -> list[int]:
    opened: list[int] = []
    at, joint = _first(tokens, 0), ""
    while at < len(tokens):
        whole = not opened or _has_object(tokens[opened[-1] + 1 : at])
        if whole and _opens(tokens, at, joint):
            opened.append(at)
        at = next((later for later in range(at + 1, len(tokens)) if tokens[later].word in _JOINTS), len(tokens))
        joint = tokens[at].word if at < len(tokens) else ""
        at = _first(tokens, at)
    return opened


def _first(tokens: Sequence[Token], at: int) -> int:
    while at < len(tokens) and (tokens[at].word in _JOINTS or tokens[at].word in ADVERBS):
        at += 1
    return at


def _has_object(tokens: Sequence[Token]) -> bool:
    return any(
        token.literal or token.word in PRONOUNS or (token.raw[0].isalnum() and token.word not in STOP_WORDS)
        for token in tokens
    )


def _opens(tokens: Sequence[Token], at: int, joint: str) -> bool:
    """Whether a request opens at a token. `joint` is the one before it, empty at the start of a sentence."""
    if at + 1 == len(tokens):
        return False
    token, following = tokens[at], tokens[at + 1]
    asked = token.word.partition("'")[0]
    if asked in INTERROGATIVES:
        return following.raw[0].isalnum() and not (joint == "," and asked in RELATIVE_PRONOUNS)
    if token.word in AUXILIARIES:
        return not joint or following.word in _OBJECTS | PRONOUNS | {"there"}
    if token.word in WISH_SUBJECTS:
        return not WISH_VERBS.isdisjoint(later.word for later in tokens[at + 1 : at + 4])
    if token.word in VERBS:
        return following.word not in _NO_OBJECT
    return _commands(token, following, joint)


def _commands(token: Token, following: Token, joint: str) -> bool:
    """Whether the token is an unlisted word before an object: "crawl the site", "boil it down", "stamp 'DRAFT'"."""
    written = token.raw.isalpha() and (token.raw.islower() or not joint) and not token.literal
    verb = len(token.word) > 2 and token.word not in STOP_WORDS and not _NO_VERB.search(token.word)
    return written and verb and (following.literal or following.word in _OBJECTS)


PLACE_WORDS = 5
_PLACING = PREPOSITIONS | {"use", "using"}


@lru_cache(maxsize=256)
def decompose(question: str, limit: int = 8) -> tuple[SubQuery, ...]:
    """Returns at most `limit` parts in order; the question itself if it has one request.

    >>> [(part.text, part.needs) for part in decompose("On git-forge: make a branch and open a PR for it")]
    [('On git-forge: make a branch', ()), ('On git-forge: open a PR for it', (0,))]
    >>> len(decompose("Buy bread and butter between nine and ten"))
    1
    """
    found = requests(question)
    if len(found) < 2 or limit < 2:
        return (SubQuery(question.strip()),)
    if len(found) > limit:  # the rest stays with the last one
        last = found[limit - 1]
        rest = ", ".join(request.text for request in found[limit - 1 :])
        found = (*found[: limit - 1], Request(rest, last.preface, last.joint))
    return _parts(found)


def _parts(found: Sequence[Request]) -> tuple[SubQuery, ...]:
    parts: list[SubQuery] = []
    words: list[set[str]] = []
    place = ""
    for request in found:
        place = _place(request.preface) or place
        needed = _needed(request, words)
        words.append(set(content(request.text)))
        parts.append(SubQuery(f"{place}: {request.text}" if place else request.text, needed))
    return tuple(parts)


def _needed(request: Request, earlier: Sequence[set[str]]) -> tuple[int, ...]:
    found = {position for word in content(request.text) for position in _last_with(word, earlier)}
    back = BACK_REFERENCES & PRONOUNS if found else BACK_REFERENCES  # "the report" names its part, "it" never does
    wording = masked(request.text).lower()
    if earlier and ((request.joint == "then" and not found) or not back.isdisjoint(re.findall(r"\w+", wording))):
        found.add(len(earlier) - 1)
    return tuple(sorted(found))


def _last_with(word: str, earlier: Sequence[set[str]]) -> tuple[int, ...]:
    return tuple(position for position, words in enumerate(earlier) if word in words)[-1:]


def _place(preface: str) -> str:
    """Returns a short preface that names a place ("On news-wire", "quick-answers"), or ""."""
    words = [word for word in re.split(r"[\s,]+", preface) if word]
    placed = len(words) in {1, 2} or (0 < len(words) <= PLACE_WORDS and words[0].lower() in _PLACING)
    named = any(word.lower() not in STOP_WORDS for word in words)
    return " ".join(words) if placed and named else ""


# Simple or complex: whether one pass over the catalog is enough (PA-RAG, section 4.4, by rules instead of a model) ----
#     score = sigmoid(-3.5 + 1.5 (requests - 1) + 0.5 (servers - 1) + 1.5 words / 30)          complex from one half on
# It counts requests, servers that are the best fit of some request, and words, each up to a limit, so that a long question with one
# request stays simple. The weights are near a logistic fit on labelled questions (`tests/benchmarks/planning.py`,
# docs/decisions/0006-planner.md).

BIAS, REQUEST, SERVER, LENGTH = -3.5, 1.5, 0.5, 1.5
QUESTION_WORDS = 30  # the length that counts as one
MOST_REQUESTS, MOST_SERVERS, MOST_LENGTH = 6, 4, 2.0


def complexity(question: str, servers: Sequence[str]) -> Complexity:
    """Returns simple or complex, with the evidence. `servers` are the texts of the servers that retrieval found.

    >>> complexity("what is the weather in Oslo", ["weather", "mail"]).evidence
    ('1 request', 'it fits 1 of 2 servers best', '6 words')
    >>> complexity("find the report, translate it, then mail it to Bo and note the date", ["reports", "mail"]).label
    'complex'
    """
    parts = decompose(question)
    fitted = len(_fitted([part.text for part in parts], servers))
    words = len(question.split())
    total = math.fsum((
        BIAS,
        REQUEST * (min(len(parts), MOST_REQUESTS) - 1),
        SERVER * (min(max(fitted, 1), MOST_SERVERS) - 1),
        LENGTH * min(words / QUESTION_WORDS, MOST_LENGTH),
    ))  # fmt: skip
    score = 1 / (1 + math.exp(-total))
    several = len(parts) > 1
    evidence = [f"{len(parts)} request{'s' * several}"]
    if servers:
        evidence.append(f"{'they fit' if several else 'it fits'} {fitted} of {len(servers)} servers best")
    return Complexity("complex" if score >= 0.5 else "simple", score, (*evidence, f"{words} words"))


def _fitted(parts: Sequence[str], servers: Sequence[str]) -> set[int]:
    """Returns the servers, by position, that share the most words with some part; the first of equals."""
    offered = [set(content(server)) for server in servers]
    fitted: set[int] = set()
    for part in parts:
        shared = [len(words.intersection(content(part))) for words in offered]
        if most := max(shared, default=0):
            fitted.add(shared.index(most))
    return fitted
