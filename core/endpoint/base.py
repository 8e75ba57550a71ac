"""What every tool of the endpoint gets and gives: the request, the answer, and an error that an agent can act on."""

from __future__ import annotations

import copy
import json
import secrets
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

import mcp_types
from cachetools import LRUCache
from mcp.shared.dispatcher import ProgressFnT

from core.app import App
from core.domain.catalog import ServerId
from core.domain.params import Parameters
from core.routers import ROUTERS
from core.routers.presets import DEFAULT_PRESET, applied
from core.services.call.server_requests import ResourceLink
from core.shared.errors import ParameterError, UnknownNameError
from core.shared.settings import FIRST_CATALOG

# ----------------------------------------------------------------------------------------------------------------------
# What an operator or a client sets of the endpoint: the catalog, how searches are routed, how long a call may take.

DEFAULT_ROUTER = "ehrr"
SWITCH = ("on", "off")
SHORTEST_S, LONGEST_S = 0.1, 3600.0


@dataclass(frozen=True)
class EndpointOptions:
    """The defaults are those of the console. `timeout_s` bounds one call of a tool. With `fallback` the
    next candidates of a search are called where a tool that only reads does not answer. `mirror` are names of servers, with * and ?,
    whose tools are listed in place of Wayfare's own.

    >>> options = EndpointOptions.of_pairs([("router", "expected_value"), ("set", "n=5"), ("fallback", "on")], catalog="mine")
    >>> options.catalog, options.router, options.settings, options.timeout_s, options.fallback
    ('mine', 'expected_value', {'n': '5'}, 60.0, True)
    """

    catalog: str = FIRST_CATALOG
    router: str = DEFAULT_ROUTER
    preset: str = DEFAULT_PRESET
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout_s: float = 60.0
    fallback: bool = False
    mirror: tuple[str, ...] = ()

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[str, str]], *, catalog: str = FIRST_CATALOG) -> Self:
        """Options as the address `/mcp?catalog=...&router=...&preset=...&timeout=S&fallback=on&mirror=SERVER&set=K=V` gives them.

        Raises ParameterError for a name that is none of these, and a time that is none.
        """
        chosen: dict[str, str] = {"catalog": catalog}
        timeout_s, fallback = cls.timeout_s, cls.fallback
        settings: dict[str, str] = {}
        mirror: list[str] = []
        for name, value in pairs:
            if name == "set" and "=" in value:
                key, _, text = value.partition("=")
                settings[key.strip()] = text.strip()
            elif name == "timeout":
                timeout_s = _seconds(value)
            elif name == "fallback" and value in SWITCH:
                fallback = value == "on"
            elif name == "mirror" and value:
                mirror.append(value)
            elif name in {"catalog", "router", "preset"}:
                chosen[name] = value
            else:
                raise ParameterError(
                    f"The address has {name}={value}; it takes catalog, router, preset, timeout, fallback=on|off, mirror=SERVER and set=K=V."
                )
        return cls(**chosen, settings=settings, timeout_s=timeout_s, fallback=fallback, mirror=tuple(mirror))

    def pairs(self) -> list[tuple[str, str]]:
        """The same for an address."""
        named = [
            ("catalog", self.catalog),
            ("router", self.router),
            ("preset", self.preset),
            ("timeout", f"{self.timeout_s:g}"),
            ("fallback", "on" if self.fallback else "off"),
        ]
        named += [("mirror", server) for server in self.mirror]
        return [*named, *(("set", f"{name}={value}") for name, value in self.settings.items())]

    def parameters(self, n: int | None = None) -> Parameters:
        """The router's parameters; `n` candidates where the router counts them. Raises UnknownNameError, ParameterError."""
        if self.router not in ROUTERS:
            raise UnknownNameError(f"There is no router {self.router!r}; choose one of: {', '.join(ROUTERS)}.")
        kind = ROUTERS[self.router].parameters
        counted = n is not None and any(knob.name == "n" for knob in kind.knobs())
        return _parameters(kind, self.preset, tuple(self.settings.items()), n if counted else None)


@lru_cache(maxsize=1024)  # clients ask with few addresses, many times
def _parameters(
    kind: type[Parameters], preset: str, settings: tuple[tuple[str, str], ...], n: int | None
) -> Parameters:
    return applied(kind, preset, {**dict(settings), **({} if n is None else {"n": n})})


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not SHORTEST_S <= seconds <= LONGEST_S:
        raise ParameterError(f"timeout={text} is not between {SHORTEST_S:g} and {LONGEST_S:g} seconds.")
    return seconds


# ----------------------------------------------------------------------------------------------------------------------
# Long results and linked resources: what a client gets at once, and the rest by a handle.

KEPT_CHARS = 64 * 1024 * 1024
MOST_LINKS = 10_000


class KeptText(NamedTuple):
    """A text to be read on, and the server that gave it."""

    text: str
    source: ServerId


class ResultStore:
    """The full texts of results that were cut, the latest that fit into 64 Mi characters, each for the client that it was given to.
    Thread-safe; nothing is stored on disk.

    >>> store = ResultStore().of("ann")
    >>> handle = store.keep(KeptText("a long text", ServerId("demo", "files")))
    >>> store.text(handle).text, store.of("bob").text(handle), store.text("another")
    ('a long text', None, None)
    """

    def __init__(self, kept_chars: int = KEPT_CHARS) -> None:
        self._texts: LRUCache[tuple[str, str], KeptText] = LRUCache(kept_chars, getsizeof=lambda kept: len(kept.text))
        self._links: LRUCache[tuple[str, str], ResourceLink] = LRUCache(MOST_LINKS)
        self._lock = threading.Lock()
        self._client = ""

    def of(self, client: str) -> Self:
        """The same store as one client sees it."""
        seen = copy.copy(self)
        seen._client = client
        return seen

    def keep(self, kept: KeptText, handle: str = "") -> str:
        """A handle that nobody can guess, or the one that is given; of a text that is longer than all that is kept, for its beginning."""
        handle = handle or secrets.token_urlsafe(12)
        with self._lock:
            self._texts[self._client, handle] = kept._replace(text=kept.text[: int(self._texts.maxsize)])
        return handle

    def text(self, handle: str) -> KeptText | None:
        """The text of a handle, None where it is another client's, or not kept any more."""
        with self._lock:
            return self._texts.get((self._client, handle))

    def keep_link(self, link: ResourceLink) -> str:
        """A handle for what is read when it is wanted."""
        handle = secrets.token_urlsafe(12)
        with self._lock:
            self._links[self._client, handle] = link
        return handle

    def link(self, handle: str) -> ResourceLink | None:
        """The link of a handle, None where it is of a text, another client's, or not kept any more."""
        with self._lock:
            return self._links.get((self._client, handle))


Answer = mcp_types.CallToolResult


class Refusal(Exception):
    """Why a request was not done: a short name, what is wrong, and what to try instead."""

    def __init__(self, error: str, why: str, advice: str) -> None:
        super().__init__(why)
        self.error = error
        self.why = why
        self.advice = advice

    def answer(self) -> Answer:
        """The error as the agent gets it."""
        return answer({"error": self.error, "why": self.why, "try": self.advice}, is_error=True)


async def no_progress(progress: float, total: float | None = None, message: str | None = None) -> None:
    """For a client that wants no progress."""


@dataclass(frozen=True)
class Request:
    """One tools/call: what is asked, by whom, and with which options. `client` is the name that the client gives itself, or
    where its token was `known` the name that the token was made for. `mirrored` calls want the result of the tool as it is."""

    tool: str
    arguments: Mapping[str, Any]
    options: EndpointOptions = field(default_factory=EndpointOptions)
    client: str = ""
    known: bool = False
    progress: ProgressFnT = no_progress
    mirrored: bool = False


@dataclass(frozen=True)
class PartRequest:
    """A request that is no tools/call: its method and parameters in the protocol's types, and who asks."""

    method: str
    params: Any
    options: EndpointOptions
    client: str = ""
    known: bool = False


@dataclass(frozen=True)
class Services:
    """What tools work with. `result_tokens` is how much of a result is given at once."""

    app: App
    results: ResultStore = field(default_factory=ResultStore)
    result_tokens: int = 8_000

    def of(self, client: str) -> Services:
        """The same for a request of one client: results of others are unknown to it."""
        return replace(self, results=self.results.of(client))


@dataclass(frozen=True)
class AgentTool:
    """One tool of the endpoint: its definition, which never changes while Wayfare runs, and what it does."""

    definition: mcp_types.Tool
    run: Callable[[Services, Request], Awaitable[Answer]]


def answer(
    document: Mapping[str, Any],
    content: Sequence[mcp_types.ContentBlock] | None = None,
    *,
    is_error: bool = False,
    meta: dict[str, Any] | None = None,
) -> Answer:
    """A structured answer; without content of its own the document is also its text, for clients that read text alone."""
    blocks: list[mcp_types.ContentBlock] = list(content or [text_block(compact(document))])
    return Answer(content=blocks, structured_content=dict(document), is_error=is_error, _meta=meta)


def text_block(text: str) -> mcp_types.TextContent:
    """A text as content."""
    return mcp_types.TextContent(type="text", text=text)


def compact(document: object) -> str:
    """The JSON text whose tokens are counted.

    >>> compact({"a": [1, "ü"]})
    '{"a":[1,"ü"]}'
    """
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=str)


def object_schema(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    """The schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def or_null(kind: str) -> dict[str, Any]:
    """The schema of a value that may be unknown, with one type in each branch: not every client takes a list of types."""
    return {"anyOf": [{"type": kind}, {"type": "null"}]}


ERROR = object_schema({name: {"type": "string"} for name in ("error", "why", "try")}, ["error", "why", "try"])
"""Of every answer that is an error: some clients check these against the output schema, too."""


def definition(
    name: str,
    title: str,
    description: str,
    properties: Mapping[str, Any],
    required: Sequence[str],
    output: Mapping[str, Any],
    hints: mcp_types.ToolAnnotations,
) -> mcp_types.Tool:
    """A tool's definition; the mark asks clients that load tools late to keep these few at hand."""
    return mcp_types.Tool(
        name=name,
        title=title,
        description=description,
        input_schema=object_schema(properties, required),
        output_schema={"type": "object", "anyOf": [object_schema(output, list(output)), ERROR]},
        annotations=hints,
        _meta={"anthropic/alwaysLoad": True},
    )
