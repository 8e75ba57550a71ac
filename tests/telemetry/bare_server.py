"""A stdio server of one tool that gives back the `_meta` of its call, and one that fails with the arguments in its text."""

from __future__ import annotations

import json
import sys


def main() -> None:
    """Answer line by line."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        reply = {"jsonrpc": "2.0", "id": request["id"]}
        params = request.get("params") or {}
        match request["method"]:
            case "initialize":
                reply["result"] = {
                    "protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "bare", "version": "1"},
                }  # fmt: skip
            case "tools/list":
                names = ("meta", "fail")
                reply["result"] = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}
            case "tools/call" if params["name"] == "meta":
                reply["result"] = {"content": [{"type": "text", "text": json.dumps(params.get("_meta", {}))}]}
            case _:
                reply["error"] = {"code": -32603, "message": f"cannot do {json.dumps(params)}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
