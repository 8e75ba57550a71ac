"""A server whose answers to calls are written byte by byte, in both eras: over stdio (`python writing.py [modern]`), and over
HTTP at `/ERA/json`, `/ERA/events`, redirected from `/moved/...`, and, with the older transport, `/legacy/sse`.

The tool `write` takes the bytes (`hex`, with ID for the request's id). Over HTTP a `status` with `words` and `headers` comes in
their place, but only the first time that a request says `once`.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOLS = [
    {"name": "write", "inputSchema": {"type": "object"}},
    {"name": "measure", "inputSchema": {"type": "object"}, "outputSchema": NUMBER},
]


def answer(request: dict[str, Any], modern: bool) -> bytes:
    """The bytes that answer a request."""
    arguments = request.get("params", {}).get("arguments", {})
    if request["method"] == "tools/call":
        return bytes.fromhex(arguments["hex"]).replace(b"ID", json.dumps(request["id"]).encode())
    era = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if modern else {}
    about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "writing", "version": "1"}}
    results: dict[str, Any] = {"tools/list": {"tools": TOOLS}}
    if modern:
        results["server/discover"] = {"supportedVersions": ["2026-07-28"], **about}
    else:
        results["initialize"] = {"protocolVersion": "2025-06-18", **about}
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] in results:
        reply["result"] = {**era, **results[request["method"]]}
    else:
        reply["error"] = {"code": -32601, "message": "Method not found"}
    return json.dumps(reply).encode()


class Handler(BaseHTTPRequestHandler):
    """Notes in `server` the sessions, and the methods of all requests with their sessions."""

    protocol_version = "HTTP/1.1"
    wbufsize = 65_536  # an answer in one piece

    def log_message(self, *_: Any) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        """The stream of the older transport; there is no other."""
        if not self.path.endswith("/sse"):
            self._send(405, b"")
            return
        self._send(200, None, {"Content-Type": "text/event-stream", "Connection": "close"})
        self.server.sessions.append("stream")
        self.server.events = queue.Queue()
        self.wfile.write(b"event: endpoint\ndata: /legacy/sse?post\n\n")
        self.wfile.flush()
        while event := self.server.events.get():
            self.wfile.write(b"data: " + event + b"\n\n")
            self.wfile.flush()

    def do_POST(self) -> None:
        """One message."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.startswith("/moved"):
            self._send(307, b"", {"Location": self.path.removeprefix("/moved")})
            return
        if self.path.endswith("/sse"):  # the older transport has another address for messages
            self._send(405, b"")
            return
        session, sessions = self.headers.get("Mcp-Session-Id"), self.server.sessions
        modern, form = self.path.startswith("/modern"), self.path.partition("?")[0].rpartition("/")[2]
        if request.get("method") == "initialize":
            session = f"s{len(sessions) + 1}"
            sessions.append(session)
        self.server.asked.append(f"{request.get('method')} {session}")
        arguments = request.get("params", {}).get("arguments", {})
        status = 200 if arguments.get("once") in self.server.refused else arguments.get("status", 200)
        if "once" in arguments:
            self.server.refused.add(arguments["once"])
        if "id" not in request or "method" not in request:
            self._send(202, b"")
        elif status != 200:
            words = arguments["words"].encode()
            kind = "application/json" if words.startswith(b"{") else "text/plain"
            self._send(status, words, {"Content-Type": kind, **arguments.get("headers", {})})
        elif form == "json":
            self._send(200, answer(request, modern), {"Content-Type": "application/json", "Mcp-Session-Id": session})
        elif form == "events":
            note = b'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\r\n\r\n'
            event = note + b": a comment\nid: 1\ndata: " + answer(request, modern) + b"\n\n"
            self._send(200, event, {"Content-Type": "text/event-stream", "Mcp-Session-Id": session})
        else:
            self._send(202, b"")
            self.server.events.put(answer(request, modern))

    def _send(self, status: int, body: bytes | None, headers: dict[str, str | None] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            if value is not None:
                self.send_header(name, value)
        if body is not None:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body or b"")


@contextmanager
def writing_server() -> Iterator[Any]:
    """The server over HTTP: `url`, `asked` (methods with sessions), `sessions`."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.url = f"http://127.0.0.1:{server.server_port}"
    server.asked, server.sessions, server.refused, server.events = [], [], set(), queue.Queue()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.events.put(b"")
        server.shutdown()
        server.server_close()
        thread.join(10)


def main() -> None:
    """Answers line by line until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            sys.stdout.buffer.write(answer(request, "modern" in sys.argv) + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
