"""Live mode: the simulation's decisions, with calls that are really made over MCP through the injected network."""

import os
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.domain.catalog import Connection, Server, Tool, ToolHints
from core.domain.outcome import OutcomeKind
from core.lab.scenarios.live import LiveCalls, may_be_called
from core.lab.scenarios.simulation import CallResult, World, walk
from core.network.traces import OUTAGE_S, Traces
from core.planning.rules import RulesPlanner
from core.routers import ROUTERS
from tests.lab import search_world as searching

STEPS, LEAD_IN = 4, 3
FAVOURITE = "bravo"  # of PRAG, by words
REFUSING = 8  # with this seed the favourite refuses three connections; a silent connection takes a second
ECHO = Path(__file__).parents[1] / "servers" / "programs" / "sample.py"


def children() -> set[str]:
    """Virtual servers that this process has started and that still live."""
    line = ["pgrep", "-P", str(os.getpid()), "-f", "core.virtual"]
    return set(subprocess.run(line, capture_output=True, text=True, check=False).stdout.split())


@pytest.fixture
def world():
    """The server that PRAG prefers is down from the second query on; echo is nearest, the others are 200 ms away."""

    def of(**latency_s):
        context = searching.context()
        rows = np.full((len(context.server_names), LEAD_IN + STEPS), 0.2)
        rows[context.server_names.index("echo")] = 0.02
        rows[context.server_names.index(FAVOURITE), LEAD_IN + 1 :] = OUTAGE_S
        for name, value in latency_s.items():
            rows[context.server_names.index(name)] = value
        traces = Traces(tuple(context.server_names), rows)
        return World.of(context, traces, searching.tasks(), {"rules": RulesPlanner()}, lead_in=LEAD_IN)

    return of


def live(world, folder, router, **options):
    """The steps of a live run, and the events of its calls."""
    events = []
    with LiveCalls(world, folder, record=events.append, **options) as call:
        steps = list(walk(world, router, ROUTERS[router].parameters(), call))
    return steps, events


def test_the_decisions_are_those_of_the_simulation_and_the_latencies_are_measured(world, tmp_path) -> None:
    children_before = children()
    for router, count in (("prag", STEPS), ("ehrr", 1)):  # EHRR learns from measured times from its second decision on
        scenario = world()
        scenario = replace(scenario, order=scenario.order[:count])
        steps, events = live(scenario, tmp_path, router, seed=REFUSING)
        simulated = list(walk(scenario, router, ROUTERS[router].parameters()))
        assert [step.tool for step in steps] == [step.tool for step in simulated], router
        assert [step.network_s >= OUTAGE_S for step in steps] == [step.network_s >= OUTAGE_S for step in simulated]
        assert all(real.network_s >= expected.network_s for real, expected in zip(steps, simulated, strict=True))
        assert [event.injected for event in events] == [step.injected for step in steps]
        assert {(event.origin, event.simulated, event.catalog) for event in events} == {("scenario", True, "searching")}
        assert [event.price_usd for event in events] == [step.price_usd for step in steps]
        failed = [step.kind is not OutcomeKind.OK for step in steps]
        assert failed == [step.network_s >= OUTAGE_S for step in steps]
        if router == "prag":
            assert failed == [False, True, True, True]
            assert {step.injected for step in steps[1:]} == {"connection dropped"}
    assert children() == children_before  # every server was closed


def test_a_pool_that_waits_before_it_tries_again_waits_on_the_networks_clock(world, tmp_path) -> None:
    """Three failures, and 10 s between two queries: a wait of seconds is over at the next query."""
    down = np.full(LEAD_IN + STEPS, 0.02)
    down[LEAD_IN : LEAD_IN + 3] = OUTAGE_S
    steps, events = live(world(**{FAVOURITE: down}), tmp_path, "prag", seed=REFUSING)
    assert [step.kind for step in steps] == [OutcomeKind.NOT_CONNECTED] * 3 + [OutcomeKind.OK]
    assert not any("the next attempt is in" in event.error for event in events)


def test_a_call_that_is_stopped_ends_at_once(world, tmp_path) -> None:
    stop = threading.Event()
    stop.set()
    scenario = world()
    with LiveCalls(scenario, tmp_path, cancel=stop) as call:
        answer = call(scenario, 0, 0, 0, 0.25)
    assert answer.kind is OutcomeKind.CANCELLED


def test_a_crash_that_a_virtual_server_plays_is_the_tools_failure_and_no_outage(world, tmp_path) -> None:
    scenario = world()
    servers = tuple(replace(server, post_accept_failure=1.0) for server in scenario.context.catalog.servers)
    scenario = replace(
        scenario, context=replace(scenario.context, catalog=replace(scenario.context.catalog, servers=servers))
    )
    with LiveCalls(scenario, tmp_path) as call:
        answer = call(scenario, 0, 0, 0, 0.25)
    assert answer.kind is OutcomeKind.CRASH
    assert 0.2 <= answer.network_s < OUTAGE_S


def test_a_real_server_is_called_where_the_tool_only_reads(world, tmp_path) -> None:
    scenario = world()
    connection = Connection("stdio", command="${python}", args=(str(ECHO),), env={"PATH": os.environ["PATH"]})
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    reads = Tool("alpha", "echo", input_schema=schema, hints=ToolHints(read_only=True))
    real = Server("alpha", connection=connection, tools=(reads, Tool("alpha", "everything")))
    catalog = replace(scenario.context.catalog, servers=(real, *scenario.context.catalog.servers[1:]))
    scenario = replace(scenario, context=replace(scenario.context, catalog=catalog))
    events = []
    with LiveCalls(scenario, tmp_path, record=events.append, limit_s=OUTAGE_S) as call:
        answers = [call(scenario, 0, 0, tool, 0.25) for tool in (0, 1)]
    with LiveCalls(scenario, tmp_path, leave=lambda *_: None) as call:
        assert not call(scenario, 0, 0, 0, 0.25).with_tool_time  # without leave it is played
    assert [(event.tool, event.simulated, event.price_usd) for event in events] == [
        ("echo", False, 0.25), ("everything", True, 0.25),
    ]  # fmt: skip
    assert [answer.with_tool_time for answer in answers] == [True, False]  # the measured time includes the tool's time
    assert {event.injected for event in events} == {"delayed by 200 ms"}
    assert {answer.kind for answer in answers} == {OutcomeKind.OK}


def test_a_tools_own_time_is_added_where_it_was_not_waited_for(world) -> None:
    """A tool takes 0.5 s by the catalog. EHRR learns this from a virtual server, and only the measured time from a real server."""
    costs = []
    for with_tool_time in (False, True):
        call = lambda *_, whole=with_tool_time: CallResult(OutcomeKind.OK, 0.3, whole)  # noqa: E731
        earlier, later, *_ = walk(world(), "ehrr", ROUTERS["ehrr"].parameters(), call)
        costs.append(later.decision.servers.cost_s[earlier.server])
    assert costs[0] > costs[1]


def test_nothing_that_may_change_something_is_called_with_made_up_arguments() -> None:
    connection = Connection("http", url="http://localhost/mcp")
    real, virtual = Server("a", connection=connection), Server("a", connection=connection, virtual=True)
    reads, writes = (Tool("a", "t", hints=ToolHints(read_only=value)) for value in (True, False))
    allowed = [may_be_called(s, t) for s in (real, virtual, Server("a")) for t in (reads, writes, Tool("a", "t"))]
    assert allowed == [True] + [False] * 8
