"""A stdio server without any library that tells what it should not: its key, in a result, in an error and on its error stream."""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    """Answer line by line."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        reply = {"jsonrpc": "2.0", "id": request["id"]}
        params = request.get("params") or {}
        key = os.environ["SERVICE_API_KEY"]
        match request["method"]:
            case "initialize":
                info = {"name": "telling", "version": "1"}
                reply["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                names = ("work", "fail")
                reply["result"] = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}
            case "tools/call" if params["name"] == "work":
                print(f"using {key} for {json.dumps(params)}", file=sys.stderr, flush=True)
                text = f"done with {key}: {json.dumps(params['arguments'])}"
                reply["result"] = {"content": [{"type": "text", "text": text}]}
            case _:
                reply["error"] = {"code": -32603, "message": f"{key} cannot do {json.dumps(params)}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
