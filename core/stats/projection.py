"""Statistics from outcomes: declared figures, priors for missing ones, and every outcome folded in (EHRR (8))."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog, Server, Tool
from core.domain.events import OutcomeEvent, Override
from core.domain.outcome import OutcomeKind
from core.domain.statistics import ServerStatistics, Source, Statistics, ToolStatistics
from core.stats.ema import Rates, Running, RunningTable

LARGEST_FIGURE = 1e9
T = TypeVar("T", ServerStatistics, ToolStatistics)


@dataclass(frozen=True, slots=True)
class Priors:
    """The figures assumed without a declaration and without a call. Units: probabilities, s."""

    success: float = 0.9
    variance: float = 0.0
    failure: float = 0.02
    call_s: float = 1.0
    conn_s: float = 0.3


class StatisticsProjection:
    """Statistics of one catalog under given priors and rates. `observe` folds one outcome, `snapshot` is immutable.

    With a half-life, figures fade with the time since the last call (`RunningTable`). Simulated outcomes, cancelled calls and calls
    that were not tried change nothing here.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        overrides: Iterable[Override] = (),
        priors: Priors | None = None,
        rates: Rates | None = None,
    ) -> None:
        self._catalog = catalog
        self._rates = rates or Rates()
        priors = priors or Priors()
        servers, tools = catalog.servers, catalog.tools
        self._servers = RunningTable(
            [_server_start(s, priors) for s in servers], [_server_sources(s) for s in servers], rates=self._rates
        )
        self._tools = RunningTable(
            [_tool_start(t, priors) for t in tools], [_tool_sources(t) for t in tools], rates=self._rates
        )
        self._ask, self._ask_source, self._price, self._price_source = _prices(catalog, overrides)
        self._version = 0
        self._latest_s = -np.inf
        self._snapshot: tuple[float, Statistics] | None = None

    def observe(self, outcome: OutcomeEvent) -> None:
        """Fold one outcome. Servers that the catalog no longer has are passed over."""
        row = self._catalog.server_row.get(outcome.server)
        if row is None or not teaches(outcome):
            return
        tool_row = self._catalog.tool_row.get(f"{outcome.server}::{outcome.tool}")
        at_s, succeeded = outcome.at.timestamp(), OutcomeKind(outcome.kind).success
        self._version += 1
        server = self._after(self._servers.row(row, at_s), outcome, outcome.connect_s)
        self._servers.put(row, server, at_s=at_s, version=self._version, succeeded=succeeded)
        if tool_row is not None:
            tool = self._after(self._tools.row(tool_row, at_s), outcome, None)
            self._tools.put(tool_row, tool, at_s=at_s, version=self._version, succeeded=succeeded)
        self._latest_s = max(self._latest_s, at_s)
        self._snapshot = None

    def after(self, outcome: OutcomeEvent) -> tuple[Running, Running]:
        """The figures of its server and tool as if this outcome were folded. Nothing changes."""
        at_s = outcome.at.timestamp()
        server = self._servers.row(self._catalog.server_row[outcome.server], at_s)
        tool = self._tools.row(self._catalog.tool_row[f"{outcome.server}::{outcome.tool}"], at_s)
        if not teaches(outcome):
            return server, tool
        return self._after(server, outcome, outcome.connect_s), self._after(tool, outcome, None)

    def _after(self, running: Running, outcome: OutcomeEvent, connect_s: float | None) -> Running:
        kind = OutcomeKind(outcome.kind)
        return running.after(
            y=kind.success,
            latency_s=None
            if kind is OutcomeKind.NOT_CONNECTED
            else outcome.latency_s,  # no call was made: nothing to time
            fail=kind.post_accept_failure,
            connect_s=connect_s,
            rates=self._rates,
        )

    def snapshot(self, at: datetime | None = None) -> Statistics:
        """The statistics as arrays. With decay they depend on the time: `at`, else that of the latest outcome."""
        at_s = at.timestamp() if at is not None and self.fades else self._latest_s
        if self._snapshot is None or self._snapshot[0] != at_s:
            self._snapshot = at_s, Statistics(self._server_statistics(at_s), self._tool_statistics(at_s), self._version)
        return self._snapshot[1]

    @property
    def fades(self) -> bool:
        """Whether the statistics change with time alone: two snapshots between outcomes may differ."""
        return self._servers.fades or self._tools.fades

    def answered(self, server: str, at: datetime) -> None:
        """A server answers again, seen without a call of a tool: what failures have taught of it and its tools ends."""
        if self._rates.half_life_s == 0 or (row := self._catalog.server_row.get(server)) is None:
            return
        self._servers.forgive(row, at.timestamp())
        for tool in self._catalog.servers[row].tools:
            self._tools.forgive(self._catalog.tool_row[tool.id], at.timestamp())
        self._version += 1
        self._snapshot = None

    def server(self, row: int) -> Running:
        """The running figures of one server after its last call."""
        return self._servers.row(row)

    def tool(self, row: int) -> Running:
        """The running figures of one tool after its last call."""
        return self._tools.row(row)

    def price_usd(self, tool_row: int) -> float:
        """The price of one tool; NaN without one."""
        return float(self._price[tool_row])

    def _server_statistics(self, at_s: float) -> ServerStatistics:
        prices = {"ask_usd": self._ask, "ask_source": self._ask_source}
        return _picked(ServerStatistics, self._servers.columns(at_s) | prices)

    def _tool_statistics(self, at_s: float) -> ToolStatistics:
        prices = {"price_usd": self._price, "price_source": self._price_source}
        columns = self._tools.columns(at_s)
        latency = {"latency_s": columns["call_s"], "latency_source": columns["call_source"]}
        return _picked(ToolStatistics, columns | latency | prices)


def _picked(kind: type[T], columns: Mapping[str, NDArray[Any]]) -> T:
    """The columns that this kind of statistics declares."""
    return kind(**{field.name: columns[field.name] for field in fields(kind)})


def teaches(outcome: OutcomeEvent) -> bool:
    """Whether statistics learn from an outcome: not from simulated ones, from calls under an injected network, or from calls that the
    operator cancelled.
    """
    return not outcome.simulated and not outcome.injected and OutcomeKind(outcome.kind).counts


def known(value: float | None) -> bool:
    """Whether a declared figure is usable: present, not negative, and small enough for costs not to overflow."""
    return value is not None and 0 <= value <= LARGEST_FIGURE


def _or(value: float | None, otherwise: float) -> float:
    return value if value is not None and known(value) else otherwise


def _server_start(server: Server, priors: Priors) -> Running:
    return Running(
        success=min(1.0, _or(server.success, priors.success)),
        success_variance=_or(server.success_variance, priors.variance),
        post_accept_failure=min(1.0, _or(server.post_accept_failure, priors.failure)),
        call_s=_or(server.call_s, priors.call_s),
        conn_s=_or(server.conn_s, priors.conn_s),
    )


def _tool_start(tool: Tool, priors: Priors) -> Running:
    success = min(1.0, _or(tool.success, priors.success))
    return Running(success, 0.0, 0.0, _or(tool.latency_s, priors.call_s), 0.0)


def _server_sources(server: Server) -> tuple[Source, ...]:
    figures = (server.success, server.success_variance, server.post_accept_failure, server.call_s, server.conn_s)
    return tuple(map(_source, figures))


def _tool_sources(tool: Tool) -> tuple[Source, ...]:
    return tuple(map(_source, (tool.success, None, None, tool.latency_s, None)))


def _source(declared: float | None) -> Source:
    return Source.DECLARED if known(declared) else Source.PRIOR


def _prices(catalog: Catalog, overrides: Iterable[Override]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Ask per server and price per tool with their sources. An undeclared ask is the median of the server's prices."""
    price = np.array([_or(t.price_usd, np.nan) for t in catalog.tools], dtype=np.float64)
    price_source = np.where(np.isnan(price), Source.PRIOR, Source.DECLARED).astype(np.int8)
    ask = np.array([_or(s.ask_usd, np.nan) for s in catalog.servers], dtype=np.float64)
    ask_source = np.where(np.isnan(ask), Source.PRIOR, Source.DECLARED).astype(np.int8)
    latest = {(edit.server, edit.tool): edit for edit in overrides}
    for edit in latest.values():
        row = catalog.tool_row.get(f"{edit.server}::{edit.tool}") if edit.tool else catalog.server_row.get(edit.server)
        if row is None or edit.value is None:
            continue
        target, source = (price, price_source) if edit.tool else (ask, ask_source)
        target[row], source[row] = edit.value, Source.EDITED
    first = 0
    for row, server in enumerate(catalog.servers):
        prices = price[first : first + len(server.tools)]
        first += len(server.tools)
        if np.isnan(ask[row]) and not np.all(np.isnan(prices)):
            ask[row], ask_source[row] = np.nanmedian(prices), Source.MEDIAN
    return ask, ask_source, price, price_source
