"""Paraphrases of a tool description by rules: another beginning, another verb, synonyms from a small table."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterator
from typing import Literal

from core.shared.english import third_person
from core.virtual.synonyms import (
    HEADS,
    IMPERATIVE,
    LEADERS,
    NOUNS,
    PLAIN,
    RETURNS,
    SYNONYMS,
    THIRD,
    VERB_SYNONYMS,
    VERBS,
)

Mood = Literal["imperative", "third", ""]
MOST_WORDINGS = len(PLAIN)  # even a text of one word that no rule knows has as many
SHARE = 0.75  # of the words that have a synonym
_QUOTED = r"`[^`]*`|\"[^\"]*\"|“[^”]*”"
_KNOWN = "|".join(sorted(map(re.escape, SYNONYMS), key=len, reverse=True))
_WORD = re.compile(rf"{_QUOTED}|(?<![\w-])(?:(?P<article>[Aa]n?) )?(?P<word>{_KNOWN})(?![\w-]| out\b)", re.IGNORECASE)
_RETURNS = re.compile(r"(?<=[.;,] )(R|r)eturns (?=(?:the|a|an|its|their|each|every|all|one|only|your)\b)")


def wordings(text: str, rng: random.Random, *, kept: Collection[str] = ()) -> Iterator[str]:
    """Paraphrases of a text, at least MOST_WORDINGS, all different and none the text itself; words in `kept` do not change.

    A blank text has no wording.

    >>> next(wordings("Find a large place near the city.", random.Random(2), kept=["large"]))
    'Meant to locate a large place near the city.'
    """
    if text.strip():
        mood = _mood(text)
        for opening in _openings(mood, rng):  # no two begin alike, so no two are alike
            yield _opened(_reworded(text, mood, rng, kept), opening)


def _openings(mood: Mood, rng: random.Random) -> list[str]:
    """What a text can begin with, the natural ones first."""
    natural = {"imperative": IMPERATIVE, "third": THIRD, "": ()}[mood]
    plain = [rng.sample(PLAIN[start : start + len(HEADS)], len(HEADS)) for start in range(0, len(PLAIN), len(HEADS))]
    return [*rng.sample(natural, len(natural)), *(opening for group in plain for opening in group)]


def _mood(text: str) -> Mood:
    """Whether the text begins with a verb, and in which form; "" where that is not certain.

    >>> [_mood(text) for text in ("Search the web.", "Searches the web.", "Search engine.", "Levels of a river.")]
    ['imperative', 'third', '', '']
    """
    first, _, rest = text.strip().partition(" ")
    word, after = first.lower(), re.split(r"\W", rest, maxsplit=1)[0].lower()
    verb = word if word in VERBS else _known_verb(word)
    if not verb or (verb in NOUNS and after not in LEADERS):
        return ""
    return "imperative" if verb == word else "third"


def _known_verb(word: str) -> str:
    """The verb of a third person, "" where it is not a known one.

    >>> _known_verb("searches"), _known_verb("applies"), _known_verb("has"), _known_verb("levels")
    ('search', 'apply', 'have', '')
    """
    forms = (word[:-1], word[:-2], f"{word[:-3]}y") if word.endswith("s") else ()
    return "have" if word == "has" else next((form for form in forms if form in VERBS), "")


def _opened(text: str, opening: str) -> str:
    body = text.strip()
    return opening.format(body if opening in PLAIN else body[0].lower() + body[1:])


def _reworded(text: str, mood: Mood, rng: random.Random, kept: Collection[str]) -> str:
    """The text with most of its known words replaced, articles adjusted; quotations and words in `kept` do not change."""
    untouched = {word.lower() for word in kept}

    def other(found: re.Match[str]) -> str:
        word, article = found["word"], found["article"]
        if word is None or word.lower() in untouched or rng.random() > SHARE:
            return found[0]
        new = rng.choice(SYNONYMS[word.lower()])
        if article is None:
            return _like(word, new)
        return f"{_like(article, 'an' if new[0] in 'aeiou' else 'a')} {new}"

    said = _WORD.sub(other, _with_other_verb(text, mood, rng))
    return _RETURNS.sub(lambda found: f"{_like(found[1], rng.choice(RETURNS))} ", said)


def _with_other_verb(text: str, mood: Mood, rng: random.Random) -> str:
    """The text with a synonym of the verb that it begins with. A verb with a particle or a second verb after it is not replaced."""
    first, space, rest = text.strip().partition(" ")
    verb = _known_verb(first.lower()) if mood == "third" else first.lower()
    if (
        not mood
        or verb not in VERB_SYNONYMS
        or rest.startswith(("and ", "or ", "up ", "out ", "in ", "off ", "at ", "for "))
    ):
        return text
    new = rng.choice((verb, *VERB_SYNONYMS[verb]))
    new = third_person(new) if mood == "third" else new
    return f"{_like(first, new)}{space}{rest}"


def _like(model: str, text: str) -> str:
    """The text with a capital where the model has one."""
    return text[0].upper() + text[1:] if model[0].isupper() else text
