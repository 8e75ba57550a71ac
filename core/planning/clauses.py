"""The requests in a question, by its wording: sentences, the joints inside them, and where a new request opens.

A request opens with a verb of command ("find the ..."), a question ("what is ...", "does it ..."), or a need ("I need ...",
"it should ..."). A joint (comma, "and", "then", a dash) parts two requests only where one opens behind it and the one before
has an object of its own, so that "bread and butter", "between Paris and Rome" and "check and correct the text" stay whole.

>>> [request.text for request in requests("Find the report and mail it to Bo. Thanks!")]
['Find the report', 'mail it to Bo']
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.planning.lexicon import (
    ADVERBS,
    ASKING,
    AUXILIARIES,
    COMPLEMENTS,
    DETERMINERS,
    MODALS,
    NOUN_VERBS,
    PARTICLES,
    PLAIN_VERBS,
    PREPOSITIONS,
    PRONOUNS,
    STOP_WORDS,
    SUBJECTS,
    SUBORDINATORS,
    VERBS,
)
from core.planning.literals import HELD, masked

_TOKEN = re.compile(r"\d+(?:[.,]\d+)+|\w+(?:['’./-]\w+)*|[^\w\s]")
_END = re.compile(r"(?<=[.!?;…])[)\]\"'”’]*\s+|(?<=[。！？；])|\s+[-–—]+\s+|\s*\n+\s*")
_SHORT = re.compile(r"(?:\b(?:e\.g|i\.e|vs|mr|mrs|ms|dr|prof|st|approx|ca|incl|no|nr|fig|p|pp|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)|\b[A-Z])\.$", re.IGNORECASE)  # fmt: skip
_JOINTS = frozenset({",", ";", ":", "and", "then", "&", "plus"})
_STRONG = frozenset({"then", "afterwards", "finally"})
_CONDITION = re.compile(r"if (?:so|not|yes|no|none|any|needed|necessary|possible|there(?:'s| is| are) (?:none|any|one))\b|otherwise\b|(?:once|when|as soon as) (?:done|ready|finished|(?:it|that|this)(?:'s| is) (?:done|ready|finished))\b", re.IGNORECASE)  # fmt: skip
_ASKS_ANYWAY = re.compile(r"\?[\s\"')]*$|\bplease\b|\bpls\b|\bwill do\b|\bwould (?:do|be)\b", re.IGNORECASE)
GETTING = frozenset("find get give show tell list send fetch need want bring look search check".split())
PREFACE_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Token:
    """A word or a sign; `word` is in lower case, `raw` as it was written."""

    raw: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """In lower case, with a straight apostrophe."""
        return self.raw.lower().replace("’", "'")

    @property
    def held(self) -> bool:
        """Whether it stands for a literal."""
        return HELD in self.raw


@dataclass(frozen=True, slots=True)
class Request:
    """One thing that is asked for. `preface` is what stood before it in its sentence, as in "On news-wire, ...".

    `joined` is the word that joined it to the request before: empty at the start of a sentence. A `purpose` says what
    the others are for ("I need to answer Ana").
    """

    text: str
    preface: str = ""
    joined: str = ""
    purpose: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What a question holds: requests in order, and sentences that ask for nothing (`context`)."""

    requests: tuple[Request, ...]
    context: tuple[str, ...]


def requests(question: str) -> tuple[Request, ...]:
    """The requests of a question in order; none where nothing is asked for in a way that is known here."""
    return read(question).requests


def read(question: str) -> Reading:
    """Requests and context of a question."""
    held = masked(question)
    found: list[Request] = []
    context: list[str] = []
    for start, end in sentences(held):
        tokens = [Token(t[0], start + t.start(), start + t.end()) for t in _TOKEN.finditer(held[start:end])]
        opened = _openings(tokens)
        opened = sorted({*opened, *_lists(tokens, opened)})
        if not opened and not _ASKS_ANYWAY.search(held[start:end]) and not _goes_on(tokens):
            context.append(question[start:end].strip())
            continue
        found += _cut(question, tokens, opened or [0], start, end)
    if any(not request.purpose for request in found):
        context += [request.text for request in found if request.purpose]
        found = [request for request in found if not request.purpose]
    return Reading(tuple(found), tuple(part for part in context if part))


def _goes_on(tokens: Sequence[Token]) -> bool:
    """A sentence that goes on with a sequence, verb or not: "Then off with it to the printer"."""
    return len(tokens) >= 4 and tokens[0].word in _STRONG


def sentences(held: str) -> Iterator[tuple[int, int]]:
    """Where sentences start and end in a masked text."""
    start = 0
    for end in _END.finditer(held):
        if _SHORT.search(held[start : end.start()]) and not held[end.start() : end.end()].count("\n"):
            continue
        if held[start : end.start()].strip():
            yield start, end.start()
        start = end.end()
    if held[start:].strip():
        yield start, len(held)


def tokens_of(text: str) -> list[Token]:
    """The words and signs of a text, literals as one word."""
    return [Token(t[0], t.start(), t.end()) for t in _TOKEN.finditer(masked(text))]


def opens(tokens: Sequence[Token], at: int, *, joined: str) -> bool:
    """Whether a request opens at a token; `joined` is the joint before it, empty at the start of a sentence."""
    if at >= len(tokens):
        return False
    word = tokens[at].word
    behind = (token for token in tokens[at + 1 : at + 3] if token.word not in {"just", "only", "also", "please"})
    following = next(behind, None)
    if word.partition("'")[0] in ASKING:
        return _asks(word.partition("'")[0], following, joined)
    if word in PREPOSITIONS and following is not None and following.word in {"which", "what", "whose", "whom"}:
        return joined != "," and len(tokens) - at >= 4
    if word in AUXILIARIES:
        subject = PRONOUNS | DETERMINERS | {"there"}
        return following is not None and (not joined or following.word in subject or following.raw[0].isupper())
    if word in PLAIN_VERBS or word in NOUN_VERBS:
        return _commands(word, following, joined)
    return _needs(tokens, at, joined) or _commands_unknown(tokens[at], following, joined)


def _commands_unknown(token: Token, following: Token | None, joined: str) -> bool:
    """A word that no list has, where an object follows at once: "crawl the site", "boil it down", "stamp 'DRAFT'"."""
    word = token.word
    if following is None or not token.raw.isalpha() or joined and not token.raw.islower() or token.held:
        return False
    if word in STOP_WORDS | {"half", "such", "quite", "not"} or len(word) < 3 or re.search(r"(?:ly|ing|ed|[^s]s)$", word):
        return False
    return following.held or following.word in (DETERMINERS | PRONOUNS) - SUBJECTS | {"it", "you"}


def is_purpose(tokens: Sequence[Token], at: int) -> bool:
    """Whether a need says what all is for ("I need to answer Ana", "I want to know whether it holds")."""
    words = [token.word for token in tokens[at : at + 4]]
    return words[0] in SUBJECTS and "to" in words[1:4] and bool({"need", "want", "have", "like", "wish"} & set(words[1:3]))


def _asks(word: str, following: Token | None, joined: str) -> bool:
    if following is None or not (following.raw[0].isalnum() or following.held):
        return False
    relative = word in {"which", "who", "whom", "whose", "where", "when"}
    return not (relative and joined == ",")


def _commands(word: str, following: Token | None, joined: str) -> bool:
    if following is None or following.word in {",", ".", "of", "is", "are", "was", "were", "and", "or", "-", ")"}:
        return not joined and following is None
    if not joined or word in PLAIN_VERBS:
        return following.word not in {"'s", "has", "have", "will", "can"}
    plain = DETERMINERS | PRONOUNS | PARTICLES | COMPLEMENTS
    return following.held or following.word in plain or not following.raw.islower() or word in {"search", "look", "check", "ask"} and following.word in {"for", "to", "at"}  # fmt: skip


def _needs(tokens: Sequence[Token], at: int, joined: str) -> bool:
    """A subject with a modal: "I need", "we'd like", "the site should"; behind a joint also "the page should"."""
    words = [token.word for token in tokens[at : at + 6]]
    if words[0] == "let's":
        return True
    if words[0] in {"i'd", "we'd", "i'm", "i'll", "we're"}:
        return any(word in {"like", "love", "looking", "need"} for word in words[1:3])
    if words[0] in SUBJECTS and any(word in {"need", "want", "like", "should", "wish"} for word in words[1:3]):
        return True
    return any(word in {"should", "wants", "needs"} for word in words[1:4]) and words[0] not in SUBORDINATORS


def _openings(tokens: Sequence[Token]) -> list[int]:
    """The tokens at which requests open. What lies before the first is a preface."""
    opened = _late(tokens)
    at, joined = opened[0] if opened else 0, ""
    while at < len(tokens):
        first = _first(tokens, at)
        if first is None:
            break
        if opens(tokens, first, joined=joined) or _names_thing(tokens, first, joined, opened):
            if opened and joined == ":" and (at - opened[-1] <= PREFACE_TOKENS or is_purpose(tokens, opened[-1])):
                opened[-1] = first
            elif opened and first == opened[-1]:
                pass
            elif not opened or _has_object(tokens[opened[-1] : at]):
                opened.append(first)
        elif joined in _STRONG and opened and len(tokens) - first >= 3 and _has_object(tokens[opened[-1] : at]):
            opened.append(first)
        at, joined = _next_joint(tokens, first)
    return opened


def _names_thing(tokens: Sequence[Token], at: int, joined: str, opened: Sequence[int]) -> bool:
    """A thing that is wanted from a place: "stratus please: a small machine"."""
    wanted = joined == ":" and not opened and at <= PREFACE_TOKENS and tokens[at].word in DETERMINERS
    return wanted and len(tokens) - at >= 3


def _late(tokens: Sequence[Token]) -> list[int]:
    """A request right behind a place, without a comma: "From the library I'd like ...", "Use the desk to find ..."."""
    if len(tokens) > 4 and tokens[0].word in {"use", "using"}:
        return [at + 1 for at in range(2, 5) if tokens[at].word == "to"][:1]
    if not tokens or tokens[0].word not in PREPOSITIONS:
        return []
    needed = (at for at in range(2, min(8, len(tokens))) if tokens[at].word in SUBJECTS | {"i'd", "we'd"})
    commanded = (at for at in range(2, min(5, len(tokens) - 1)) if tokens[at].word in VERBS and tokens[at - 1].word not in DETERMINERS)
    found = [at for at in needed if _needs(tokens, at, "")]
    found += [at for at in commanded if tokens[at + 1].word in PARTICLES | {"the", "a", "me", "all", "my", "our", "it"}]
    return sorted(found)[:1]


def _first(tokens: Sequence[Token], at: int) -> int | None:
    """The first token from `at` that is no adverb of sequence or politeness."""
    while at < len(tokens):
        condition = _CONDITION.match(" ".join(token.word for token in tokens[at : at + 5]))
        if condition:
            at += len(condition[0].split())
        elif tokens[at].word in ADVERBS or tokens[at].word in {",", ":", "...", ".", "-"}:
            at += 1
        else:
            return at
    return None


def _next_joint(tokens: Sequence[Token], at: int) -> tuple[int, str]:
    """Behind the next joint, and that joint: of several in a row the last telling one (", and then" is "then")."""
    at += 1
    while at < len(tokens) and tokens[at].word not in _JOINTS:
        at += 1
    joined = ""
    while at < len(tokens) and (tokens[at].word in _JOINTS or tokens[at].word in ADVERBS):
        word = tokens[at].word
        joined = word if word not in ADVERBS or word in _STRONG or word == "and" else joined
        at += 1
    return at, joined or ","


def _lists(tokens: Sequence[Token], opened: Sequence[int]) -> list[int]:
    """Where a list of things goes on that one verb of getting asks for, each with words of its own: "find a flight from
    Oslo, a bed for two and the weather in May". "The length and the width of it" is one thing."""
    added: list[int] = []
    for number, start in enumerate(opened):
        end = opened[number + 1] if number + 1 < len(opened) else len(tokens)
        if not _gets(tokens, start):
            continue
        before = start
        for at in range(start + 2, end - 1):
            if tokens[at].word in {",", "and"} and _own_words(tokens[before:at]) and _own_words(_until_joint(tokens[at + 1 : end])):
                added.append(at + 1 + (tokens[at + 1].word == "and"))
                before = at + 1
    return added


def _gets(tokens: Sequence[Token], at: int) -> bool:
    words = [token.word for token in tokens[at : at + 3]]
    return words[0] in GETTING or words[0] in SUBJECTS | {"i'd", "we'd"} and bool({"need", "want", "like"} & set(words[1:3]))


def _own_words(tokens: Sequence[Token]) -> bool:
    """A thing with a determiner that says more of itself: "the log of it", "somewhere to sleep", "a bed for two"."""
    words = [token.word for token in tokens]
    words = words[1:] if words[:1] == ["and"] else words
    begins = [at for at, word in enumerate(words[:4]) if word in (DETERMINERS - {"this", "that", "both"}) | {"somewhere", "something"}]
    if not begins or {"between", "both", "versus"} & set(words):
        return False
    own = words[begins[0] + 2 :]
    return len(own) >= 2 and any(word in PREPOSITIONS | {"that", "who", "to"} for word in own[:3])


def _until_joint(tokens: Sequence[Token]) -> Sequence[Token]:
    for at, token in enumerate(tokens):
        if at and token.word in {",", "and", ";", "."}:
            return tokens[:at]
    return tokens


def _has_object(tokens: Sequence[Token]) -> bool:
    """Whether a request says more than its verb, so that what follows can be another one."""
    said = [token for token in tokens if token.held or token.raw[0].isalnum()]
    return any(token.word not in PARTICLES | ADVERBS | AUXILIARIES for token in said[1:])


def _cut(question: str, tokens: Sequence[Token], opened: Sequence[int], start: int, end: int) -> Iterator[Request]:
    preface = _trimmed(question[start : tokens[opened[0]].start], last=False)
    if re.search(r"\w.*\bplease\b[\s,]+and\s*$|\w.*\w{3}.*,\s*(?:and|then)\s*$", question[start : tokens[opened[0]].start]) and len(preface.split()) > 1:
        yield Request(preface)
        preface = ""
    for number, at in enumerate(opened):
        until = tokens[opened[number + 1]].start if number + 1 < len(opened) else end
        text = _trimmed(question[tokens[at].start : until], last=number + 1 == len(opened))
        joined = tokens[at - 1].word if number else ""
        if text:
            yield Request(text, preface if not number else "", joined, is_purpose(tokens, at))


def _trimmed(text: str, *, last: bool) -> str:
    """Without the joint that followed."""
    trimmed = text.strip().rstrip(" ,;:.-–—") if not last else text.strip().rstrip(" ,;:.")
    while not last:
        shorter = re.sub(r"[\s,;:]+(?:and|then|also|plus|&)$", "", trimmed, flags=re.IGNORECASE)
        if shorter == trimmed:
            return trimmed
        trimmed = shorter
    return trimmed
