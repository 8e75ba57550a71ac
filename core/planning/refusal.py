"""Whether anything that was found can do it at all, from how well it was found (ETOM, level 5).

    z = 9 * cos_best + 4 * coverage - 1.5 * [hands or senses]          refused where z < 2.7

`cos_best` is the best cosine of the question with a tool's name and description (MiniLM), `coverage` the share of the
question's words that the three best tools' texts have. The margin over the rest was tried and says nothing that these two do not.
The weights are round figures near a logistic fit; the limit lets about one in twenty raw questions that something can do
be turned down, and one in a hundred requests in a model's words (`tests/benchmarks/refusing.py`,
docs/decisions/0006-planner.md). It is a limit on an absolute score: one that is relative to the best says nothing here.

What asks for hands, a body or senses in one place ("lift the box off my desk") needs a better fit than other questions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.planning.literals import HELD, masked
from core.planning.stems import content

COSINE, COVERAGE, BODILY, LIMIT = 9.0, 4.0, 1.5, 2.7
TEXTS_READ = 3
_BODY = (
    r"(?:carry|lift|fold|glue|wipe|scrape|sweep|stir|sniff|unplug|plug in|pin up|peel|wrap|hammer|unscrew|iron|mop|dust|shovel)"
    r"(?: \w+){0,3} (?:the|my|our|these|those|this|it|them|him|her|an?)\b"
)
_SENSES = (
    r"\b(?:smell|smells|taste|tastes) (?:of|like|off|the|them|it)\b|\b(?:have a listen|listen to (?:the|my|our)|listen, i)\b"
    r"|\blook (?:out of|through|down|up) (?:the|my|our)? ?(?:window|street|door)\b|\bfeel the\b|\btouch the\b"
)
_PRESENCE = (
    r"\b(?:in my place|instead of me|in her place|in his place|go (?:there|in) (?:for|instead)|drop by|shake hands"
    r"|real pen|by hand|in person)\b|\binto (?:my|his|her) (?:mother's |father's )?hands?\b"
)
_SPOT = (
    r"\b(?:on|from|off|into|in|out of) (?:my|our|his|her|the) (?:\w+ )?(?:desk|cellar|attic|fridge|stove|cupboard|kitchen table"
    r"|kitchen counter|windowsill|doormat|drawer|basement|pocket|handbag|rucksack|shelf|safe|lectern|kerb)\b"
)
_HANDS = re.compile("|".join((rf"\b{_BODY}", _SENSES, _PRESENCE, _SPOT)), re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Judgement:
    """How the fit stands: `fit` against `LIMIT`, and the reason in one sentence where it is refused, else empty."""

    fit: float
    reason: str

    @property
    def refused(self) -> bool:
        """Whether nothing that was found can do it."""
        return bool(self.reason)


def judged(question: str, best: float, texts: Sequence[str]) -> Judgement:
    """Judge what was found. `best` is the best cosine in [0, 1]; `texts` are those of the best tools, best first.

    >>> judged("Send an e-mail to Bo", 0.55, ["send an e-mail message"]).refused
    False
    >>> print(judged("Taste the soup on my stove", 0.21, ["search recipes for soups"]).reason)
    Nothing offered fits: the best is 0.21 similar, 33 % of the words are met, and it asks for hands or senses.
    >>> judged("anything", 0.9, []).refused
    True
    """
    if not texts:
        return Judgement(0.0, "Nothing was offered.")
    met = coverage(question, texts)
    bodily = asks_for_hands(question)
    fit = COSINE * best + COVERAGE * met - BODILY * bodily
    if fit >= LIMIT:
        return Judgement(fit, "")
    said = f"Nothing offered fits: the best is {best:.2f} similar, {met:.0%} of the words are met"
    return Judgement(fit, f"{said.replace('%', ' %')}{', and it asks for hands or senses' * bodily}.")


def coverage(question: str, texts: Sequence[str]) -> float:
    """The share of the question's words, in [0, 1], that the first few texts have.

    >>> coverage("list the files", ["shows files", "list of users"])
    1.0
    """
    asked = set(content(question))
    offered = {word for text in texts[:TEXTS_READ] for word in content(text)}
    return len(asked & offered) / len(asked) if asked else 0.0


def asks_for_hands(question: str) -> bool:
    """Whether the wording asks for a body or senses in one place.

    >>> asks_for_hands("Carry the boxes down"), asks_for_hands("Look up the weather")
    (True, False)
    """
    return _HANDS.search(masked(question).replace(HELD, " ")) is not None
