"""Drawing titles, times, links, people: what plausible values are made of, from one random generator."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faker import Faker

EPOCH = datetime(2026, 1, 1, 8, tzinfo=UTC)  # fixed: the same arguments give the same times on every day
TOPICS = (
    "query", "q", "search", "topic", "subject", "keyword", "keywords", "term", "terms", "title", "name", "question",
    "prompt", "text",
)  # fmt: skip
SENTENCES = (
    "An overview of {}.", "What to know about {}.", "{} in practice.", "Notes on {}.", "A short guide to {}.",
    "New findings on {}.", "{}: questions and answers.", "How {} works.", "A closer look at {}.", "{} compared.",
)  # fmt: skip


@cache
def _faker() -> Faker:
    """One generator for the process: making it takes longer than a response."""
    from faker import Faker  # a third of a second: not before a response is made up

    return Faker("en_US")


class Plausible:
    """Draws values from one random generator. `topic` is what a call is about: texts mention it."""

    def __init__(self, rng: random.Random, topic: str = "") -> None:
        self.rng = rng
        self.topic = topic

    @property
    def fake(self) -> Faker:
        """Names of people, companies and places, from the same random generator."""
        faker = _faker()
        faker.factories[0].random = self.rng
        return faker

    def title(self) -> str:
        """A headline."""
        text = self.rng.choice(SENTENCES).format(self._about()).rstrip(".")
        return text[0].upper() + text[1:]

    def sentences(self) -> str:
        """One or two sentences."""
        made = (text.format(self._about()) for text in self.rng.sample(SENTENCES, self.rng.randint(1, 2)))
        return " ".join(text[0].upper() + text[1:] for text in made)

    def identifier(self) -> str:
        """An id such as `7f3a90c1`."""
        return f"{self.rng.getrandbits(32):08x}"

    def link(self, ending: str = "") -> str:
        """An address in a domain that is reserved for examples."""
        return f"https://example.org/{self.identifier()}{ending}"

    def time(self) -> datetime:
        """A time in 2026, whole minutes."""
        return EPOCH + timedelta(minutes=self.rng.randrange(300 * 24 * 60))

    def pick(self, *choices: str) -> str:
        """One of these."""
        return self.rng.choice(choices)

    def between(self, low: float, high: float, digits: int = 2) -> float:
        """A rounded number in [low, high]."""
        return round(self.rng.uniform(low, high), digits)

    def _about(self) -> str:
        return self.topic or self.pick("the matter", "the plan", "the request", "the subject", "the project")


def topic_of(arguments: Mapping[str, Any]) -> str:
    """What a call is about: its query, or else its first short text.

    >>> topic_of({"limit": 3, "query": "night trains"}), topic_of({"city": "Oslo"}), topic_of({"n": 1})
    ('night trains', 'Oslo', '')
    """
    texts = {name.lower(): value for name, value in arguments.items() if isinstance(value, str)}
    plain = (value for value in texts.values() if re.fullmatch(r"[^\W\d_]['\w -]{2,39}", value))
    line = " ".join(next((texts[name] for name in TOPICS if name in texts), next(plain, "")).split()).rstrip(".?!")
    return line if len(line) <= 60 else f"{line[:59]}…"
