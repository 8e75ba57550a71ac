"""Third-party clients and servers against the endpoint: repeats the checks of docs/clients-tested.md.

Needs npm and a network. Installed packages stay in a folder beside the system's temporary files.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.request
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio

from tests.benchmarks.measuring import ROOT, free_port, running
from tests.benchmarks.reference_servers import CATALOG, cases, compared, configuration, installed, page_in
from tests.docs.markdown import blocks

PACKAGES = (
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/inspector@2.12.0",
    "node@22",  # the suite and the Inspector need it, even if a newer version is installed
)
PYTHON_SDK_1 = "mcp==1.30.0"
STARTED = re.compile(r"-\d{4}-\d\d-\d\dT.*")  # the time in the name of a folder of results
REVISIONS = ("2025-11-25", "2026-07-28")
FIXTURE = "tests.gateway.conformance_server"
WAYFARE = [sys.executable, "-c", "from core.cli import main; main()"]
SDKS = {"TypeScript SDK 1": ("v1", "legacy"), "TypeScript SDK 2": ("v2", "auto"), "TypeScript SDK 2, 2025-11-25": ("v2", "legacy")}  # fmt: skip


def clients() -> None:
    """Every client and suite, one line each, with failures below."""
    if shutil.which("npm") is None:
        print("clients: needs npm (Node.js 20 or newer), which is not on the PATH")
        return
    folder = Path(tempfile.gettempdir()) / "wayfare-clients"
    try:
        _install(folder)
        servers = installed()
    except subprocess.CalledProcessError as error:
        print(f"clients: what they need could not be installed, is there a network? ({error})")
        return
    work = Path(tempfile.mkdtemp(dir=folder))
    port, db = free_port(), work / "wayfare.duckdb"
    url = f"http://127.0.0.1:{port}"
    with running([*WAYFARE[1:], "up", "--port", str(port), "--db", str(db)], f"{url}/healthz", {}):
        _wait_ready(url)
        _suites(folder, work, url, db)
        _typescript(folder, url, db)
        _python_sdk_1(folder, url)
        _inspector(folder, url, db)
        _reference(servers, work, url, db)
    shutil.rmtree(work)


def _install(folder: Path) -> None:
    """Into the folder, once."""
    folder.mkdir(exist_ok=True)
    (folder / "package.json").write_text("{}")
    subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *PACKAGES], cwd=folder, check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    subprocess.run([sys.executable, "-m", "venv", "mcp1"], cwd=folder, check=True)
    subprocess.run([folder / "mcp1/bin/pip", "install", "-qqq", PYTHON_SDK_1], check=True, stderr=subprocess.DEVNULL)


def _wait_ready(url: str) -> None:
    """Until the sample is embedded."""
    for _ in range(240):
        with suppress(OSError), urllib.request.urlopen(f"{url}/readyz", timeout=5):
            return
        time.sleep(0.5)
    raise RuntimeError("the console did not get ready")


def _run(folder: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    bins = folder / "node_modules/.bin"
    environment = {**os.environ, "PATH": f"{bins}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    limited = [str(bins / command[0]), *command[1:]]
    return subprocess.run(
        limited, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )


def _wayfare(db: Path, *words: str) -> list[str]:
    return [*WAYFARE, *words, "--db", str(db)]


def _discover(db: Path, file: Path, name: str, document: dict[str, Any]) -> None:
    file.write_text(json.dumps(document))
    subprocess.run(_wayfare(db, "discover", str(file), "--name", name), cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def _suites(folder: Path, work: Path, url: str, db: Path) -> None:
    """The official suite: Wayfare's own tools, the fixture through a mirror, and the fixture without Wayfare as a baseline."""
    launch = {"command": sys.executable, "args": ["-m", FIXTURE], "cwd": str(ROOT)}
    _discover(db, work / "conformance.json", "conformance", {"mcpServers": {"conformance": launch}})
    port = free_port()
    fixture_url = f"http://127.0.0.1:{port}/mcp"
    mirror = f"{url}/mcp?catalog=conformance&mirror=conformance"
    with running(["-m", FIXTURE, "--http", str(port)], fixture_url, {}):
        for name, address in {"own tools": f"{url}/mcp", "mirror": mirror, "fixture alone": fixture_url}.items():
            for revision in REVISIONS:
                out = work / f"{name}-{revision}".replace(" ", "-")
                _run(folder, ["conformance", "server", "--url", address, "--requirements", revision, "-o", str(out)])
                _suite_report(f"conformance suite, {name}, {revision}", out)


def _suite_report(suite: str, out: Path) -> None:
    """The number of passed scenarios, and the names of failed ones. The optional extension for tasks is not counted."""
    results = {file.parent.name: json.loads(file.read_text()) for file in sorted(out.rglob("checks.json"))}
    names = {folder: STARTED.sub("", folder.removeprefix("server-")) for folder in results}
    scenarios = {names[folder]: checks for folder, checks in results.items() if not names[folder].startswith("tasks-")}
    checks = Counter(check["status"] for entries in scenarios.values() for check in entries)
    failed = [name for name, entries in scenarios.items() if any(check["status"] == "FAILURE" for check in entries)]
    summary = f"{len(scenarios) - len(failed)} of {len(scenarios)} scenarios, checks: {checks['SUCCESS']} passed"
    print(f"{suite:<58} {summary}, {checks['FAILURE']} failed", flush=True)
    for line in textwrap.wrap(", ".join(failed), 150):
        print(f"    {line}")


def _typescript(folder: Path, url: str, db: Path) -> None:
    """The steps of `clients.mjs`, by both generations of the SDK."""
    script = str(Path(__file__).with_suffix(".mjs"))
    for name, words in SDKS.items():
        for over, target in {"HTTP": [f"{url}/mcp"], "stdio": ["--", *_wayfare(db, "mcp")]}.items():
            done = _run(folder, ["node", script, *words, *target])
            lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
            failed = [line for line in lines if not line["ok"]]
            print(f"{f'{name} over {over}':<58} {len(lines) - len(failed)} of {len(lines)} steps", flush=True)
            for line in failed:
                print(f"    {line['step']}: {line['said']}")


def _python_sdk_1(folder: Path, url: str) -> None:
    """The README's example for version 1, with that version."""
    (example,) = (block for block in blocks("README.md", "python") if ".initialize()" in block)
    python = str(folder / "mcp1/bin/python")
    done = _run(folder, [python, "-c", example.replace("http://127.0.0.1:8501", url)])
    passed = "482.8" in done.stdout
    print(
        f"{'Python SDK 1 over HTTP, the README':<58} {'as it says' if passed else done.stderr.strip()[-500:]}",
        flush=True,
    )


def _inspector(folder: Path, url: str, db: Path) -> None:
    """MCP Inspector's command line: the list with its check of schemas, a search, a call."""
    arguments = 'arguments={"value": 300, "source": "mi", "target": "km"}'
    commands = {
        "tools/list --strict": ["--method", "tools/list", "--strict"],
        "search_tools": ["--method", "tools/call", "--tool-name", "search_tools", "--tool-arg", "task=convert miles to km"],
        "execute_tool": ["--method", "tools/call", "--tool-name", "execute_tool", "--tool-arg",
                         "tool=unit-exchange::convert_units", "--tool-arg", arguments],
    }  # fmt: skip
    for over, target in {"HTTP": [f"{url}/mcp", "--transport", "http"], "stdio": _wayfare(db, "mcp")}.items():
        ended = {name: _run(folder, ["mcp-inspector", "--cli", *target, *words]) for name, words in commands.items()}
        exits = ", ".join(f"{name} exit {done.returncode}" for name, done in ended.items())
        findings = ended["tools/list --strict"].stderr.strip().splitlines()
        print(f"{f'MCP Inspector over {over}':<58} {exits}; {findings[-1] if findings else 'no finding'}", flush=True)


def _reference(servers: Path, work: Path, url: str, db: Path) -> None:
    """The seven servers behind Wayfare at once."""
    document = configuration(work, servers)
    _discover(db, work / "reference.json", CATALOG, document)
    with page_in(work) as page:
        calls = anyio.run(compared, f"{url}/mcp", document["mcpServers"], cases(work, page))
    top, among = sum(call.rank == 1 for call in calls), sum(call.rank > 0 for call in calls)
    execute, mirror = (sum(not text for text in texts) for texts in zip(*((g.through_execute, g.through_mirror) for g in calls), strict=True))  # fmt: skip
    title = f"{len(calls)} calls of seven reference servers"
    print(f"{title:<58} found first {top}, among five {among}; same by execute_tool {execute}, by mirror {mirror}")
    for call in calls:
        if call.rank != 1 or call.through_execute or call.through_mirror:
            differs = f"execute_tool: {call.through_execute or 'same'}, mirror: {call.through_mirror or 'same'}"
            print(f"    {call.case.server}::{call.case.tool}: rank {call.rank}, {differs}")
