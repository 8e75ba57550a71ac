"""The lab: routers measured over labelled tasks."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import sample_catalog
from core.catalogs.catalogs import CatalogService
from core.decisions.routing import RoutingService
from core.domain.catalog import Catalog, Server, Tool
from core.domain.decision import Decision
from core.domain.errors import CatalogError, Refusal
from core.domain.outcome import CallMode, ToolCall
from core.domain.params import AS_MEASURED, NetworkMoment, Parameters
from core.domain.statistics import Statistics
from core.domain.tasks import Task
from core.importers import read_tasks
from core.importers.shipped_catalogs import SAMPLE
from core.lab.benchmark import BenchmarkRun, measured_run
from core.lab.equal_sets import EqualSetsService, widened
from core.lab.execution import ExecutionRun, LiveCall, Playing, Routed, play
from core.lab.levels import LevelRun, run_levels
from core.routers.context import RoutingContext
from core.routers.parameters import LearningParameters
from core.routers.projection import StatisticsProjection
from core.servers.lazy_pool import load_protocol

if TYPE_CHECKING:
    from core.governance.governed_calls import GovernedCalls

LIVE_LIMIT_S = 10.0
RANKED = "10"  # candidates in the lab, more than in a decision, unless the parameter n is given
BY_TIERS = " (prices by tiers)"
UNDER_NETWORK = re.compile(r"(?P<catalog>.+) under (?P<network>.+) at (?P<at_s>\d+(\.\d+)?(e[+-]\d+)?) s")
TASK_SETS: Mapping[str, Mapping[str, Path]] = {
    SAMPLE: {
        "everyday questions": sample_catalog.TASKS_DIR / "everyday.jsonl",
        "sub-tasks": sample_catalog.TASKS_DIR / "subtasks.jsonl",
        "ETOM, level 2": sample_catalog.TASKS_DIR / "l2_context.jsonl",
        "EHRR's categories": sample_catalog.TASKS_DIR / "ehrr_categories.jsonl",
    },
    **{
        name: {"tasks of the testbed": sample_catalog.TASKS_DIR.parent / "testbeds" / f"{name}.tasks.jsonl"}
        for name in ("attention-120", "search-15")
    },
}


def parts_of_name(name: str) -> tuple[str, bool, NetworkMoment]:
    """The catalog in a name that `priced_by_tiers` and `under_network` made, whether it has prices by tiers, and its network.

    >>> catalog, by_tiers, network = parts_of_name("sample (prices by tiers) under hybrid at 600 s")
    >>> catalog, by_tiers, str(network), parts_of_name("sample") == ("sample", False, AS_MEASURED)
    ('sample', True, 'hybrid at 600 s', True)
    """
    network = AS_MEASURED
    if under := UNDER_NETWORK.fullmatch(name):
        name, network = under["catalog"], NetworkMoment(under["network"], float(under["at_s"]))
    return name.removesuffix(BY_TIERS), name.endswith(BY_TIERS), network


@dataclass(eq=False)
class LabService:
    """Measures over labelled tasks. Its decisions are not recorded. `calls` are opened for the first real call."""

    routing: RoutingService
    catalogs: CatalogService
    calls: Callable[[], GovernedCalls]
    equal_sets: EqualSetsService

    def read_tasks(self, path: Path) -> tuple[Task, ...]:
        """Read labelled tasks from a JSON Lines file. Raises CatalogError that names the line."""
        try:
            return read_tasks(path.read_bytes(), source=str(path))
        except OSError as error:
            raise CatalogError(f"{path}: it cannot be read ({error.strerror}); give a file that can.") from None

    def parse_tasks(self, data: bytes, *, source: str) -> tuple[Task, ...]:
        return read_tasks(data, source=source)

    def task_sets(self, catalog: str) -> Mapping[str, Path]:
        """The labelled tasks that come with a catalog, by title. Empty for other catalogs than the shipped ones."""
        return TASK_SETS.get(catalog, {})

    def benchmark(self, tasks: Sequence[Task], *, catalog: str, router: str, parameters: Parameters) -> BenchmarkRun:
        """The measures of a router over tasks. Nothing is stored; `docs/python-api.md` calls it."""
        routed = list(self.routed(tasks, catalog=catalog, router=router, parameters=parameters))
        return measured_run(router, parameters.values(), tasks, routed)

    def routed(
        self,
        tasks: Sequence[Task],
        *,
        catalog: str,
        router: str,
        parameters: Parameters,
        server_hints: bool = True,
        known: Sequence[Routed] = (),
        network: NetworkMoment | None = None,
    ) -> Iterator[Routed]:
        """Route the tasks after the `known` ones, one by one, under `network` or else the catalog's network."""
        decide = self._deciding(catalog, router, parameters, network)
        for task in tasks[len(known) :]:
            yield Routed.of(task, decide(task.subtask, task.server_hint if server_hints else ""))

    def play(
        self,
        tasks: Sequence[Task],
        routed: Sequence[Routed],
        *,
        catalog: str,
        router: str,
        playing: Playing,
        network: NetworkMoment | None = None,
    ) -> ExecutionRun:
        """Play possible tasks with routed parts, see `core.lab.execution.play`, under `network` or else the catalog's network.

        `playing.live` calls read-only tools on servers that run, with made-up arguments of their schemas.
        """
        live = self._live(parts_of_name(catalog)[0]) if playing.live else None
        return play(router, tasks, routed, self.context(catalog, network), playing, live=live)

    def priced_by_tiers(self, catalog: str) -> str:
        """The name of a catalog that is measured with a price by EHRR's tiers for every tool."""
        return f"{catalog}{BY_TIERS}"

    def under_network(self, catalog: str, moment: NetworkMoment) -> str:
        """The name of a catalog that is measured under a simulated network."""
        return f"{catalog} under {moment.network} at {repr(moment.at_s).removesuffix('.0')} s"

    def context(
        self, catalog: str, network: NetworkMoment | None = None, learning: LearningParameters | None = None
    ) -> RoutingContext:
        """The figures of a catalog under `network` or else its own, without open sessions, because a measurement has none."""
        name, by_tiers, moment = parts_of_name(catalog)
        moment = moment if network is None else network
        context = self.catalogs.context(name, learning, with_simulated=moment.with_simulated)
        context = self.routing.networks.context(context, moment)
        return replace(context, statistics=with_tiers(context.catalog, context.statistics)) if by_tiers else context

    def _deciding(
        self, catalog: str, router: str, parameters: Parameters, network: NetworkMoment | None = None
    ) -> Callable[[str, str], Decision]:
        """Decides on a text and a server hint over the catalog's figures at the first text."""
        learning = parameters if isinstance(parameters, LearningParameters) else None

        @cache
        def context() -> RoutingContext:
            return self.context(catalog, network, learning)

        return lambda text, hint: self.routing.decide(text, context(), router, parameters, server_hint=hint)

    def _live(self, catalog: str) -> LiveCall:
        load_protocol()
        from core.lab.scenarios.live import example_arguments, may_be_called

        full_catalog = self.catalogs.catalog(catalog)

        @cache
        def call(row: int) -> tuple[bool, float] | None:
            tool = full_catalog.tools[row]
            if not may_be_called(full_catalog.servers[full_catalog.server_row[tool.server]], tool):
                return None
            request = ToolCall(tool.server, tool.name, example_arguments(tool), timeout_s=LIVE_LIMIT_S, catalog=catalog)
            try:
                outcome = self.calls().by_person(request, mode=CallMode.REAL, origin="bench").report().outcome
            except Refusal:
                return None  # its outcome is drawn
            return bool(outcome.kind.success), outcome.latency_s

        return call

    def levels(
        self,
        tasks: Sequence[Task],
        *,
        catalog: str,
        router: str,
        parameters: Parameters,
        progress: Callable[[int], None] = lambda _done: None,
        known: Mapping[str, Routed] | None = None,
    ) -> tuple[LevelRun, ...]:
        """ETOM's scores by level. Each task is its question without a hint. Tools in one equal function set with a right tool are right,
        too. `known` texts are not routed again.
        """
        done, decide = count(1), self._deciding(catalog, router, parameters)

        def route(text: str) -> Decision:
            decision = decide(text, "")
            progress(next(done))
            return decision

        return run_levels(router, widened(tasks, self.equal_sets.sets(parts_of_name(catalog)[0])), route, known)


# Prices by EHRR's two tiers (section V): low U(0, 0.0025) USD, high N(0.0225, 0.005^2) USD, cut at 0

LOW_USD, HIGH_USD, HIGH_DEVIATION_USD = 0.0025, 0.0225, 0.005
HIGH_TIER = re.compile(
    r"\b(web|internet|online|browse\w*|crawl\w*|scrap\w+|google|bing|duckduckgo|tavily|news|"
    r"geocod\w*|geo\w*|map|maps|route\w*|directions?|navigation|places?|satellite|weather|"
    r"generat\w*|summar\w*|translat\w*|transcri\w*|synthes\w*|llm|gpt|model|models|ai|speech|image|images|video|embedding\w*)\b",
    re.IGNORECASE,
)


def is_high_tier(tool: Tool) -> bool:
    """Whether a tool belongs to the expensive tier: by its declared tier, else by its name and description.

    >>> is_high_tier(Tool("maps", "find_route", "Directions between two places."))
    True
    >>> is_high_tier(Tool("text", "count_words", "Counts words."))
    False
    """
    if tool.tier:
        return tool.tier == "high"
    return bool(HIGH_TIER.search(f"{tool.server} {tool.name} {tool.description}".replace("_", " ").replace("-", " ")))


def drawn_price_usd(tool: Tool, seed: int) -> float:
    """A price per call from the tool's tier, drawn by the tool's name and the seed alone."""
    rng = np.random.default_rng([seed, zlib.crc32(tool.id.encode())])
    if is_high_tier(tool):
        return max(0.0, float(rng.normal(HIGH_USD, HIGH_DEVIATION_USD)))
    return float(rng.uniform(0.0, LOW_USD))


def priced_by_tiers(catalog: Catalog, *, name: str, seed: int = 0) -> Catalog:
    """A catalog with every tool priced by its tier. Servers ask the median of their tools' prices."""
    return Catalog(name, tuple(_priced(server, seed) for server in catalog.servers))


def _priced(server: Server, seed: int) -> Server:
    tools = tuple(replace(tool, price_usd=drawn_price_usd(tool, seed)) for tool in server.tools)
    return replace(server, tools=tools, ask_usd=None)


def with_tiers(catalog: Catalog, statistics: Statistics) -> Statistics:
    """The statistics of a catalog with its prices by tiers."""
    drawn = StatisticsProjection(priced_by_tiers(catalog, name=catalog.name)).snapshot()
    asks = {"ask_usd": drawn.servers.ask_usd, "ask_source": drawn.servers.ask_source}
    prices = {"price_usd": drawn.tools.price_usd, "price_source": drawn.tools.price_source}
    return replace(statistics, servers=replace(statistics.servers, **asks), tools=replace(statistics.tools, **prices))
