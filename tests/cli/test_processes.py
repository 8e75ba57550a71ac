"""The command as a process: its entry point, what it leaves on the two streams, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import click
import pytest

from core.app import App
from core.cli import joining
from core.cli.apps import working_on
from core.cli.main import wayfare
from core.domain.console import Owner
from core.domain.errors import WayfareError
from tests.cases import each
from tests.cli.conftest import ROOT, Command, command, wait_for


def test_the_entry_point_lists_the_catalogs() -> None:
    script = Path(sys.executable).with_name("wayfare")
    process = subprocess.run([script, "catalogs", "--json"], capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(process.stdout)["catalogs"][0]["name"] == "sample"
    assert process.stderr == ""


def test_a_terminal_that_lacks_the_papers_letters(process: Command) -> None:
    document = process("parameters", "--json", PYTHONIOENCODING="latin-1").json()
    assert "αt" in {parameter["symbol"] for parameter in document["parameters"]}
    assert process("parameters", PYTHONIOENCODING="cp437").code == 0


def test_a_reader_that_goes_away(tmp_path: Path) -> None:
    with subprocess.Popen(
        command("parameters", "--json"), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        child.stdout.close()
        assert child.stderr.read() == ""


@each("closed", [1, 2])
def test_a_stream_that_is_closed(closed: int) -> None:
    line = ["sh", "-c", f'exec "$@" {closed}>&-', "sh", *command("routers", "--json")]
    run = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert run.stderr == ""
    assert bool(run.stdout) is (closed == 2)


def test_ctrl_c_during_a_call_ends_the_command_and_its_server(raw_catalog: Path, tmp_path: Path) -> None:
    log = tmp_path / "starts.log"
    document = json.loads(raw_catalog.read_text())
    document["servers"][0]["connection"]["args"] += ["--starts", str(log)]
    raw_catalog.write_text(json.dumps(document))
    line = command("call", "raw", "stall", "--timeout", "60", "--catalog", raw_catalog, "--json")
    with interruptible(line) as child:
        wait_for(log.exists)
        (server_pid,) = [int(word) for word in children(child.pid)]
        time.sleep(0.2)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=20)
    assert (child.returncode, out) == (130, "")
    assert "Traceback" not in err
    wait_for(lambda: not alive(server_pid))


@contextmanager
def interruptible(line: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A command that Ctrl-C reaches, also where these tests run in the background; it never outlives the test."""
    pipe = subprocess.PIPE
    heard = signal.signal(signal.SIGINT, signal.SIG_DFL)  # a child ignores what its parent ignores
    try:
        child = subprocess.Popen(line, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)
    finally:
        signal.signal(signal.SIGINT, heard)
    with child:
        try:
            yield child
        finally:
            child.kill()


@each(
    ("line", "option"),
    [
        ("route own.json --network own.json", "network"),
        ("bench --network=own.json", "network"),
        ("agent own --network own.json", "network"),
        ("scenario own.json", "network"),
        ("testbed --name own --from own.json", "catalog"),
        ("import own.json --name own.json", "files"),
        ("judgments export own.json --set own.json --catalog own", "file"),
        ("record own.json --to=own.json", "file"),
        ("papers --poisoned own.json", "poisoned"),
        ("papers --to made", "folder"),
        ("import ~/own.json", "files"),
        ("clients add own.json", ""),
        ("scenario own", ""),
        ("route own --catalog=own", ""),
    ],
)
def test_a_console_finds_files_from_the_folder_of_the_command(line: str, option: str, tmp_path: Path) -> None:
    """Names are left as they are, also beside a file of that name."""
    for word in ("own", "own.json"):
        (tmp_path / word).touch()
    found = {name for name, value in in_a_console(line, tmp_path).items() if str(tmp_path) in str(value)}
    assert found == {option} - {""}


@each(
    "line",
    ["policy import /dev/stdin", "audit --export=/dev/stdout", "import /dev/fd/63", "route own --catalog /proc/self/fd/0"],
)  # fmt: skip
def test_a_console_opens_no_stream_of_its_own(line: str, tmp_path: Path) -> None:
    with pytest.raises(WayfareError, match=r"cannot open /.*; give a file"):
        in_a_console(line, tmp_path)


def test_a_command_from_a_deleted_folder_finds_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setattr(joining, "asked", lambda _owner, _method, document: document)
    assert not Path(joining.run_in(Owner(""), [])["folder"]).is_dir()


def in_a_console(line: str, folder: Path) -> dict[str, object]:
    """The options of a command of another process in this folder."""
    name, *words = line.split()
    command = wayfare.get_command(click.Context(wayfare), name)
    assert command is not None
    with working_on(cast(App, None), within=str(folder)):
        return command.make_context(name, words).params


def children(pid: int) -> list[str]:
    """The processes that a process has started."""
    return subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout.split()


def alive(pid: int) -> bool:
    """Whether a process exists; other children are zombies only briefly."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
