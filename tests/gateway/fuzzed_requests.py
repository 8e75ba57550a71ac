"""Requests that no client should send, drawn from a seed: methods, headers, bodies, ids, and arguments for every tool."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

MODERN, LEGACY = "2026-07-28", "2025-11-25"
TOOLS = ("search_tools", "describe_tool", "execute_tool", "execute_readonly_tool", "read_result", "report_outcome")
NAMES = ("task", "server_hint", "n", "tools", "tool", "arguments", "route_id", "handle", "offset", "useful", "note")
METHODS = ("initialize", "ping", "tools/list", "tools/call", "server/discover", "resources/read", "resources/list",
           "prompts/get", "completion/complete", "logging/setLevel", "subscriptions/listen", "tasks/get", "sampling/createMessage",
           "notifications/initialized", "notifications/cancelled", "notifications/progress", "rpc.discover", "", "__init__")  # fmt: skip
DEEP = 50_000
OWN = [(b"accept", b"application/json, text/event-stream"), (b"content-type", b"application/json")]
SURROGATE = json.loads('"\\ud800"')
PATHS = ("/mcp", "/mcp", "/mcp", "/mcp/", "/turn", "/door", "/metrics", "/healthz", "/readyz", "/oauth/callback",
         "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource/..%2f..")  # fmt: skip
QUERIES = (b"", b"", b"", b"catalog=", b"catalog=%00", b"router=x", b"timeout=nan", b"timeout=1e999", b"set=n=-1", b"set=n", b"set==",
           b"mirror=*", b"mirror=[", b"mirror=%ff", b"fallback=maybe", b"a" * 3_000, b"set=n=99999999999999999999", b"=&=&", b"%", b"preset=%F0%9F%92%A9")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """One HTTP request, header names in lower case, without its Host."""

    method: str
    path: str
    query: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    @property
    def line(self) -> str:
        """As text, for messages of failures."""
        return f"{self.method} {self.path}?{self.query!r:.60} {dict(self.headers)!r:.300} {self.body!r:.400}"


def fuzzed(seed: int, number: int, *, door_key: str = "", lane: str = "") -> list[Fuzzed]:
    """`number` requests; requests for /door have the key and requests for /turn the token."""
    rng = random.Random(seed)
    makers: tuple[Callable[[], Fuzzed], ...] = (
        lambda: _message(rng, _call(rng)),
        lambda: _message(rng, _call(rng)),
        lambda: _message(rng, _any_message(rng)),
        lambda: _of_bytes(rng),
        lambda: _of_http(rng),
        lambda: _own(rng, "/door", {"arguments": _value(rng)}, (b"authorization", f"Bearer {door_key}".encode())),
        lambda: _own(rng, "/turn", {"token": lane, "kind": "decision", "values": _value(rng)}),
    )
    return [makers[place % len(makers)]() for place in range(number)]


def _value(rng: random.Random, depth: int = 0) -> Any:
    """Any JSON value, odd ones first."""
    simple: list[Any] = [None, True, False, 0, -1, 1, 2**31, 2**63, -(2**200), 1e308, float("nan"), float("inf"), 0.1, "", " ", "x",
        "\x00", "\u202e", "raw::echo", "raw::", "::", "a" * 10_000, "ä" * 500, "💩", "../../etc/passwd", "'; DROP TABLE decisions; --",
        "${env:HOME}", "{{7*7}}", "%s%n", SURROGATE, [], {}, [[]], [None], {"": None}, {"$ref": "#"}, {"__class__": 1}]  # fmt: skip
    if depth < 3 and rng.random() < 0.3:
        if rng.random() < 0.5:
            return [_value(rng, depth + 1) for _ in range(rng.randrange(5))]
        return {str(_value(rng, 9))[:20]: _value(rng, depth + 1) for _ in range(rng.randrange(5))}
    return rng.choice(simple)


def _call(rng: random.Random) -> dict[str, Any]:
    """tools/call of a Wayfare tool with its arguments, each odd or right."""
    right: Mapping[str, Any] = {"task": "Echo words.", "n": 3, "tools": ["raw::echo"], "tool": "raw::echo", "arguments": {"a": 1},
        "handle": "x", "offset": 0, "useful": True, "route_id": "x", "server_hint": "", "note": ""}  # fmt: skip
    names = rng.sample(NAMES, rng.randrange(1, 6))
    fields = {name: right[name] if rng.random() < 0.5 else _value(rng) for name in names}
    arguments: Any = fields if rng.random() < 0.9 else _value(rng)
    name: Any = rng.choice(TOOLS) if rng.random() < 0.9 else _value(rng)
    return _rpc(rng, "tools/call", {"name": name, "arguments": arguments}, odd=0.05)


def _any_message(rng: random.Random) -> Any:
    params: Any = _value(rng)
    message = _rpc(rng, rng.choice(METHODS), params)
    if rng.random() < 0.3:
        message[rng.choice(["jsonrpc", "id", "method", "params", "result", "error"])] = _value(rng)
    if rng.random() < 0.1:
        del message[rng.choice(["jsonrpc", "method"])]
    return [message] * rng.randrange(4) if rng.random() < 0.1 else message


def _rpc(rng: random.Random, method: str, params: Any, *, odd: float = 0.2) -> dict[str, Any]:
    if isinstance(params, dict) and rng.random() >= odd:
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "fuzz", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        if rng.random() < odd:
            meta[rng.choice([*meta, "progressToken"])] = _value(rng)
        params = {**params, "_meta": meta if rng.random() >= odd / 4 else _value(rng)}
    id_ = rng.randrange(10**6) if rng.random() >= odd else _value(rng)
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def _message(rng: random.Random, message: Any) -> Fuzzed:
    headers = list(OWN)
    if isinstance(message, dict) and rng.random() < 0.8:
        name = message["params"].get("name") if isinstance(message.get("params"), dict) else None
        headers += [(b"mcp-protocol-version", MODERN.encode()), (b"mcp-method", _header(message.get("method")))]
        headers += [(b"mcp-name", _header(name))] if name is not None else []
    return Fuzzed("POST", "/mcp", rng.choice(QUERIES[:8] + QUERIES[:3]), tuple(headers), json.dumps(message).encode())


def _header(value: Any) -> bytes:
    return str(value).encode("ascii", "replace").replace(b"\n", b" ").replace(b"\r", b" ").replace(b"\x00", b" ")[:200]


def _of_bytes(rng: random.Random) -> Fuzzed:
    """A body that is no message."""
    whole = json.dumps(_call(rng)).encode()
    cut = rng.randrange(1, len(whole))
    bodies = [b"", b"null", b"[" * DEEP, b'{"a":' * DEEP + b"1" + b"}" * DEEP, b"\xff\xfe\x00", b"\xef\xbb\xbf" + whole, whole[:cut],
        whole + b"}", whole + whole, b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', whole.replace(b'"', b"'"), b"9" * 10_000, b"\x00" * 100,
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_tools","arguments":{"task":"' + b"a" * 3_000_000 + b'"}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_tool","arguments":{"tool":"raw::echo","arguments":'
        + b'{"a":' * 500 + b"1" + b"}" * 500 + b"}}}", bytes(rng.randrange(256) for _ in range(200)),
        whole.replace(b"task", b"\xc3\x28"), b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}']  # fmt: skip
    version = [(b"mcp-protocol-version", rng.choice([MODERN, LEGACY, "x", "\xff"]).encode("latin-1"))]
    path = rng.choice(["/mcp", "/mcp", "/turn", "/door"])
    return Fuzzed("POST", path, b"", (*OWN, *rng.choice([[], version])), rng.choice(bodies))


def _of_http(rng: random.Random) -> Fuzzed:
    """Another method, path or header."""
    odd = [b"", b"*/*", b"text/html", b"application/json; charset=utf-7", b"\xff\xfe", b"a" * 5_000, b"1", b"null", b"Bearer ", b"Bearer \xe9", b"Basic eDp5",
        b"Bearer " + b"x" * 3_000, b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", b"00-zz-zz-zz", b"gzip", b"-1", b"http://evil.example", b"null"]  # fmt: skip
    names = [b"accept", b"content-type", b"authorization", b"mcp-session-id", b"mcp-protocol-version", b"mcp-method", b"mcp-name", b"origin",
        b"traceparent", b"tracestate", b"last-event-id", b"x-forwarded-for", b"content-encoding", b"cookie", b"range", b"if-none-match"]  # fmt: skip
    headers = dict(OWN if rng.random() < 0.5 else [])
    headers.update((rng.choice(names), rng.choice(odd)) for _ in range(rng.randrange(1, 4)))
    method = rng.choice(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "BREW"])
    body = json.dumps(_any_message(rng)).encode() if rng.random() < 0.5 else b""
    return Fuzzed(method, rng.choice(PATHS), rng.choice(QUERIES), tuple(headers.items()), body)


def _own(rng: random.Random, path: str, document: dict[str, Any], *headers: tuple[bytes, bytes]) -> Fuzzed:
    """A request that gets past the door of one of the console's own routes."""
    if rng.random() < 0.3:
        document[rng.choice(list(document))] = _value(rng)
    bodies = [json.dumps(document).encode(), json.dumps(_value(rng)).encode(), b"[" * DEEP, b'{"arguments":' * DEEP]
    return Fuzzed("POST", path, b"", (*OWN, *headers), rng.choice(bodies))
