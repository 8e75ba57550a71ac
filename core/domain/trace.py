"""The figures of a decision for every server and tool: columns over the catalog, and rows read from them.

Each figure is declared once and has two forms: a column over all servers (S,) or tools (T,) in a trace, so that losers keep
their numbers, and a plain value in a row, made when it is read. The estimates of a call (`ServerEstimates`,
`ToolEstimates`) are the part of a trace that comes from the statistics alone, before a router ranks.

To add a figure, declare it in `ServerColumns` or `ToolColumns` (or in the estimates). Then the row has it, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import cache
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.domain.statistics import LearntStatistics

Array = NDArray[np.float64]
Number = TypeVar("Number")  # a column of floats, or a float
Price = TypeVar("Price")  # a column of USD per call with NaN for no price, or a price or None
Flag = TypeVar("Flag")  # a column of booleans, or a boolean
Place = TypeVar("Place")  # a column of whole numbers, or a whole number


class Drop(StrEnum):
    """The stage that dropped a tool."""

    NOT_SHORTLISTED = "not_shortlisted"
    REJECTED = "rejected"
    NOT_AFFORDABLE = "not_affordable"
    OUTRANKED = "outranked"
    PRUNED = "pruned"  # not in a curated list
    BELOW_THRESHOLD = "below_threshold"
    GATED = "gated"  # a precondition on the agent's state does not hold
    NOT_RETRIEVED = "not_retrieved"  # its server was searched, the tool was not among the best
    REFUSED = "refused"  # the router judged that no tool can do the sub-task
    NOT_WORTH = "not_worth"  # the expected cost of a try is above its worth


DROPS = tuple(Drop)
KEPT = -1  # code in ToolTrace.dropped of a tool that is a candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEstimates(Generic[Number]):
    """The expected time of a call to a server, EHRR (2): overhead before it and the call itself in s, conservative
    success r~ and post-accept failure in [0, 1], and the expected time to success C_i in s."""

    fixed_s: Number
    call_s: Number
    success: Number
    post_accept_failure: Number
    cost_s: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerColumns(ServerEstimates[Number], Generic[Number, Price, Flag, Place]):
    """A server in a decision: similarity in [0, 1], utility U_i (or the router's own score), prices in USD per call.

    `rank` counts from 1 by utility. `accepted` is False for a server that got no offer.
    """

    similarity: Number
    utility: Number
    posted_price_usd: Price
    ask_usd: Price
    rank: Place
    shortlisted: Flag
    accepted: Flag


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRow(ServerColumns[float, float | None, bool, int]):
    server: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTrace(ServerColumns[Array, Array, NDArray[np.bool_], NDArray[np.int64]]):
    """All servers of a decision, shape (S,) each."""

    names: Sequence[str]

    def rows(self, rows: Sequence[int]) -> list[ServerRow]:
        """Some servers. The posted price of a server outside the short-list is None."""
        server_rows = [
            ServerRow(server=self.names[row], **values)
            for row, values in zip(rows, _values(self, ServerColumns, rows), strict=True)
        ]
        return [row if row.shortlisted else replace(row, posted_price_usd=None) for row in server_rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEstimates(Generic[Number, Price]):
    """The expected time and cost of a call of a tool: latency in s, the chance (1 - pfail) r that one attempt succeeds,
    the two terms of C_ij in s, EHRR (6), and the price in USD per call."""

    latency_s: Number
    success: Number
    time_cost_s: Number
    money_cost_s: Number
    price_usd: Price


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolColumns(ToolEstimates[Number, Price], Generic[Number, Price, Flag]):
    """A tool in a decision: similarity in [0, 1], utility by EHRR (7) (or the router's own score), the payment for a call in USD,
    and whether its price is at most the posted price of its server."""

    similarity: Number
    utility: Number
    payment_usd: Price
    affordable: Flag


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRow(ToolColumns[float, float | None, bool]):
    """A tool of a decision. `rank` is None for a tool that was not ranked, `dropped_by` for a candidate."""

    tool: str
    server: str
    rank: int | None
    dropped_by: Drop | None
    tokens: int

    @property
    def cost_s(self) -> float:
        """C_ij, EHRR (6)."""
        return self.time_cost_s + self.money_cost_s


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTrace(ToolColumns[Array, Array, NDArray[np.bool_]]):
    """All tools of a decision, shape (T,) each. `server_row` is the row of a tool's server.

    `rank` counts from 1 among affordable tools on accepted servers, and is 0 for others. `dropped` holds an index into
    `DROPS`, or `KEPT`.
    """

    ids: Sequence[str]
    server_row: NDArray[np.int64]
    rank: NDArray[np.int64]
    dropped: NDArray[np.int8]

    def rows(self, rows: Sequence[int], *, servers: Sequence[str], tokens: NDArray[np.int64]) -> list[ToolRow]:
        """Some tools, with the names of all servers and the tokens (T,) of all definitions."""
        figures = _values(self, ToolColumns, rows)
        return [self._row(row, servers, int(tokens[row]), values) for row, values in zip(rows, figures, strict=True)]

    def _row(self, row: int, servers: Sequence[str], tokens: int, values: dict[str, Any]) -> ToolRow:
        code = int(self.dropped[row])
        return ToolRow(
            tool=self.ids[row],
            server=servers[int(self.server_row[row])],
            rank=int(self.rank[row]) or None,
            dropped_by=None if code == KEPT else DROPS[code],
            tokens=tokens,
            **values,
        )


def columns(record: ServerEstimates[Array] | ToolEstimates[Array, Array] | LearntStatistics) -> dict[str, Any]:
    """The columns of estimates or statistics by name, to make a trace, as `ServerTrace(**columns(estimates), names=...)`."""
    return {name: getattr(record, name) for name in _names(type(record))}


def _values(trace: ServerTrace | ToolTrace, kind: type, rows: Sequence[int]) -> list[dict[str, Any]]:
    """The figures of some rows by name. Reading by column is ten times as fast as by cell."""
    names, indices = _names(kind), np.array(rows, dtype=np.int64)
    columns = [_column(name, getattr(trace, name).take(indices).tolist()) for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _column(name: str, values: list[Any]) -> list[Any]:
    """The values of a column, with None for an unknown price."""
    return [value if math.isfinite(value) else None for value in values] if name.endswith("_usd") else values


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
