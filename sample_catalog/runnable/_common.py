"""Helpers of all servers: starting, the hints of tools, work with a time limit, the sandbox folder, and cities."""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from math import asin, cos, radians, sin, sqrt
from pathlib import Path
from typing import Any, NamedTuple

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from platformdirs import user_data_dir

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
ENSURES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
OVERWRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)
BREAKS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False)


def serve(server: MCPServer) -> None:
    """Runs `server` over stdio, or on http://127.0.0.1:PORT/mcp with the option `--http PORT`."""
    parser = argparse.ArgumentParser(description=server.description)
    parser.add_argument("--http", type=int, metavar="PORT", help="listen on 127.0.0.1 instead of speaking stdio")
    port = parser.parse_args().http
    if port is None:
        server.run()
    else:
        server.run("streamable-http", host="127.0.0.1", port=port, streamable_http_path="/mcp")


# Work of unknown length runs in a child process, which is ended when its time is up.

WORKER = Path(__file__).with_name("_worker.py")
TIME_LIMIT_S = 5.0


def run_limited(job: str, **arguments: Any) -> Any:
    """Returns the result of one job of `_worker.py`. Raises ToolError if it fails or exceeds the limit."""
    command = [sys.executable, "-P", str(WORKER)]
    request = json.dumps({"job": job, "arguments": arguments})
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command; the request travels on standard input
            command, input=request, capture_output=True, encoding="utf-8", timeout=TIME_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"stopped after {TIME_LIMIT_S:g} s: the pattern is too expensive for this text") from error
    if done.returncode != 0:
        raise ToolError("the work failed in its own process; try a smaller input")
    reply = json.loads(done.stdout)
    if "error" in reply:
        raise ToolError(reply["error"])
    return reply["result"]


# The only folder on disk that servers may change, and paths that cannot leave it.


def sandbox_dir(*parts: str) -> Path:
    """Returns a folder of the sandbox, made on demand: under `WAYFARE_SANDBOX`, else in the user's data directory."""
    base = os.environ.get("WAYFARE_SANDBOX") or str(Path(user_data_dir("wayfare")) / "sandbox")
    folder = Path(base, *parts).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def inside(root: Path, path: str) -> Path:
    """Returns `path` below `root` as an absolute path. Raises ToolError if it leaves `root`, also through a symbolic link."""
    try:
        target = (root / path).resolve()
    except (ValueError, OSError, RuntimeError) as error:
        raise ToolError(f"{path!r} is not a usable path: {error}") from error
    if Path(path).is_absolute() or not target.is_relative_to(root):
        raise ToolError(f"{path!r} leads outside the sandbox; give a path relative to the sandbox folder")
    return target


def walk(folder: Path) -> Iterator[Path]:
    """Yields everything below `folder` in order of name, without symbolic links."""
    for path in sorted(folder.iterdir()):
        if not path.is_symlink():
            yield path
            if path.is_dir():
                yield from walk(path)


def write_atomically(target: Path, content: str) -> None:
    """Replaces `target` in one step, so that a reader sees either the old text or the new text."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(content)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turns errors of the file system into a ToolError."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise ToolError("this is not a UTF-8 text file") from error
    except OSError as error:
        raise ToolError(error.strerror or str(error)) from error


# The shipped table of cities, and distances on a round Earth.

EARTH_RADIUS_KM = 6371.0088


class City(NamedTuple):
    """One row of the table."""

    name: str
    country: str
    latitude: float
    longitude: float
    time_zone: str


@cache
def cities() -> tuple[City, ...]:
    """Returns all cities in order of name."""
    with (Path(__file__).parent / "data" / "cities.csv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        return tuple(
            City(row["name"], row["country"], float(row["latitude"]), float(row["longitude"]), row["time_zone"])
            for row in rows
        )


def city(name: str) -> City:
    """Returns the city with this name, in any letter case. Raises ToolError if the table does not have it."""
    wanted = name.strip().casefold()
    for row in cities():
        if row.name.casefold() == wanted:
            return row
    raise ToolError(f"{name!r} is not among the {len(cities())} known cities")


def great_circle_km(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
    """Returns the haversine distance in kilometres between two places in degrees.

    >>> round(great_circle_km(0, 0, 0, 180))
    20015
    """
    phi1, phi2, dphi, dlam = radians(lat1), radians(lat2), radians(lat2 - lat1), radians(lon2 - lon1)
    h = sin(dphi / 2) ** 2 + cos(phi1) * cos(phi2) * sin(dlam / 2) ** 2
    return 2 * EARTH_RADIUS_KM * asin(min(1.0, sqrt(h)))
