"""A stdio server without any library whose one tool ends in the middle of its call, in the way that the command line names."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Sequence

KINDS = ("killed", "hung", "stopped", "rubbish", "half", "wrong", "binary", "fine")
PRICE_USD = 0.001
MAY_BE = {
    "killed": {"connection_lost"},
    "half": {"connection_lost"},
    "hung": {"timeout"},
    "stopped": {"timeout"},
    "rubbish": {"timeout", "connection_lost"},
    "binary": {"timeout", "connection_lost"},
    "wrong": {"tool_error", "timeout", "connection_lost"},
    "fine": {""},
}
OUTCOMES = {"": "ok", "connection_lost": "crash", "timeout": "timeout", "tool_error": "tool_error"}


def catalog(kinds: Sequence[str], mark: str) -> str:
    """A server that breaks in each of these ways; `mark` is in the command line of each."""

    def server(kind: str) -> dict[str, object]:
        tool = {"name": "work", "description": "Work.", "price_usd": PRICE_USD}
        connection = {"type": "stdio", "command": "${python}", "args": ["-S", __file__, kind, mark]}
        return {"name": kind, "description": f"Breaks: {kind}.", "tools": [tool], "connection": connection}

    return json.dumps({"servers": [server(kind) for kind in kinds]})


def main(kind: str) -> None:
    """Answer line by line."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        reply = {"jsonrpc": "2.0", "id": request["id"]}
        match request["method"]:
            case "initialize":
                info = {"name": kind, "version": "1"}
                reply["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                reply["result"] = {"tools": [{"name": "work", "inputSchema": {"type": "object"}}]}
            case "tools/call":
                _fail(kind, request["id"])
                reply["result"] = {"content": [{"type": "text", "text": "done"}]}
            case _:
                reply["error"] = {"code": -32601, "message": "no"}
        print(json.dumps(reply), flush=True)


def _fail(kind: str, id_: object) -> None:
    match kind:
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "hung":
            time.sleep(600)
        case "rubbish":
            for text in ("hello", "{", '{"jsonrpc": 7}', '{"jsonrpc":"2.0","id":"another","result":{}}', "[]", "null"):
                print(text, flush=True)
            time.sleep(600)
        case "half":
            print(f'{{"jsonrpc":"2.0","id":{json.dumps(id_)},"res', end="", flush=True)
            os._exit(1)
        case "wrong":
            print(
                json.dumps({"jsonrpc": "2.0", "id": id_, "result": {"content": "no list", "isError": "perhaps"}}),
                flush=True,
            )
            time.sleep(600)
        case "binary":
            sys.stdout.buffer.write(b"\xff\xfe\x00" * 1000 + b"\n")
            sys.stdout.flush()
            time.sleep(600)
        case _:
            time.sleep(0.05)


if __name__ == "__main__":
    main(sys.argv[1])
