"""Each tool of the sample's runnable servers is called once over real MCP, and those of two virtual servers.

A server takes a second to start as a process, so all but a few run in this process: `test_sample_stdio` starts each runnable one.
"""

import importlib
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.domain.catalog import Connection, Server, Tool
from core.domain.outcome import Outcome, OutcomeKind, ToolCall
from core.importers.shipped_catalogs import sample
from core.servers.caller import McpCaller
from core.servers.pool import SessionPool
from core.servers.secrets import Launch
from core.servers.transports import open_target
from core.virtual.launch import virtual_connection
from core.virtual.schema_values import value_for
from core.virtual.server import Behaviour, virtual_server

from .examples import EXAMPLES

AT_ONCE = 4
AS_PROCESSES = {"gremlin", "unit-exchange"}  # as the console starts them; the gremlin ends its process
VIRTUAL = 2  # the first as a process; tests/virtual/test_responses.py calls the tools of the others without MCP
IN_PROCESS = "in-process:"  # the command of a server that is opened in this process
BEHAVIOUR = Behaviour(profile="steady", seed=1, speed=0.0)
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


def test_every_tool_responds_over_mcp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = sample()
    monkeypatch.setenv("WAYFARE_SANDBOX", str(tmp_path / "sandbox"))  # of the servers in this process
    virtual = [server.name for server in catalog.servers if server.connection is None][:VIRTUAL]
    servers = [server for server in catalog.servers if server.connection is not None or server.name in virtual]

    async def never(_: object) -> None:
        raise AssertionError("a steady server drops no connection")

    def target(launch: Launch, *rest: Any) -> Any:
        if launch.command != IN_PROCESS:
            return open_target(launch, *rest, vault=pool.vault)
        server = catalog.servers[catalog.server_row[launch.args[0]]]
        if server.connection is not None:
            return importlib.import_module(server.connection.args[1]).server
        return virtual_server(server, BEHAVIOUR, never).mcp

    pool = SessionPool(open_target=target)
    caller = McpCaller(pool)

    def run(server: Server) -> dict[str, Outcome]:
        if server.connection is not None and server.name in AS_PROCESSES:
            connection = replace(server.connection, env={"WAYFARE_SANDBOX": str(tmp_path / "sandbox")})
        elif server.name == virtual[0]:
            connection = virtual_connection(server, tmp_path, profile="steady", seed=1, speed=0.0)
        else:
            connection = Connection("stdio", command=IN_PROCESS, args=(server.name,))
        return call_all(caller, server, connection)

    try:
        with ThreadPoolExecutor(AT_ONCE) as workers:
            outcomes = {tool: outcome for found in workers.map(run, servers) for tool, outcome in found.items()}
    finally:
        pool.close()
    assert outcomes.keys() == {tool.id for server in servers for tool in server.tools}
    wrong = {
        tool: o.error for tool, o in outcomes.items() if o.kind is not OutcomeKind.OK and tool not in MEANT_TO_FAIL
    }
    assert wrong == {}
    for tool, outcome in outcomes.items():
        simulated = tool.partition("::")[0] in virtual
        assert outcome.simulated is simulated, tool
        assert outcome.content or tool in MEANT_TO_FAIL, tool
        assert "imulated" in "".join(block.text for block in outcome.content) or not simulated, tool
