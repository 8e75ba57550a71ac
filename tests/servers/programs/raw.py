"""A stdio server of the older protocol without any library: starts fast and misbehaves exactly as told by its flags.

`raw.py [--exit] [--mute] [--rubbish] [--starts FILE] [--tools N] [--duplicate] [--control] [--endless]
[--unlisted] [--shapeless]`
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ANY = {"type": "object"}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


class Refusal(Exception):
    """An error answer: code and message."""


def listed(flags: argparse.Namespace, cursor: str | None) -> dict[str, Any]:
    """A page of two tools."""
    names = ["echo", "pid", "crash", "stall", "nap", "spawn", "mismatch", "refuse", "say", "large"]
    names += [f"extra{i}" for i in range(flags.tools)]
    names += ["echo"] * flags.duplicate + ["bad\x07name"] * flags.control
    start = int(cursor or 0)
    tools = [{"name": name, "description": f"Does {name}.", "inputSchema": ANY} for name in names[start : start + 2]]
    for tool in tools:
        if tool["name"] == "mismatch":
            tool["outputSchema"] = NUMBER
    page: dict[str, Any] = {"tools": tools}
    if start + 2 < len(names) or flags.endless:
        page["nextCursor"] = "0" if flags.endless else str(start + 2)
    return page


def sleep(seconds: float = 600, until: str = "", **_: Any) -> None:
    """Wait so long, or until a file exists."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and not (until and Path(until).exists()):
        time.sleep(min(left, 0.05) if until else left)


def run_tool(name: str, arguments: dict[str, Any]) -> Any:
    """A tool's output: text, or a whole result."""
    if name == "crash":
        counter = Path(arguments["counter"])
        done = int(counter.read_text()) if counter.exists() else 0
        counter.write_text(str(done + 1))
        if done < arguments["times"]:
            os._exit(3)
    if name in {"stall", "nap"}:
        sleep(**arguments)
    if name == "refuse":
        raise Refusal(arguments["code"], arguments["message"])
    if name == "mismatch":
        return {"content": [], "structuredContent": {"n": "not a number"}}
    if name == "variable":  # never the value
        value = os.environ.get(arguments["name"], "")
        return f"{len(value)} characters" if value else "not set"
    if name == "say":
        print(arguments["text"], file=sys.stderr, flush=True)
    if name in {"large", "image"}:
        return large(name, **arguments)
    if name == "spawn":
        output = None if arguments.get("clinging") else subprocess.DEVNULL
        child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"], stdout=output)
        return str(child.pid)
    return str(os.getpid()) if name == "pid" else json.dumps(arguments)


def large(name: str, size: int, lists: int = 0, id: str = "first") -> dict[str, Any]:
    """A result of any size; `id` says where in its line the id is to stand."""
    if name == "image":
        return {"content": [{"type": "image", "data": "A" * size, "mimeType": "image/png"}]}
    block = {"type": "text", "text": "x" * size}
    return {"content": [block], "structuredContent": {"lists": [[]] * lists}, "_meta": {"id": id}}


def answer(flags: argparse.Namespace, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The result of a request; raises Refusal."""
    if method == "initialize":
        info = {"name": "raw", "version": "0.9", "description": "A bare server."}
        parts = {"resources": {}, "prompts": {}} if flags.shapeless else {}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, **parts}, "serverInfo": info}
    if flags.shapeless and method in {"resources/list", "resources/templates/list", "prompts/list"}:
        return {"resources": "none", "resourceTemplates": 7, "prompts": [{"name": ["odd"]}]}
    if method == "tools/list" and not flags.unlisted:
        return listed(flags, params.get("cursor"))
    if method == "tools/call":
        token = params.get("_meta", {}).get("progressToken")
        if params["name"] == "image" and token is not None:
            note = {
                "jsonrpc": "2.0",
                "method": "notifications/progress",
                "params": {"progressToken": token, "progress": 1},
            }
            print(json.dumps(note), flush=True)
        output = run_tool(params["name"], params.get("arguments") or {})
        return output if isinstance(output, dict) else {"content": [{"type": "text", "text": output}]}
    raise Refusal(-32601, "Method not found")


def serve(flags: argparse.Namespace) -> None:
    """Answer line by line until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            reply["result"] = answer(flags, request["method"], request.get("params") or {})
        except Refusal as refusal:
            reply["error"] = {"code": refusal.args[0], "message": refusal.args[1]}
        if flags.rubbish:
            print("let me tell you something else", flush=True)
        print(json.dumps(placed(reply)), flush=True)


def placed(reply: dict[str, Any]) -> dict[str, Any]:
    """The reply with its id at the place that a call of `large` named: first, last, in the midst, or in a notification."""
    place = reply.get("result", {}).get("_meta", {}).get("id")
    if place == "last":
        return {name: reply[name] for name in ("result", "jsonrpc", "id")}
    if place == "midst":
        return {"result": reply["result"], "id": reply["id"], "jsonrpc": "2.0", "more": "x" * 10_000}
    if place == "notification":
        note = {
            "jsonrpc": "2.0",
            "method": "notifications/message",
            "params": {"level": "info", "data": reply["result"]},
        }
        print(json.dumps(note), flush=True)
        return {"jsonrpc": "2.0", "id": reply["id"], "result": {"content": []}}
    return reply


def main() -> None:
    """Start as the flags say."""
    parser = argparse.ArgumentParser()
    for flag in ("--exit", "--mute", "--rubbish", "--duplicate", "--control", "--endless", "--unlisted", "--shapeless"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--starts")
    parser.add_argument("--tools", type=int, default=0)
    flags = parser.parse_args()
    if flags.starts:
        with Path(flags.starts).open("a") as file:
            file.write("started\n")
    if flags.exit:
        sys.exit(f"no licence for {os.environ.get('LICENCE', 'you')}")
    if flags.mute:
        print("*** not a server ***", flush=True)
        time.sleep(600)
    serve(flags)


if __name__ == "__main__":
    main()
