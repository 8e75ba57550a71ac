"""Runs work of unknown length in a child process that is ended when its time is up."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

WORKER = Path(__file__).with_name("_worker.py")
TIME_LIMIT_S = 5.0


def run_limited(job: str, **arguments: Any) -> Any:
    """The result of one job of `_worker.py`; a ToolError where it fails or takes longer than the limit."""
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
