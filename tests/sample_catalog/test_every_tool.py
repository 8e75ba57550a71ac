"""The tools of two runnable servers and a virtual one, started and called as the console does.

`test_sample_contract` calls the tools of every runnable server, and `tests/virtual/test_responses.py` those of the virtual ones.
"""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from core.domain.catalog import Connection, Server, Tool
from core.domain.outcome import Outcome, OutcomeKind, ToolCall
from core.importers.shipped_catalogs import sample
from core.servers.caller import McpCaller
from core.servers.pool import SessionPool
from core.virtual.launch import virtual_connection
from core.virtual.schema_values import value_for

from .examples import EXAMPLES

RUNNABLE = {"gremlin", "unit-exchange"}  # the gremlin ends its process
MEANT_TO_FAIL = {"gremlin::break_promise", "gremlin::hang", "gremlin::freeze", "gremlin::crash", "gremlin::fail_politely",
                 "gremlin::fail_unexpectedly", "gremlin::fail_sometimes"}  # fmt: skip


def arguments(tool: Tool) -> dict[str, object]:
    """What a runnable tool's example has; for others something that the schema admits."""
    if tool.id in EXAMPLES:
        return EXAMPLES[tool.id].arguments
    return value_for(tool.input_schema or {"type": "object"}, random.Random(tool.id))


def call_all(caller: McpCaller, server: Server, connection: Connection) -> dict[str, Outcome]:
    outcomes = {}
    for tool in server.tools:
        for prior, values in EXAMPLES[tool.id].before if tool.id in EXAMPLES else ():
            assert caller.call(ToolCall(server.name, prior, values), None, connection).kind is OutcomeKind.OK
        limit_s = 1.0 if tool.id in MEANT_TO_FAIL else 60.0
        request = ToolCall(server.name, tool.name, arguments(tool), timeout_s=limit_s)
        outcomes[tool.id] = caller.call(request, tool, connection)
    return outcomes


def test_servers_answer_as_the_console_calls_them(tmp_path: Path) -> None:
    catalog = sample()
    virtual = next(server for server in catalog.servers if server.connection is None)
    servers = [server for server in catalog.servers if server.name in {*RUNNABLE, virtual.name}]
    pool = SessionPool()
    caller = McpCaller(pool)

    def run(server: Server) -> dict[str, Outcome]:
        if server.connection is None:
            connection = virtual_connection(server, tmp_path, profile="steady", seed=1, speed=0.0)
        else:
            connection = replace(server.connection, env={"WAYFARE_SANDBOX": str(tmp_path / "sandbox")})
        return call_all(caller, server, connection)

    try:
        with ThreadPoolExecutor(len(servers)) as workers:
            outcomes = {tool: outcome for found in workers.map(run, servers) for tool, outcome in found.items()}
    finally:
        pool.close()
    assert outcomes.keys() == {tool.id for server in servers for tool in server.tools}
    wrong = {
        tool: o.error for tool, o in outcomes.items() if o.kind is not OutcomeKind.OK and tool not in MEANT_TO_FAIL
    }
    assert wrong == {}
    for tool, outcome in outcomes.items():
        simulated = tool.partition("::")[0] == virtual.name
        assert outcome.simulated is simulated, tool
        assert outcome.content or tool in MEANT_TO_FAIL, tool
        assert "imulated" in "".join(block.text for block in outcome.content) or not simulated, tool
