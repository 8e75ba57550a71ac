"""A stdio server of the older protocol, without any library, that answers every call with markup for a browser."""

from __future__ import annotations

import json
import sys
from pathlib import Path

PAYLOADS = json.loads(Path(__file__).with_name("hostile_texts.json").read_text(encoding="utf-8"))


def result(method: str) -> dict[str, object] | None:
    """The answer to a request."""
    everything = " ".join(PAYLOADS)
    if method == "initialize":
        info = {"name": everything, "version": "<b>1</b>", "title": everything}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": []}
    if method == "tools/call":
        print(everything, file=sys.stderr, flush=True)
        texts = [{"type": "text", "text": text} for text in PAYLOADS]
        link = {
            "type": "resource_link",
            "name": everything,
            "uri": "javascript:window.owned=8",
            "description": everything,
        }
        rows = [{text: text for text in PAYLOADS}, dict.fromkeys(PAYLOADS, everything)]
        return {"content": [*texts, link], "structuredContent": {"rows": rows, everything: everything}}
    return None


def serve() -> None:
    """Answer line by line until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            answer = result(request["method"])
            unknown = {"error": {"code": -32601, "message": "Method not found"}}
            reply = unknown if answer is None else {"result": answer}
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)


if __name__ == "__main__":
    serve()
