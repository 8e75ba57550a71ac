"""`wayfare virtual`, `wayfare multiply`, and calls to virtual servers: real processes, simulated outcomes that say so."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from core.app import Settings, open_app
from core.domain.outcome import SIMULATED_MARK
from tests.cases import each
from tests.cli.conftest import RAW, ROOT, Command, forked, refused, server, stdio, tool

REPORT = {"type": "object", "properties": {"celsius": {"type": "number"}}, "required": ["celsius"]}
FIGURES = {"conn_s": 0.1, "call_s": 0.01, "success": 1.0, "post_accept_failure": 0.0}


@pytest.fixture
def world(write) -> Path:
    """A catalog file: a virtual server, one that always crashes, and one that nobody can reach."""
    weather = server("weather", tool("get_report", outputSchema=REPORT, price_usd=0.002), virtual=True, **FIGURES)
    fragile = server("fragile", tool("do", price_usd=0.002), virtual=True, **{**FIGURES, "post_accept_failure": 1.0})
    return write("world.json", {"servers": [weather, fragile, server("island", tool("swim", latency_s=0.0))]})


def test_any_server_can_be_called_virtually(wayfare: Command, world: Path) -> None:
    run = wayfare("call", "island", "swim", "--catalog", world, "--virtual")
    assert (run.code, run.err) == (0, "")
    assert "(simulated: a virtual server was called over MCP)" in run.out
    assert "Simulated result of island::swim" in run.out


class TestVirtual:
    """`wayfare virtual` as another program's server."""

    def talk(self, target: Any) -> Any:
        async def run() -> Any:
            async with Client(target) as client:
                tools = (await client.list_tools()).tools
                return client.server_info, [t.name for t in tools], await client.call_tool(tools[0].name, {})

        return asyncio.run(run())

    def test_over_stdio_with_the_store_free_for_others(self, db: Path, wayfare: Command, world: Path) -> None:
        wayfare("import", world, "--name", "mine")
        program, *arguments = forked("virtual", "weather", "--catalog", "mine", "--speed", "0", "--db", db)
        target = StdioServerParameters(command=program, args=arguments, cwd=ROOT)

        async def run() -> Any:
            async with Client(target) as client:
                tools = (await client.list_tools()).tools
                with open_app(
                    Settings.from_environment(db=db)
                ) as app:  # one process owns the file: it must not be this server's
                    assert [info.name for info in app.catalogs.infos()][-1] == "mine"
                return client.server_info, tools, await client.call_tool(tools[0].name, {})

        info, tools, result = asyncio.run(run())
        assert (info.name, info.version, tools[0].name) == ("weather", "virtual", "get_report")
        assert result.meta[SIMULATED_MARK] is True

    def test_over_http_it_prints_its_url_beside_the_output(self, world: Path) -> None:
        process = subprocess.Popen(
            forked("virtual", "weather", "--catalog", world, "--http", "0", "--profile", "steady", "--seed", "1"),
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            match = re.search(r"http://127\.0\.0\.1:\d+/mcp", process.stderr.readline())
            assert match
            info, names, result = self.talk(match[0])
        finally:
            process.terminate()
            out, _ = process.communicate(timeout=30)
        assert (info.name, names, out) == ("weather", ["get_report"], "")
        assert isinstance(result.structured_content["celsius"], int | float)


@each(
    ("line", "words"),
    [
        ("call weather get_report --simulate --virtual", "give one of them"),
        ("virtual nobody", "There is no server 'nobody' in catalog"),
        ("virtual weather --profile odd", "'odd' is not one of"),
        ("virtual weather --http 70000", "70000"),
        ("multiply nobody --copies 2", "There is no server 'nobody'"),
        ("multiply weather", "--copies"),
        ("multiply weather --copies 51", "51"),
        ("multiply weather --copies 2 --spread 0.5", "0.5"),
        ("multiply weather --copies 2 --name sample", "belongs to"),
    ],
)
def test_wrong_use_keeps_nothing(wayfare: Command, world: Path, line: str, words: str) -> None:
    refused(wayfare(*line.split(), "--catalog", world), words)
    assert "weather" not in wayfare("catalogs").out


def test_a_server_is_multiplied(wayfare: Command, world: Path) -> None:
    line = (
        "multiply",
        "weather",
        "--copies",
        "2",
        "--catalog",
        world,
        "--name",
        "more",
        "--seed",
        "3",
        "--spread",
        "1",
    )
    d = wayfare(*line, "--json").json()
    assert (d["catalog"], d["servers"], d["tools"], d["copied"]) == ("more", 5, 5, "weather")
    assert [copy["name"] for copy in d["copies"]] == ["weather-1", "weather-2"]
    assert wayfare("catalogs", "--json").json()["catalogs"][-1]["source"] == f"{world}, weather × 2, seed 3, spread 1"
    text = wayfare(*line[:6], "--replace").out
    assert text.startswith("Catalog world-weather-x2: 4 servers with 4 tools, 2 of them virtual copies of weather.")


SECRET = "s3cr3t-value-77"


class TestRecord:
    """`wayfare record`: a real server is called, and its file is played."""

    @pytest.fixture
    def real(self, write, wayfare: Command) -> str:
        """The catalog of a real server that has a secret."""
        schema = {"type": "object", "properties": {"pin": {"type": "string", "writeOnly": True}}}
        tools = [tool("echo", inputSchema=schema), tool("refuse"), tool("crash")]
        connection = stdio("-S", RAW, env={"API_TOKEN": SECRET})
        wayfare(
            "import", write("tools.json", {"servers": [server("raw", *tools, connection=connection)]}), "--name", "mine"
        )
        return "mine"

    def test_what_a_server_answered_is_played_without_its_secrets(
        self, wayfare: Command, real: str, tmp_path: Path
    ) -> None:
        def call(tool: str, arguments: dict[str, Any], catalog: str = real) -> Any:
            run = wayfare("call", "raw", tool, "--args", json.dumps(arguments), "--catalog", catalog, "--json")
            return json.loads(run.out)

        file, hash_ = tmp_path / "raw.json", "d670460b4b4aece5915caf5c68d12f560a9fe3e4"
        report = wayfare("record", "raw", "--to", file, "--catalog", real, "--json").json()
        assert report == {"recordings": [{"catalog": "mine", "server": "raw", "file": str(file)}]}
        requests = [
            ("echo", {"key": "PROJ-12", "hash": hash_}),
            ("echo", {"pin": "4711", "said": SECRET, "login": {"password": "hunter2"}}),
            ("refuse", {"code": -32000, "message": f"no entry for {SECRET}"}),
            ("crash", {"counter": str(tmp_path / "counter"), "times": 2}),
        ]
        real_answers = [call(*request) for request in requests]
        call("echo", {"drawn": True})
        assert wayfare("record", "raw", "--stop", "--catalog", real).out == "No server is recorded.\n"
        call("echo", {"later": True})
        text = file.read_text()
        assert not [word for word in (SECRET, "4711", "hunter2", "later") if word in text]
        assert "PROJ-12" in text
        assert hash_ in text
        (entry,) = json.loads(text)["servers"]
        times = [answer["latency_s"] for answer in entry["tools"][0]["answers"]][:2]
        assert times == [pytest.approx(answer["latency_s"], abs=1e-3) for answer in real_answers[:2]]
        wayfare("import", file, "--name", "played")
        played = [call(*request, "played") for request in requests]
        assert [answer["outcome"] for answer in played] == [answer["outcome"] for answer in real_answers]
        assert [answer["outcome"] for answer in played] == ["ok", "ok", "tool_error", "crash"]
        assert played[0]["content"] == real_answers[0]["content"]
        assert {answer["mode"] for answer in played} == {"virtual"}

    def test_a_file_of_something_else_is_kept(self, wayfare: Command, real: str, write) -> None:
        other_file = write("other.json", {"servers": [server("raw", tool("echo"))]})
        run = wayfare("record", "raw", "--to", other_file, "--catalog", real)
        assert (run.code, "is no recording of" in run.err) == (2, True)
        assert "answers" not in other_file.read_text()
        assert wayfare("record", "raw", "--stop", "--catalog", real).code == 2
