"""A month in ten minutes: seven reference servers and one of the operator's, two agents, one operator; a day lasts about twenty seconds.

Nothing is typed twice, no tool is lost, no statistic is wrong, nobody is locked out. Every sentence below is checked as it is printed.
`python -m tests.benchmarks.month [--days 30] [--day-s 18]`. Without npm or a network, runnable servers of the sample stand in.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

from tests.benchmarks.reference_servers import configuration, installed, page_in

ROOT = Path(__file__).resolve().parents[2]
WAYFARE = [sys.executable, "-m", "core.cli"]
SHIPPED = ("unit_exchange", "meridian", "statlab", "json_workbench", "pattern_bench", "csv_tables")
SPARE = "quillwork"
OWN = '''
import os
from mcp.server.mcpserver import MCPServer
server = MCPServer("weights", description="Weigh letters and parcels for the post.")

@server.tool()
def weigh_parcel(grams: float) -> str:
    """Weigh a parcel for the post{more}."""
    return f"{{grams}} g with scale {{len(os.environ['SCALE_KEY'])}}"

server.run("stdio")
'''
Asked = tuple[str, str, dict[str, Any]]
"""An agent's search, the tool that it calls, and the arguments."""


@dataclass(frozen=True)
class Cast:
    """The servers of the month beside the operator's own, the agents' requests, and the server that is off for a moment."""

    servers: dict[str, Any]
    asked: tuple[Asked, ...]
    switched: str


WEIGHED: Asked = ("weigh a parcel of 500 grams for the post", "weights::weigh_parcel", {"grams": 500})


def shipped(name: str) -> dict[str, Any]:
    """A runnable server of the sample."""
    return {
        "command": sys.executable,
        "args": ["-m", f"sample_catalog.runnable.{name}"],
        "env": {"PYTHONPATH": str(ROOT)},
    }


def sample() -> Cast:
    """Six servers of the sample."""
    miles = {"value": 300, "source": "mile", "target": "km"}
    servers = {"Meridian" if name == "meridian" else name.replace("_", "-"): shipped(name) for name in SHIPPED}
    calls = (
        ("convert 300 miles to kilometres", "unit-exchange::convert_units", miles),
        ("what time is it in Tokyo", "Meridian::current_time", {"zone": "Asia/Tokyo"}),
    )
    return Cast(servers, (*calls, WEIGHED), "csv-tables")


def reference(folder: Path, page: str) -> Cast:
    """The seven servers of npm and PyPI. Raises OSError, CalledProcessError if they cannot be installed."""
    servers = configuration(folder, installed())["mcpServers"]
    noon = {"source_timezone": "Europe/Paris", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    thought = {"thought": "One.", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
    calls = (
        ("add two numbers", "everything::get-sum", {"a": 2, "b": 3}),
        ("list the files of a folder", "filesystem::list_directory", {"path": str(folder / "files")}),
        ("what is in the knowledge graph", "memory::read_graph", {}),
        ("think a hard problem through step by step", "sequential-thinking::sequentialthinking", thought),
        ("convert a time between two time zones", "time::convert_time", noon),
        ("the status of the git working tree", "git::git_status", {"repo_path": str(folder / "repository")}),
        ("fetch a web page as markdown", "fetch::fetch", {"url": page}),
    )
    return Cast(servers, (*calls, WEIGHED), "everything")


class Month:
    """The folder, the configuration file, the commands, and the counts."""

    def __init__(self, folder: Path, cast: Cast, day_s: float) -> None:
        self.folder, self.cast, self.day_s, self.day = folder, cast, day_s, 0
        self.db, self.config, self.program = folder / "wayfare.duckdb", folder / "mcp.json", folder / "weights.py"
        self.environment = {**os.environ, "WAYFARE_DB": str(self.db), "PYTHONPATH": str(ROOT), "WAYFARE_IDLE_S": "600"}
        self.environment.pop("WAYFARE_TOKEN", None)
        self.made: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()
        self.slowest_s, self.down = 0.0, frozenset[str]()

    def write(self, *, more: str = "", added: bool = False) -> None:
        """The client configuration and the program of the operator's own server."""
        self.program.write_text(OWN.format(more=more))
        servers = {**self.cast.servers, **({SPARE: shipped(SPARE)} if added else {})}
        weights = {"command": sys.executable, "args": [str(self.program)], "env": {"SCALE_KEY": "the-first-key-17c"}}
        self.config.write_text(json.dumps({"mcpServers": {**servers, "weights": weights}}))

    def run(self, *words: str, codes: tuple[int, ...] = (0,), given: str | None = None) -> str:
        """A command's output. No command waits for another process."""
        began = time.monotonic()
        done = subprocess.run(
            [*WAYFARE, *words],
            env=self.environment,
            input=given,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.slowest_s = max(self.slowest_s, time.monotonic() - began)
        output = done.stdout + done.stderr
        assert "in use" not in output, output
        assert done.returncode in codes, f"wayfare {' '.join(words)}: {output}"
        return done.stdout

    def status(self) -> dict[str, Any]:
        return json.loads(self.run("status", "--json"))

    def say(self, sentence: str) -> None:
        print(f"day {self.day:2}  {sentence}", flush=True)

    def agent(self) -> StdioServerParameters:
        """`wayfare mcp`, as a client starts it."""
        return StdioServerParameters(
            command=WAYFARE[0],
            args=[*WAYFARE[1:], "mcp", "--catalog", "mine"],
            env=self.environment,
            cwd=str(self.folder),
        )


async def work(month: Month, client: Client) -> None:
    """One agent's round: each question is asked, its tool is called, and the outcome is reported. The answer names a server that is down."""
    down = month.down
    for question, tool, arguments in month.cast.asked:
        answer = (await client.call_tool("search_tools", {"task": question})).structured_content or {}
        named = {candidate["tool"]: candidate["why"] for candidate in answer["candidates"]}
        assert tool in named, f"{question}: {tool} was lost, offered are {named}"
        if tool.partition("::")[0] in down and "down since" in named[tool]:
            continue
        result = await client.call_tool(
            "execute_tool", {"tool": tool, "arguments": arguments, "route_id": answer["route_id"]}
        )
        server = tool.partition("::")[0]
        if result.is_error:
            assert server in down, f"{tool}: {result.structured_content}"
            month.lost[server] += 1
        else:
            month.made[server] += 1
            await client.call_tool("report_outcome", {"route_id": answer["route_id"], "useful": True})


Event = Callable[[Month], None]


def outage(month: Month) -> None:
    """The program of the operator's own server is away, and the running process is ended."""
    month.program.rename(month.program.with_suffix(".gone"))
    month.run("server", "restart", "weights", "--catalog", "mine", codes=(0, 1, 2))
    month.down = frozenset({"weights"})
    month.say("the post's scale goes down")


def back(month: Month) -> None:
    """The program exists again. No button is pressed."""
    month.program.with_suffix(".gone").rename(month.program)
    began = time.monotonic()
    while (
        json.loads(
            month.run("call", "weights", "weigh_parcel", "--args", '{"grams": 1}', "--catalog", "mine", "--json")
        )["outcome"]
        != "ok"
    ):
        assert time.monotonic() - began < 90
    month.down, month.made["weights"] = frozenset(), month.made["weights"] + 1
    month.say("the scale is back")


def killed(month: Month) -> None:
    """The console dies while an agent is connected."""
    os.kill(month.status()["pid"], signal.SIGKILL)
    month.say("the console was killed while an agent was connected")


def changed(month: Month) -> None:
    """A server describes its tool otherwise: the change waits for the operator."""
    month.write(more=" and round up to full kilograms")
    month.run("server", "restart", "weights", "--catalog", "mine")
    month.run("server", "discover", "weights", "--catalog", "mine")
    assert "weigh_parcel" in month.run("approvals", "--json")
    month.run("approvals", "approve", "mine/weights::weigh_parcel")
    month.say("a changed definition was held back and approved")


def added(month: Month) -> None:
    """The file has one more server, and the catalog follows it."""
    month.write(more=" and round up to full kilograms", added=True)
    began = time.monotonic()
    while (
        next(row for row in json.loads(month.run("catalogs", "--json"))["catalogs"] if row["name"] == "mine")["servers"]
        < len(month.cast.servers) + 2
    ):
        assert time.monotonic() - began < 60, "the new server of the file was not taken"
        time.sleep(1)
    month.say("a server was added to the file and taken")


def new_value(month: Month) -> None:
    """Changes the value of the name."""
    month.run("secrets", "set", "weights", "SCALE_KEY", "--catalog", "mine", given="another-key-17chr\n")
    month.say("a value was changed")


def ended(month: Month) -> None:
    """The operator ends the console."""
    month.run("stop")
    month.say("the console was ended; the agent's next request starts the next one")


def switched(month: Month) -> None:
    """One server is off for a moment."""
    month.run("server", "disable", month.cast.switched, "--catalog", "mine")
    month.run("server", "enable", month.cast.switched, "--catalog", "mine")
    month.say("a server was switched off and on")


def looked(month: Month) -> None:
    """An agent's second console prints the address of the running console."""
    assert month.status()["url"] in month.run("up", "--background")
    month.say("a second console gave the address of the first")


EVENTS: dict[int, Event] = {
    1: looked, 3: outage, 4: back, 6: killed, 9: changed, 12: added, 15: new_value, 18: ended, 21: switched, 24: killed, 27: outage, 28: back,
}  # fmt: skip


async def live(month: Month, days: int) -> None:
    """The month. Agent one stays connected by `wayfare mcp` all the time, agent two connects again each day."""
    async with Client(month.agent()) as agent_one:
        for month.day in range(1, days + 1):
            began = time.monotonic()
            await work(month, agent_one)
            if event := EVENTS.get(month.day):
                await anyio.to_thread.run_sync(event, month)
            await work(month, agent_one)
            async with Client(month.agent()) as agent_two:
                await work(month, agent_two)
            assert "missing" not in await anyio.to_thread.run_sync(month.run, "secrets", "list", "--catalog", "mine")
            await anyio.sleep(max(0.0, month.day_s - (time.monotonic() - began)))


def main() -> None:
    """Lives through the month and checks the books at its end."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--days", type=int, default=30)
    words.add_argument("--day-s", type=float, default=18.0)
    arguments = words.parse_args()
    with tempfile.TemporaryDirectory() as name, page_in(Path(name)) as page:
        folder = Path(name)
        try:
            cast = reference(folder, page)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"npm's and PyPI's servers cannot be installed, those of the sample stand in: {error}")
            cast = sample()
        month = Month(folder, cast, arguments.day_s)
        month.write()
        month.run("discover", str(month.config), "--name", "mine", "--follow", "take")
        try:
            anyio.run(live, month, arguments.days)
            month.run("audit", "--export", str(month.folder / "log.jsonl"))
            records = [json.loads(line) for line in (month.folder / "log.jsonl").read_text().splitlines()]
            outcomes = [record for kind, _, record in records if kind == "OutcomeEvent"]
            kinds = Counter((record["server"], record["kind"] == "ok") for record in outcomes)
            print(
                f"calls made {dict(month.made)}, lost {dict(month.lost)}, in the books {dict(kinds)}; slowest command {month.slowest_s:.1f} s"
            )
            assert all(kinds[server, True] == count for server, count in month.made.items())
        finally:
            with contextlib.suppress(Exception):
                month.run("stop")


if __name__ == "__main__":
    main()
