"""A stdio server without any library that tells what it should not: its key, in results of every kind, in an error and on its error
stream."""

from __future__ import annotations

import json
import os
import sys

LONG = {"description": "l" * 20_000}
HAS: dict[str, dict[str, str]] = {"tools": {}, "resources": {}, "prompts": {}}


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
                reply["result"] = {"protocolVersion": "2025-06-18", "capabilities": HAS, "serverInfo": info}
            case "tools/list":
                names = ("work", "fail")
                reply["result"] = {
                    "tools": [
                        {"name": name, "inputSchema": {"type": "object"}, "_meta": {"long": "l" * 60_000}}
                        for name in names
                    ]
                }
            case "tools/call" if params["name"] == "work":
                print(f"using {key} for {json.dumps(params)}", file=sys.stderr, flush=True)
                text = f"done with {key}: {json.dumps(params['arguments'])}"
                inside = {"uri": f"told://{key}", "text": f"inside: {key}"}
                blocks = [{"type": "text", "text": text}, {"type": "resource", "resource": inside}]
                reply["result"] = {"content": blocks, "structuredContent": {"deep": [{"said": text, "n": 7}]}}
            case "resources/list":
                reply["result"] = {"resources": [{"uri": "told://notes", "name": "notes", **LONG}]}
            case "resources/read":
                reply["result"] = {"contents": [{"uri": "told://notes", "text": f"noted: {key}"}]}
            case "prompts/list":
                reply["result"] = {"prompts": [{"name": "ask", "arguments": [{"name": "n", **LONG}], **LONG}]}
            case "prompts/get":
                message = {"role": "user", "content": {"type": "text", "text": f"ask with {key}"}}
                reply["result"] = {"messages": [message]}
            case _:
                reply["error"] = {"code": -32603, "message": f"{key} cannot do {json.dumps(params)}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
