"""A run against an earlier run over its tasks: measures that fell, lost tasks, changes of the catalog since.

The earlier run is the document that `wayfare bench --json` printed.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, cast

from core.domain.catalog import Catalog, Server, Tool
from core.domain.errors import CatalogError
from core.domain.lab_runs import fingerprint
from core.domain.statistics import Statistics
from core.domain.tasks import EqualJudgment, Request
from core.lab.benchmark import MEASURES, REJECTION, BenchmarkRun, TaskResult

# The catalog as routing reads it: texts and schemas as digests, figures as they are, and what changed since

Entries = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class CatalogDigest:
    """For each server and tool by its id: digests of texts and schema, and the declared figures. Prices, example requests and judgments
    of equal tools are those in force."""

    name: str
    servers: Entries
    tools: Entries

    @classmethod
    def of(
        cls,
        catalog: Catalog,
        statistics: Statistics,
        requests: Mapping[str, Sequence[Request]] = MappingProxyType({}),
        judgments: Sequence[EqualJudgment] = (),
    ) -> CatalogDigest:
        asks, prices = statistics.servers.ask_usd.tolist(), statistics.tools.price_usd.tolist()
        equal: dict[str, list[tuple[str, str]]] = {}
        for entry in judgments:
            for tool, other in (entry.pair, entry.pair[::-1]):
                equal.setdefault(tool, []).append((other, entry.says))
        return cls(
            catalog.name,
            {server.name: _server(server, ask) for server, ask in zip(catalog.servers, asks, strict=True)},
            {
                tool.id: _tool(tool, price, requests.get(tool.id, ()), equal.get(tool.id, ()))
                for tool, price in zip(catalog.tools, prices, strict=True)
            },
        )

    @cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits, equal if routing reads equal catalogs. The order of servers and tools does not count."""
        return fingerprint([self.servers, self.tools])

    def to_json(self) -> dict[str, Any]:
        """The entry `catalog` of `wayfare bench --json`."""
        return {"fingerprint": self.fingerprint, **asdict(self)}

    @classmethod
    def parse(cls, document: object) -> CatalogDigest | None:
        """Reads an entry of `to_json`. None if it cannot be read."""
        try:
            entries = cast("dict[str, Any]", document)
            layers = ({name: dict(entry) for name, entry in entries[layer].items()} for layer in ("servers", "tools"))
            return cls(str(entries["name"]), *layers)
        except (KeyError, TypeError, ValueError, AttributeError):
            return None


@dataclass(frozen=True, slots=True)
class Change:
    """A server or tool that is `added`, `removed` or `changed`, with the changed fields."""

    name: str
    what: str  # server or tool
    change: str
    fields: tuple[str, ...] = ()


def changes(before: CatalogDigest, now: CatalogDigest) -> tuple[Change, ...]:
    """Servers first, then tools, each in alphabetical order. Fields that an earlier version of Wayfare did not store do not count."""
    return (*_changed("server", before.servers, now.servers), *_changed("tool", before.tools, now.tools))


def _changed(what: str, old: Entries, new: Entries) -> list[Change]:
    rows: list[Change] = []
    for name in sorted({*old, *new}):
        if name not in new:
            rows.append(Change(name, what, "removed"))
        elif name not in old:
            rows.append(Change(name, what, "added"))
        elif fields := tuple(key for key in new[name] if old[name].get(key, new[name][key]) != new[name][key]):
            rows.append(Change(name, what, "changed", fields))
    return rows


def _server(server: Server, ask_usd: float) -> dict[str, Any]:
    figures = ("conn_s", "call_s", "success", "success_variance", "post_accept_failure")
    return {
        "description": fingerprint([server.title, server.description])[:8],
        "ask_usd": _known(ask_usd),
        **{name: getattr(server, name) for name in figures},
    }


def _tool(
    tool: Tool, price_usd: float, requests: Sequence[Request], equal: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    return {
        "description": fingerprint([tool.title, tool.description])[:8],
        "schema": fingerprint(repr(tool.input_schema))[:8],
        "price_usd": _known(price_usd),
        "latency_s": tool.latency_s,
        "success": tool.success,
        "preconditions": list(tool.preconditions),
        "hints": [tool.hints.read_only, tool.hints.destructive],
        "requests": fingerprint([(request.source, request.text) for request in requests])[:8],
        "equal": fingerprint(sorted(equal))[:8],
    }


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


# Baselines and the gate

ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """One run of a baseline: its measures by their keys, and its tasks by id."""

    router: str
    measures: Mapping[str, float]
    tasks: Mapping[str, TaskResult]


@dataclass(frozen=True, slots=True)
class Baseline:
    """A document of `wayfare bench --json`: the runs, their catalog (None if it is missing), and how it was made."""

    runs: tuple[EarlierRun, ...]
    catalog: CatalogDigest | None
    made_with: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Moved:
    """A task whose first right tool has another rank now, None without a right tool.

    The rank of an impossible task is 0 if it was refused, else None.
    """

    id: str
    was: int | None
    now: int | None


@dataclass(frozen=True, slots=True)
class Fell:
    measure: str
    was: float
    now: float


@dataclass(frozen=True, slots=True)
class GateResult:
    """One run against its baseline over their common `tasks`."""

    router: str
    tasks: int
    fell: tuple[Fell, ...]
    lost: tuple[Moved, ...]
    won: tuple[Moved, ...]


def read_baseline(text: bytes, *, source: str) -> Baseline:
    try:
        document: Any = json.loads(text)
        runs = tuple(_earlier(run) for run in document["runs"])
        made_with = document.get("made_with", {})
    except (ValueError, RecursionError) as error:
        raise CatalogError(f"{source} is not JSON ({error}); give what `wayfare bench --json` printed.") from None
    except (KeyError, TypeError, AttributeError):
        raise CatalogError(
            f"{source} is no baseline: `runs` with a router and `tasks` is missing; give what `wayfare bench --json` printed."
        ) from None
    if not runs or not isinstance(made_with, dict):
        raise CatalogError(f"{source} holds no run; give what `wayfare bench --json` printed.")
    return Baseline(runs, CatalogDigest.parse(document.get("catalog")), cast("dict[str, Any]", made_with))


@dataclass(frozen=True, slots=True)
class Gate:
    """Runs against a baseline, the later changes of the catalog (empty if the baseline has no catalog), and the tasks at risk.

    A task is at risk if a right tool or a candidate, then or now, is among the changes.
    """

    tolerance: float
    runs: tuple[GateResult, ...]
    changes: tuple[Change, ...]
    at_risk: tuple[str, ...]

    @classmethod
    def of(cls, baseline: Baseline, runs: Sequence[BenchmarkRun], catalog: CatalogDigest, tolerance: float) -> Gate:
        catalog_changes = () if baseline.catalog is None else changes(baseline.catalog, catalog)
        old_tasks = (task for run in baseline.runs for task in run.tasks.values())
        results = (*old_tasks, *(task for run in runs for task in run.tasks))
        return cls(tolerance, _results(baseline, runs, tolerance), catalog_changes, _at_risk(catalog_changes, results))

    @property
    def passed(self) -> bool:
        """Whether no measure of any run fell by more than the tolerance."""
        return not any(result.fell for result in self.runs)

    def to_json(self) -> dict[str, Any]:
        """The entry `gate` of `wayfare bench --json`."""
        return {"passed": self.passed, **asdict(self)}


def _results(baseline: Baseline, runs: Sequence[BenchmarkRun], tolerance: float) -> tuple[GateResult, ...]:
    seen: dict[str, int] = {}
    results: list[GateResult] = []
    for run in runs:
        earlier = [old for old in baseline.runs if old.router == run.router]
        place = seen[run.router] = seen.get(run.router, -1) + 1
        if place >= len(earlier):
            names = ", ".join(dict.fromkeys(old.router for old in baseline.runs))
            raise CatalogError(f"The baseline has no run of {run.router} to compare with; it has: {names}.")
        results.append(_result(earlier[place], run, tolerance))
    return tuple(results)


def _at_risk(catalog_changes: Sequence[Change], results: Sequence[TaskResult]) -> tuple[str, ...]:
    servers = {change.name for change in catalog_changes if change.what == "server"}
    tools = {change.name for change in catalog_changes if change.what == "tool"}
    touched: dict[str, set[str]] = {}
    for result in results:
        touched.setdefault(result.id, set()).update(result.right, result.candidates)
    return tuple(
        id_ for id_, names in touched.items() if names & tools or {name.split("::")[0] for name in names} & servers
    )


def _result(earlier: EarlierRun, run: BenchmarkRun, tolerance: float) -> GateResult:
    new_tasks = {task.id: task for task in run.tasks}
    common = [id_ for id_ in new_tasks if id_ in earlier.tasks]
    if not common:
        raise CatalogError("The baseline and the tasks have no task in common; give the tasks that it was made with.")
    before_measures = earlier.measures
    measures = run.measures | ({} if run.rejection is None else {REJECTION: run.rejection})
    if len(common) < max(len(new_tasks), len(earlier.tasks)):
        # with other tasks only the ranks of the common tasks compare
        before_measures, measures = (_from_ranks([side[id_] for id_ in common]) for side in (earlier.tasks, new_tasks))
    fell = tuple(
        Fell(name, was, measures[name])
        for name, was in before_measures.items()
        if name in measures and was - measures[name] > tolerance + ROUNDING
    )
    moves = [Moved(id_, _place(earlier.tasks[id_]), _place(new_tasks[id_])) for id_ in common]
    lost = tuple(move for move in moves if _worse(move.was, move.now))
    return GateResult(run.router, len(common), fell, lost, tuple(move for move in moves if _worse(move.now, move.was)))


def _from_ranks(tasks: Sequence[TaskResult]) -> dict[str, float]:
    ranks = [task.rank for task in tasks if task.right]
    refusals = [float(task.solved) for task in tasks if not task.right]
    measures = {REJECTION: statistics.fmean(refusals)} if refusals else {}
    if ranks:
        measures["mrr"] = statistics.fmean(1 / rank if rank else 0.0 for rank in ranks)
        measures["hit@1"] = statistics.fmean(float(rank == 1) for rank in ranks)
    return measures


def _place(task: TaskResult) -> int | None:
    return task.rank if task.right else (0 if task.solved else None)


def _worse(was: int | None, now: int | None) -> bool:
    return was is not None and (now is None or now > was)


def _earlier(run: Mapping[str, Any]) -> EarlierRun:
    tasks = {
        id_: TaskResult(
            id_, tuple(task["right"]), tuple(task["candidates"]), None if task["rank"] is None else int(task["rank"])
        )
        for id_, task in run["tasks"].items()
    }
    measures = {name: run.get(name) for name in (*MEASURES, REJECTION)}
    return EarlierRun(
        str(run["router"]),
        {name: float(value) for name, value in measures.items() if isinstance(value, int | float)},
        tasks,
    )
