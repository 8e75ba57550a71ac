"""Random servers from the words of 98 fields of work (`domains.txt`), each in its author's style.

Text lengths, parameter counts and word rarity follow public servers.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from core.domain.catalog import Server, Tool, first_sentence, words
from core.domain.english import base_form, plural, third_person

TOOLS_OF_A_SERVER = (6.0, 1.0)  # median and deviation of the logarithm: a mean of ten
MOST_TOOLS = 80


def free_name(name: str, used_names: set[str]) -> str:
    number, free = 2, name
    while free in used_names:
        free, number = f"{name}-{number}", number + 1
    return free


def distinct(tools: Sequence[Tool]) -> tuple[Tool, ...]:
    return tuple({tool.name: tool for tool in tools}.values())


def drawn_size(rng: random.Random) -> int:
    median, deviation = TOOLS_OF_A_SERVER
    return max(1, min(MOST_TOOLS, round(rng.lognormvariate(math.log(median), deviation))))


# The style of a server: how its names are written, how much its descriptions say

VERBS = {
    "get": ("get", "fetch", "retrieve", "read"), "list": ("list", "get", "enumerate"), "search": ("search", "find", "query"),
    "create": ("create", "add", "new"), "delete": ("delete", "remove"), "update": ("update", "edit", "modify", "set"),
    "send": ("send", "post"), "find": ("find", "search"), "show": ("show", "get"), "remove": ("remove", "delete"),
}  # fmt: skip
SYLLABLES = [
    "ka",
    "zen",
    "vo",
    "lu",
    "tri",
    "nex",
    "or",
    "bit",
    "ly",
    "fy",
    "mo",
    "ra",
    "pix",
    "sto",
    "cra",
    "flo",
    "dex",
    "gra",
    "vel",
    "sy",
    "no",
    "qua",
    "hu",
    "bri",
    "ex",
    "ta",
    "lo",
    "fin",
    "cor",
    "ju",
    "per",
    "wi",
]
ENDINGS = ("", "", "", "ify", "base", "kit", "flow", "ium", "hub", "ly", "ql", "io")
RARE_WORDS = 60_000
NAMED = 0.6  # share of the descriptions with the name of a product, a project or a format
NAMING = (
    " via the {} API.", " with {}.", " ({}).", " from {}.", ", compatible with {}.", " in {} format.", " of a {} workspace.", " by {} id.",
    " using the {} engine.", " on {}.",
)  # fmt: skip
NOTES = (
    "Results are paginated; pass the cursor of the last answer to go on.", "Requires an API key with the {field} scope.",
    "Rate limited to {number} requests a minute.", "Returns an empty list if nothing matches.",
    "Times are in UTC unless a time zone is given.", "Use this before changing a {thing}.",
    "Do not use this for a {other}; there is another tool for that.", "The answer is cached for {number} seconds.",
    "IMPORTANT: ask the user before calling this tool.", "Large answers are cut at {number} items.",
    "Supports filters by {field} and {field2}.", "This cannot be undone.", "Only the owner of the {thing} may do this.",
    "Prefer this over the {other} tools where the {field} is known.", "Works offline with what was synchronised last.",
    "Unknown {things} are reported by name and left out.", "Either {field} or {field2} is required.",
    "Answers with JSON; a summary in Markdown comes first.", "Needs write access to the {other}.",
    "The {field} is validated before anything is changed.", "Deprecated: use the batch version for more than {number} {things}.",
    "Typical questions: which {things} are {kind}? what is the {field} of this {thing}?",
    "When to use: the user names a {thing} or asks about its {field}.",
    "When not to use: the {thing} is {kind}, or the question is about a {other}.",
    "See the {rare} guide for the {field}.", "Similar to {rare} in other tools; {rare2} is not supported.", "Example: {rare} with {field} {number}.",
    "Costs one credit for each {thing}.", "A {kind} {thing} is refused with an error that says why.",
)  # fmt: skip


def rare_word(rng: random.Random) -> str:
    """A product, a project, a format: word k of 60,000 random words, with probability in proportion to 1/k like real names."""
    return _made_word(int(math.exp(rng.uniform(0.0, math.log(RARE_WORDS)))))


@cache
def _made_word(number: int) -> str:
    rng = random.Random(number)
    return "".join(rng.choice(SYLLABLES) for _ in range(rng.choice((2, 3, 3)))) + rng.choice(ENDINGS)


class Style:
    """One author's habits."""

    def __init__(self, rng: random.Random, server: str) -> None:
        self._join = rng.choices(("_", "-", ".", "camel"), (62, 14, 4, 20))[0]
        self._prefix = max(re.split(r"\W+", server), key=len).lower() if rng.random() < 0.22 else ""
        self._sentences = rng.choices((0, 1, 3, 9, 22), (54, 20, 13, 10, 3))[0]
        self._first_only = rng.random() < 0.45
        self._arguments = rng.random() < 0.12
        self.described = rng.choices((0.0, 0.5, 1.0), (24, 16, 60))[0]

    def name(self, parts: Sequence[str]) -> str:
        low = [word.lower() for word in (*([self._prefix] if self._prefix else []), *parts)]
        if self._join == "camel":
            return low[0] + "".join(word.capitalize() for word in low[1:])
        if self._join == ".":
            return f"{low[0]}.{'_'.join(low[1:])}" if len(low) > 1 else low[0]
        return self._join.join(low)

    def description(self, text: str, tool: Tool, notes: Sequence[str], rng: random.Random) -> str:
        """The text cut to its first sentence or with notes and arguments after it."""
        sentence = first_sentence(text, 200) if self._first_only else text
        if sentence and rng.random() < NAMED:
            sentence = f"{sentence.rstrip('.')}{rng.choice(NAMING).format(rare_word(rng))}"
        count = min(len(notes), round(self._sentences * rng.uniform(0.4, 1.6)))
        lines = [sentence, *rng.sample(notes, count)] if count else [sentence]
        separator = "\n\n" if count > 6 else " "
        full_text = separator.join(line for line in lines if line)
        properties = (tool.input_schema or {}).get("properties", {})
        if self._arguments and properties:
            full_text += "\n\nArgs:\n" + "\n".join(
                f"    {n}: {p.get('description', '') or words(n)}" for n, p in properties.items()
            )
        return full_text


def other_words(name: str, rng: random.Random) -> str:
    first_word, _, remainder = name.partition(" ")
    return f"{rng.choice(VERBS.get(first_word.lower(), (first_word,)))} {remainder}".strip()


def server_name(rng: random.Random, about: str) -> str:
    brand = _made_word(rng.randrange(RARE_WORDS))
    form = rng.choice(
        ("{a}-mcp", "mcp-{a}", "{b}-{a}", "{b}-{a}", "{b}-mcp", "{b}", "{a}-by-{b}", "mcp-server-{b}", "{b}-{a}-tools")
    )
    return form.format(a=about, b=brand)


# Servers made of words

OPERATIONS = {
    "list": (18, "List {kind_}{things}", "List all {things} of {a_other}", "Returns the {things} that match, newest first"),
    "get": (18, "Get {a_thing} by its {field}", "Retrieve details of {a_kind_thing}", "Fetches one {thing} with its {field} and {field2}"),
    "search": (11, "Search {things} by {field} or {field2}", "Find {kind} {things} by keyword", "Full-text search over {things}"),
    "create": (10, "Create {a_thing}", "Add a new {thing} to {a_other}", "Creates {a_kind_thing} with {field} and {field2}"),
    "update": (8, "Update {a_thing}", "Change the {field} of {a_thing}", "Edits {field} and {field2} of an existing {thing}"),
    "delete": (7, "Delete {a_thing}", "Permanently remove {a_kind_thing}", "Deletes {things} by {field}"),
    "export": (3, "Export {things} as CSV, JSON or PDF", "Download {kind} {things} to a file"),
    "import": (2, "Import {things} from a file", "Load {things} in bulk from CSV"),
    "count": (2, "Count {kind} {things}", "Number of {things} by {field}"),
    "analyze": (4, "Analyze {things} by {field}", "Statistics of {kind} {things} over time", "Break {things} down by {field} and {field2}"),
    "validate": (3, "Validate {a_thing} against its {field}", "Check {a_kind_thing} for errors"),
    "compare": (2, "Compare two {things} by {field}", "Show how {a_thing} differs from {a_other}"),
    "send": (2, "Send {a_thing} to {a_other}", "Share {a_kind_thing} by link"),
    "schedule": (2, "Schedule {a_thing}", "Plan {a_kind_thing} for a later {field}"),
    "convert": (2, "Convert {a_thing} to another {field}", "Turn {things} into {others}"),
    "monitor": (2, "Watch {things} and report when the {field} changes", "Subscribe to changes of {a_thing}"),
    "archive": (1, "Archive {kind} {things}", "Move {a_thing} to the archive"),
    "assign": (2, "Assign {a_thing} to {a_other}", "Link {things} and {others}"),
    "calculate": (2, "Calculate the {field} of {a_thing}", "Estimate {field} from {field2} for {things}"),
    "history": (1, "History of {a_thing}", "Show who changed the {field} of {a_thing} and when"),
}  # fmt: skip
TYPES = ("string", "string", "string", "integer", "number", "boolean", "array")
PLAIN = {
    "list": ("limit", "cursor"), "search": ("query", "limit"), "export": ("format",), "import": ("path",), "analyze": ("start_date", "end_date"),
    "get": ("id",), "update": ("id",), "delete": ("id",), "convert": ("target",), "history": ("id", "limit"), "archive": ("id",),
}  # fmt: skip
SAID = {
    "limit": "Maximum number of results to return", "cursor": "Where to go on", "query": "Search query", "id": "Identifier of the {thing}",
    "format": "File format of the export", "path": "Path of the file to read", "start_date": "First day, YYYY-MM-DD",
    "end_date": "Last day, YYYY-MM-DD", "target": "What to convert to",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Domain:
    name: str
    things: tuple[str, ...]
    kinds: tuple[str, ...]
    fields: tuple[str, ...]


@cache
def _domains() -> tuple[_Domain, ...]:
    lines = Path(__file__).with_name("domains.txt").read_text("utf-8").splitlines()
    split = (re.split(r"[:|]", line) for line in lines if not line.startswith("#"))
    return tuple(
        _Domain(name, *(tuple(item.strip() for item in cell.split(",")) for cell in parts)) for name, *parts in split
    )


def invented_server(rng: random.Random, used_names: set[str]) -> Server:
    domain = rng.choice(_domains())
    size = drawn_size(rng)
    name = free_name(server_name(rng, rng.choice(domain.name.split())), used_names)
    style = Style(rng, name)
    things = rng.sample(domain.things, min(len(domain.things), 1 + size // 4))
    if rng.random() < 0.4:  # many servers join two fields
        things += rng.sample(rng.choice(_domains()).things, 1 + len(things) // 3)
    tools = distinct([_invented_tool(rng, name, style, domain, rng.choice(things)) for _ in range(size)])
    about = f"{domain.name.capitalize()}: {', '.join(map(plural, things[:4]))}." if rng.random() < 0.5 else ""
    figures = _figures(rng)
    return Server(name, about, category=domain.name if rng.random() < 0.5 else "", tools=tools, virtual=True, **figures)


def _figures(rng: random.Random) -> dict[str, Any]:
    """Declared figures of half of the servers."""
    if rng.random() < 0.5:
        return {}
    return {
        "conn_s": round(rng.lognormvariate(math.log(0.15), 0.5), 3), "call_s": round(rng.lognormvariate(math.log(0.4), 0.8), 3),
        "success": round(rng.betavariate(40, 2), 3), "ask_usd": round(rng.lognormvariate(math.log(0.001), 1.0), 6),
    }  # fmt: skip


def _invented_tool(rng: random.Random, server: str, style: Style, domain: _Domain, thing: str) -> Tool:
    verb = rng.choices(tuple(OPERATIONS), [operation[0] for operation in OPERATIONS.values()])[0]
    kind = rng.choice(domain.kinds) if rng.random() < 0.35 else ""
    fields = rng.sample(domain.fields, min(len(domain.fields), 4))
    other_thing = rng.choice([candidate for candidate in domain.things if candidate != thing])
    slots = {
        "thing": thing, "things": plural(thing), "a_thing": _a(thing), "kind": kind or rng.choice(domain.kinds), "kind_": f"{kind} " if kind else "",
        "a_kind_thing": _a(f"{kind} {thing}".strip()), "other": other_thing, "others": plural(other_thing), "a_other": _a(other_thing),
        "rare": rare_word(rng).capitalize(), "rare2": rare_word(rng), "field": fields[0], "field2": fields[1], "number": str(rng.choice((5, 10, 20, 30, 50, 60, 100, 200, 500, 1000))),
    }  # fmt: skip
    text = rng.choice(OPERATIONS[verb][1:]).format(**slots)
    if rng.random() < 0.3:
        first_word, _, remainder = text.partition(" ")
        text = f"{third_person(base_form(first_word.lower())).capitalize()} {remainder}"
    object_ = f"{kind} {plural(thing) if verb in {'list', 'search', 'count', 'export'} else thing}".replace("-", " ")
    name = style.name([rng.choice(VERBS.get(verb, (verb,))), *object_.split()])
    tool = Tool(server, name, input_schema=_schema(rng, verb, style, fields, slots), **_tool_figures(rng))
    return replace(tool, description=style.description(f"{text}.", tool, [note.format(**slots) for note in NOTES], rng))


def _tool_figures(rng: random.Random) -> dict[str, Any]:
    if rng.random() < 0.7:
        return {}
    return {
        "price_usd": round(rng.lognormvariate(math.log(0.002), 1.2), 6),
        "latency_s": round(rng.lognormvariate(-1, 0.8), 3),
    }


def _schema(
    rng: random.Random, verb: str, style: Style, fields: Sequence[str], slots: Mapping[str, str]
) -> dict[str, Any]:
    names = [*PLAIN.get(verb, ()), *fields[: rng.choices((0, 1, 2, 3, 4), (25, 30, 25, 12, 8))[0]]]
    properties: dict[str, Any] = {}
    for name in names:
        kind = "integer" if name == "limit" else "string" if name in SAID else rng.choice(TYPES)
        details: dict[str, Any] = {"type": kind} if kind != "array" else {"type": kind, "items": {"type": "string"}}
        if rng.random() < style.described:
            template = SAID.get(name) or rng.choice(
                ("The {f} of the {thing}", "{F}", "{F} to filter by", "Only {things} with this {f}", "Optional {f}")
            )
            details["description"] = template.format(f=name, F=name.capitalize(), **slots)
        properties[_parameter(name)] = details
    required = [_parameter(name) for name in names if rng.random() < 0.4]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _parameter(name: str) -> str:
    """A field as the name of a parameter."""
    return re.sub(r"\W+", "_", name.lower())


def _a(noun: str) -> str:
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"
