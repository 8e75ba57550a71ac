"""The request, the answer and the error that all tools of the endpoint share."""

from __future__ import annotations

import copy
import json
import secrets
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self, TypeVar

import anyio.to_thread
import mcp_types
from cachetools import LRUCache
from mcp.shared.dispatcher import ProgressFnT

from core.app import App
from core.domain.catalog import ServerId
from core.domain.errors import ParameterError, Refusal, UnknownNameError
from core.domain.execution import WAYFARE, ClientSide, SessionOwner
from core.domain.params import NOTHING, Parameters, Value
from core.domain.settings import FIRST_CATALOG
from core.domain.untrusted_text import visible
from core.governance.governed_calls import ResourceLink
from core.routers import ROUTERS
from core.routers.presets import DEFAULT_PRESET, applied

# Options of the endpoint, set by an operator or a client: the catalog, the router, the time limit of a call.

DEFAULT_ROUTER = "ehrr"
SWITCH = ("on", "off")
SEARCH_MODE, ATTENTION_MODE = MODES = ("search", "attention")
ATTENTION_ROUTER = "tool_attention"
SHORTEST_S, LONGEST_S = 0.1, 3600.0


@dataclass(frozen=True)
class EndpointOptions:
    """The defaults are those of the console. `timeout_s` limits one call of a tool. `fallback` calls the next
    candidates of a search if a read-only tool does not answer. `mirror` holds server names, with * and ?; their
    tools are listed in place of Wayfare's own. `further` names more catalogs that are served beside the first. The `mode` attention
    lists the tools of a client's last search beside its own, see `core.gateway.attending`.

    >>> options = EndpointOptions.of_pairs([("router", "expected_value"), ("set", "n=5"), ("fallback", "on")], catalog="mine")
    >>> options.catalog, options.router, options.settings, options.timeout_s, options.fallback
    ('mine', 'expected_value', {'n': '5'}, 60.0, True)
    >>> EndpointOptions.of_pairs([("catalog", "home"), ("catalog", "work")]).catalogs
    ('home', 'work')
    """

    catalog: str = FIRST_CATALOG
    router: str = DEFAULT_ROUTER
    preset: str = DEFAULT_PRESET
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout_s: float = 60.0
    fallback: bool = False
    mirror: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    mode: str = SEARCH_MODE

    @property
    def attention(self) -> bool:
        return self.mode == ATTENTION_MODE

    @property
    def catalogs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.catalog, *self.further)))

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[str, str]], *, catalog: str = FIRST_CATALOG) -> Self:
        """Returns the options of the address
        `/mcp?catalog=...&router=...&preset=...&timeout=S&fallback=on&mirror=SERVER&mode=attention&set=K=V`. `catalog` may be
        repeated. In the mode attention a client has seen no output of tools at first.

        Raises ParameterError for an unknown name, an invalid time, a mirror or the mode attention with several catalogs, or that mode
        with a mirror or another router.
        """
        options, settings = dict[str, Any](), dict[str, str]()
        catalogs, mirror = list[str](), list[str]()
        for name, value in pairs:
            if name == "set" and "=" in value:
                key, _, text = value.partition("=")
                settings[key.strip()] = text.strip()
            elif name == "timeout":
                options["timeout_s"] = _seconds(value)
            elif name == "fallback" and value in SWITCH:
                options["fallback"] = value == "on"
            elif name == "mirror" and value:
                mirror.append(value)
            elif name == "catalog":
                catalogs.append(value)
            elif name in {"router", "preset"} or (name == "mode" and value in MODES):
                options[name] = value
            else:
                raise ParameterError(
                    f"The address has {name}={value}; it takes catalog, router, preset, timeout, fallback=on|off, mirror=SERVER, mode=attention and set=K=V."
                )
        if options.get("mode") == ATTENTION_MODE:
            options.setdefault("router", ATTENTION_ROUTER)
            settings.setdefault("outputs", NOTHING)
        first, *further = dict.fromkeys(catalogs) or (catalog,)
        return cls(first, **options, settings=settings, mirror=tuple(mirror), further=tuple(further))

    def __post_init__(self) -> None:
        if self.mirror and len(self.catalogs) > 1:
            raise ParameterError("A mirror shows servers of one catalog. Name one catalog, or leave the mirror out.")
        if self.attention and (self.mirror or len(self.catalogs) > 1 or self.router != ATTENTION_ROUTER):
            raise ParameterError(
                f"mode={self.mode} is of one catalog, without a mirror and with the router {ATTENTION_ROUTER}; leave out what differs."
            )

    def pairs(self) -> list[tuple[str, str]]:
        pairs = [
            *(("catalog", catalog) for catalog in self.catalogs),
            ("router", self.router),
            ("preset", self.preset),
            ("timeout", f"{self.timeout_s:g}"),
            ("fallback", "on" if self.fallback else "off"),
        ]
        pairs += [("mode", self.mode)] if self.attention else []
        pairs += [("mirror", server) for server in self.mirror]
        return [*pairs, *(("set", f"{name}={value}") for name, value in self.settings.items())]

    def parameters(self, n: int | None = None, *, usual: Mapping[str, Value] | None = None) -> Parameters:
        """Returns the router's parameters, with `n` candidates if the router has that knob. The `usual` values hold if the address
        names no preset; knobs of the address come first. An address with knobs or a preset of its own pays listed prices, so that no
        client settles its own calls for less than its budgets count. Raises UnknownNameError, ParameterError."""
        if self.router not in ROUTERS:
            raise UnknownNameError(f"There is no router {self.router!r}; choose one of: {', '.join(ROUTERS)}.")
        kind = ROUTERS[self.router].parameters
        names = {knob.name for knob in kind.knobs()}
        settings: dict[str, object] = (
            {**(usual or {}), **self.settings} if self.preset == DEFAULT_PRESET else dict(self.settings)
        )
        if n is not None and "n" in names:
            settings["n"] = n
        if "settlement" in names and (self.settings or self.preset != DEFAULT_PRESET):
            settings["settlement"] = "price"
        return applied(kind, self.preset, settings)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not SHORTEST_S <= seconds <= LONGEST_S:
        raise ParameterError(f"timeout={text} is not between {SHORTEST_S:g} and {LONGEST_S:g} seconds.")
    return seconds


# Long results and linked resources: a client gets the first part at once, and the rest by a handle.

T = TypeVar("T")
KEPT_CHARS = 64 * 1024 * 1024
MOST_LINKS, MOST_ROUTES = 10_000, 1_024


class KeptText(NamedTuple):
    text: str
    source: ServerId


class ResultStore:
    """The full texts of results that were cut, kept for the client that received them, and the tools that its searches have shown. The
    oldest texts leave when 64 Mi characters are reached. Thread-safe; nothing is written to disk.

    >>> store = ResultStore().of("ann")
    >>> handle = store.keep(KeptText("a long text", ServerId("demo", "files")))
    >>> store.text(handle).text, store.of("bob").text(handle), store.text("another")
    ('a long text', None, None)
    """

    def __init__(self, kept_chars: int = KEPT_CHARS) -> None:
        self._texts: LRUCache[tuple[str, str], KeptText] = LRUCache(kept_chars, getsizeof=lambda text: len(text.text))
        self._links: LRUCache[tuple[str, str], ResourceLink] = LRUCache(MOST_LINKS)
        self._shown: LRUCache[tuple[str, str], tuple[str, ...]] = LRUCache(MOST_ROUTES)
        self._lock = threading.Lock()
        self._client = ""

    def of(self, client: str) -> Self:
        view = copy.copy(self)
        view._client = client
        return view

    def keep(self, kept: KeptText, handle: str = "") -> str:
        """Keeps a text and returns its handle: the given one, or a random one that cannot be guessed. Only the
        beginning is kept of a text that is longer than the whole store."""
        return self._put(self._texts, kept._replace(text=kept.text[: int(self._texts.maxsize)]), handle)

    def text(self, handle: str) -> KeptText | None:
        """Returns the text of a handle, or None if it belongs to another client or is no longer kept."""
        return self._get(self._texts, handle)

    def keep_link(self, link: ResourceLink) -> str:
        return self._put(self._links, link)

    def link(self, handle: str) -> ResourceLink | None:
        """Returns the link of a handle, or None if the handle is of a text, belongs to another client or is no longer
        kept."""
        return self._get(self._links, handle)

    def keep_shown(self, route_id: str, tools: tuple[str, ...]) -> None:
        """Keeps the tools that a search has shown: its candidates, and tools of servers that are down."""
        self._put(self._shown, tools, route_id)

    def shown(self, route_id: str) -> tuple[str, ...]:
        """Returns the tools that a search has shown, or none if they are no longer kept."""
        return self._get(self._shown, route_id) or ()

    def _put(self, cache: LRUCache[tuple[str, str], T], value: T, key: str = "") -> str:
        key = key or secrets.token_urlsafe(12)
        with self._lock:
            cache[self._client, key] = value
        return key

    def _get(self, cache: LRUCache[tuple[str, str], T], key: str) -> T | None:
        with self._lock:
            return cache.get((self._client, key))


Answer = mcp_types.CallToolResult


def refused(error: Refusal) -> Answer:
    return answer({name: visible(text) for name, text in error.document.items()}, is_error=True)


async def no_progress(progress: float, total: float | None = None, message: str | None = None) -> None:
    """Ignores progress, for a client that wants none."""


class Growing:
    """Progress that never goes back, which the protocol demands: that of a `further` try counts on from the one before it."""

    def __init__(self, tell: ProgressFnT) -> None:
        self._tell = tell
        self._begin = self._last = 0.0

    def further(self) -> None:
        self._begin = self._last

    async def __call__(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        self._last = max(self._last, self._begin + progress)
        await self._tell(self._last, None if total is None else self._begin + total, message)


@dataclass(frozen=True, kw_only=True)
class Sender:
    """The sender of a request. `client` is the name that it gives itself, or the name of its token if the token is `known`; `announced` is
    always its own name. `names` are all names under which its requests may count, see `Admission.names`. `owner` has its sessions with
    servers."""

    options: EndpointOptions = field(default_factory=EndpointOptions)
    client: str = ""
    known: bool = False
    announced: str = ""
    names: frozenset[str] = frozenset()
    owner: SessionOwner = WAYFARE

    @property
    def keeper(self) -> str:
        """Whose results are kept. It stays the same if requests without a token begin to count as one client."""
        return f"token {self.client}" if self.known else f"name {self.announced}"

    def sent(self, client: str) -> bool:
        """Whether requests that counted under this name are the sender's own."""
        return client == self.client or client in self.names


@dataclass(frozen=True)
class Request(Sender):
    """One tools/call: the tool and its arguments. `side` reaches the client during the request. A `mirrored` call wants the
    unchanged result of the tool. `seen` are tools whose output the client has, as far as the mode attention knows."""

    tool: str
    arguments: Mapping[str, Any]
    side: ClientSide | None = None
    progress: ProgressFnT = no_progress
    mirrored: bool = False
    seen: tuple[str, ...] = ()


@dataclass(frozen=True)
class PartRequest(Sender):
    """A request other than tools/call: its method and parameters in the protocol's types."""

    method: str
    params: Any


@dataclass(frozen=True)
class Services:
    """The services that tools use. `result_tokens` limits the part of a result that is returned at once."""

    app: App
    results: ResultStore = field(default_factory=ResultStore)
    result_tokens: int = 8_000

    def of(self, sender: Sender) -> Services:
        return replace(self, results=self.results.of(sender.keeper))


@dataclass(frozen=True)
class AgentTool:
    definition: mcp_types.Tool
    run: Callable[[Services, Request], Awaitable[Answer]]


def in_thread(work: Callable[[Services, Request], Mapping[str, Any] | Answer]) -> Callable[..., Awaitable[Answer]]:
    """Returns the function of a tool whose work blocks, and gives an answer or its document."""

    async def run(services: Services, request: Request) -> Answer:
        result = await anyio.to_thread.run_sync(work, services, request)
        return result if isinstance(result, Answer) else answer(result)

    return run


def answer(
    document: Mapping[str, Any],
    content: Sequence[mcp_types.ContentBlock] | None = None,
    *,
    is_error: bool = False,
    meta: dict[str, Any] | None = None,
) -> Answer:
    """Returns a structured answer. Without `content` the document is also its text, for clients that read only text."""
    blocks: list[mcp_types.ContentBlock] = list(content or [text_block(compact(document))])
    return Answer(content=blocks, structured_content=dict(document), is_error=is_error, _meta=meta)


def text_block(text: str) -> mcp_types.TextContent:
    return mcp_types.TextContent(type="text", text=text)


def compact(document: object) -> str:
    """Returns the JSON text whose tokens are counted.

    >>> compact({"a": [1, "ü"]})
    '{"a":[1,"ü"]}'
    """
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=str)


def object_schema(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def list_of(properties: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Returns the schema of a list of objects that have at least these properties, and perhaps the optional ones."""
    return {
        "type": "array",
        "items": {"type": "object", "properties": {**properties, **(optional or {})}, "required": list(properties)},
    }


def string(description: str, **limits: Any) -> dict[str, Any]:
    return {"type": "string", **limits, "description": description}


def integer(description: str, **limits: Any) -> dict[str, Any]:
    return {"type": "integer", **limits, "description": description}


def or_null(kind: str) -> dict[str, Any]:
    """Returns the schema of a value that may be unknown. Each branch has one type, because some clients reject a list
    of types."""
    return {"anyOf": [{"type": kind}, {"type": "null"}]}


ERROR = object_schema({name: {"type": "string"} for name in ("error", "why", "try")}, ["error", "why", "try"])
"""The schema of an error: some clients validate errors against the output schema, too."""


def definition(
    name: str,
    title: str,
    description: str,
    properties: Mapping[str, Any],
    required: Sequence[str],
    output: Mapping[str, Any],
    hints: mcp_types.ToolAnnotations,
) -> mcp_types.Tool:
    """Returns a tool's definition. Its mark asks clients that load tools on demand to keep this one loaded."""
    return mcp_types.Tool(
        name=name,
        title=title,
        description=description,
        input_schema=object_schema(properties, required),
        output_schema={"type": "object", "anyOf": [object_schema(output, [n for n in output if n != "note"]), ERROR]},
        annotations=hints,
        _meta={"anthropic/alwaysLoad": True},
    )
