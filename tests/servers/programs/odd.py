"""A server whose lists have one good entry beside many odd ones, over stdio or HTTP, of either era of the protocol.

`odd.py --lists FILE [--modern] [--port N] [--no-tools]`: FILE has the entries of each list by the list's key. The tool `deep` answers with
100,000 levels, `fit` with a value that fits no schema of `x`.
"""

from __future__ import annotations

import argparse
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

LEVELS = 100_000
KEYS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


def result(flags: argparse.Namespace, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request, or None for an unknown method."""
    lists = json.loads(Path(flags.lists).read_text())
    about = {
        "capabilities": {"prompts": {}, "resources": {}, **({"tools": {}} if "tools" in lists else {})},
        "serverInfo": {"name": "odd", "version": "1"},
    }
    if method == "server/discover" and flags.modern:
        return {
            "supportedVersions": ["2026-07-28"],
            "resultType": "complete",
            "ttlMs": 0,
            "cacheScope": "private",
            **about,
        }
    if method == "initialize" and not flags.modern:
        offers = {**about["capabilities"], "logging": None, "completions": True}
        odd = {"capabilities": offers, "serverInfo": {"name": "odd"}, "instructions": ["Reads."]}
        return {"protocolVersion": params["protocolVersion"], **odd}
    if KEYS.get(method) in lists:
        return {KEYS[method]: lists[KEYS[method]], "resultType": "complete"}
    if method == "tools/call":
        value: Any = {"x": "text"} if params["name"] != "deep" else "DEEP"
        return {
            "content": [{"type": "text", "text": json.dumps(params.get("arguments"))}],
            "structuredContent": value,
            "resultType": "complete",
        }
    return None


def answer(flags: argparse.Namespace, request: dict[str, Any]) -> str:
    """The answer as one line."""
    output = result(flags, request["method"], request.get("params") or {})
    error = {"error": {"code": -32601, "message": "Method not found"}}
    line = json.dumps({"jsonrpc": "2.0", "id": request["id"], **(error if output is None else {"result": output})})
    return line.replace('"DEEP"', '{"a":' * LEVELS + "1" + "}" * LEVELS)


class Handler(BaseHTTPRequestHandler):
    """One answer as JSON to each request."""

    flags: argparse.Namespace
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = answer(self.flags, request).encode() if "id" in request else b""
        self.send_response(200 if body else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.send_error(405)

    def log_message(self, *_: Any) -> None:
        pass


def main() -> None:
    """Start as the flags say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lists", required=True)
    parser.add_argument("--port", type=int)
    parser.add_argument("--modern", action="store_true")
    Handler.flags = flags = parser.parse_args()
    if flags.port:
        ThreadingHTTPServer(("127.0.0.1", flags.port), Handler).serve_forever()
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            print(answer(flags, request), flush=True)


if __name__ == "__main__":
    main()
