"""Statistics from outcomes: declared figures, priors for missing figures, and every outcome folded in (EHRR (8))."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, fields, replace
from datetime import datetime
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.domain.events import OutcomeEvent, Override
from core.domain.outcome import OutcomeKind
from core.domain.statistics import Array, ServerStatistics, Source, Statistics, ToolStatistics
from core.domain.tool_table import figures
from core.routers.ema import Priors, Rates, Running, RunningTable

LARGEST_FIGURE = 1e9
_CHANCES = [0, 2]  # success and failure after acceptance, in the order of `Running`
T = TypeVar("T", ServerStatistics, ToolStatistics)


class StatisticsProjection:
    """Statistics of one catalog under given priors and rates. `observe` folds one outcome, `snapshot` is immutable.

    With a half-life, figures fade with the time since the last call (`RunningTable`). Cancelled and untried calls change nothing.
    Simulated calls count only `with_simulated`, and then without their connection time.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        overrides: Iterable[Override] = (),
        priors: Priors | None = None,
        rates: Rates | None = None,
        with_simulated: bool = False,
    ) -> None:
        self._catalog = catalog
        self._with_simulated = with_simulated
        self._rates = rates or Rates()
        priors = priors or Priors()
        self._servers = _table(_server_figures(catalog), astuple(priors), self._rates)
        self._tools = _table(_tool_figures(catalog), (priors.success, 0.0, 0.0, priors.call_s, 0.0), self._rates)
        self._ask, self._ask_source, self._price, self._price_source = _prices(catalog, overrides)
        self._version = 0
        self._latest_s = -np.inf
        self._snapshot: tuple[float, tuple[Array, Array], Statistics] | None = None

    def observe(self, outcome: OutcomeEvent) -> None:
        """Folds one outcome. Ignores servers that the catalog no longer has."""
        source = Source.SIMULATED if outcome.simulated else Source.MEASURED
        outcome, row = self._counted(outcome), self._catalog.server_row.get(outcome.server)
        if row is None or not teaches(outcome):
            return
        tool_row = self._catalog.tool_row.get(f"{outcome.server}::{outcome.tool}")
        at_s, succeeded = outcome.at.timestamp(), OutcomeKind(outcome.kind).success
        self._version += 1
        if outcome.kind != OutcomeKind.INVALID_ARGUMENTS:  # else the server has answered as it should
            server = self._after(self._servers.row(row, at_s), outcome, outcome.connect_s)
            self._servers.put(row, server, at_s=at_s, version=self._version, succeeded=succeeded, source=source)
        if tool_row is not None:
            tool = self._after(self._tools.row(tool_row, at_s), outcome, None)
            self._tools.put(tool_row, tool, at_s=at_s, version=self._version, succeeded=succeeded, source=source)
        self._latest_s = max(self._latest_s, at_s)
        self._snapshot = None

    def after(self, outcome: OutcomeEvent) -> tuple[Running, Running]:
        """The figures of its server and tool as if this outcome were folded. Changes nothing."""
        outcome, at_s = self._counted(outcome), outcome.at.timestamp()
        server = self._servers.row(self._catalog.server_row[outcome.server], at_s)
        tool = self._tools.row(self._catalog.tool_row[f"{outcome.server}::{outcome.tool}"], at_s)
        if not teaches(outcome):
            return server, tool
        invalid = outcome.kind == OutcomeKind.INVALID_ARGUMENTS
        return server if invalid else self._after(server, outcome, outcome.connect_s), self._after(tool, outcome, None)

    def _counted(self, outcome: OutcomeEvent) -> OutcomeEvent:
        return (
            replace(outcome, simulated=False, connect_s=None) if self._with_simulated and outcome.simulated else outcome
        )

    def _after(self, running: Running, outcome: OutcomeEvent, connect_s: float | None) -> Running:
        kind = OutcomeKind(outcome.kind)
        if kind is OutcomeKind.INVALID_ARGUMENTS:
            return running.rejected(self._rates)
        return running.after(
            y=kind.success,
            latency_s=None
            if kind is OutcomeKind.NOT_CONNECTED
            else outcome.latency_s,  # no call was made, so there is no latency
            fail=kind.post_accept_failure,
            connect_s=connect_s,
            rates=self._rates,
        )

    def snapshot(self, at: datetime | None = None) -> Statistics:
        """The statistics as arrays. With decay they depend on the time: `at`, else the time of the latest outcome."""
        at_s = at.timestamp() if at is not None and self.fades else self._latest_s
        if self._snapshot is None or self._snapshot[0] != at_s:
            shares, known = (self._servers.shares(at_s), self._tools.shares(at_s)), self._snapshot
            if known is not None and all(map(np.array_equal, shares, known[1])):
                statistics = known[2]  # the same object, because contexts and scores are kept by it
            else:
                statistics = Statistics(
                    self._server_statistics(shares[0]), self._tool_statistics(shares[1]), self._version
                )
            self._snapshot = at_s, shares, statistics
        return self._snapshot[2]

    @property
    def fades(self) -> bool:
        """Whether the statistics change with time alone: two snapshots between outcomes may differ."""
        return self._servers.fades or self._tools.fades

    def answered(self, server: str, at: datetime) -> None:
        """Forgets the failures of a server and its tools, because it answers again, as seen without a call."""
        if self._rates.half_life_s == 0 or (row := self._catalog.server_row.get(server)) is None:
            return
        self._servers.forgive(row, at.timestamp())
        for tool in self._catalog.servers[row].tools:
            self._tools.forgive(self._catalog.tool_row[tool.id], at.timestamp())
        self._version += 1
        self._snapshot = None

    def server(self, row: int, at: datetime | None = None) -> Running:
        return self._servers.row(row, None if at is None else at.timestamp())

    def tool(self, row: int, at: datetime | None = None) -> Running:
        return self._tools.row(row, None if at is None else at.timestamp())

    def price_usd(self, tool_row: int) -> float:
        """The price of a tool, NaN without a price."""
        return float(self._price[tool_row])

    def _server_statistics(self, shares: Array) -> ServerStatistics:
        prices = {"ask_usd": self._ask, "ask_source": self._ask_source}
        return _picked(ServerStatistics, self._servers.columns(shares) | prices)

    def _tool_statistics(self, shares: Array) -> ToolStatistics:
        prices = {"price_usd": self._price, "price_source": self._price_source}
        columns = self._tools.columns(shares)
        latency = {"latency_s": columns["call_s"], "latency_source": columns["call_source"]}
        return _picked(ToolStatistics, columns | latency | prices)


def _picked(kind: type[T], columns: Mapping[str, NDArray[Any]]) -> T:
    return kind(**{field.name: columns[field.name] for field in fields(kind)})


def teaches(outcome: OutcomeEvent) -> bool:
    """Whether statistics learn from an outcome. They ignore simulated calls, calls under an injected network, and calls that the operator
    cancelled.
    """
    return not outcome.simulated and not outcome.injected and OutcomeKind(outcome.kind).counts


def known(value: float | None) -> bool:
    """Whether a declared figure is usable: present, not negative, and small enough for costs not to overflow."""
    return value is not None and 0 <= value <= LARGEST_FIGURE


def _usable(column: Sequence[float | None] | Array) -> Array:
    """`known` for a column: (N,), NaN for unusable figures."""
    values = np.array(column, dtype=np.float64)
    return np.where((values >= 0) & (values <= LARGEST_FIGURE), values, np.nan)


def _server_figures(catalog: Catalog) -> Array:
    """(5, S) declared figures in the order of `Running`, NaN for none."""
    names = ("success", "success_variance", "post_accept_failure", "call_s", "conn_s")
    return np.stack([_usable([getattr(server, name) for server in catalog.servers]) for name in names])


def _tool_figures(catalog: Catalog) -> Array:
    """(5, T) declared figures of tools: success and latency alone."""
    success, latency_s = (_usable(figures(catalog.tools, name)) for name in ("success", "latency_s"))
    missing = np.full(len(success), np.nan)
    return np.stack([success, missing, missing, latency_s, missing])


def _table(declared_figures: Array, priors: Sequence[float], rates: Rates) -> RunningTable:
    """The running figures before any call. `priors` stand in for undeclared figures."""
    start = np.where(np.isnan(declared_figures), np.array(priors)[:, None], declared_figures)
    start[_CHANCES] = np.minimum(start[_CHANCES], 1.0)
    return RunningTable(start, np.where(np.isnan(declared_figures), Source.PRIOR, Source.DECLARED), rates=rates)


def _prices(catalog: Catalog, overrides: Iterable[Override]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Ask per server and price per tool with their sources. An undeclared ask is the median of the server's prices."""
    price = _usable(figures(catalog.tools, "price_usd"))
    price_source = np.where(np.isnan(price), Source.PRIOR, Source.DECLARED).astype(np.int8)
    ask = _usable([server.ask_usd for server in catalog.servers])
    ask_source = np.where(np.isnan(ask), Source.PRIOR, Source.DECLARED).astype(np.int8)
    latest = {(edit.server, edit.tool): edit for edit in overrides}
    for edit in latest.values():
        row = catalog.tool_row.get(f"{edit.server}::{edit.tool}") if edit.tool else catalog.server_row.get(edit.server)
        if row is None or edit.value is None:
            continue
        target, source = (price, price_source) if edit.tool else (ask, ask_source)
        target[row], source[row] = edit.value, Source.EDITED
    median = _medians(price, np.array([len(server.tools) for server in catalog.servers], dtype=np.int64))
    without_ask = np.isnan(ask) & ~np.isnan(median)
    ask[without_ask], ask_source[without_ask] = median[without_ask], Source.MEDIAN
    return ask, ask_source, price, price_source


def _medians(values: Array, sizes: NDArray[np.int64]) -> Array:
    """(T,) values of S groups of `sizes`, one after the other -> (S,) the median of each without NaN, NaN for an empty group.

    >>> _medians(np.array([3.0, 1.0, np.nan, 2.0, np.nan]), np.array([4, 0, 1])).tolist()
    [2.0, nan, nan]
    """
    group = np.repeat(np.arange(len(sizes)), sizes)[~np.isnan(values)]
    sorted_values = np.append(values[~np.isnan(values)][np.lexsort((values[~np.isnan(values)], group))], np.nan)
    counts = np.bincount(group, minlength=len(sizes))
    first = np.cumsum(counts) - counts
    middle = (sorted_values[first + np.maximum(counts - 1, 0) // 2] + sorted_values[first + counts // 2]) / 2
    return np.where(counts > 0, middle, np.nan)
