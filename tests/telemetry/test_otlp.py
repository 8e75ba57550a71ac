"""Telemetry as an OTLP receiver over HTTP gets it from a process that serves the endpoint; nothing without variables."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from core.domain.errors import WayfareError
from core.telemetry import telemetry_of
from tests.forking import FORKS

ROOT = Path(__file__).parents[2]
SECRET, TASK = "sk-abcdefghijklmnop", "Echo meta words of aunt Agatha"
TRACE, OTHER_TRACE = "0af7651916cd43dd8448eb211c80319c", "1af7651916cd43dd8448eb211c80319d"


class Receiver(ThreadingHTTPServer):
    """Keeps what is posted, by path."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Posted)
        self.bodies: list[tuple[str, bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def spans(self) -> list[Any]:
        posts = [ExportTraceServiceRequest.FromString(body) for path, body in self.bodies if path == "/v1/traces"]
        return [span for post in posts for r in post.resource_spans for scope in r.scope_spans for span in scope.spans]

    def metrics(self) -> dict[str, Any]:
        posts = [ExportMetricsServiceRequest.FromString(body) for path, body in self.bodies if path == "/v1/metrics"]
        return {
            m.name: m
            for post in posts
            for r in post.resource_metrics
            for scope in r.scope_metrics
            for m in scope.metrics
        }


class Posted(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        self.server.bodies.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@contextmanager
def endpoint(folder: Path, **variables: str) -> Iterator[dict[str, Any]]:
    """A process with these variables; it has ended, and sent what was left, after the block."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    line = [FORKS.python, "-m", "tests.telemetry.endpoint_process", str(folder / "w.duckdb")]
    environment = {**inherited, "PYTHONPATH": str(ROOT), **variables}
    with subprocess.Popen(line, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        yield json.loads(child.stdout.readline())
        child.stdin.close()
        assert child.wait(30) == 0


def work(url: str, headers: dict[str, str], meta: dict[str, str] | None) -> dict[str, Any]:
    """A search, a call with a secret that fails, and one that gives back the `_meta` that its server got."""

    async def run() -> dict[str, Any]:
        http = httpx2.AsyncClient(headers=headers, timeout=30)
        async with http, Client(streamable_http_client(url, http_client=http)) as client:
            search = await client.call_tool("search_tools", {"task": TASK}, meta=meta)
            route = search.structured_content["route_id"]
            call = {"tool": "bare::fail", "arguments": {"key": SECRET}, "route_id": route}
            await client.call_tool("execute_tool", call, meta=meta)
            done = await client.call_tool("execute_tool", {"tool": "bare::meta", "route_id": route}, meta=meta)
            return json.loads(done.structured_content["result"])

    return anyio.run(run)


def attributes(span: Any) -> dict[str, Any]:
    values = {attribute.key: attribute.value for attribute in span.attributes}
    return {key: getattr(value, value.WhichOneof("value")) for key, value in values.items()}


def test_spans_and_metrics_by_the_conventions_with_nothing_that_was_said(receiver: Receiver, tmp_path: Path) -> None:
    with endpoint(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url, OTEL_SERVICE_NAME="fleet") as process:
        got = work(process["url"], {}, {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"})
    assert got["traceparent"].split("-")[1] == TRACE
    ours = [span for span in receiver.spans() if span.trace_id.hex() == TRACE]
    by_name = {span.name: span for span in ours}
    assert {"tools/call search_tools", "route ehrr", "execute_tool bare::meta", "execute_tool bare::fail"} <= set(
        by_name
    )
    search = attributes(by_name["tools/call search_tools"])
    assert (search["mcp.method.name"], search["gen_ai.tool.name"]) == ("tools/call", "search_tools")
    decided = attributes(by_name["route ehrr"])
    assert (decided["wayfare.decision.tools"], decided["wayfare.decision.candidates"] > 0) == (2, True)
    failed, called = (attributes(by_name[f"execute_tool bare::{name}"]) for name in ("fail", "meta"))
    assert (failed["error.type"], failed["wayfare.decision.id"]) == ("tool_error", decided["wayfare.decision.id"])
    assert ("error.type" in called, called["wayfare.call.price_usd"]) == (False, 0.002)
    parent = got["traceparent"].split("-")[2]
    (sent,) = [span for span in ours if span.span_id.hex() == parent]
    assert sent.parent_span_id == by_name["execute_tool bare::meta"].span_id
    metrics = receiver.metrics()
    counts = {
        attributes(point).get("error.type"): point.count
        for point in metrics["mcp.client.operation.duration"].histogram.data_points
    }
    assert counts == {"tool_error": 1, None: 1}
    tools = {
        attributes(point)["gen_ai.tool.name"]
        for point in metrics["mcp.server.operation.duration"].histogram.data_points
    }
    assert tools == {"search_tools", "execute_tool"}
    assert sum(point.as_double for point in metrics["wayfare.call.cost"].sum.data_points) == 0.004
    everything = b"".join(body for _, body in receiver.bodies)
    assert b"fleet" in everything
    for private in (SECRET, TASK, "Agatha", "cannot do"):
        assert private.encode() not in everything


def test_without_variables_nothing_is_loaded_or_sent_and_the_trace_goes_on(receiver: Receiver, tmp_path: Path) -> None:
    off = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "OTEL_SDK_DISABLED": "true"}
    with endpoint(tmp_path, **off) as process:
        assert process["loaded"] == []
        by_header = work(process["url"], {"traceparent": f"00-{OTHER_TRACE}-b7ad6b7169203331-01"}, None)
    assert by_header["traceparent"].split("-")[1] == OTHER_TRACE
    assert receiver.bodies == []


def test_a_receiver_that_is_gone_keeps_nobody() -> None:
    """The limit on the end of the process is shorter than the SDK would go on to try."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        url = f"http://127.0.0.1:{gone.getsockname()[1]}"
    code = "from core.telemetry import telemetry_of; import os; t = telemetry_of(os.environ); t.answered('a', 1, ''); t.close()"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OTEL_EXPORTER_OTLP_ENDPOINT": url}
    subprocess.run([FORKS.python, "-c", code], env=environment, timeout=30, check=True)


def test_a_form_that_is_not_spoken_is_said() -> None:
    with pytest.raises(WayfareError, match="only as http/protobuf"):
        telemetry_of({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
