"""Helpers of all servers: starting, the hints of tools, work with a time limit, and the sandbox folder."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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


# ----------------------------------------------------------------------------------------------------------------------
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


# ----------------------------------------------------------------------------------------------------------------------
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
