"""A catalog and its statistics as tables: one row a server or tool, every value with its unit and its source.

Prices are in m$ (a thousandth of a dollar) per call, times in s, probabilities in percent. A frame's index is the row
in the catalog, so that it identifies the server or tool in a filtered or sorted table, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.domain import units
from core.domain.catalog import Catalog, Server, Tool, ToolHints
from core.domain.statistics import Source, Statistics
from core.domain.untrusted_text import one_line

Rows = NDArray[np.int64]
M_USD = 1e3
PERCENT = 1e2
SHOWN_DESCRIPTION = 160
NO_HINTS = ToolHints()
LEAST_SHOWN = 0.005  # smaller shares are not shown
NO_COMMAND = "no command"
LABELS = tuple("tools' median" if source is Source.MEDIAN else source.label for source in sorted(Source))


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts at the top of the page; `measured` of `statistics` come from real calls."""

    servers: int
    tools: int
    unpriced: int
    measured: int
    statistics: int


def counts(catalog: Catalog, statistics: Statistics) -> Counts:
    """Counts servers, tools, tools without a price, and measured statistics."""
    servers, tools = statistics.servers, statistics.tools
    sources = np.concatenate(
        [
            servers.conn_source, servers.call_source, servers.success_source, servers.failure_source,
            tools.latency_source, tools.success_source,
        ]
    )  # fmt: skip
    return Counts(
        servers=len(catalog.servers), tools=len(catalog.tools), unpriced=int(np.isnan(tools.price_usd).sum()),
        measured=int((sources == Source.MEASURED).sum()), statistics=len(sources),
    )  # fmt: skip


def server_frame(catalog: Catalog, statistics: Statistics, rows: Rows | None = None) -> pd.DataFrame:
    """One row for each server, or for the servers in these rows."""
    figures, index = statistics.servers, np.arange(len(catalog.servers)) if rows is None else rows
    servers = [catalog.servers[row] for row in index.tolist()]
    calls, decayed = figures.calls[index], figures.decayed[index]
    return pd.DataFrame(
        {
            "server": [server.name for server in servers],
            "category": [server.category for server in servers],
            "tools": [len(server.tools) for server in servers], "ask_musd": figures.ask_usd[index] * M_USD,
            "ask_source": price_words(figures.ask_usd[index], figures.ask_source[index]), "connect_s": figures.conn_s[index],
            "connect_source": source_words(figures.conn_source[index], figures.connects[index], figures.conn_decayed[index]),
            "call_s": figures.call_s[index], "call_source": source_words(figures.call_source[index], calls, decayed),
            "success_percent": figures.success[index] * PERCENT,
            "success_source": source_words(figures.success_source[index], calls, decayed),
            "variance": figures.success_variance[index], "failure_percent": figures.post_accept_failure[index] * PERCENT,
            "failure_source": source_words(figures.failure_source[index], calls, decayed), "calls": calls,
            "reached_by": [reached_by(server) for server in servers],
        },
        index=index,
    )  # fmt: skip


def tool_frame(
    catalog: Catalog, statistics: Statistics, tokens: NDArray[np.int64] | None = None, rows: Rows | None = None
) -> pd.DataFrame:
    """One row for each tool, or for the tools in these rows. `tokens` of all definitions (T,) are empty until they are counted."""
    figures, index = statistics.tools, np.arange(len(catalog.tools)) if rows is None else rows
    tools = [catalog.tools[row] for row in index.tolist()]
    calls, decayed = figures.calls[index], figures.decayed[index]
    return pd.DataFrame(
        {
            "server": [tool.server for tool in tools], "tool": [tool.name for tool in tools],
            "description": [beginning(tool.description) for tool in tools], "price_musd": figures.price_usd[index] * M_USD,
            "price_source": price_words(figures.price_usd[index], figures.price_source[index]),
            "tier": [tool.tier for tool in tools], "latency_s": figures.latency_s[index],
            "latency_source": source_words(figures.latency_source[index], calls, decayed),
            "success_percent": figures.success[index] * PERCENT,
            "success_source": source_words(figures.success_source[index], calls, decayed), "calls": calls,
            "hints": [hint_words(tool.hints) for tool in tools],
            "tokens": np.full(len(tools), np.nan) if tokens is None else tokens[index],
        },
        index=index,
    )  # fmt: skip


def source_words(sources: Iterable[int], calls: Iterable[int], decayed: Iterable[float]) -> list[str]:
    """Returns the source of each value. A measured value has its number of calls and its decay.

    >>> source_words([0, 1, 3, 3], [0, 0, 1, 1200], [0.0, 0.0, 0.0, 0.25])
    ['prior', 'declared', 'measured · 1 call', 'measured · 1,200 calls · 25 % decayed']
    """
    return [
        LABELS[source] if source != Source.MEASURED else source_word(source, count, share)
        for source, count, share in zip(map(int, sources), calls, decayed, strict=True)
    ]


def source_word(source: int, calls: int, decayed: float) -> str:
    if source != Source.MEASURED:
        return Source(source).label
    faded = f" · {units.share(decayed)} decayed" if decayed >= LEAST_SHOWN else ""
    return f"measured · {calls:,} call{'' if calls == 1 else 's'}{faded}"


def price_words(prices_usd: Sequence[float] | NDArray[np.float64], sources: Iterable[int]) -> list[str]:
    """Returns the sources of prices and asks. A missing price is unpriced, never free.

    >>> price_words([float("nan"), 0.0, 0.2, 0.1], [0, 1, 2, 4])
    ['unpriced', 'declared', 'edited', "tools' median"]
    """
    return [
        "unpriced" if unpriced else LABELS[source]
        for unpriced, source in zip(np.isnan(prices_usd).tolist(), map(int, sources), strict=True)
    ]


def hint_words(hints: ToolHints) -> str:
    """Returns a tool's own hints in words, or "" if it gives no hints.

    >>> hint_words(ToolHints(read_only=True, open_world=False)), hint_words(ToolHints(read_only=False))
    ('read-only, closed world', 'writes')
    """
    if hints == NO_HINTS:
        return ""
    words = (
        (hints.read_only, "read-only", "writes"),
        (hints.destructive, "destructive", "not destructive"),
        (hints.idempotent, "idempotent", "not idempotent"),
        (hints.open_world, "open world", "closed world"),
    )
    return ", ".join(yes if value else no for value, yes, no in words if value is not None)


def reached_by(server: Server) -> str:
    """Returns the transport of a server's connection, and whether a virtual server answers.

    >>> reached_by(Server("a")), reached_by(Server("a", virtual=True))
    ('no command', 'virtual')
    """
    if server.connection is not None:
        return f"{server.connection.transport}, virtual" if server.virtual else server.connection.transport
    return "virtual" if server.virtual else NO_COMMAND


def beginning(text: str) -> str:
    r"""Returns the beginning of a description on one line, with hidden characters written out.

    >>> beginning("Reads\n a file.  Fast.")
    'Reads a file. Fast.'
    """
    return one_line(text[: 4 * SHOWN_DESCRIPTION], SHOWN_DESCRIPTION)


def matching(texts: Iterable[str], query: str) -> list[bool]:
    """Tells for each text whether it contains every word of the query, in any order and case.

    >>> matching(["Weather forecast", "Files"], "FORE weather"), matching(["Files"], " ")
    ([True, False], [True])
    """
    words = query.lower().split()
    return [all(word in text for word in words) for text in map(str.lower, texts)]


def matching_rows(catalog: Catalog, query: str, server: str = "") -> Rows:
    """Returns the rows of the tools that match the query, of one server or of all. Without a query no text is read.

    >>> from core.domain.catalog import Tool
    >>> two = Catalog("c", (Server("a", tools=(Tool("a", "x"),)), Server("b", tools=(Tool("b", "x"), Tool("b", "y")))))
    >>> matching_rows(two, "Y").tolist(), matching_rows(two, "x", "b").tolist(), matching_rows(two, "").tolist()
    ([2], [1], [0, 1, 2])
    """
    rows = np.arange(len(catalog.tools))
    if server:
        sizes = np.cumsum([0, *(len(entry.tools) for entry in catalog.servers)])
        place = catalog.server_row.get(server)
        rows = rows[:0] if place is None else rows[sizes[place] : sizes[place + 1]]
    if query.strip():
        rows = rows[matching((tool_text(catalog.tools[row]) for row in rows.tolist()), query)]
    return rows


def server_text(server: Server) -> str:
    return f"{server.name}\n{server.title}\n{server.category}\n{server.description}"


def tool_text(tool: Tool) -> str:
    return f"{tool.id}\n{tool.title}\n{tool.description}"
