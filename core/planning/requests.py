"""The requests in a question: sentences, cut where behind a joint (a comma, "and", "then", a colon) a new one opens.

One opens with a verb of command ("find", or any word with an object right behind it), a question ("what is", "does it") or a
wish ("I need"); and only where the one before has an object of its own, so that "bread and butter" and "check and correct the
text" stay whole. A sentence that asks for nothing is left out.

>>> [request.text for request in requests("The fair is near. Find the report, boil it down and mail it to Bo, ok?")]
['Find the report', 'boil it down', 'mail it to Bo, ok?']
>>> requests("On git-forge: make a branch")[0].preface
'On git-forge'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.planning.literals import masked
from core.planning.tokens import Token, sentences, tokens_of
from core.planning.word_classes import (
    ADVERBS,
    AUXILIARIES,
    DETERMINERS,
    INTERROGATIVES,
    PRONOUNS,
    RELATIVE_PRONOUNS,
    STOP_WORDS,
    VERBS,
    WISH_SUBJECTS,
    WISH_VERBS,
)

_JOINTS = frozenset({",", ";", ":", "and", "then", "&", "plus", "-", "–", "—"})
_NO_OBJECT = frozenset({",", ".", ")", "-", "of", "is", "are", "and", "or"})
_NO_VERB = re.compile(r"(?:ly|ing|ed|[^s]s)$")
_OBJECTS = (DETERMINERS | PRONOUNS) - {"i", "we", "they", "he", "she"}
_ASKS_ANYWAY = re.compile(r"\?[\s\"')]*$|\b(?:please|pls)\b", re.IGNORECASE)
_JOINT_AT_END = re.compile(r"(?:[\s,;:–—-]{1,9}(?:and|then|also|plus|&)){0,3}[\s,;:.–—-]{0,9}$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Request:
    """One thing that is asked for. `preface` is what stood before it in its sentence, `joint` what joined it to the last."""

    text: str
    preface: str
    joint: str


def requests(question: str) -> tuple[Request, ...]:
    """The requests of a question, in order; none where no known form of a request is found."""
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
    """The tokens at which requests open; what lies before the first is a preface."""
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
    """The first token from `at` that is no joint and no adverb."""
    while at < len(tokens) and (tokens[at].word in _JOINTS or tokens[at].word in ADVERBS):
        at += 1
    return at


def _has_object(tokens: Sequence[Token]) -> bool:
    return any(
        token.literal or token.word in PRONOUNS or (token.raw[0].isalnum() and token.word not in STOP_WORDS)
        for token in tokens
    )


def _opens(tokens: Sequence[Token], at: int, joint: str) -> bool:
    """Whether a request opens at a token; `joint` is what stands before it, empty at the start of a sentence."""
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
    """A word that no list has, with an object right behind it: "crawl the site", "boil it down", "stamp 'DRAFT'"."""
    written = token.raw.isalpha() and (token.raw.islower() or not joint) and not token.literal
    verb = len(token.word) > 2 and token.word not in STOP_WORDS and not _NO_VERB.search(token.word)
    return written and verb and (following.literal or following.word in _OBJECTS)
