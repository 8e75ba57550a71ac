"""A server of 2025-11-25 over stdio, written by hand: it logs once it has a level, asks in the midst of a call, and grows a tool."""

from __future__ import annotations

import json
import sys
from typing import Any

LEVELS = ("debug", "info", "notice", "warning")
FORM = {"message": "Who is it?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def log(threshold: str, level: str, words: str) -> None:
    if threshold and LEVELS.index(level) >= LEVELS.index(threshold):
        send(method="notifications/message", params={"level": level, "data": f"{level} {words}"})


def main() -> None:  # noqa: C901 - one line of the protocol after the other
    """Asks a question for each call of `who` and returns the client's answer and declared abilities."""
    able, threshold, names = list[str](), "", ["who", "grow", "late"]
    calls: dict[str, Any] = {}  # by question
    for line in sys.stdin:
        message = json.loads(line)
        params, id_ = message.get("params") or {}, message.get("id")
        match message.get("method"):
            case "initialize":
                able = sorted(params["capabilities"])
                info = {"name": "asking", "version": "1"}
                abilities = {"tools": {"listChanged": True}, "logging": {}}
                send(id=id_, result={"protocolVersion": "2025-11-25", "capabilities": abilities, "serverInfo": info})
            case "tools/list":
                send(id=id_, result={"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]})
            case "logging/setLevel":
                threshold = params["level"]
                send(id=id_, result={})
            case "tools/call" if params["name"] != "who":
                send(id=id_, result={"content": [{"type": "text", "text": "done"}]})
                log(threshold, "warning", "after the call")
                if params["name"] == "grow":
                    names.append(f"grown_{len(names) - 3}")
                    send(method="notifications/tools/list_changed")
            case "tools/call":
                for level in ("debug", "warning"):
                    log(threshold, level, "of who")
                calls[f"question-{id_}"] = id_
                send(id=f"question-{id_}", method="elicitation/create", params=FORM)
            case None if id_ in calls:
                answer = message.get("result") or {"error": message["error"]["message"]}
                text = json.dumps({"able": able, "said": answer})
                send(id=calls.pop(id_), result={"content": [{"type": "text", "text": text}]})
            case None | "notifications/initialized" | "notifications/cancelled":
                pass
            case _:
                send(id=id_, error={"code": -32601, "message": "Method not found"})


if __name__ == "__main__":
    main()
