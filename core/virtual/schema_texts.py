"""A text within the limits of a schema: its format or pattern first, then what the field's name suggests."""

from __future__ import annotations

from collections.abc import Callable

from core.virtual.field_names import text_named
from core.virtual.regex_samples import matching_text
from core.virtual.sample_values import Plausible
from core.virtual.schema_flattening import Schema

LONGEST = 100_000
FORMATS: dict[str, Callable[[Plausible], str]] = {
    "date-time": lambda p: p.time().isoformat().replace("+00:00", "Z"),
    "date": lambda p: p.time().date().isoformat(),
    "time": lambda p: f"{p.time():%H:%M:%S}Z",
    "duration": lambda p: f"PT{p.rng.randrange(1, 12)}H{p.rng.randrange(60)}M",
    "email": lambda p: f"{p.fake.user_name()}@example.com",
    "idn-email": lambda p: f"{p.fake.user_name()}@example.com",
    "uri": lambda p: p.link(),
    "iri": lambda p: p.link(),
    "url": lambda p: p.link(),
    "uri-reference": lambda p: f"/{p.identifier()}",
    "iri-reference": lambda p: f"/{p.identifier()}",
    "uri-template": lambda _: "/items/{id}",
    "hostname": lambda p: f"{p.fake.user_name()}.example.org",
    "idn-hostname": lambda p: f"{p.fake.user_name()}.example.org",
    "ipv4": lambda p: f"192.0.2.{p.rng.randrange(1, 255)}",
    "ipv6": lambda p: f"2001:db8::{p.rng.randrange(1, 0xFFFF):x}",
    "uuid": lambda p: _uuid(f"{p.rng.getrandbits(128):032x}"),
    "json-pointer": lambda p: f"/{p.identifier()}/0",
    "relative-json-pointer": lambda _: "0/id",
    "regex": lambda _: "^[a-z]+$",
    "byte": lambda p: text_named("base64", p) or "",
}


def text(schema: Schema, name: str, plausible: Plausible) -> str:
    """A text that fits.

    >>> import random
    >>> text({"format": "date"}, "", Plausible(random.Random(1)))
    '2026-02-19'
    >>> len(text({"minLength": 50, "maxLength": 60}, "title", Plausible(random.Random(1)))) in range(50, 61)
    True
    """
    made = _formed(schema, plausible)
    if made is not None:
        return made
    suggested = text_named(name, plausible)
    made = plausible.title() if suggested is None else suggested
    least, most = whole(schema, "minLength", 0), whole(schema, "maxLength", LONGEST)
    while len(made) < least:
        made = f"{made} {plausible.sentences()}"
    if len(made) > most:
        made = made[:most].rstrip() if len(made[:most].rstrip()) >= least else made[:most]
    return made


def whole(schema: Schema, key: str, otherwise: int) -> int:
    """A count that the schema gives, at most a hundred thousand: a stranger's schema must not fill the memory."""
    return min(int(schema.get(key, otherwise)), LONGEST)


def _formed(schema: Schema, plausible: Plausible) -> str | None:
    if schema.get("contentEncoding") == "base64":
        return FORMATS["byte"](plausible)
    if isinstance(pattern := schema.get("pattern"), str):
        return matching_text(pattern, plausible.rng)
    made = FORMATS.get(str(schema.get("format", "")))
    return None if made is None else made(plausible)


def _uuid(digits: str) -> str:
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
