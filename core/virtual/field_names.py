"""Values that look right for a field's name: people for `author`, prices for `total`, times for `created_at`."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from typing import TypeVar

from core.domain.catalog import words
from core.virtual.sample_values import Plausible

Text = Callable[[Plausible], str]
Number = Callable[[Plausible], float]
LIMITS = frozenset({"limit", "maxresults", "count", "topk", "n", "pagesize", "perpage", "top"})  # as plain names
Maker = TypeVar("Maker")


def text_named(name: str, plausible: Plausible) -> str | None:
    """A text for a field of this name; None where the name says nothing.

    >>> import random
    >>> text_named("author_email", Plausible(random.Random(1))).endswith("@example.com")
    True
    """
    made = _known(TEXTS, name)
    return None if made is None else made(plausible)


def number_named(name: str, plausible: Plausible) -> float | None:
    """A number for a field of this name; None where the name says nothing.

    >>> import random
    >>> number_named("latitude", Plausible(random.Random(1)))
    -42.5326
    """
    made = _known(NUMBERS, name)
    return None if made is None else made(plausible)


def plain_name(name: str) -> str:
    """A name without the ways of writing it.

    >>> plain_name("userId"), plain_name("user_id")
    ('userid', 'userid')
    """
    return "".join(words(name).lower().split())


def known_fields(text: str) -> list[str]:
    """The field names that a description mentions, in order, each once: "returns titles, links" -> title, link.

    >>> known_fields("Returns the title, a link and prices of each book.")
    ['title', 'link', 'price']
    """
    forms = (next((form for form in _forms(word) if form in FIELDS), None) for word in words(text).lower().split())
    return list(dict.fromkeys(form for form in forms if form is not None))


def _known(table: Mapping[str, Maker], name: str) -> Maker | None:
    """What the table has for a name's last word, or the one before it, ...; a plural counts as its singular."""
    forms = (form for word in reversed(words(name).lower().split()) for form in _forms(word))
    return next((table[form] for form in forms if form in table), None)


def _forms(word: str) -> tuple[str, ...]:
    return word, word.removesuffix("s"), word.removesuffix("es"), word.removesuffix("ies") + "y"


def _table(rows: Mapping[str, Maker]) -> dict[str, Maker]:
    return {word: made for names, made in rows.items() for word in names.split()}


TEXTS: dict[str, Text] = _table({
    "email mail": lambda p: p.fake.user_name() + "@example.com",
    "phone telephone mobile": lambda p: f"+1-555-01{p.rng.randrange(100):02d}",
    "url link href uri website homepage permalink": lambda p: p.link(),
    "image thumbnail photo picture avatar poster cover logo icon": lambda p: p.link(".png"),
    "author person contact customer owner assignee sender recipient organizer attendee member reviewer participant "
    "creator artist doctor guest passenger employee manager speaker director actor": lambda p: p.fake.name(),
    "username user handle login": lambda p: p.fake.user_name(),
    "company vendor merchant publisher organization organisation employer brand seller supplier carrier airline "
    "provider issuer": lambda p: p.fake.company(),
    "city town origin destination": lambda p: p.fake.city(),
    "country nation": lambda p: p.fake.country(),
    "region state province county": lambda p: p.pick("North", "South", "East", "West", "Central"),
    "address street": lambda p: p.fake.street_address(),
    "location place venue": lambda p: p.fake.city(),
    "postcode zip postal": lambda p: p.fake.postcode(),
    "name label": lambda p: p.title(),
    "title headline heading subject": lambda p: p.title(),
    "description summary snippet abstract excerpt text body content message note comment answer explanation reason "
    "transcript translation review paragraph caption details detail instructions markdown": lambda p: p.sentences(),
    "date day due deadline birthday": lambda p: p.time().date().isoformat(),
    "time start end at timestamp created updated modified published departure arrival expires scheduled":
        lambda p: p.time().isoformat().replace("+00:00", "Z"),
    "id uuid key ref reference token code ticket handle cursor": lambda p: p.identifier(),
    "sku": lambda p: f"{p.pick('AX', 'BK', 'CT')}-{p.rng.randrange(10000):04d}",
    "status": lambda p: p.pick("active", "done", "pending"),
    "currency": lambda p: p.pick("EUR", "USD", "GBP", "JPY", "CHF"),
    "language lang locale": lambda p: p.pick("en", "de", "fr", "es"),
    "version": lambda p: f"{p.rng.randrange(1, 6)}.{p.rng.randrange(12)}.{p.rng.randrange(20)}",
    "hash sha commit checksum digest etag": lambda p: f"{p.rng.getrandbits(160):040x}",
    "branch": lambda p: p.pick("main", "develop", "release"),
    "host hostname domain server": lambda p: p.pick("example.org", "example.com", "example.net"),
    "ip": lambda p: f"192.0.2.{p.rng.randrange(1, 255)}",
    "file filename": lambda p: p.pick("summary.txt", "report.pdf", "data.csv"),
    "path folder directory": lambda p: p.pick("/reports/summary.txt", "/notes/plan.md", "/data/table.csv"),
    "base64": lambda p: base64.b64encode(p.identifier().encode()).decode(),
    "month": lambda p: f"{p.time():%Y-%m}",
    "mime media": lambda p: p.pick("application/json", "text/plain", "image/png"),
    "color colour": lambda p: f"#{p.rng.getrandbits(24):06x}",
    "timezone": lambda p: p.pick("Europe/Berlin", "America/New_York", "Asia/Tokyo"),
    "airport": lambda p: p.pick("OSL", "LIS", "HND", "YYZ"),
    "symbol ticker": lambda p: p.pick("NRTH", "VELO", "QARK", "SOLA"),
    "isbn": lambda p: p.fake.isbn13(),
    "category tag genre kind type topic": lambda p: p.pick("general", "featured", "standard"),
    "unit": lambda p: p.pick("piece", "kg", "m"),
    "query": lambda p: p.topic or "example",
    "severity priority level": lambda p: p.pick("low", "medium", "high"),
})  # fmt: skip

NUMBERS: dict[str, Number] = _table({
    "price amount cost total fee balance budget revenue subtotal tax fare salary usd eur":
        lambda p: p.between(1, 500),
    "lat latitude": lambda p: p.between(-60, 70, 4),
    "lon lng longitude": lambda p: p.between(-180, 180, 4),
    "temperature temp celsius high low": lambda p: p.between(-5, 30, 1),
    "humidity percent percentage progress": lambda p: float(p.rng.randrange(101)),
    "score confidence probability similarity relevance ratio share rate": lambda p: p.between(0, 1),
    "rating": lambda p: p.between(1, 5, 1),
    "year": lambda p: float(p.rng.randrange(1960, 2027)),
    "count quantity number size pages items results position rank": lambda p: float(p.rng.randrange(1, 50)),
    "duration seconds minutes hours days eta": lambda p: float(p.rng.randrange(1, 90)),
    "distance km miles meters": lambda p: p.between(0.2, 900, 1),
    "calories kcal": lambda p: float(p.rng.randrange(40, 900)),
    "age": lambda p: float(p.rng.randrange(18, 90)),
    "bytes length": lambda p: float(math.floor(10 ** p.rng.uniform(2, 6))),
})  # fmt: skip

_EVERYDAY = {"at", "start", "end", "text", "day", "days", "high", "low", "number", "results", "items", "server", "kind"}
FIELDS = (frozenset(TEXTS) | frozenset(NUMBERS)) - _EVERYDAY
