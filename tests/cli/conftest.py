"""The command run in this process or in one of its own, on a fresh store."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from core.app import App, Settings, build_app
from core.cli import main
from core.cli.apps import working_on
from core.store import Store
from core.store.connection import Sharing
from tests.forking import FORKS

ROOT = Path(__file__).parents[2]
RAW = str(ROOT / "tests" / "servers" / "programs" / "raw.py")


class Run(NamedTuple):
    """The exit code and the two streams of a command."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """The one document on standard output, of a command that succeeded and said nothing else."""
        return self.json_with(0)

    def json_with(self, code: int) -> Any:
        """The one document on standard output, of a command that ended with this code and said nothing else."""
        assert (self.code, self.err) == (code, ""), self.err
        return json.loads(self.out)


Command = Callable[..., Run]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, encoder_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the test's store, which WAYFARE_DB names."""
    monkeypatch.setenv("WAYFARE_DB", str(tmp_path / "store" / "wayfare.duckdb"))
    monkeypatch.setenv("WAYFARE_CACHE", str(encoder_cache))
    return tmp_path / "store"


@pytest.fixture
def db(folder: Path) -> Path:
    """The store's file. It is not there yet. Commands of a test that asks for it open and close it, each like a process of its own."""
    return folder / "wayfare.duckdb"


@pytest.fixture
def warm(db: Path, warm_store: Path) -> Path:
    """The store's file, with the sample's vectors in it."""
    db.parent.mkdir()
    shutil.copy(warm_store, db)
    return db


@pytest.fixture
def app(request: pytest.FixtureRequest, folder: Path) -> Iterator[App]:
    """The app that runs the commands of a test, as a console does. Its store is in memory."""
    assert "db" not in request.fixturenames, "commands use the file"
    folder.mkdir()
    with build_app(Store(), Settings.from_environment()) as app:
        yield app


@pytest.fixture
def wayfare(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command in this process: in the test's app, or on the store's file if the test asks for `db`."""

    def run(*arguments: object) -> Run:
        capsys.readouterr()
        code = 0
        alone = "db" in request.fixturenames
        with nullcontext() if alone else working_on(request.getfixturevalue("app")):
            try:
                main([str(argument) for argument in arguments])
            except SystemExit as end:
                code = end.code
        return Run(code, *capsys.readouterr())

    return run


@pytest.fixture
def process() -> Command:
    """Runs a command in a process of its own. With variables of its environment it is no fork."""

    def run(*arguments: object, **environment: str) -> Run:
        completed = subprocess.run(
            (command if environment else forked)(*arguments),
            cwd=ROOT,
            env={**os.environ, **environment},
            capture_output=True,
            encoding=environment.get("PYTHONIOENCODING", "utf-8"),
            timeout=60,
            check=False,
        )
        return Run(completed.returncode, completed.stdout, completed.stderr)

    return run


def command(*arguments: object) -> list[str]:
    """The command line of a `wayfare` process that runs this checkout."""
    return [sys.executable, "-c", "from core.cli import main; main()", *map(str, arguments)]


def forked(*arguments: object) -> list[str]:
    """As `command`, but forked: the start skips the second that imports take."""
    return [FORKS.python, *command(*arguments)[1:]]


def refused(run: Run, *words: str) -> None:
    """Wrong use: exit 2, nothing on standard output, and on standard error one sentence that has these words."""
    assert (run.code, run.out) == (2, "")
    sentence = run.err.removesuffix("\n")
    assert "\n" not in sentence
    assert sentence == sentence.strip()
    assert sentence.endswith((".", "?"))
    assert not [word for word in ("Traceback", "Usage:") if word in sentence]
    assert [word for word in words if word not in sentence] == [], sentence


def free_port() -> int:
    """A port that is free on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def status(port: int, host: str = "127.0.0.1") -> int:
    """The status of /healthz, 0 if nothing responds."""
    with suppress(OSError), urllib.request.urlopen(f"http://{host}:{port}/healthz", timeout=5) as answer:
        assert json.load(answer) == {"status": "ok"}
        return answer.status
    return 0


@contextmanager
def console(log: Path) -> Iterator[int]:
    """A console on the store of the test, which writes to a file; its port."""
    port = free_port()
    with log.open("w") as out, subprocess.Popen(
        forked("up", "--port", port), cwd=ROOT, stdout=out, stderr=out
    ) as child:  # fmt: skip
        try:
            wait_for(lambda: status(port) == 200)
            yield port
        finally:
            FORKS.kill(child)


def wait_for(happened: Callable[[], bool], limit_s: float = 60.0) -> None:
    """Wait for something in another process; fails after a generous limit."""
    deadline = time.monotonic() + limit_s
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, Any], Path]:
    """Writes a file: text as it is, a list of tasks as JSON Lines (.jsonl), anything else as JSON."""

    def put(name: str, content: Any) -> Path:
        file = tmp_path / name
        if name.endswith(".jsonl") and isinstance(content, list):
            content = "\n".join(map(json.dumps, content))
        file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return file

    return put


@pytest.fixture
def own(wayfare: Command, raw_catalog: Path) -> str:
    """The catalog of that file, taken in: labels and the like are kept by its name."""
    assert wayfare("import", raw_catalog, "--name", "own").code == 0
    return "own"


@pytest.fixture
def owner(db: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Another process that has the store open; its id. Commands of this process wait for it half a second instead of five."""
    monkeypatch.setattr("core.store.connection.COMMAND", Sharing(stays=False, patience_s=0.5))
    db.parent.mkdir()
    program = "import sys; from core.store import Store; store = Store(sys.argv[1]); print('open', flush=True); input()"
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", program, str(db)], cwd=ROOT, **pipes) as child:
        assert child.stdout.readline() == "open\n"
        yield child.pid
        child.kill()


def server(name: str, *tools: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A server as a catalog describes it."""
    return {"name": name, "description": f"The {name} server.", "tools": list(tools), **fields}


def tool(name: str, description: str = "", **fields: Any) -> dict[str, Any]:
    """A tool as a catalog describes it."""
    return {"name": name, "description": description or f"Does {name}.", "inputSchema": {"type": "object"}, **fields}


def stdio(*arguments: str, **fields: Any) -> dict[str, Any]:
    """The connection to a Python program."""
    return {"type": "stdio", "command": "${python}", "args": list(arguments), **fields}


@pytest.fixture
def raw_catalog(write: Callable[[str, Any], Path]) -> Path:
    """A catalog file with one server that starts fast, and one that nobody can reach."""
    tools = [tool(name, latency_s=0.5, success=0.8) for name in ("echo", "crash", "stall", "nap")]
    numbers = {"conn_s": 0.2, "call_s": 0.4, "success": 0.9, "success_variance": 0.01, "post_accept_failure": 0.1}
    raw = server("raw", *tools, connection=stdio("-S", RAW), ask_usd=0.001, **numbers)
    return write("tools.json", {"servers": [raw, server("island", tool("swim"))]})
