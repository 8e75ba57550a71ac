"""The inputs, outputs and actions of tools, by the words of their definitions. `core.lab.task_writing` makes tasks of them.

Results and arguments make the graph that chains are drawn from (ETOM, appendix B.6). A result has the fields of its output schema.
Without a schema it has the fields that `core.virtual.sample_values` guesses from name and description, and the ids that the description
names. An argument asks for the thing that its name, type and description name. Both are brought to one word: `order_id`, `orderId`,
`orders[].id` and "the ID of the order" all speak of an order.

Requests are worded by rules for English. A description in another language stays as it is.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from core.domain.catalog import Tool, first_sentence, words
from core.domain.english import (
    COMMON_VERBS,
    DESTROYS,
    READS,
    REMOVES,
    WRITES,
    base_form,
    leading_verb,
    singular,
    words_of,
)
from core.planning.words import AUXILIARIES, INTERROGATIVES
from core.virtual.sample_values import (
    CONTROLS,
    FILLERS,
    NUMBERS,
    PRIVATE,
    SHAPES,
    VERBS,
    inferred_schema,
    known_fields,
    schema_part,
)
from core.virtual.schema_values import NoValueError, value_for

DEPTH = 4  # levels of a result that are read
_IDS = words_of("id key uuid slug no number ref reference identifier code handle")  # mean something on one server alone
_SUFFIXES = _IDS | words_of("name url uri link path file filename filepath text content title")
_THINGS = {
    "link": "url uri link href website webpage permalink", "file": "path file filename filepath pdf", "DOI": "doi", "ISBN": "isbn",
    "text": "text content body markdown article transcript html", "image": "image photo picture screenshot", "ticker": "ticker",
    "data": "csv row spreadsheet", "e-mail address": "email mail",
}  # fmt: skip
ANYWHERE = {word: thing for thing, names in _THINGS.items() for word in names.split()}
"""Words of things that have one meaning on all servers."""
_VAGUE = _IDS | words_of(
    """
    the name title value type kind mode start end date day time year month query question search term limit count amount size format
    language lang unit status result item record data input output source target from origin destination option field property parameter
    argument config setting description message prompt reason note level color colour width height index position offset page cursor
    version command action operation method expression pattern begin first last second other thing object element entry list info detail
    attribute subject label tag category answer summary topic headline comment word percent timezone country currency function body minute
    hour week region owner instruction reference request response rank sample user quantity
    """
)
_GIVES = words_of(
    "get list read fetch search find download export generate retrieve extract view show lookup browse scrape crawl track return"
)
_READS_CONTENT = words_of("get read fetch view show scrape extract")  # they give the content of a file
_CREATES = words_of("create write save export download")  # they ask for the name of their product
_WHERE_TO = words_of("output out destination dest save target new to")  # of an argument that names the product
_NEUTRAL = words_of("file input absolute relative source full local web page my given raw")
_OF = re.compile(r"\b(?:ids?|identifiers?|keys?|slugs?|numbers?|uuids?) of (?:the|an?|each) (?P<of>[a-z]+)", re.IGNORECASE)  # fmt: skip
_NAMED = re.compile(r"\b(?P<of>[a-z]{3,}) (?:ids?|identifiers?|uuids?|keys?)\b", re.IGNORECASE)
_RETURNS = re.compile(r"\b(?:returns?|gives?|yields?|outputs?|along with)\b(?P<what>[^.\n]*)", re.IGNORECASE)
_ASKED_WITH = re.compile(
    r"\b(?:from|for|by|at|on|in|into|to|using|based|given|near|via|within|behind|about|of (?:an?|the|any|one|each|specific|given))\b.*"
)
_MACHINES = re.compile(r"\b(?:containers?|docker|registry|machines?|disks?)\b", re.IGNORECASE)
_Table = Mapping[str, Sequence[int]]  # rows by thing


@dataclass(frozen=True, slots=True)
class Link:
    """A result of one tool (row) that an argument of another takes. `thing` is the passed thing, `path` its place in the result."""

    source: int
    target: int
    argument: str
    thing: str
    path: str
    declared: bool

    def end(self, row: int) -> int:
        """The other tool of the two."""
        return self.source if self.target == row else self.target

    def words(self, tools: Sequence[Tool]) -> str:
        """The edge as provenance has it."""
        origin = "declared" if self.declared else "guessed from name and description"
        return f"{tools[self.source].id} {self.path} ({origin}) -> {tools[self.target].id} {self.argument}"


@dataclass(frozen=True)
class DataFlow:
    """The links between tools (rows), found by the passed thing. Chains are drawn from it, so it is never written out."""

    servers: Sequence[str]
    asked: Mapping[int, Mapping[str, str]]
    given: Mapping[int, Mapping[str, tuple[str, bool]]]
    givers: _Table = field(repr=False)
    takers: _Table = field(repr=False)

    @classmethod
    def of(cls, tools: Sequence[Tool]) -> DataFlow:
        inputs = {row: things for row, tool in enumerate(tools) if (things := asked_things(tool))}
        outputs = {row: things for row, tool in enumerate(tools) if (things := returned_things(tool))}
        return cls([tool.server for tool in tools], inputs, outputs, _by_thing(outputs), _by_thing(inputs))

    def links(self, row: int, *, across: bool) -> list[Link]:
        """The links into and out of a tool, on its own server, or `across` to other servers."""
        ends = [(source, row, thing) for thing in self.asked.get(row, ()) for source in self.givers.get(thing, ())]
        ends += [(row, target, thing) for thing in self.given.get(row, ()) for target in self.takers.get(thing, ())]
        return [
            Link(source, target, self.asked[target][thing], thing, *self.given[source][thing])
            for source, target, thing in ends
            if source != target and (self.servers[source] != self.servers[target]) is across
            if thing in _THINGS or not across
        ]


def _by_thing(things_by_row: Mapping[int, Iterable[str]]) -> _Table:
    rows: dict[str, list[int]] = defaultdict(list)
    for row, things in things_by_row.items():
        for thing in things:
            rows[thing].append(row)
    return rows


def asked_things(tool: Tool) -> dict[str, str]:
    """The things that a tool's required arguments ask for and a result may give, each with its first argument.

    >>> schema = {"properties": {"orderId": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["orderId", "limit"]}
    >>> asked_things(Tool("shop", "cancel", input_schema=schema))
    {'order': 'orderId'}
    """
    properties, arguments = schema_part(tool.input_schema, "properties"), dict[str, str]()
    outputs = {"file", thing_of(f"{noun_of(tool)}_id")} if leading_verb(words(tool.name)) in _CREATES else set[str]()
    outputs |= _other_images(tool)
    for name in required(tool):
        schema, name_words = schema_part(properties, name), words(name).lower().split()
        is_id = bool(_IDS & {singular(word) for word in name_words[-1:]})
        kinds = ("string", "array", *(("integer", "number") if is_id else ()))
        if (
            schema.get("type", "string") in kinds
            and "enum" not in schema
            and not _WHERE_TO & {*name_words[:-1]}
            and not _private(name)
        ):
            thing = thing_of(name) or (_of_description(schema, tool) if is_id and len(name_words) == 1 else "")
            if thing and thing not in outputs:
                arguments.setdefault(thing, name)
    return arguments  # fmt: skip


def required(tool: Tool) -> list[str]:
    listed: object = (tool.input_schema or {}).get("required")
    return [str(name) for name in cast("list[object]", listed)] if isinstance(listed, list) else []


def returned_things(tool: Tool) -> dict[str, tuple[str, bool]]:
    """The things that a tool's result gives, with place, and whether its schema declares them. Its arguments are left out.

    >>> returned_things(Tool("shop", "search_orders", "Finds orders by date. Returns the customer id and a link."))
    {'order': ('orders[]', False), 'customer': ('customer id', False), 'link': ('link', False)}
    """
    declared = bool(schema_part(tool.output_schema, "properties"))
    paths: dict[str, str] = {}
    for thing, path in _given(tool.output_schema, noun_of(tool), "") if declared else _guessed(tool):
        paths.setdefault(thing, path)
    inputs = {thing_of(name) for name in schema_part(tool.input_schema, "properties")} | _other_images(tool)
    if _verb(tool) not in _GIVES:
        inputs.add("text")  # a tool that writes or changes a text may return it, but is not called for that
    return {thing: (path, declared) for thing, path in paths.items() if thing and thing not in inputs}


def thing_of(name: str) -> str:
    """The word for the thing of a field or an argument, "" if its name says too little.

    >>> [thing_of(name) for name in ("order_id", "trackingNumber", "page_url", "filePath", "repo_path", "image_id", "minutes", "start", "id")]
    ['order', 'tracking', 'link', 'file', 'repo', 'image id', '', '', '']
    """
    name_words = [singular(word) for word in words(name).lower().split() if word != "contents"]
    last = name_words[-1] if name_words else ""
    prefix = name_words[-2:-1] if last in _IDS else [word for word in name_words[:-1] if word not in _NEUTRAL][-1:]
    if last in _SUFFIXES and prefix:
        last = f"{prefix[0]} id" if last in _IDS and prefix[0] in ANYWHERE else prefix[0]
    thing = ANYWHERE.get(last, last)
    vague = thing in _VAGUE or {thing, f"{thing}s"} & NUMBERS.keys()
    return "" if vague or len(thing) < 3 or not thing.replace(" ", "").replace("-", "").isalpha() else thing


def noun_of(tool: Tool) -> str:
    """The last word of a tool's name that is not a verb.

    >>> noun_of(Tool("shop", "list_open_orders")), noun_of(Tool("shop", "get"))
    ('orders', '')
    """
    nouns = [word for word in words(tool.name).lower().split() if word not in VERBS and word not in FILLERS]
    return nouns[-1] if nouns else ""


def _of_description(schema: Mapping[str, Any], tool: Tool) -> str:
    """The thing of a bare `id`, by its description or the tool's name."""
    text = str(schema.get("description", ""))[:500]
    nouns = (thing_of(f"{match['of']}_id") for match in (*_OF.finditer(text), *_NAMED.finditer(text)))
    return next(filter(None, nouns), "") or thing_of(f"{noun_of(tool)}_id")


def _verb(tool: Tool) -> str:
    """The verb at the start of a tool's description, or in its name."""
    first = base_form(next(iter(words(tool.description[:40]).lower().split()), ""))
    return first if first in READS | VERBS.keys() else leading_verb(words(tool.name))


def _guessed(tool: Tool) -> Iterator[tuple[str, str]]:
    """The things of a result without a schema: the records of a list, the id of a new thing, and the things that a reading tool
    names."""
    properties: Mapping[str, Any] = inferred_schema(tool, {})["properties"]
    yield from ((thing_of(name), f"{name}[]") for name, schema in properties.items() if schema.get("type") == "array")
    if "status" in properties:  # something is made, changed or removed
        yield from ((thing_of(name), name) for name in properties if name.endswith("_id"))
        return
    text, verb = tool.description[:2_000], _verb(tool)
    if verb not in _GIVES:
        return
    clauses = [_ASKED_WITH.sub("", first_sentence(text)), *(match["what"] for match in _RETURNS.finditer(text))]
    for clause in clauses:
        yield from ((thing_of(f"{match['of']}_id"), f"{match['of']} id".lower()) for match in _NAMED.finditer(clause))
        things = ((thing_of(name), name) for name in known_fields(clause))
        yield from ((thing, name) for thing, name in things if thing != "file" or verb not in _READS_CONTENT)


def _given(schema: object, noun: str, path: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """The things of a schema with their paths. `noun` names the record and its bare id."""
    if not isinstance(schema, Mapping) or depth > DEPTH:
        return
    for name, value in schema_part(cast("Mapping[str, Any]", schema), "properties").items():
        place, nested = f"{path}{name}", cast("Mapping[str, Any]", value if isinstance(value, Mapping) else {})
        if _private(name):
            continue
        if words(name).lower() in _IDS and noun:
            yield thing_of(f"{noun}_id"), place
        elif "const" not in nested and nested.get("type") not in ("boolean", "object"):
            yield thing_of(name), f"{place}[]" if nested.get("type") == "array" else place
        yield from _given(nested, name, f"{place}.", depth + 1)
        yield from _given(nested.get("items"), singular(name), f"{place}[].", depth + 1)


def _other_images(tool: Tool) -> set[str]:
    """The set {"image"} if the images of a tool are not pictures, else an empty set."""
    return {"image"} if _MACHINES.search(tool.description) else set()


def _private(name: str) -> bool:
    plain = words(name).lower()
    return plain.replace(" ", "") in CONTROLS or bool(({*PRIVATE} - {"key", "card"}) & {*plain.split()})


_NO_VERBS = INTERROGATIVES | AUXILIARIES
_MORE_VERBS = words_of(
    "ask compile connect execute install invoke launch localize navigate perform play process recognize request restart scrape type"
)
KNOWN_VERBS = (COMMON_VERBS | READS | WRITES | REMOVES | DESTROYS | set(VERBS) | _MORE_VERBS) - _NO_VERBS
_ASKS = words_of("return report give tell answer say") | {
    verb for shape in ("many", "one", "number", "text") for verb in SHAPES[shape].split()
}
ACTING = KNOWN_VERBS - READS - _ASKS
"""Verbs of actions, not of questions."""
_AFTER_A_VERB = words_of(
    "a an the all your its their this one each every any another new multiple several how what and"
)
LEAST_WORDS, MOST_WORDS, MOST_VALUES, MOST_CHARACTERS = 3, 24, 3, 60
_OPENING = re.compile(
    r"^(?:(?:(?:this|the|a|an) )?(?:tool|function|endpoint|command|api|method|utility) "
    r"(?:(?:that |which )?(?:is used |is |can be used |can |allows? (?:you |users? |one )?|lets you |will |helps? (?:you )?|enables? (?:you )?)?(?:to )?|for )"
    r"|use(?: this(?: tool)?)? (?:to|for) |used (?:to|for) |allows? (?:you |users? )?to |lets you |(?:wrapper|helper) (?:to|for) )",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\s*\([^()]*\)|\s*\[[^\[\]]*\]|`|\*\*|^[^\w\"'“]+")
_LOOSE = re.compile(r"(?:,? (?:and|or|with|by|to|of|in|for|from|the|an?|using))+$")
_END = re.compile(
    r"(?<=\w)(?::(?=\s|$)|[;。，；：]| [-|] |,? (?:including|such as|e\.g\.|for example|with optional|optionally|so that|and returns?)\b|, (?:where|which)\b).*",
    re.DOTALL,
)
_LIKE_ANOTHER = re.compile(r"(?:the )?same\b|(?:just )?like \w+, but|see |as above", re.IGNORECASE)
_AND = re.compile(r"(?<=\band )\w+s(?= (?:a|an|the|its|it|how|whether)\b)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_FILLER = "\ue000"  # the topic of texts without content


def request_of(tool: Tool) -> str:
    """A tool's definition as a request in the imperative. "" if the definition says too little.

    >>> request_of(Tool("a", "get_tide", "This tool returns the next high tide (UTC): time and height."))
    'return the next high tide'
    >>> request_of(Tool("a", "seatMap", "Free seats of a show.")), request_of(Tool("a", "list_open_orders")), request_of(Tool("a", "run", "Go."))
    ('get free seats of a show', 'list open orders', '')
    """
    head = first_sentence(" ".join(tool.description.split()))
    server = re.escape(words(tool.server))
    head = _OPENING.sub("", _ASIDE.sub("", re.sub(rf"^{server}\W+", "", head, flags=re.IGNORECASE)))
    phrase = _LOOSE.sub("", " ".join(_END.sub("", head).split()[:MOST_WORDS]).strip(" .,!:;。"))
    if _LIKE_ANOTHER.match(phrase):
        return ""
    if phrase and not phrase.isascii() and not re.search(r"[A-Za-z]{3,}(?: [A-Za-z]+){2}", phrase):
        return phrase  # not English
    if len(phrase.split()) < LEAST_WORDS:
        phrase = re.sub(rf"^{server}\b ", "", words(tool.name), flags=re.IGNORECASE).lower()
        if len(phrase.split()) < LEAST_WORDS - 1 or not phrase.isascii():
            return ""
    first, _, rest = phrase.partition(" ")
    if first.endswith("ly") and rest:  # recursively search
        first, _, rest = rest.partition(" ")
        phrase = f"{first} {rest}"
    if verb := _verb_form(first.lower(), rest):
        if verb != first.lower():  # reads a page and returns its length
            rest = _AND.sub(lambda match: base_form(match[0]), rest)
        return f"{verb} {rest}"
    name_like = len(first) > 1 and re.search("[A-Z].*[A-Z]", first)
    return f"get {phrase if name_like else phrase[0].lower() + phrase[1:]}"


def _verb_form(word: str, rest: str) -> str:
    """The known verb that a word is a form of, else the base form of a word before an article, else ""."""
    base = base_form(word)
    forms = [word, base, word[:-3], f"{word[:-3]}e", word[:-4]] if word.endswith("ing") else [word, base]
    verb_first = rest.split(" ", 1)[0].lower() in _AFTER_A_VERB and word not in _NO_VERBS
    return next((form for form in forms if form in KNOWN_VERBS), base if verb_first else "")


def values_of(tool: Tool, rng: random.Random, without: str) -> str:
    """Made-up values for the required arguments, as "city: Oslo, days: 3". "" without any."""
    properties = schema_part(tool.input_schema, "properties")
    arguments = {name: properties[name] for name in required(tool) if name in properties and name != without}
    try:
        schema = {**(tool.input_schema or {}), "type": "object", "properties": arguments, "required": list(arguments)}
        values: dict[str, object] = value_for(schema, rng, {"query": _FILLER}) if arguments else {}
    except NoValueError:
        return ""
    plain = {words(name).lower(): f"{value}" for name, value in values.items() if type(value) in {str, int, float}}
    names = [name for name, value in plain.items() if _FILLER not in value and len(value) <= MOST_CHARACTERS]
    pairs = {name: plain[name] for name in names[:MOST_VALUES]}
    dates = [name for name, value in pairs.items() if _DATE.fullmatch(value)]
    pairs |= zip(dates, sorted(pairs[name] for name in dates), strict=True)  # a start before its end
    return ", ".join(f"{name}: {value}" for name, value in pairs.items())


def step_of(tool: Tool, rng: random.Random, argument: str = "", thing: str = "") -> str:
    """A tool's definition as a request with values. In a later step of a chain `argument` takes the `thing` of an earlier step.

    >>> step_of(Tool("shop", "cancel", "Cancels an order."), random.Random(1), "orderId", "order")
    'cancel an order, for the order from before'
    """
    request, values = request_of(tool), values_of(tool, rng, argument)
    template = rng.choice(["for the {} from before", "using the {} you got", "with the {} from that result"])
    step = f"{request} ({values})" if values else request
    return step if not request or not thing else f"{step}, {template.format(thing)}"


def joined(parts: Sequence[str]) -> str:
    """The parts of a chain as one question.

    >>> joined(["find my order from May", "cancel it", "tell me the fee"])
    'Find my order from May. Then cancel it. After that, tell me the fee.'
    """
    openings = ("", "Then ", "After that, ", "Finally, ")
    sentences = [f"{openings[min(number, 3)]}{part if number else _capital(part)}" for number, part in enumerate(parts)]
    return " ".join(sentence if sentence.endswith((".", "?", "!", "。")) else f"{sentence}." for sentence in sentences)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def names_server(text: str, server: str) -> bool:
    """Whether a text has a server's name.

    >>> names_server("Ask star-chart for Mars", "starChart"), names_server("chart a star", "starChart")
    (True, False)
    """
    return bool(re.search(rf"\b{re.escape(words(server).lower())}\b", words(text).lower()))


def on_server(request: str, server: str) -> str:
    return request if names_server(request, server) else f"With {server}: {_capital(request)}"
