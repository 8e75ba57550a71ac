"""Virtual copies of a server: other names, words, prices and times; the same tools and schemas."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from core.domain.catalog import Catalog, Server, Tool
from core.domain.english import COMMON_VERBS, third_person
from core.domain.errors import CatalogError
from core.virtual.sample_values import schema_part

ANYWHERE = """
find: locate | finds: locates | finding: locating | fetch: retrieve, get | fetches: retrieves, gets | retrieve: fetch |
retrieves: fetches | delete: erase, remove | deletes: erases, removes | compute: calculate | computes: calculates |
calculate: compute | calculates: computes | choose: select, pick | chooses: selects, picks | suggest: propose |
suggests: proposes | propose: suggest | proposes: suggests | condense: shorten | condenses: shortens | purchase: buy |
generate: produce | generates: produces | modify: change | modifies: changes | examine: inspect | inspect: examine |
returning: giving back | contains: holds | gets: obtains | picture: image | pictures: images | image: picture | images:
pictures | location: place | locations: places | website: site | websites: sites | web page: page | latest: most recent
| most recent: latest | newest first: latest first, the newest ones first | sorted by: ordered by, in order of | ordered
by: sorted by | such as: for example, like | for instance: for example | for example: for instance | e.g.: for example,
for instance | together with: along with | along with: together with | immediately: at once, right away | because: since
| whether: if | several: a number of, a few | multiple: several | various: different | entire: whole | additional:
further | specific: particular | specified: given | usually: normally | normally: usually | often: frequently |
frequently: often | large: big | big: large | cheap: inexpensive | quickly: fast | currently: at present | optionally:
if wanted | matching: fitting | by itself: on its own | on its own: by itself | in full: completely | nearby: close by |
close to: near | keywords: search terms | snippet: excerpt | snippets: excerpts | excerpt: snippet | excerpts: snippets
| ranked: ordered | quick: fast | fast: quick | precise: exact | exact: precise | accurate: precise | brief: short |
instead of: rather than | rather than: instead of | depending on: according to | afterwards: later | at the same time:
simultaneously | one by one: one after the other | word for word: verbatim | step by step: one step at a time | in one
place: in a single place
"""
BEGINNING = """
search: look through, scan | show: display, present | get: obtain, fetch | list: enumerate, list out | create: make, set
up | give: provide, offer | check: verify, test | return: give back, hand back | send: dispatch, send out | start:
begin, launch | make: produce, create | change: alter, modify | count: tally, count up | sort: order, arrange | remove:
take away, delete | run: execute, carry out | turn: convert, transform | join: combine, put together | keep: retain,
hold on to | reserve: book, set aside | download: fetch, pull down | replace: exchange, substitute | move: shift,
transfer | build: assemble, put together | end: finish, terminate | stop: halt, end | collect: gather, bring together |
convert: transform | estimate: work out roughly, gauge | tell: report, say | summarise: sum up, condense | extract: pull
out, draw out | compare: contrast | draw: sketch, plot | open: bring up, open up | write: compose | look: take a look |
cancel: call off, revoke | rank: order, grade | publish: release, put out | rename: give a new name to, relabel
"""
RETURNS = ("gives back", "answers with", "hands back", "comes back with")
IMPERATIVE = (
    "Use this to {}", "Lets you {}", "Call this to {}", "With this you can {}", "Made to {}", "A way to {}",
    "Helps you {}", "Meant to {}",
)  # fmt: skip
THIRD = (
    "This tool {}", "A tool that {}", "This call {}", "An operation that {}", "A function that {}", "Something that {}",
    "A service that {}", "The tool that {}",
)  # fmt: skip
HEADS = (
    "In short", "In brief", "Put simply", "Briefly", "In a word", "In plain words", "In a nutshell", "Summed up",
    "What it does", "Its purpose", "Its job", "Its task", "Its use", "In essence", "At its core", "To the point",
    "Said shortly", "In one line",
)  # fmt: skip
PLAIN = tuple(f"{head}{mark}{{}}" for mark in (": ", " – ", " · ") for head in HEADS)

_VERBS = """
accept adjust answer apply arm ask assemble boil break browse charge classify clear complete compose condense correct
decide define deliver derive detect determine disarm dispatch display end erase execute forecast format freeze grep
guess hand have hold hunt inspect issue judge label land lay leave lend let locate lookup mute name paint parse pass pin
play predict project propose queue rate rebuild receive reduce refund repeat replace request rescue resolve respond
restore restrict reverse revert roll shift shrink sign stream subscribe sweep tally throw transfer type undo unlock view
weigh work wrap
"""
_NOUNS = """
answer block book call cash change charge check copy count cut draft end estimate export file filter forecast format fix
group hold hunt import issue join label land list load log look mark match measure move name order paint pass pay pin place
plan play print project pull push query queue rank rate read record report request return roll run scan schedule search
set shift show sign sort split start stop store stream sum switch table take tally test title track transfer turn type
update upload view watch work wrap
"""
_LEADERS = """
a an the one two your all every several each this these that any some its their up out in on off by over through whether
what which who how where when for from to with it them everything something anyone back new another both many more values
"""
VERBS = COMMON_VERBS | frozenset(_VERBS.split())
NOUNS = frozenset(_NOUNS.split())  # verbs that are as often nouns, so that the next word decides
LEADERS = frozenset(_LEADERS.split())  # words that follow a verb, hardly ever a noun


def _table(text: str) -> dict[str, tuple[str, ...]]:
    rows = (row.split(":") for row in " ".join(text.split()).split("|") if row.strip())
    return {word.strip(): tuple(other.strip() for other in others.split(",")) for word, others in rows}


SYNONYMS = _table(ANYWHERE)
VERB_SYNONYMS = _table(BEGINNING)  # of the verb that a description begins with


Mood = Literal["imperative", "third", ""]
MOST_WORDINGS = len(PLAIN)  # even a text of one word that no rule knows has as many
SHARE = 0.75  # of the words that have a synonym
_QUOTED = r"`[^`]*`|\"[^\"]*\"|“[^”]*”"
_KNOWN = "|".join(sorted(map(re.escape, SYNONYMS), key=len, reverse=True))
_WORD = re.compile(rf"{_QUOTED}|(?<![\w-])(?:(?P<article>[Aa]n?) )?(?P<word>{_KNOWN})(?![\w-]| out\b)", re.IGNORECASE)
_RETURNS = re.compile(r"(?<=[.;,] )(R|r)eturns (?=(?:the|a|an|its|their|each|every|all|one|only|your)\b)")


def wordings(text: str, rng: random.Random, *, kept: Collection[str] = ()) -> Iterator[str]:
    """Returns paraphrases of a text, at least MOST_WORDINGS, all different from each other and from the text. Words in
    `kept` stay.

    A blank text has none.

    >>> next(wordings("Find a large place near the city.", random.Random(2), kept=["large"]))
    'Meant to locate a large place near the city.'
    """
    if text.strip():
        mood = _mood(text)
        for opening in _openings(mood, rng):  # no two begin alike, so no two are alike
            body = _reworded(text, mood, rng, kept).strip()
            yield opening.format(body if opening in PLAIN else body[0].lower() + body[1:])


def _openings(mood: Mood, rng: random.Random) -> list[str]:
    """Returns beginnings of a text, natural beginnings first."""
    natural = {"imperative": IMPERATIVE, "third": THIRD, "": ()}[mood]
    plain = [rng.sample(PLAIN[start : start + len(HEADS)], len(HEADS)) for start in range(0, len(PLAIN), len(HEADS))]
    return [*rng.sample(natural, len(natural)), *(opening for group in plain for opening in group)]


def _mood(text: str) -> Mood:
    """Returns the form of the verb that begins the text, or "" if unclear.

    >>> [_mood(text) for text in ("Search the web.", "Searches the web.", "Search engine.", "Levels of a river.")]
    ['imperative', 'third', '', '']
    """
    first, _, rest = text.strip().partition(" ")
    word, next_word = first.lower(), re.split(r"\W", rest, maxsplit=1)[0].lower()
    verb = word if word in VERBS else _known_verb(word)
    if not verb or (verb in NOUNS and next_word not in LEADERS):
        return ""
    return "imperative" if verb == word else "third"


def _known_verb(word: str) -> str:
    """Returns the verb of a third person, or "" if unknown.

    >>> _known_verb("searches"), _known_verb("applies"), _known_verb("has"), _known_verb("levels")
    ('search', 'apply', 'have', '')
    """
    forms = (word[:-1], word[:-2], f"{word[:-3]}y") if word.endswith("s") else ()
    return "have" if word == "has" else next((form for form in forms if form in VERBS), "")


def _reworded(text: str, mood: Mood, rng: random.Random, kept_words: Collection[str]) -> str:
    """Returns the text with most known words replaced and articles adjusted. Quotations and `kept_words` stay."""
    untouched = {word.lower() for word in kept_words}

    def other(match: re.Match[str]) -> str:
        word, article = match["word"], match["article"]
        if word is None or word.lower() in untouched or rng.random() > SHARE:
            return match[0]
        new = rng.choice(SYNONYMS[word.lower()])
        if article is None:
            return _like(word, new)
        return f"{_like(article, 'an' if new[0] in 'aeiou' else 'a')} {new}"

    result = _WORD.sub(other, _with_other_verb(text, mood, rng))
    return _RETURNS.sub(lambda match: f"{_like(match[1], rng.choice(RETURNS))} ", result)


def _with_other_verb(text: str, mood: Mood, rng: random.Random) -> str:
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
    return text[0].upper() + text[1:] if model[0].isupper() else text


MOST_COPIES = 50  # any text has more wordings, see `MOST_WORDINGS`
HIGHEST_SPREAD = 100.0


@dataclass(frozen=True, slots=True)
class Recipe:
    """The number of copies, and how they differ. `spread` is the largest factor on a declared number, up or down. 1 changes nothing.
    Copies follow their original, or replace it if it is not kept.

    Raises CatalogError for numbers out of range.
    """

    copies: int
    seed: int = 0
    spread: float = 2.0
    keep_original: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.copies <= MOST_COPIES:
            raise CatalogError(f"{self.copies} copies cannot be made; give a number from 1 to {MOST_COPIES}.")
        if not 1 <= self.spread <= HIGHEST_SPREAD:
            raise CatalogError(f"A spread of {self.spread:g} is not a factor; give one from 1 to {HIGHEST_SPREAD:g}.")


def multiplied(catalog: Catalog, server: str, recipe: Recipe, *, name: str) -> Catalog:
    """Returns a new catalog in which the server is followed (or replaced) by its copies. Raises UnknownNameError,
    CatalogError.

    >>> world = Catalog("world", (Server("web", tools=(Tool("web", "find", "Find a page."),)), Server("mail")))
    >>> [s.name for s in multiplied(world, "web", Recipe(2), name="more").servers]
    ['web', 'web-1', 'web-2', 'mail']
    """
    original, row = catalog.server(server), catalog.server_row[server]
    new_servers = copies(original, recipe, taken=catalog.server_row)
    originals = (original,) if recipe.keep_original else ()
    return Catalog(name, (*catalog.servers[:row], *originals, *new_servers, *catalog.servers[row + 1 :]))


def multiplied_name(catalog: str, server: str, number: int) -> str:
    """Returns the default name of the new catalog.

    >>> multiplied_name("sample", "web-search", 5)
    'sample-web-search-x5'
    """
    return f"{Path(catalog).stem}-{server}-x{number}"


def copies(original: Server, recipe: Recipe, *, taken: Iterable[str] = ()) -> tuple[Server, ...]:
    """Returns virtual copies of a server, the same for the same recipe. Names in `taken` are skipped.

    All descriptions differ, also from the original's. Blank descriptions stay blank.
    """
    used_names = {*taken, original.name}
    names = (name for number in count(1) if (name := f"{original.name}-{number}") not in used_names)
    descriptions = _wordings(original.description, recipe, "")
    texts = {tool.name: _wordings(tool.description, recipe, tool.name, tool) for tool in original.tools}
    servers: list[Server] = []
    for number in range(recipe.copies):
        rng, span = random.Random(f"{recipe.seed}|{original.name}|{number}"), math.log(recipe.spread)  # noqa: S311
        scales = [math.exp(rng.uniform(-span, span)) for _ in range(5)]
        name = next(names)
        tools = tuple(_varied(replace(t, server=name, description=next(texts[t.name])), scales) for t in original.tools)
        title = f"{original.title} {number + 1}" if original.title else ""
        copy = replace(
            original, name=name, title=title, description=next(descriptions), tools=tools, connection=None, virtual=True
        )
        servers.append(_varied(copy, scales))
    return tuple(servers)


def _wordings(text: str, recipe: Recipe, name: str, tool: Tool | None = None) -> Iterator[str]:
    if not text.strip():
        return iter([text] * recipe.copies)
    names = _names(tool.input_schema) if tool is not None and tool.input_schema is not None else set[str]()
    return wordings(text, random.Random(f"{recipe.seed}|{name}"), kept=names)  # noqa: S311 - wording, not a secret


def _names(schema: Any) -> set[str]:
    """Returns names of parameters and their choices at every depth; a description may mention them."""
    if isinstance(schema, Mapping):
        members = cast("Mapping[str, Any]", schema)
        choices = members.get("enum")
        values = cast("list[object]", choices) if isinstance(choices, list) else []
        names = {*schema_part(members, "properties"), *(value for value in values if isinstance(value, str))}
        return names.union(*map(_names, members.values()))
    return set[str]().union(*map(_names, cast("list[Any]", schema))) if isinstance(schema, list) else set()


FACTORS = {
    "conn_s": 0, "call_s": 1, "latency_s": 1, "ask_usd": 2, "price_usd": 2, "success": 3, "post_accept_failure": 4,
}  # fmt: skip
"""The factor of a copy that each field of a server or tool follows: for connecting, calls, prices, success and failures."""
Record = TypeVar("Record", Server, Tool)


def _varied(record: Record, factors: Sequence[float]) -> Record:
    fields = dict[str, Any]()
    for name, place in FACTORS.items():
        if hasattr(record, name):
            fields[name] = (_odds if place > 2 else _scaled)(getattr(record, name), factors[place])
    return replace(record, **fields)


def _scaled(value: float | None, factor: float) -> float | None:
    """Returns the number rounded to four significant digits, because a declared number is no measurement."""
    return None if value is None else float(f"{value * factor:.4g}")


def _odds(chance: float | None, factor: float) -> float | None:
    """Returns the probability with its odds multiplied by a factor. It stays in [0, 1], and 0 and 1 do not change.

    >>> _odds(0.5, 3.0), _odds(1.0, 0.5), _odds(None, 2.0)
    (0.75, 1.0, None)
    """
    if chance is None or chance in {0.0, 1.0}:
        return chance
    odds = factor * chance / (1 - chance)
    return float(f"{odds / (1 + odds):.4g}")
