"""A bare stdio server whose one tool returns numbers that JSON does not have and text that is no Unicode."""

import json
import sys

ANSWERS = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": "1"}},
    "tools/list": {"tools": [{"name": "odd", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "odd"}], "structuredContent": {"nan": float("nan"), "far": [float("inf")]}},
}  # fmt: skip


def main() -> None:
    """Answer line by line."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        answer = {"jsonrpc": "2.0", "id": request["id"]}
        if request["method"] in ANSWERS:
            answer["result"] = ANSWERS[request["method"]]
        else:
            answer["error"] = {"code": -32601, "message": "Method not found"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
