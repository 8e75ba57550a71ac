"""Whether anything that was found can do it at all, from how well it was found (ETOM, level 5).

    fit = 9 * cos_best + 4 * coverage          refused where fit < 2.7

`cos_best` is the best cosine of the question with a tool's name and description (MiniLM), `coverage` the share of the
question's words that the three best tools' texts have. Both are absolute: the margin over the rest says less than either.
The weights are round figures near a logistic fit on labelled questions; the limit turns down few that something can do
(`tests/benchmarks/refusing.py`, docs/decisions/0006-planner.md). What only hands, senses or a body can do is told by no
score where it uses the words of a tool.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.planning.stems import content

COSINE, COVERAGE, LIMIT = 9.0, 4.0, 2.7
TEXTS_READ = 3


def objection(question: str, best: float, texts: Sequence[str]) -> str:
    """Why nothing that was found can do it, in one sentence; empty where something may. `best` is the best cosine in
    [0, 1], `texts` are those of the best tools, best first.

    >>> objection("Send an e-mail to Bo", 0.55, ["send an e-mail message"])
    ''
    >>> print(objection("Taste the soup on my stove", 0.12, ["search recipes for soups"]))
    Nothing offered fits: the best is 0.12 similar, and 33 % of the words are met.
    """
    if not texts:
        return "Nothing was offered."
    met = coverage(question, texts)
    if fit(best, met) >= LIMIT:
        return ""
    return f"Nothing offered fits: the best is {best:.2f} similar, and {100 * met:.0f} % of the words are met."


def fit(best: float, met: float) -> float:
    """How well the best cosine and the coverage, both in [0, 1], speak for what was found."""
    return COSINE * best + COVERAGE * met


def coverage(question: str, texts: Sequence[str]) -> float:
    """The share of the question's words, in [0, 1], that the first few texts have.

    >>> coverage("list the files", ["shows files", "list of users"])
    1.0
    """
    asked = set(content(question))
    offered = {word for text in texts[:TEXTS_READ] for word in content(text)}
    return len(asked & offered) / len(asked) if asked else 0.0
