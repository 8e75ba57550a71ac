"""Plausible values from one random generator, by the name of a field; and a schema guessed from a tool's name if it declares none."""

from __future__ import annotations

import base64
import math
import random
import re
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from core.domain.catalog import Tool, words
from core.domain.english import past_participle, plural
from core.domain.json_schema import admitted_by
from core.domain.progress import made_once

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


@made_once
def _faker() -> Faker:
    """One generator for the process, because making it is slow."""
    from faker import Faker  # takes a third of a second

    return Faker("en_US")


@dataclass
class Plausible:
    """Draws values from one random generator. Texts mention the `topic` of the call."""

    rng: random.Random
    topic: str = ""

    @property
    def fake(self) -> Faker:
        faker = _faker()
        faker.factories[0].random = self.rng
        return faker

    def title(self) -> str:
        text = self.rng.choice(SENTENCES).format(self._about()).rstrip(".")
        return text[0].upper() + text[1:]

    def sentences(self) -> str:
        sentences = (text.format(self._about()) for text in self.rng.sample(SENTENCES, self.rng.randint(1, 2)))
        return " ".join(text[0].upper() + text[1:] for text in sentences)

    def identifier(self) -> str:
        return f"{self.rng.getrandbits(32):08x}"

    def link(self, ending: str = "") -> str:
        """An address in a domain that is reserved for examples."""
        return f"https://example.org/{self.identifier()}{ending}"

    def time(self) -> datetime:
        return EPOCH + timedelta(minutes=self.rng.randrange(300 * 24 * 60))

    def pick(self, *choices: str) -> str:
        return self.rng.choice(choices)

    def between(self, low: float, high: float, digits: int = 2) -> float:
        return round(self.rng.uniform(low, high), digits)

    def _about(self) -> str:
        return self.topic or self.pick("the matter", "the plan", "the request", "the subject", "the project")


def topic_of(arguments: Mapping[str, Any]) -> str:
    """The topic of a call: its query, else its first short text.

    >>> topic_of({"limit": 3, "query": "night trains"}), topic_of({"city": "Oslo"}), topic_of({"n": 1})
    ('night trains', 'Oslo', '')
    """
    texts = {name.lower(): value for name, value in arguments.items() if isinstance(value, str)}
    candidates = (value for value in texts.values() if re.fullmatch(r"[^\W\d_]['\w -]{2,39}", value))
    line = " ".join(next((texts[name] for name in TOPICS if name in texts), next(candidates, "")).split()).rstrip(".?!")
    return line if len(line) <= 60 else f"{line[:59]}…"


PRINTABLE = string.ascii_letters + string.digits
MORE = 4  # repetitions beyond the minimum if the pattern has no limit
MOST_REPEATS = 10_000  # in one text of a pattern


class _Bounded(random.Random):
    """The choices of one text: few repetitions and plain characters, equal in every process."""

    left = MOST_REPEATS

    def randint(self, a: int, b: int) -> int:
        count = super().randint(max(a, min(1, b)), min(b, a + MORE))
        self.left -= count
        if self.left < 0:
            raise OverflowError("too many repetitions")
        return count

    def choice(self, seq: Any) -> Any:
        if all(isinstance(option, str) for option in seq):
            seq = sorted(option for option in seq if option in PRINTABLE) or sorted(seq)
        return super().choice(seq)


def matching_text(pattern: str, rng: random.Random) -> str | None:
    r"""A text that the pattern matches. None for an invalid pattern, and if no match was found (look-arounds).

    >>> matching_text("^[A-Z]{2}-\\d{3}$", random.Random(1))
    'DX-870'
    >>> matching_text("(", random.Random(1))
    """
    from rstr import Rstr

    try:
        fits = admitted_by({"pattern": pattern})  # not `re.search`, which may take years
        for _ in range(20):
            text = Rstr(_Bounded(rng.random()), printable=PRINTABLE).xeger(pattern)
            if fits(text):
                return text
    except (re.error, RecursionError, OverflowError, ValueError, LookupError):
        pass
    return None


LIMITS = frozenset({"limit", "maxresults", "count", "topk", "n", "pagesize", "perpage", "top"})  # as plain names
T = TypeVar("T")


def named(table: Mapping[str, Callable[[Plausible], T]], name: str, plausible: Plausible) -> T | None:
    """A value for a field of this name, by its last known word; a plural counts as its singular. None for an unknown name.

    >>> named(TEXTS, "author_email", Plausible(random.Random(1))).endswith("@example.com"), named(NUMBERS, "latitude", Plausible(random.Random(1)))
    (True, -42.5326)
    """
    forms = (form for word in reversed(words(name).lower().split()) for form in _forms(word))
    maker = next((table[form] for form in forms if form in table), None)
    return None if maker is None else maker(plausible)


def plain_name(name: str) -> str:
    """A name without case and separators.

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


def _forms(word: str) -> tuple[str, ...]:
    return word, word.removesuffix("s"), word.removesuffix("es"), word.removesuffix("ies") + "y"


def by_word(rows: Mapping[str, T]) -> dict[str, T]:
    return {word: value for names, value in rows.items() for word in names.split()}


TEXTS: dict[str, Callable[[Plausible], str]] = by_word({
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

NUMBERS: dict[str, Callable[[Plausible], float]] = by_word({
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

Shape = Literal["many", "one", "made", "removed", "number", "text"]
SHAPES: dict[Shape, str] = {
    "many": "search find list query browse scan discover recommend suggest retrieve enumerate compare rank match "
    "explore filter crawl history",
    "one": "get read fetch show describe view check look lookup track inspect resolve identify detect analyze analyse "
    "verify validate parse extract open load preview status diff",
    "made": "create add send post book order schedule upload start run submit publish register reserve invite issue "
    "request reply place buy pay insert append import export launch deploy trigger build render generate draw plan "
    "subscribe enroll log record save write push fork clone copy convert update set edit rename move assign mark change "
    "apply merge replace restore enable configure resize share tag pin put patch sync transfer refund draft watch",
    "removed": "delete remove cancel clear drop archive revoke close stop disable unsubscribe purge reject terminate unpin "
    "decline trash",
    "number": "compute calculate count estimate sum average measure score predict subtract multiply divide evaluate",
    "text": "summarise summarize translate transcribe rewrite explain answer format paraphrase proofread correct ask "
    "classify define complete chat compose",
}
VERBS: dict[str, Shape] = {verb: shape for shape, verbs in SHAPES.items() for verb in verbs.split()}
MOST_FIELDS = 6
FILLERS = frozenset({"or", "and", "a", "an", "the", "of", "for", "by", "in", "to", "with", "from", "all"})
CONTROLS = LIMITS | {"offset", "page", "cursor", "sort", "order", "fields", "format", "verbose", "include"}
PRIVATE = ("token", "password", "secret", "card", "passport", "cvv", "pin", "key")


def inferred_schema(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """An output schema that fits the tool's name, description and hints, with fields for its arguments.

    >>> schema = inferred_schema(Tool("shop", "search_books", "Returns title and price."), {"query": "tides"})
    >>> schema["required"], list(schema["properties"]["books"]["items"]["properties"])
    (['query', 'books', 'count'], ['id', 'title', 'price'])
    >>> inferred_schema(Tool("shop", "cancelOrder"), {"order_id": "7"})["properties"]["status"]
    {'const': 'cancelled'}
    """
    verb, shape, noun = _parts(tool)
    repeated: dict[str, Any] = {name: {} for name, value in arguments.items() if _repeatable(name, value)}
    match shape:
        case "many":
            fields = {
                plural(noun): {"type": "array", "items": _record(_fields(tool))},
                "count": {"type": "integer"},
            }
        case "one":
            fields = _fields(tool)
        case "made":
            time = {"type": "string", "format": "date-time"}
            fields = {f"{_singular(noun)}_id": {"type": "string", "pattern": "^[0-9a-f]{8}$"}, "at": time}
        case "removed":
            fields = {}
        case "number":
            fields = {"result": {"type": "number"}}
        case "text":
            fields = {"text": {"type": "string"}}
    if shape in {"made", "removed"}:
        fields["status"] = {"const": past_participle(verb)}
    return _record({**repeated, **fields})


def _parts(tool: Tool) -> tuple[str, Shape, str]:
    tokens = words(tool.name).lower().split()
    verb = next((word for word in tokens if word in VERBS), "")
    nouns = [word for word in tokens if word not in VERBS and word not in FILLERS] or ["result"]
    if verb:
        return verb, VERBS[verb], "_".join(nouns[:2])
    if tool.hints.read_only is False:
        return "do", "made", "_".join(nouns[:2])
    many = next((word for word in nouns if word.endswith("s") and not word.endswith("ss")), "")
    limited = any(plain_name(name) in LIMITS for name in schema_part(tool.input_schema, "properties"))
    return "get", "many" if many or limited else "one", many or "_".join(nouns[:2])


def schema_part(schema: Mapping[str, Any] | None, key: str) -> Mapping[str, Any]:
    """An object within a schema, empty without one. A stranger's schema may contain anything."""
    member = None if schema is None else schema.get(key)
    return cast("Mapping[str, Any]", member) if isinstance(member, Mapping) else {}


def _fields(tool: Tool) -> dict[str, Any]:
    """The fields of one record: an id and the description's fields. With fewer than two, a name and a description are added."""
    mentions = [name for name in known_fields(tool.description) if name not in {"id", "query"}][:MOST_FIELDS]
    names = ["id", *(mentions if len(mentions) > 1 else ["name", "description", *mentions])]
    return {name: {"type": "number"} if name in NUMBERS else {"type": "string"} for name in dict.fromkeys(names)}


def _record(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _repeatable(name: str, value: object) -> bool:
    """Whether a result may repeat an argument that is short, not private, and not for paging or sorting."""
    short = isinstance(value, str | int | float) and len(str(value)) <= 200
    return short and plain_name(name) not in CONTROLS and not any(word in name.lower() for word in PRIVATE)


def _singular(noun: str) -> str:
    """Simpler than `core.domain.english.singular`, so that field names stay the same."""
    if noun.endswith("ies"):
        return f"{noun[:-3]}y"
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun
