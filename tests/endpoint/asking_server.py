"""A server of 2025-11-25 over stdio, written by hand: its tool logs and asks in the midst of a call."""

from __future__ import annotations

import json
import sys
from typing import Any

FORM = {"message": "Who is it?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def main() -> None:
    """One question for each call, answered with what came back, and what the client said it can be asked."""
    able: list[str] = []
    calls: dict[str, Any] = {}  # by question
    for line in sys.stdin:
        message = json.loads(line)
        params, id_ = message.get("params") or {}, message.get("id")
        match message.get("method"):
            case "initialize":
                able = sorted(params["capabilities"])
                info = {"name": "asking", "version": "1"}
                has = {"tools": {}, "logging": {}}
                send(id=id_, result={"protocolVersion": "2025-11-25", "capabilities": has, "serverInfo": info})
            case "tools/list":
                send(id=id_, result={"tools": [{"name": "who", "inputSchema": {"type": "object"}}]})
            case "tools/call":
                for level in ("debug", "warning"):
                    send(method="notifications/message", params={"level": level, "data": f"{level} of who"})
                calls[f"question-{id_}"] = id_
                send(id=f"question-{id_}", method="elicitation/create", params=FORM)
            case None if id_ in calls:
                said = message.get("result") or {"error": message["error"]["message"]}
                text = json.dumps({"able": able, "said": said})
                send(id=calls.pop(id_), result={"content": [{"type": "text", "text": text}]})
            case None | "notifications/initialized" | "notifications/cancelled":
                pass
            case _:
                send(id=id_, error={"code": -32601, "message": "Method not found"})


if __name__ == "__main__":
    main()
