"""A tool call becomes an outcome: kinds, content, times, progress, cancelling, redaction, marks of simulation, messages of its server."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from contextvars import copy_context
from datetime import UTC, datetime
from itertools import count
from typing import Any

import anyio
import mcp_types
import pytest
from mcp import MCPError
from mcp.server.lowlevel import Server as McpServer
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from core.domain.catalog import Connection, Tool
from core.domain.execution import NOBODY, ClientSide, Progress, ToolCaller
from core.domain.outcome import SIMULATED_MARK, CallMode, OutcomeKind, ToolCall
from core.servers.asking_back import LATE_S, AskingBack, called
from core.servers.caller import MAX_ERROR_CHARS, McpCaller, classify_error_result
from core.servers.pool import PoolConfig, SessionPool
from core.servers.secrets import SecretVault
from tests.cases import each
from tests.servers.conftest import SERVER

HERE = Connection("stdio", command="in-process")


def in_process(secret: str = "", stopped: threading.Event | None = None) -> MCPServer:
    """A server in the test's own process; `stopped` is set when its blocking tool is cancelled."""
    stopped = stopped or threading.Event()
    server = MCPServer("here", version="1")

    @server.tool()
    async def greet(name: str, times: int = 1) -> str:
        return f"hello {name}" * times

    @server.tool()
    async def fail(length: int = 0) -> str:
        raise ToolError(f"the key {secret} is refused" + "x" * length)

    @server.tool()
    async def wait(ctx: Context) -> str:
        try:
            await ctx.report_progress(1, 2, f"waiting {secret}")
            await anyio.Event().wait()
        finally:
            stopped.set()
        return "never"

    return server


@pytest.fixture
def make(bench_with: Any) -> Any:
    """A bench with this server alone."""
    return lambda server, **options: bench_with(open_target=lambda *_: server, **options)


def vault_with(value: str) -> SecretVault:
    """A vault with one value of the default server."""
    vault = SecretVault()
    vault.put(SERVER, "key", value)
    return vault


def test_ok_has_content_structure_times_and_version(make: Any) -> None:
    bench = make(in_process())
    first = bench.call(HERE, "greet", {"name": "you"})
    second = bench.call(HERE, "greet", {"name": "you"})
    assert (first.kind, first.content[0].text, first.structured) == (
        OutcomeKind.OK,
        "hello you",
        {"result": "hello you"},
    )
    assert first.connect_s is not None
    assert second.connect_s is None
    assert second.latency_s > 0
    assert (second.attempts, second.protocol_version, second.error) == (1, "2026-07-28", "")


def test_time_comes_from_the_clocks_that_are_passed_in(make: Any) -> None:
    ticks = count(step=0.25)
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    caller: ToolCaller = McpCaller(make(in_process()).pool, clock=lambda: next(ticks), now=lambda: moment)
    outcome = caller.call(ToolCall("s", "greet", {"name": "x"}), None, HERE)
    assert (outcome.started_at, outcome.latency_s) == (moment, 0.25)


@each(
    ("tool", "arguments", "kind"),
    [
        ("fail", {}, OutcomeKind.TOOL_ERROR),
        ("fail", {"length": "long"}, OutcomeKind.INVALID_ARGUMENTS),
        ("greet", {}, OutcomeKind.INVALID_ARGUMENTS),
        ("absent", {}, OutcomeKind.INVALID_ARGUMENTS),
    ],
)
def test_whose_fault_an_error_is(make: Any, tool: str, arguments: dict[str, Any], kind: OutcomeKind) -> None:
    outcome = make(in_process()).call(HERE, tool, arguments)
    assert outcome.kind is kind
    assert outcome.error
    assert not outcome.kind.post_accept_failure


def test_errors_are_verbatim_but_redacted_and_bounded(make: Any) -> None:
    bench = make(in_process("hunter22"), vault=vault_with("hunter22"))
    outcome = bench.call(HERE, "fail")
    assert "the key ••• is refused" in outcome.error
    assert "hunter22" not in repr(outcome)
    long = bench.call(HERE, "fail", {"length": MAX_ERROR_CHARS}).error
    assert MAX_ERROR_CHARS < len(long) < MAX_ERROR_CHARS + 100
    assert "cut" in long


def test_a_failed_result_has_no_secret_in_any_part(make: Any) -> None:
    async def refuses(*_: Any) -> mcp_types.CallToolResult:
        link = mcp_types.ResourceLink(type="resource_link", uri="https://x.org/?key=hunter22", name="of hunter22")
        return mcp_types.CallToolResult(content=[link], structured_content={"bad": ["hunter22"]}, is_error=True)

    outcome = make(McpServer("here", on_call_tool=refuses), vault=vault_with("hunter22")).call(HERE, "t")
    assert (outcome.structured, outcome.content[0].uri) == ({"bad": ["•••"]}, "https://x.org/?key=•••")
    assert "hunter22" not in repr((outcome, outcome.original))


def test_an_error_is_passed_on_though_a_value_of_the_server_is_a_word_of_the_protocol(make: Any) -> None:
    outcome = make(in_process("true"), vault=vault_with("true")).call(HERE, "fail")
    assert outcome.kind is OutcomeKind.TOOL_ERROR
    assert outcome.original.is_error
    assert "the key ••• is refused" in outcome.original.content[0].text


@each("connection", [None, Connection("stdio"), Connection("http", command="x")])
def test_nothing_to_connect_to(bench: Any, connection: Connection | None) -> None:
    outcome = bench.caller.call(ToolCall("Atlas", "t", catalog="mine"), None, connection)
    assert outcome.kind is OutcomeKind.NOT_TRIED
    assert outcome.error == "Server Atlas has no command or URL in catalog mine; add a connection to call it."
    assert (outcome.connect_s, outcome.latency_s) == (None, 0.0)


def test_a_missing_secret_is_named_and_no_session_is_tried(bench: Any) -> None:
    outcome = bench.call(Connection("http", url="http://x", headers={"A": "Bearer ${secret:a/KEY}"}), "t")
    assert outcome.kind is OutcomeKind.NOT_TRIED
    assert "${secret:a/KEY}" in outcome.error
    assert bench.pool.states() == ()


@each("value", [float("nan"), object(), {1, 2}, "\ud83d"], ids=["nan", "object", "set", "half a character"])
def test_arguments_that_are_not_json_are_not_sent(make: Any, value: object) -> None:
    bench = make(in_process())
    outcome = bench.call(HERE, "greet", {"name": value})
    assert outcome.kind is OutcomeKind.INVALID_ARGUMENTS
    assert "not JSON" in outcome.error
    assert bench.pool.states() == ()


def test_cancelling_leaves_the_session_usable_and_progress_has_no_secret(make: Any) -> None:
    cancel, stopped = threading.Event(), threading.Event()
    bench = make(in_process("hunter22", stopped=stopped), vault=vault_with("hunter22"))
    seen: list[Progress] = []

    def progressed(progress: Progress) -> None:
        seen.append(progress)
        cancel.set()

    outcome = bench.call(HERE, "wait", on_progress=progressed, cancel=cancel)
    assert (outcome.kind, outcome.kind.counts) == (OutcomeKind.CANCELLED, False)
    assert seen == [Progress(1, 2, "waiting •••")]
    assert stopped.wait(10)
    after = bench.call(HERE, "greet", {"name": "you"})
    assert (after.kind, after.connect_s) == (OutcomeKind.OK, None)


def test_progress_arrives_in_order_in_the_calling_thread(shared: Any, sample: Connection) -> None:
    seen: list[tuple[Progress, int]] = []
    outcome = shared.call(sample, "steps", {"count": 5}, on_progress=lambda p: seen.append((p, threading.get_ident())))
    assert outcome.kind is OutcomeKind.OK
    assert [p for p, _ in seen] == [Progress(n, 5, f"step {n}") for n in range(1, 6)]
    assert {thread for _, thread in seen} == {threading.get_ident()}


def test_what_the_progress_callback_raises_ends_the_call(shared: Any, sample: Connection) -> None:
    def raises(progress: Progress) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        shared.call(sample, "steps", {"count": 2}, on_progress=raises)
    assert shared.call(sample, "echo", {"text": "on"}).kind is OutcomeKind.OK


def test_every_content_type(shared: Any, sample: Connection) -> None:
    outcome = shared.call(sample, "everything")
    assert [block.kind for block in outcome.content] == [
        "text", "image", "audio", "resource", "resource", "resource_link", "image",
    ]  # fmt: skip
    text, image, audio, inside, binary, link, broken = outcome.content
    assert (text.text, image.mime_type, audio.data) == ("plain", "image/png", b"RIFF")
    assert (inside.text, inside.uri, binary.data, binary.mime_type) == ("inside", "file:///a.txt", b"\0\1\2", "x/y")
    assert (link.uri, link.name, link.text) == ("file:///far.txt", "far", "far away")
    assert "not valid" in broken.text
    assert outcome.structured == {"n": 1}


def test_a_slow_tool_times_out_and_the_session_is_kept(shared: Any, sample: Connection) -> None:
    pid = shared.call(sample, "pid").structured
    outcome = shared.call(sample, "slow", {"seconds": 60}, timeout_s=0.2)
    assert outcome.kind is OutcomeKind.TIMEOUT
    assert 0.2 <= outcome.latency_s < 5
    after = shared.call(sample, "pid")
    assert (after.structured, after.connect_s) == (pid, None)


def test_the_schema_of_the_catalog_stands_in_where_the_server_lists_nothing() -> None:
    tool = Tool("s", "t", input_schema={"type": "object", "required": ["n"]})
    assert classify_error_result(ToolCall("s", "t"), tool, None) is OutcomeKind.INVALID_ARGUMENTS
    assert classify_error_result(ToolCall("s", "t", {"n": 1}), tool, None) is OutcomeKind.TOOL_ERROR
    listed = {"t": mcp_types.Tool(name="t", input_schema={"type": "object"})}
    assert classify_error_result(ToolCall("s", "t"), tool, listed) is OutcomeKind.TOOL_ERROR


def test_a_closed_pool_is_an_outcome_and_raises_nothing() -> None:
    pool = SessionPool(config=PoolConfig())
    pool.close()
    pool.close()
    assert McpCaller(pool).call(ToolCall("s", "t"), None, HERE).kind is OutcomeKind.NOT_CONNECTED


MARKS = {"marked": {SIMULATED_MARK: True}, "denied": {SIMULATED_MARK: False}, "other": {"else": True}, "plain": None}


def made() -> McpServer[Any]:
    """A server whose tools carry the marks of their names; `fail` fails, and a number is an error of the protocol."""

    async def listed(*_: Any) -> mcp_types.ListToolsResult:
        names = (*MARKS, "fail")
        return mcp_types.ListToolsResult(tools=[mcp_types.Tool(name=n, input_schema={"type": "object"}) for n in names])

    async def called(_: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        if params.name.startswith("-"):
            raise MCPError(int(params.name), "boom", "boom" if params.name == "-1" else {"password": "hunter2"})
        text = mcp_types.TextContent(type="text", text="done")
        return mcp_types.CallToolResult(content=[text], is_error=params.name == "fail", _meta=MARKS.get(params.name))

    return McpServer("here", on_list_tools=listed, on_call_tool=called)


def test_an_error_of_the_protocol_is_about_the_arguments_by_its_code(make: Any) -> None:
    bench = make(made())
    kinds = [bench.call(HERE, code).kind for code in ("-32602", "-32603", "-32601")]
    assert kinds == [OutcomeKind.INVALID_ARGUMENTS, OutcomeKind.TOOL_ERROR, OutcomeKind.TOOL_ERROR]
    assert [bench.call(HERE, code).error for code in ("-1", "-2")] == ["boom", 'boom {"password": "•••"}']


def test_only_a_marked_result_is_simulated(make: Any) -> None:
    bench = make(made())
    for tool in (*MARKS, "fail"):
        outcome = bench.call(HERE, tool)
        assert outcome.mode is (CallMode.VIRTUAL if tool == "marked" else CallMode.REAL), tool
        assert outcome.simulated is (tool == "marked"), tool


def test_a_late_message_goes_to_no_other_client() -> None:
    outside = copy_context()
    clock_s, heard = [0.0], list[tuple[str, Any]]()
    asking = AskingBack(NOBODY, clock=lambda: clock_s[0])
    sides = {
        name: ClientSide(name, NOBODY, False, "info", lambda note, name=name: heard.append((name, note.data)), lambda _: None)  # type: ignore[arg-type,return-value]
        for name in ("one", "other")
    }  # fmt: skip

    def says(text: str) -> None:
        """Delivers a message outside of the call, as a pipe's reader does."""
        params = mcp_types.LoggingMessageNotificationParams(level="info", data=text)
        asyncio.run(asking.callbacks()["logging_callback"](params))

    def while_calling(client: str, text: str) -> None:
        with asking.under_way(sides[client], str):
            outside.run(says, text)

    while_calling("one", "of the first call")
    while_calling("one", "the same client may have it")
    while_calling("other", "perhaps of one's last call")
    clock_s[0] += LATE_S / 2
    with asking.under_way(None, str):
        pass  # a call of the console
    clock_s[0] += LATE_S
    while_calling("one", "of this call")
    assert heard == [("one", "of the first call"), ("one", "the same client may have it"), ("one", "of this call")]


def test_questions_that_are_kept_for_the_client_have_no_secret() -> None:
    question = mcp_types.ElicitRequest(
        params=mcp_types.ElicitRequestFormParams(message="Use hunter22?", requested_schema={"type": "object"})
    )
    answer = mcp_types.InputRequiredResult(input_requests={"ask": question}, request_state="of hunter22")

    class Asks:
        protocol_version = "2026-07-28"

        @property
        def session(self) -> Any:
            return self

        async def call_tool(self, *_: Any, **__: Any) -> Any:
            return answer

    side = ClientSide("one", frozenset({"elicitation"}), True, "", lambda _: None, lambda _: Future())
    with AskingBack(side.abilities).under_way(side, lambda text: text.replace("hunter22", "•••")):
        asyncio.run(called(Asks(), ToolCall("s", "t"), side, None))  # type: ignore[arg-type]
    (stored,) = side.questions
    assert (stored.input_requests["ask"].params.message, stored.request_state) == ("Use •••?", "of hunter22")
