"""Tool Attention: the record of a turn (its section 5.7), the call gate, the agent's state, summaries, and the schema loader."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from cachetools import LRUCache

from core.domain.catalog import Catalog, Server, Tool, definition_tokens
from core.domain.decision import Decision
from core.domain.errors import UnknownNameError, WayfareError
from core.domain.execution import AgentState
from core.domain.tools import count_tokens
from core.domain.trace import DROPS, Drop
from core.relevance.text_views import names


def turn_event(decision: Decision) -> dict[str, Any]:
    """One turn as JSON: tools above the threshold with their ISO, tools held back by the state with the reason, and the active tools.

    As in the paper, a hash stands for the query, so that an event can be stored without the question.
    """
    tools = decision.tools
    above_rows = np.flatnonzero(tools.dropped != DROPS.index(Drop.BELOW_THRESHOLD))
    ranked_rows = above_rows[np.argsort(-tools.utility[above_rows], kind="stable")]
    from core.relevance.encoder import text_hash

    return {
        "turn_id": decision.id,
        "query_hash": text_hash(decision.query),
        "candidates": [tools.ids[row] for row in ranked_rows],
        "scores": {tools.ids[row]: round(float(tools.utility[row]), 6) for row in ranked_rows},
        "gated_out_by_state": {tools.ids[row]: remark for row, remark in decision.remarks.items()},
        "active_set": [tools.ids[row] for row in decision.candidates],
        "phase1_tokens": decision.exposure.cached,
        "phase2_tokens": decision.exposure.exposed,
        "latency_ms": decision.timings_ms["total"],
    }


# The gate after the model: a call of a tool whose schema was not put before it is refused (Tool Attention, 5.5).


def refusal(active: Sequence[str], tool: str) -> dict[str, Any] | None:
    """The structured error for the model. Returns None if the tool is active and may be called.

    >>> refusal(["files::read"], "files::read") is None
    True
    >>> refusal(["files::read"], "files::delete")
    {'error': 'tool_not_available', 'available': ['files::read']}
    """
    return None if tool in active else {"error": "tool_not_available", "available": list(active)}


# The agent's state, for a form that edits it: the preconditions of a catalog, and the unmet preconditions of each held-back tool.


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A tool with enough overlap that the state does not admit: its ISO, its rank (from 1) among the candidates if it
    alone were admitted (None if it would not be among the k), and the preconditions that do not hold."""

    tool: str
    iso: float
    rank: int | None
    lacks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StateView:
    """The agent's state in a decision, the state that all preconditions of the catalog (of `guarded` tools) name, and the tools
    that are held back, highest ISO first. `checked` is False if the decision did not look at the state."""

    state: AgentState
    named: AgentState
    guarded: int
    held_back: tuple[HeldBack, ...]
    checked: bool


def state_view(decision: Decision, catalog: Catalog) -> StateView:
    texts = {name: str(decision.parameters[name]) for name in ("scopes", "outputs", "milestones")}
    state, tools = AgentState.of(**texts), decision.tools
    ranked_rows = sorted(decision.remarks, key=lambda row: (-tools.utility[row], tools.ids[row]))
    active, k = tools.utility[list(decision.candidates)], cast(int, decision.parameters["n"])
    guarded = [tool.preconditions for tool in catalog.tools if tool.preconditions]
    return StateView(
        state=state,
        named=AgentState.satisfying(text for preconditions in guarded for text in preconditions),
        guarded=len(guarded),
        held_back=tuple(
            HeldBack(
                tools.ids[row],
                float(tools.utility[row]),
                rank if (rank := 1 + int(np.count_nonzero(active >= tools.utility[row]))) <= k else None,
                state.unmet(catalog.tools[catalog.tool_row[tools.ids[row]]].preconditions),
            )
            for row in ranked_rows
            if tools.ids[row] in catalog.tool_row  # a catalog may have been replaced since
        ),
        checked=bool(decision.parameters["preconditions"]),
    )


# Tool summaries s_t: name and the first sentences of the description, at most 60 tokens (Tool Attention, 4.2).
#
# All summaries together are the pool of phase 1: always in the prompt and equal at every turn, so that a provider caches
# them. They are extractive: whole sentences as long as they fit, or the first words if no sentence fits.
#
# Each summary is read twice. In the pool a tool has its id, because a model asks for it by the id. For the encoder its
# names are words (`core.relevance.text_views.full` if all of the description fits, so that no text is embedded anew).

MAX_TOKENS = 60
CUT = "…"
LONGEST = 1200  # characters looked at: no token of ordinary text is longer than 20
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Pool:
    """The summaries of a catalog's tools (T,): `lines` as the prompt has them, `texts` as the encoder reads them.

    `tokens` counts the lines with their line breaks.
    """

    lines: tuple[str, ...]
    texts: tuple[str, ...]
    tokens: int


def pool(tools: Sequence[Tool], limit_tokens: int = MAX_TOKENS) -> Pool:
    """Phase 1 of these tools.

    >>> summary = pool([Tool("files", "readText", "Reads a file. Returns its text.")], limit_tokens=12)
    >>> summary.lines, summary.texts, summary.tokens
    (('files::readText: Reads a file.',), ('files read Text: Reads a file.',), 9)
    """
    shortened = [shortened_description(tool, limit_tokens) for tool in tools]
    lines = tuple(summary_line(tool, text) for tool, text in zip(tools, shortened, strict=True))
    texts = tuple(f"{names(tool)}: {text}" for tool, text in zip(tools, shortened, strict=True))
    return Pool(lines, texts, sum(count_tokens(f"{line}\n") for line in lines))


def summary_line(tool: Tool, text: str) -> str:
    return " ".join(f"{tool.id}: {text}".split())


def shortened_description(tool: Tool, limit_tokens: int) -> str:
    """The part of the description that fits beside the tool's id: all, its first sentences, or its first words.

    >>> tool = Tool("web", "fetch", "Fetches a page over HTTP and follows redirects. Slow.")
    >>> [shortened_description(tool, n) for n in (60, 15, 10, 4)]
    ['Fetches a page over HTTP and follows redirects. Slow.', 'Fetches a page over HTTP and follows redirects.', \
'Fetches a page over…', '']
    """
    description = tool.description.strip()
    if len(description) <= LONGEST and _fits(tool, description, limit_tokens):
        return description
    head = description[:LONGEST]
    return _longest(tool, _SENTENCE.split(head), "", limit_tokens) or _longest(tool, head.split(), CUT, limit_tokens)


def _longest(tool: Tool, parts: Sequence[str], end: str, limit_tokens: int) -> str:
    """The most leading parts that fit, or ""."""
    low, high = 0, len(parts)
    while low < high:
        middle = (low + high + 1) // 2
        fits = _fits(tool, " ".join(parts[:middle]) + end, limit_tokens)
        low, high = (middle, high) if fits else (low, middle - 1)
    return " ".join(parts[:low]) + end if low else ""


def _fits(tool: Tool, text: str, limit_tokens: int) -> bool:
    return count_tokens(summary_line(tool, text)) <= limit_tokens


# The lazy schema loader of phase 2: full definitions on demand; it evicts the least recently used (Tool Attention, 4.4).
#
# A definition comes from the local registry, which is the catalog, or from the server's own list of tools. Servers change
# their tools without notice, so a definition that was read live is read again once it is `max_age_s` old. A definition from a
# catalog that was replaced meanwhile is read again at once.

Source = Literal["catalog", "live"]
Listing = Callable[[str, Server], Sequence[Tool]]
"""Maps a catalog's name and its server to the server's tools/list. Raises WayfareError without a list."""


@dataclass(frozen=True, slots=True)
class LoadedSchema:
    """A full definition: its source, its age in s, and whether it was in the cache (`hit`).

    `note` says why it is the catalog's although the server was asked.
    """

    tool: Tool
    source: Source
    age_s: float
    hit: bool
    note: str = ""

    @property
    def tokens(self) -> int:
        return definition_tokens(self.tool)


@dataclass(frozen=True, slots=True)
class _Entry:
    tool: Tool
    declared: Tool  # the catalog's tool when it was read
    read_at_s: float


class SchemaLoader:
    """Loads definitions through a bounded cache. Thread-safe. `listing` asks a live server.

    >>> catalog = Catalog("c", (Server("files", tools=(Tool("files", "read"),)),))
    >>> loader = SchemaLoader(lambda catalog, server: (), clock=lambda: 0.0)
    >>> [loader.load(catalog, ["files::read"])[0].hit for _ in range(2)]
    [False, True]
    """

    def __init__(
        self,
        listing: Listing,
        *,
        capacity: int = 256,
        max_age_s: float = 600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._listing = listing
        self._max_age_s = max_age_s
        self._clock = clock
        self._cache: LRUCache[tuple[str, str, Source], _Entry] = LRUCache(capacity)
        self._lock = threading.Lock()

    def load(self, catalog: Catalog, tool_ids: Sequence[str], *, live: bool = False) -> tuple[LoadedSchema, ...]:
        """The definitions of these tools (`server::tool`), in their order. `live` asks their servers.

        If a server does not answer or no longer lists a tool, the note names it and the catalog's definition is
        used. Raises UnknownNameError for a tool that the catalog does not have.
        """
        source: Source = "live" if live else "catalog"
        loaded, missing = dict[str, LoadedSchema](), dict[str, list[Tool]]()
        for tool in [_declared(catalog, tool_id) for tool_id in tool_ids]:
            if (cached := self._from_cache(catalog, tool, source)) is not None:
                loaded[tool.id] = cached
            else:
                missing.setdefault(tool.server, []).append(tool)
        for server, tools in missing.items():
            if live:
                loaded |= self._listed(catalog, server, tools)
            else:
                self._keep(catalog, ((tool, tool) for tool in tools), source)
                loaded |= {tool.id: LoadedSchema(tool, source, 0.0, hit=False) for tool in tools}
        return tuple(loaded[tool_id] for tool_id in tool_ids)

    def _from_cache(self, catalog: Catalog, tool: Tool, source: Source) -> LoadedSchema | None:
        key = (catalog.name, tool.id, source)
        with self._lock:
            entry = self._cache.get(key)
            age_s = 0.0 if entry is None else self._clock() - entry.read_at_s
            if entry is None or entry.declared != tool or (source == "live" and age_s > self._max_age_s):
                return None
            return LoadedSchema(entry.tool, source, age_s, hit=True)

    def _listed(self, catalog: Catalog, server: str, tools: Sequence[Tool]) -> dict[str, LoadedSchema]:
        """Asks a server and caches all tools that it lists. The requested tools come last, so that they are evicted last."""
        try:
            answer = {
                tool.id: tool for tool in self._listing(catalog.name, catalog.servers[catalog.server_row[server]])
            }
        except WayfareError as error:
            return {tool.id: LoadedSchema(tool, "catalog", 0.0, hit=False, note=str(error)) for tool in tools}
        wanted_ids = {tool.id for tool in tools}
        pairs = sorted((row, tool_id) for tool_id in answer if (row := catalog.tool_row.get(tool_id)) is not None)
        answer |= {tool_id: catalog.tools[row].wording_for(answer[tool_id]) for row, tool_id in pairs}
        rows = sorted(pairs, key=lambda pair: pair[1] in wanted_ids)
        self._keep(catalog, ((answer[tool_id], catalog.tools[row]) for row, tool_id in rows), "live")
        note = f"Server {server} no longer lists it; this is the catalog's definition."
        return {
            tool.id: LoadedSchema(answer[tool.id], "live", 0.0, hit=False)
            if tool.id in answer
            else LoadedSchema(tool, "catalog", 0.0, hit=False, note=note)
            for tool in tools
        }

    def _keep(self, catalog: Catalog, pairs: Iterable[tuple[Tool, Tool]], source: Source) -> None:
        now_s = self._clock()
        with self._lock:
            for tool, declared in pairs:
                self._cache[catalog.name, declared.id, source] = _Entry(tool, declared, now_s)


def _declared(catalog: Catalog, tool_id: str) -> Tool:
    row = catalog.tool_row.get(tool_id)
    if row is None:
        raise UnknownNameError(f"There is no tool {tool_id!r} in catalog {catalog.name!r}; check the name.")
    return catalog.tools[row]
