"""`wayfare mcp` as a process: with its own store, beside a console, beside another `wayfare mcp`."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from core.app import App
from core.cli import main
from core.domain.console import Owner, announced_owner
from core.domain.execution import ClientSide
from core.gateway.base import EndpointOptions, Request
from core.gateway.door import last_line
from core.gateway.joining import StdioBackend
from tests.cases import each
from tests.gateway.conftest import ROOT, Console, program, stdio, talk
from tests.gateway.serving import asgi, listening
from tests.gateway.test_http import TASK, TOOL
from tests.gateway.test_mirrored_parts import STDIO
from tests.gateway.test_mirrored_questions import ANSWERING, ASKING


class LineClient:
    """A client that writes and reads lines; a line that is no protocol message fails."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        self.child = child
        self.number = 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a request."""
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.child.stdin.write(f"this is no message\n{json.dumps(message)}\n")
        self.child.stdin.flush()
        while True:
            answer = json.loads(self.child.stdout.readline())
            assert answer["jsonrpc"] == "2.0"
            if answer.get("id") == self.number:
                return answer["result"]


@contextmanager
def line_client(db: Path, cache: Path) -> Iterator[LineClient]:
    """A `wayfare mcp` that is spoken to line by line, after the handshake."""
    environment = {**os.environ, "WAYFARE_CACHE": str(cache)}
    pipe = subprocess.PIPE
    line = [*program(), "mcp", "--db", str(db)]
    with subprocess.Popen(line, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as child:
        spoken = LineClient(child)
        info = {"name": "same", "version": "1"}
        start = spoken.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=info)
        assert start["protocolVersion"] == "2025-11-25"
        child.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        yield spoken
        child.kill()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_beside_a_console_a_mirrors_questions_and_messages_reach_the_client(
    console: Console, encoder_cache: Path, tmp_path: Path, mode: str
) -> None:
    tool = {
        "name": "test_input_required_result_multiple_inputs",
        "description": "Asks.",
        "inputSchema": {"type": "object"},
    }
    servers = [
        {"name": "asking", "tools": [{**tool, "name": "who"}], "connection": ASKING},
        {"name": "one", "tools": [tool], "connection": STDIO},
    ]
    file, heard = tmp_path / "asking.json", list[Any]()
    file.write_text(json.dumps({"servers": servers}))
    main(["import", str(file), "--name", "asking", "--db", str(console.db)])

    async def logged(params: Any) -> None:
        heard.append(params.data)

    async def script(client: Client) -> list[str]:
        result = await client.call_tool(tool["name"], {})
        prompt = await client.get_prompt("test_input_required_result_prompt")
        assert prompt.messages
        (who,) = (await client.call_tool("who", {})).content
        assert ('"name": "Ann"' in who.text) == (mode == "legacy")  # others cannot be asked in the midst of a call
        return [block.text for block in result.content]

    target = stdio(console.db, encoder_cache, "--catalog", "asking", "--mirror", "*")
    opted_in = {} if mode == "legacy" else {"log_level": "warning"}
    (text,) = talk(target, script, mode=mode, logging_callback=logged, **ANSWERING, **opted_in)
    assert text.startswith("state-ok")
    assert "Paris" in text
    assert "warning of who" in heard


def test_a_call_in_a_session_that_the_next_console_does_not_know_is_sent_again(
    world: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    side = ClientSide("tests", frozenset({"elicitation"}), False, "", print, lambda _: Future())
    request = Request("execute_tool", {"tool": "raw::echo"}, side=side)
    app = asgi(lambda: world)

    async def script() -> None:
        backend = StdioBackend(world.settings, EndpointOptions("world"))
        async with anyio.create_task_group() as tasks:
            assert (await backend.call(tasks, request)).structured_content["ok"]
            app.routes[0].endpoint._served[""].__self__._server_instances.clear()
            assert (await backend.call(tasks, request)).structured_content["ok"]
            tasks.cancel_scope.cancel()

    with listening(app, "on") as url:
        monkeypatch.setattr("core.gateway.joining.console_of", lambda _: Owner(url))
        anyio.run(script)


def test_standard_output_has_nothing_but_the_protocol(console: Console, encoder_cache: Path) -> None:
    with line_client(console.db, encoder_cache) as client:
        search = client.ask("tools/call", name="search_tools", arguments={"task": TASK})["structuredContent"]
        assert search["candidates"][0]["tool"] == TOOL


def test_a_console_that_cannot_start_ends_it_with_a_sentence(tmp_path: Path) -> None:
    line = [*program(), "mcp", "--db", str(tmp_path / "db"), "--catalog", "unknown"]
    pipe = subprocess.PIPE
    with subprocess.Popen(line, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as child:
        assert child.wait(60) == 2
        assert child.stdout.read() == ""
        assert "There is no catalog 'unknown'" in child.stderr.read()
    assert announced_owner(tmp_path / "db") is None


def test_the_last_words_of_a_console_are_not_those_of_native_code_that_leaks(tmp_path: Path) -> None:
    leaks = ("nanobind: leaked 1 instances!", ' - leaked instance 0x7f of type "_duckdb.Connection"', " - ... skipped remainder",
             "nanobind: this is likely caused by a reference counting issue.", "See https://nanobind.readthedocs.io/")  # fmt: skip
    (log := tmp_path / "log").write_text("\n".join(["Earlier.", "There is no catalog 'unknown'.", *leaks]))
    assert last_line(log, 9) == "There is no catalog 'unknown'."
    assert last_line(log, len("Earlier.There is no catalog 'unknown'..")) == f"{log} says more."


@each(
    ("arguments", "words"),
    [(("--router", "x"), "no router"), (("--set", "n=0"), "outside"), ((), "needs a store in a file")],
)
def test_wrong_use_ends_it_with_a_sentence(
    arguments: tuple[str, str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["mcp", "--db", ":memory:", *arguments])
    out, error = capsys.readouterr()
    assert (ended.value.code, out, error.count("\n")) == (2, "", 1)
    assert words in error
