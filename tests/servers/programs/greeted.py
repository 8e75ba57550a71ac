"""greeted.py MODE LOG: a stdio server that is greeted in one way only. It writes the methods that it hears into a file."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

OLD = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "old", "version": "1"}}
NEW = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete", "ttlMs": 0}


def answer(mode: str, method: str) -> dict[str, Any] | None:
    """The result, an error, or nothing at all."""
    if method == "server/discover" and mode == "dies":
        sys.exit("panic: a request before initialize")
    if method == "server/discover" and mode == "silent":
        return None
    if method == "server/discover" and mode == "new":
        return {"result": {**NEW, "cacheScope": "public"}}
    if method == "initialize" and mode != "new":
        return {"result": OLD}
    if method == "tools/list":
        tools = [{"name": "echo", "inputSchema": {"type": "object"}}]
        return {"result": {"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "public"}}
    return {"error": {"code": -32601, "message": "Method not found"}}


def main() -> None:
    """Answer line by line."""
    mode, log = Path(sys.argv[1]).read_text(), Path(sys.argv[2])
    if mode == "new":
        time.sleep(1.0)  # it starts more slowly than a probe waits
    for line in sys.stdin:
        request = json.loads(line)
        with log.open("a") as heard:
            heard.write(f"{request['method']}\n")
        if "id" in request and (reply := answer(mode, request["method"])) is not None:
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)


if __name__ == "__main__":
    main()
