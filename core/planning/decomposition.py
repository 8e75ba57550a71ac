"""Splits a question into requests with the earlier requests that each needs, and tells simple questions from complex ones.

    "Find the report, look up the rate in Oslo, and mail the report to Bo"
    -> 0 find the report   1 look up the rate in Oslo (needs 0)   2 mail the report to Bo (needs 0)

A part needs, for each of its words, the last earlier part that has the word too. A part with a pronoun ("it", "those")
also needs the previous part, and so does a part that points back ("the", "then") and shares no word. A place that a question names ("On git-forge: ...") is put before every later part. Pronouns are not
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

# Requests: a new request opens behind a joint (a comma, "and", "then", a colon)
# It opens with a verb of command ("find", or any word before an object), a question ("what is", "does it") or a wish ("I need"), and
# only if the previous request has an object of its own, so that "bread and butter" and "check and correct the text" stay whole. A sentence
# without a request is left out.

_JOINTS = frozenset({",", ";", ":", "and", "then", "&", "plus", "-", "–", "—"})
_NO_OBJECT = frozenset({",", ".", ")", "-", "of", "is", "are", "and", "or"})
_NO_VERB = re.compile(r"(?:ly|ing|ed|[^s]s)$")
_OBJECTS = (DETERMINERS | PRONOUNS) - {"i", "we", "they", "he", "she"}
_ASKS_ANYWAY = re.compile(r"\?[\s\"')]*$|\b(?:please|pls)\b", re.IGNORECASE)
_JOINT_AT_END = re.compile(r"(?:[\s,;:–—-]{1,9}(?:and|then|also|plus|&)){0,3}[\s,;:.–—-]{0,9}$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `preface` is the text before it in its sentence, `joint` the word that joins it to the previous request."""

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
    result: list[Request] = []
    for start, end in sentences(wording):
        tokens = tokens_of(wording[start:end], start)
        openings = _openings(tokens) or ([0] if tokens and _ASKS_ANYWAY.search(wording[start:end]) else [])
        result += _cut(question, tokens, openings, start, end)
    return tuple(result)


def _cut(question: str, tokens: Sequence[Token], openings: Sequence[int], start: int, end: int) -> Iterator[Request]:
    for number, index in enumerate(openings):
        stop = tokens[openings[number + 1]].start if number + 1 < len(openings) else end
        preface = question[start : tokens[index].start] if number == 0 else ""
        text = _JOINT_AT_END.sub("", question[tokens[index].start : stop])
        joint = tokens[index - 1].word if index else ""
        if text:
            yield Request(text, preface.strip(" ,:;"), joint)


def _openings(tokens: Sequence[Token]) -> list[int]:
    openings: list[int] = []
    index, joint = _first(tokens, 0), ""
    while index < len(tokens):
        is_complete = not openings or _has_object(tokens[openings[-1] + 1 : index])
        if is_complete and _opens(tokens, index, joint):
            openings.append(index)
        index = next((later for later in range(index + 1, len(tokens)) if tokens[later].word in _JOINTS), len(tokens))
        joint = tokens[index].word if index < len(tokens) else ""
        index = _first(tokens, index)
    return openings


def _first(tokens: Sequence[Token], index: int) -> int:
    while index < len(tokens) and (tokens[index].word in _JOINTS or tokens[index].word in ADVERBS):
        index += 1
    return index


def _has_object(tokens: Sequence[Token]) -> bool:
    return any(
        token.literal or token.word in PRONOUNS or (token.raw[0].isalnum() and token.word not in STOP_WORDS)
        for token in tokens
    )


def _opens(tokens: Sequence[Token], index: int, joint: str) -> bool:
    """Whether a request opens at a token. `joint` is the joint before it, empty at the start of a sentence."""
    if index + 1 == len(tokens):
        return False
    token, following = tokens[index], tokens[index + 1]
    word = token.word.partition("'")[0]
    if word in INTERROGATIVES:
        return following.raw[0].isalnum() and not (joint == "," and word in RELATIVE_PRONOUNS)
    if token.word in AUXILIARIES:
        return not joint or following.word in _OBJECTS | PRONOUNS | {"there"}
    if token.word in WISH_SUBJECTS:
        return not WISH_VERBS.isdisjoint(later.word for later in tokens[index + 1 : index + 4])
    if token.word in VERBS:
        return following.word not in _NO_OBJECT
    return _commands(token, following, joint)


def _commands(token: Token, following: Token, joint: str) -> bool:
    """Whether the token is an unlisted word before an object: "crawl the site", "boil it down", "stamp 'DRAFT'"."""
    plain_word = token.raw.isalpha() and (token.raw.islower() or not joint) and not token.literal
    verb = len(token.word) > 2 and token.word not in STOP_WORDS and not _NO_VERB.search(token.word)
    return plain_word and verb and (following.literal or following.word in _OBJECTS)


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
    all_requests = requests(question)
    if len(all_requests) < 2 or limit < 2:
        return (SubQuery(question.strip()),)
    if len(all_requests) > limit:  # the rest stays with the last request
        last = all_requests[limit - 1]
        rest = ", ".join(request.text for request in all_requests[limit - 1 :])
        all_requests = (*all_requests[: limit - 1], Request(rest, last.preface, last.joint))
    return _parts(all_requests)


def _parts(all_requests: Sequence[Request]) -> tuple[SubQuery, ...]:
    parts: list[SubQuery] = []
    words: list[set[str]] = []
    place = ""
    for request in all_requests:
        place = _place(request.preface) or place
        needs = _needed(request, words)
        words.append(set(content(request.text)))
        parts.append(SubQuery(f"{place}: {request.text}" if place else request.text, needs))
    return tuple(parts)


def _needed(request: Request, earlier: Sequence[set[str]]) -> tuple[int, ...]:
    needs = {position for word in content(request.text) for position in _last_with(word, earlier)}
    back = BACK_REFERENCES & PRONOUNS if needs else BACK_REFERENCES  # "the report" names its part, "it" never does
    wording = masked(request.text).lower()
    if earlier and ((request.joint == "then" and not needs) or not back.isdisjoint(re.findall(r"\w+", wording))):
        needs.add(len(earlier) - 1)
    return tuple(sorted(needs))


def _last_with(word: str, earlier: Sequence[set[str]]) -> tuple[int, ...]:
    return tuple(position for position, words in enumerate(earlier) if word in words)[-1:]


def _place(preface: str) -> str:
    """Returns a short preface that names a place ("On news-wire", "quick-answers"), or ""."""
    words = [word for word in re.split(r"[\s,]+", preface) if word]
    has_place = len(words) in {1, 2} or (0 < len(words) <= PLACE_WORDS and words[0].lower() in _PLACING)
    has_name = any(word.lower() not in STOP_WORDS for word in words)
    return " ".join(words) if has_place and has_name else ""


# Simple or complex: whether one pass over the catalog is enough (PA-RAG, section 4.4, by rules instead of a model)
#     score = sigmoid(-3.5 + 1.5 (requests - 1) + 0.5 (servers - 1) + 1.5 words / 30)          complex from one half on
# It counts requests, servers that are the best fit of some request, and words, each up to a limit, so that a long question with one
# request stays simple. The weights are near a logistic fit on labelled questions (`tests/benchmarks/planning.py`,
# docs/decisions/0006-planner.md).

BIAS, REQUEST, SERVER, LENGTH = -3.5, 1.5, 0.5, 1.5
QUESTION_WORDS = 30  # the length that counts as 1
MOST_REQUESTS, MOST_SERVERS, MOST_LENGTH = 6, 4, 2.0


def complexity(question: str, servers: Sequence[str]) -> Complexity:
    """Returns simple or complex, with the evidence. `servers` are the texts of the servers that retrieval found.

    >>> complexity("what is the weather in Oslo", ["weather", "mail"]).evidence
    ('1 request', 'it fits 1 of 2 servers best', '6 words')
    >>> complexity("find the report, translate it, then mail it to Bo and note the date", ["reports", "mail"]).label
    'complex'
    """
    parts = decompose(question)
    server_count = len(_fitted([part.text for part in parts], servers))
    words = len(question.split())
    total = math.fsum((
        BIAS,
        REQUEST * (min(len(parts), MOST_REQUESTS) - 1),
        SERVER * (min(max(server_count, 1), MOST_SERVERS) - 1),
        LENGTH * min(words / QUESTION_WORDS, MOST_LENGTH),
    ))  # fmt: skip
    score = 1 / (1 + math.exp(-total))
    several = len(parts) > 1
    evidence = [f"{len(parts)} request{'s' * several}"]
    if servers:
        evidence.append(f"{'they fit' if several else 'it fits'} {server_count} of {len(servers)} servers best")
    return Complexity("complex" if score >= 0.5 else "simple", score, (*evidence, f"{words} words"))


def _fitted(parts: Sequence[str], servers: Sequence[str]) -> set[int]:
    """Returns the servers, by position, that share the most words with some part. The first of several equal servers wins."""
    server_words = [set(content(server)) for server in servers]
    positions: set[int] = set()
    for part in parts:
        counts = [len(words.intersection(content(part))) for words in server_words]
        if most := max(counts, default=0):
            positions.add(counts.index(most))
    return positions
