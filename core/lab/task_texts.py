"""The wording of written tasks: what a definition says as a request, values for its arguments, and parts joined to one question.

Rules for English. A description in another language stays as it is.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from core.domain.catalog import Tool, first_sentence, words
from core.domain.english import COMMON_VERBS, DESTROYS, READS, REMOVES, WRITES, base_form, words_of
from core.lab.data_flow import required
from core.planning.words import AUXILIARIES, INTERROGATIVES
from core.virtual.sample_values import SHAPES, VERBS, schema_part
from core.virtual.schema_values import NoValueError, value_for

_NO_VERBS = INTERROGATIVES | AUXILIARIES
_MORE_VERBS = words_of(
    "ask compile connect execute install invoke launch localize navigate perform play process recognize request restart scrape type"
)
KNOWN_VERBS = (COMMON_VERBS | READS | WRITES | REMOVES | DESTROYS | set(VERBS) | _MORE_VERBS) - _NO_VERBS
_ASKS = words_of("return report give tell answer say") | {
    verb for shape in ("many", "one", "number", "text") for verb in SHAPES[shape].split()
}
ACTING = KNOWN_VERBS - READS - _ASKS
"""Verbs that ask for something to be done, not to be found out."""
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
_FILLER = "\ue000"  # the topic of texts that say nothing of their own


def request_of(tool: Tool) -> str:
    """A tool's definition as somebody would ask for it, in the imperative. "" if the definition says too little.

    >>> request_of(Tool("a", "get_tide", "This tool returns the next high tide (UTC): time and height."))
    'return the next high tide'
    >>> request_of(Tool("a", "seatMap", "Free seats of a show.")), request_of(Tool("a", "list_open_orders")), request_of(Tool("a", "run", "Go."))
    ('get free seats of a show', 'list open orders', '')
    """
    head = first_sentence(" ".join(tool.description.split()))
    server = re.escape(words(tool.server))
    head = _OPENING.sub("", _ASIDE.sub("", re.sub(rf"^{server}\W+", "", head, flags=re.IGNORECASE)))
    told = _LOOSE.sub("", " ".join(_END.sub("", head).split()[:MOST_WORDS]).strip(" .,!:;。"))
    if _LIKE_ANOTHER.match(told):
        return ""
    if told and not told.isascii() and not re.search(r"[A-Za-z]{3,}(?: [A-Za-z]+){2}", told):
        return told  # not English
    if len(told.split()) < LEAST_WORDS:
        told = re.sub(rf"^{server}\b ", "", words(tool.name), flags=re.IGNORECASE).lower()
        if len(told.split()) < LEAST_WORDS - 1 or not told.isascii():
            return ""
    first, _, rest = told.partition(" ")
    if first.endswith("ly") and rest:  # recursively search
        first, _, rest = rest.partition(" ")
        told = f"{first} {rest}"
    if verb := _verb(first.lower(), rest):
        if verb != first.lower():  # reads a page and tells its length
            rest = _AND.sub(lambda found: base_form(found[0]), rest)
        return f"{verb} {rest}"
    name_like = len(first) > 1 and re.search("[A-Z].*[A-Z]", first)
    return f"get {told if name_like else told[0].lower() + told[1:]}"


def _verb(word: str, rest: str) -> str:
    """The verb that a word is a form of, or "": a known one, or one before an article."""
    base = base_form(word)
    forms = [word, base, word[:-3], f"{word[:-3]}e", word[:-4]] if word.endswith("ing") else [word, base]
    verb_first = rest.split(" ", 1)[0].lower() in _AFTER_A_VERB and word not in _NO_VERBS
    return next((form for form in forms if form in KNOWN_VERBS), base if verb_first else "")


def values_of(tool: Tool, rng: random.Random, without: str) -> str:
    """Values for the required arguments that one can make up, as "city: Oslo, days: 3". "" if there are none."""
    properties = schema_part(tool.input_schema, "properties")
    asked = {name: properties[name] for name in required(tool) if name in properties and name != without}
    try:
        schema = {**(tool.input_schema or {}), "type": "object", "properties": asked, "required": list(asked)}
        made: dict[str, object] = value_for(schema, rng, {"query": _FILLER}) if asked else {}
    except NoValueError:
        return ""
    plain = {words(name).lower(): f"{value}" for name, value in made.items() if type(value) in {str, int, float}}
    said = [name for name, value in plain.items() if _FILLER not in value and len(value) <= MOST_CHARACTERS]
    found = {name: plain[name] for name in said[:MOST_VALUES]}
    dates = [name for name, value in found.items() if _DATE.fullmatch(value)]
    found |= zip(dates, sorted(found[name] for name in dates), strict=True)  # a start before its end
    return ", ".join(f"{name}: {value}" for name, value in found.items())


def step_of(tool: Tool, rng: random.Random, argument: str = "", thing: str = "") -> str:
    """A tool's definition as a request with values. A later step of a chain says that its `argument` takes a `thing` of before.

    >>> step_of(Tool("shop", "cancel", "Cancels an order."), random.Random(1), "orderId", "order")
    'cancel an order, for the order from before'
    """
    asked, values = request_of(tool), values_of(tool, rng, argument)
    how = rng.choice(["for the {} from before", "using the {} you got", "with the {} from that result"])
    said = f"{asked} ({values})" if values else asked
    return said if not asked or not thing else f"{said}, {how.format(thing)}"


def joined(parts: Sequence[str]) -> str:
    """The parts of a chain as one question.

    >>> joined(["find my order from May", "cancel it", "tell me the fee"])
    'Find my order from May. Then cancel it. After that, tell me the fee.'
    """
    openings = ("", "Then ", "After that, ", "Finally, ")
    sentences = [f"{openings[min(at, 3)]}{part if at else _capital(part)}" for at, part in enumerate(parts)]
    return " ".join(one if one.endswith((".", "?", "!", "。")) else f"{one}." for one in sentences)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def on_server(request: str, server: str) -> str:
    """A request that names the server to use."""
    return request if server.lower() in request.lower() else f"With {server}: {_capital(request)}"
