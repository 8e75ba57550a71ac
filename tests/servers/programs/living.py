"""A stdio server of the older protocol whose tools are the lines of a file: `name description`. It says when the file changed.

`living.py FILE`
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

SUBSCRIBED: set[str] = set()


def tools(file: Path) -> list[dict[str, Any]]:
    """The tools that the file lists now."""
    lines = (line.partition(" ") for line in file.read_text().splitlines())
    return [{"name": name, "description": about, "inputSchema": {"type": "object"}} for name, _, about in lines]


def tell(file: Path) -> None:
    """Report each change of the list."""
    previous = file.read_text()
    while True:
        time.sleep(0.02)
        if previous != (previous := file.read_text()):
            print(json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}), flush=True)
            for uri in tuple(SUBSCRIBED):
                update = {"method": "notifications/resources/updated", "params": {"uri": uri}}
                print(json.dumps({"jsonrpc": "2.0", **update}), flush=True)


def answer(file: Path, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request."""
    if method in {"resources/subscribe", "resources/unsubscribe"}:
        (SUBSCRIBED.add if method == "resources/subscribe" else SUBSCRIBED.discard)(params["uri"])
        return {}
    if method == "resources/list":
        return {"resources": [{"uri": "file:///tools", "name": "tools"}]}
    if method == "initialize":
        able = {"tools": {"listChanged": True}, "resources": {"subscribe": True}}
        return {"protocolVersion": "2025-06-18", "capabilities": able, "serverInfo": {"name": "living", "version": "1"}}
    if method == "tools/list":
        return {"tools": tools(file)}
    return {"content": [{"type": "text", "text": "done"}]} if method == "tools/call" else None


def main() -> None:
    """Answer line by line until the input ends."""
    file = Path(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            threading.Thread(target=tell, args=(file,), daemon=True).start()  # initialized
            continue
        result = answer(file, request["method"], request.get("params") or {})
        error = {"code": -32601, "message": "Method not found"}
        reply = {"result": result} if result is not None else {"error": error}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)


if __name__ == "__main__":
    main()
