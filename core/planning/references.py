"""What a request refers back to: which earlier requests it needs, and the noun that a pronoun stands for.

>>> thing("Find the best long read on reefs")
'the best long read'
>>> resolved("mail it to Bo", "the best long read")
'mail the best long read to Bo'
>>> resolved("open the newest one", "the release pages")
'open the newest release page'
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.planning.clauses import Token, tokens_of
from core.planning.lexicon import (
    ADVERBS,
    ASKING,
    AUXILIARIES,
    DETERMINERS,
    PARTICLES,
    PLAIN_VERBS,
    PREPOSITIONS,
    PRONOUNS,
    STOP_WORDS,
    VERBS,
)

SINGULAR = frozenset({"it", "its"})
PLURAL = frozenset({"them", "they", "their", "these", "those"})
POINTING = frozenset({"that", "this", "these", "those", "such"})
RESULT_NOUNS = frozenset("result results answer outcome output rest former latter both same".split())
_SUPERLATIVE = re.compile(r"\w{3,}est$|^(?:best|worst|most|least|first|second|third|last|latest|top|other|others|newest)$")
_ENDS = ADVERBS | PREPOSITIONS | PARTICLES | AUXILIARIES | (PRONOUNS - {"this", "that"}) | ASKING - {"which", "what"}
ADJECTIVES = frozenset("sure full free good new empty clear ready able open long short best worst".split())
COUNTED = frozenset("two three four five six seven eight nine ten first second third last next most more own".split())
TIMES = frozenset("week weekend month year day morning evening afternoon moment future past next last coming".split())
THING_WORDS = 6


def thing(request: str) -> str:
    """The thing that a request is about: its first noun phrase with a determiner, or the nouns right behind its verb."""
    tokens = tokens_of(request)
    at = next((at for at in range(len(tokens)) if _starts_phrase(tokens, at)), len(tokens))
    words: list[Token] = []
    while at < len(tokens) and len(words) < THING_WORDS and not _ends_phrase(tokens[at], words):
        words.append(tokens[at])
        at += 1
    if not any(token.word not in STOP_WORDS and not token.held for token in words):
        return ""
    text = request[words[0].start : words[-1].end]
    return re.sub(r"^(?:which|what|many|much)\s+(?=[a-z])", "the ", text)


def needs(position: int, request: str, sequenced: bool, things: Sequence[str]) -> tuple[int, ...]:
    """The earlier requests, by position, whose results this one uses; `things` are what each earlier one is about."""
    if not position:
        return ()
    tokens = tokens_of(request)
    found = {at for at in range(position) if _mentions(tokens, things[at])}
    if sequenced or points_back(request) or (not found and _definite(tokens)):
        found.add(_nearest(position, tokens, things))
    return tuple(sorted(found))


def _definite(tokens: Sequence[Token]) -> bool:
    """Whether a request speaks of a thing as known: "make the label", "rank the first six"."""
    after = (tokens[at + 1].word for at in range(len(tokens) - 1) if tokens[at].word == "the")
    return any(word not in TIMES for word in after)


def points_back(request: str) -> bool:
    """Whether a request holds a word that stands for something said before."""
    tokens = tokens_of(request)
    return any(_pronoun(tokens, at) or _pointing(tokens, at) or _elliptic(tokens, at) for at in range(len(tokens)))


def resolved(request: str, antecedent: str) -> str:
    """The request with its first back-reference replaced by what it stands for; unchanged where there is none."""
    if not antecedent:
        return request
    tokens = tokens_of(request)
    noun = _kind(antecedent)
    for at, token in enumerate(tokens):
        if _pronoun(tokens, at):
            said = f"{antecedent}'s" if token.word in {"its", "their"} else antecedent
            return request[: token.start] + said + request[token.end :]
        if token.word in {"one", "ones"} and _elliptic(tokens, at - 1):
            return request[: token.start] + (noun if token.word == "one" else f"{noun}s") + request[token.end :]
        if _elliptic(tokens, at) and not _one_follows(tokens, at):
            return request[: token.end] + f" {noun}" + request[token.end :]
    return request


def _starts_phrase(tokens: Sequence[Token], at: int) -> bool:
    """A determiner with a noun to come, or what stands right behind the verb that the request begins with."""
    word = tokens[at].word
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    if word in DETERMINERS - {"that", "this", "one"}:
        return following is not None and following.word[0].isalnum() and following.word not in PREPOSITIONS | AUXILIARIES | PRONOUNS
    behind = at == 1 or (at == 2 and tokens[1].word in {"me", "us"} | PARTICLES | PREPOSITIONS)
    plain = word not in STOP_WORDS and word not in ADJECTIVES and word[0].isalpha() and not tokens[at].held
    return behind and tokens[0].word in VERBS - {"ask", "use", "tell", "look", "go", "let", "have", "say"} and plain


def _ends_phrase(token: Token, words: Sequence[Token]) -> bool:
    if token.word in _ENDS or not (token.word[0].isalnum() or token.held):
        return True
    verb = len(words) > 1 and words[-1].word not in ADJECTIVES and (token.word in PLAIN_VERBS or token.word.removesuffix("s") in PLAIN_VERBS)
    return verb or bool(words) and token.word in {"and", "or", "that", "who", "which", "what", "to"} | (DETERMINERS - COUNTED)


def _pronoun(tokens: Sequence[Token], at: int) -> bool:
    word = tokens[at].word
    following = tokens[at + 1].word if at + 1 < len(tokens) else ""
    if _inside(tokens, at):
        return False
    if word in {"it", "them", "they"}:
        return not (word == "it" and following in {"is", "was", "be"} and at == 0)
    if word in {"its", "their"}:
        return True
    if word in {"that", "this", "these", "those"}:
        before = tokens[at - 1].word if at else ""
        alone = not following or not following[0].isalnum() or following in PREPOSITIONS | PARTICLES | AUXILIARIES | ADVERBS
        return alone and (before in VERBS | PREPOSITIONS | {"and", "with"})
    return False


def _inside(tokens: Sequence[Token], at: int) -> bool:
    """Whether a token lies in a clause about a thing of the request's own: "the code that visitors point their phone at"."""
    words = [token.word for token in tokens[:at]]
    relative = next((place for place, word in enumerate(words) if word in {"that", "who", "which", "so"} and place > 1), at)
    return relative < at - 1 and any(word in DETERMINERS for word in words[:relative])


def _pointing(tokens: Sequence[Token], at: int) -> bool:
    word = tokens[at].word
    if word in RESULT_NOUNS and at and tokens[at - 1].word in {"the", "that", "this"} | VERBS:
        return True
    before = tokens[at - 1].word if at else ""
    following = tokens[at + 1].word if at + 1 < len(tokens) else ""
    if word in {"this", "these"} and following in {"week", "month", "year", "morning", "evening", "afternoon"}:
        return False
    return word in POINTING and (before in VERBS | PREPOSITIONS | {"and", ","}) and following not in STOP_WORDS | {""}


def _elliptic(tokens: Sequence[Token], at: int) -> bool:
    """"the cheapest", "the newest one", "the worst of them": a superlative without its noun."""
    if at < 1 or not _SUPERLATIVE.search(tokens[at].word) or tokens[at - 1].word not in {"the", "its", "their"}:
        return False
    following = tokens[at + 1].word if at + 1 < len(tokens) else ""
    return not following or not following[0].isalnum() or following in {"one", "ones"} | PREPOSITIONS | AUXILIARIES | ADVERBS


def _one_follows(tokens: Sequence[Token], at: int) -> bool:
    return at + 1 < len(tokens) and tokens[at + 1].word in {"one", "ones"}


def _mentions(tokens: Sequence[Token], earlier: str) -> bool:
    """Whether a definite phrase has the noun of an earlier thing: "the report", "that page"."""
    noun = _noun(earlier)
    if len(noun) < 3:
        return False
    definite = DETERMINERS - {"a", "an", "any", "some", "every", "another", "no"}
    for at, token in enumerate(tokens):
        if _singular(token.word) == noun and any(other.word in definite for other in tokens[max(0, at - 3) : at]):
            return True
    return False


def _nearest(position: int, tokens: Sequence[Token], things: Sequence[str]) -> int:
    """The closest earlier request that is about something of the right number; else the one just before."""
    wanted = {token.word for token in tokens}
    plural = bool(wanted & PLURAL) and not wanted & SINGULAR
    for at in range(position - 1, -1, -1):
        if things[at] and (_is_plural(things[at]) or not plural):
            return at
    return position - 1


def _noun(phrase: str) -> str:
    """The last word of a phrase that is no name of a value, in the singular."""
    words = [token.word for token in tokens_of(phrase) if not token.held and token.word[0].isalpha()]
    return _singular(words[-1]) if words else ""


def _kind(phrase: str) -> str:
    """A phrase as what one thing of its kind is called: "the release pages" -> "release page"."""
    words = [token for token in tokens_of(phrase) if token.word not in DETERMINERS and not _SUPERLATIVE.search(token.word)]
    return " ".join([*(token.raw for token in words[:-1]), *(_singular(token.raw) for token in words[-1:])])


def _is_plural(phrase: str) -> bool:
    words = [token.word for token in tokens_of(phrase) if token.word[0].isalpha()]
    return bool(words) and words[-1] != _singular(words[-1])


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3 else word
