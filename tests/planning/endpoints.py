"""An endpoint that speaks /v1/chat/completions over real HTTP, and answers as a test has scripted.

Reached through the fixture `endpoint` (see conftest.py): with importlib imports a test cannot import a file beside it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CHUNKS = 100  # of an endless answer
LATE_S = 5.0

Reaction = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Keeps each request and reacts to it by the script. The last reaction repeats."""

    protocol_version = "HTTP/1.1"
    server: ModelServer
    streams = False

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        request = Asked(self.path, {k.lower(): v for k, v in self.headers.items()}, json.loads(body))
        self.server.asked.append(request)
        self.streams = request.body.get("stream", False)
        reactions = self.server.reactions
        with self.server.lock:
            reaction = reactions.pop(0) if len(reactions) > 1 else reactions[0]
        reaction(self)

    def send(self, status: int, body: bytes, length: int | None = None) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, pieces: list[dict[str, Any]]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for document in pieces:
            self.wfile.write(f"data: {json.dumps(document)}\n\n".encode())

    def log_message(self, *_: object) -> None:
        pass


@dataclass
class Asked:
    """One request from the wire."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def user(self) -> str:
        return self.body["messages"][1]["content"]


@dataclass
class ModelServer(ThreadingHTTPServer):
    """A local endpoint. `reactions` are its replies, one for each request."""

    reactions: list[Reaction] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    over: threading.Event = field(default_factory=threading.Event)
    daemon_threads = True

    def __post_init__(self) -> None:
        ThreadingHTTPServer.__init__(self, ("127.0.0.1", 0), Handler)

    __hash__ = object.__hash__

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, *_: object) -> None:
        """Some tests disconnect the client."""

    def answer(
        self, content: object, *, finish: str = "stop", tokens: tuple[int, int] | None = (100, 20), streams: bool = True
    ) -> Reaction:
        """A completion: a text, or a JSON document. In pieces if the request asks for it and the endpoint `streams`."""
        text = content if isinstance(content, str) or content is None else json.dumps(content)

        def react(handler: Handler) -> None:
            if handler.streams and streams:
                handler.stream([*map(piece, (text or "").partition(" ")), piece("", finish, tokens)])
            else:
                handler.send(200, completion(text, finish, tokens))

        return react

    def fail(self, status: int, body: str = '{"error": {"message": "no"}}') -> Reaction:
        return lambda handler: handler.send(status, body.encode())

    def half(self) -> Reaction:
        """Promises more than it sends, and hangs up."""

        def react(handler: Handler) -> None:
            handler.send(200, completion("{}", "stop", None)[:40], length=4_000)
            handler.close_connection = True

        return react

    def late(self) -> Reaction:
        """A right answer that comes too late."""

        def react(handler: Handler) -> None:
            self.over.wait(LATE_S)
            handler.send(200, completion("{}", "stop", None))

        return react

    def unfinished(self, *texts: str) -> Reaction:
        """A stream that lasts until the test ends."""

        def react(handler: Handler) -> None:
            handler.stream([piece(text) for text in texts])
            self.over.wait(LATE_S)

        return react

    def endless(self, chunk: bytes, every_s: float) -> Reaction:
        """An answer that lasts until the client disconnects. If the client does not, the answer is right in the end."""
        end = completion("{}", "stop", None)

        def react(handler: Handler) -> None:
            handler.send(200, b"", length=CHUNKS * len(chunk) + len(end))
            for _ in range(CHUNKS):
                self.over.wait(every_s)
                handler.wfile.write(chunk)
            handler.wfile.write(end)

        return react


def completion(text: str | None, finish: str, tokens: tuple[int, int] | None) -> bytes:
    message = {"role": "assistant", "content": text}
    document: dict[str, Any] = {
        "id": "c-1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }  # fmt: skip
    if tokens:
        document["usage"] = {
            "prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens),
        }  # fmt: skip
    return json.dumps(document).encode()


def piece(text: str, finish: str | None = None, tokens: tuple[int, int] | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    usage = tokens and {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    document = {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {**document, "choices": [choice], "usage": usage}


def serving() -> Iterator[ModelServer]:
    """The server, until the test is over."""
    server = ModelServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    server.server_close()
    thread.join(10)
