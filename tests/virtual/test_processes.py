"""Virtual servers as processes of their own: stdio and HTTP, crashes, wrong use, and what a start loads."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from core.domain.catalog import Connection, Server, Tool
from core.domain.outcome import CallMode, Outcome, OutcomeKind, ToolCall
from core.servers.caller import McpCaller
from core.servers.discovery import discover
from core.servers.pool import SessionPool
from core.virtual.__main__ import main
from core.virtual.launch import PLAYER, plain_server, virtual_connection, write_recording
from tests.cases import each
from tests.forking import FORKS
from tests.virtual.conftest import WEATHER

LINE = re.compile(r"Virtual server weather \((?P<profile>\w+)\) on (?P<url>http://127\.0\.0\.1:\d+/mcp)")
Call = Callable[..., Outcome]


@pytest.fixture(scope="module")
def pool() -> Iterator[SessionPool]:
    """Sessions that are closed."""
    sessions = SessionPool()
    yield sessions
    sessions.close()


@pytest.fixture
def call(pool: SessionPool) -> Call:
    """Calls a tool over a connection, without any retry."""

    def make(
        connection: Connection,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        name: str = "weather",
        timeout_s: float = 60,
    ) -> Outcome:
        return McpCaller(pool).call(ToolCall(name, tool, arguments or {}, timeout_s), None, connection)

    return make


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A catalog with two servers."""
    path = tmp_path / "world.json"
    path.write_text(json.dumps({"servers": [plain_server(WEATHER), plain_server(Server("mail"))]}))
    return path


@pytest.fixture
def web(file: Path) -> Iterator[Callable[..., str]]:
    """Starts virtual servers over HTTP and ends them; gives the URL that they print."""
    processes: list[subprocess.Popen[str]] = []

    def start(*options: str) -> str:
        command = [FORKS.python, "-P", "-m", "core.virtual", str(file), "weather", "--http", "0", *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        processes.append(process)
        line = process.stderr.readline()
        match = LINE.fullmatch(line.strip())
        assert match, line
        return match["url"]

    yield start
    for process in processes:
        process.terminate()
        out, err = process.communicate(timeout=30)
        assert out == ""
        assert "Traceback" not in err


def steady(server: Server, folder: Path, **options: Any) -> Connection:
    return virtual_connection(server, folder, speed=0, **{"profile": "steady", **options})


def test_many_tools_over_one_session(call: Call, tmp_path: Path) -> None:
    connection = steady(WEATHER, tmp_path)
    first = call(connection, "get_forecast", {"city": "Oslo"})
    assert (first.kind, first.mode, first.protocol_version) == (OutcomeKind.OK, CallMode.VIRTUAL, "2026-07-28")
    assert first.simulated
    assert first.structured["city"] == "Oslo"
    assert "Simulated result" in first.content[0].text
    assert first.connect_s is not None
    for tool in ("search_places", "bare"):
        outcome = call(connection, tool, {"city": "Oslo"})
        assert (outcome.kind, outcome.connect_s) == (OutcomeKind.OK, None)
    wrong = call(connection, "get_forecast", {"city": 7})
    assert (wrong.kind, wrong.simulated) == (OutcomeKind.INVALID_ARGUMENTS, True)


def test_a_folder_named_core_in_the_working_directory_is_not_ours(
    call: Call, real_python: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "__init__.py").write_text("raise SystemExit('the wrong core')")
    monkeypatch.chdir(tmp_path)
    assert call(steady(Server("lone", tools=(Tool("lone", "do"),)), tmp_path), "do", name="lone").kind is OutcomeKind.OK


def test_a_crash_harms_only_its_call(call: Call, tmp_path: Path) -> None:
    fragile = Server("fragile", tools=(Tool("fragile", "do"),), post_accept_failure=1.0)
    connection, healthy = virtual_connection(fragile, tmp_path, speed=0), steady(WEATHER, tmp_path)
    for _ in range(2):  # the next call opens a new session, and loses it as well
        assert call(healthy, "bare").kind is OutcomeKind.OK
        crashed = call(connection, "do", name="fragile")
        assert (crashed.kind, crashed.simulated) == (OutcomeKind.CRASH, True)
        assert "Simulated crash" in crashed.error
    outcome = call(healthy, "bare")
    assert (outcome.kind, outcome.connect_s) == (OutcomeKind.OK, None)


def test_over_http_with_everything_in_its_place(call: Call, pool: SessionPool, web: Callable[..., str]) -> None:
    connection = Connection("http", url=web("--profile", "steady", "--speed", "0"))
    outcome = call(connection, "get_forecast", {"city": "Oslo"})
    assert (outcome.kind, outcome.mode) == (OutcomeKind.OK, CallMode.VIRTUAL)
    (discovery,) = discover(pool, "", [Server("weather", connection=connection)])
    assert discovery.server is not None
    assert discovery.server.virtual
    assert discovery.server.title == "Weather"
    assert [(tool.name, tool.output_schema) for tool in discovery.server.tools] == [
        (tool.name, tool.output_schema) for tool in WEATHER.tools
    ]


def test_over_http_a_crash_drops_one_connection_and_leaves_the_calls_beside_it(
    call: Call, pool: SessionPool, web: Callable[..., str]
) -> None:
    connection = Connection("http", url=web("--profile", "crashing", "--seed", "3", "--speed", "0"))
    outcomes = [call(connection, "bare") for _ in range(12)]
    assert {OutcomeKind.OK, OutcomeKind.CRASH} <= {outcome.kind for outcome in outcomes}
    assert all(outcome.simulated for outcome in outcomes)
    beside: list[Outcome] = []

    def one() -> None:
        beside.append(McpCaller(pool).call(ToolCall("weather", "bare", {}, 60), None, connection))

    threads = [threading.Thread(target=one) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kinds = [outcome.kind for outcome in beside]
    assert kinds.count(OutcomeKind.OK) >= 5
    assert OutcomeKind.TIMEOUT not in kinds


@each(
    ("options", "words"),
    [
        (("nobody",), "There is no server 'nobody'; name one of: weather, mail."),
        ((), "Which server? Name one of: weather, mail."),
        (("weather", "--profile", "odd"), "invalid choice: 'odd'"),
        (("weather", "--http", "70000"), "Cannot listen on 127.0.0.1:70000"),
    ],
)
def test_wrong_use_is_one_sentence(
    file: Path, options: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main([str(file), *options])
    except SystemExit as left:  # argparse's way
        code = left.code
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert words in err


def test_a_file_that_cannot_be_read_is_one_sentence(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(file.with_name("gone.json"))]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_it_ends_when_its_client_leaves(file: Path) -> None:
    line = [FORKS.python, "-P", "-m", "core.virtual", str(file), "weather", "--speed", "0"]
    process = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")


def recorded(folder: Path, *answers: Mapping[str, Any]) -> Connection:
    """The connection to a server that plays these answers of `bare`."""
    write_recording(folder / "played.json", WEATHER, {"bare": [{"latency_s": 0.0, **answer} for answer in answers]})
    return Connection("stdio", command="${python}", args=(*PLAYER, str(folder / "played.json")))


def said(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def test_recorded_answers_play_in_their_order_also_over_a_crash(call: Call, real_python: None, tmp_path: Path) -> None:
    first = {"arguments": {"n": 1, "pin": "•••"}, "outcome": "ok", "latency_s": 0.3, "result": said("first")}
    crash = {"arguments": first["arguments"], "outcome": "crash", "error": "lost"}
    last = {**first, "latency_s": 0.0, "result": said("last")}
    invalid = {"arguments": {"n": 2}, "outcome": "invalid_arguments", "error": "n is 2"}
    connection = recorded(tmp_path, first, crash, last, invalid)
    outcomes = [call(connection, "bare", {"pin": "9", "n": 1}) for _ in range(4)]
    kinds = [OutcomeKind.OK, OutcomeKind.CRASH, OutcomeKind.OK, OutcomeKind.OK]
    assert [outcome.kind for outcome in outcomes] == kinds
    assert [outcome.content[0].text for outcome in outcomes if outcome.content] == ["first", "last", "last"]
    assert all(outcome.simulated for outcome in outcomes)
    assert outcomes[0].latency_s >= 0.3
    at_once = virtual_connection(Server("weather", connection=connection), tmp_path, speed=0)
    replay = call(at_once, "bare", {"pin": "9", "n": 1})
    assert (replay.content[0].text, replay.latency_s < 0.3) == ("first", True)
    wrong = call(connection, "bare", {"n": 2})
    assert (wrong.kind, wrong.error) == (OutcomeKind.INVALID_ARGUMENTS, "n is 2")
    assert call(connection, "bare", {"n": 3}).error.endswith(
        'for {"n": 3}; the nearest recorded arguments are {"n": 2}.'
    )
    assert "it was never called" in call(connection, "search_places", {"city": "Oslo"}).error


@each(
    ("text", "words"),
    [
        ('{"servers": [{"name": "a", "tools": [{"name": "t", "answers": [{"arguments": {}}]}]}]}', "an answer lacks one of"),
        ('{"servers": [{"name": "a", "tools": [{"name": "t", "answers": 7}]}]}', "its answers cannot be read"),
    ],
)  # fmt: skip
def test_a_broken_recording_is_one_sentence(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text(text)
    assert main([str(tmp_path / "a.json")]) == 2
    assert words in capsys.readouterr().err
