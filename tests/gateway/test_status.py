"""`/healthz`, `/readyz` and `/metrics` of a console, who may ask, and what an endpoint answers that cannot be made."""

from __future__ import annotations

import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from mcp import Client
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.testclient import TestClient

from core.app import App
from core.catalogs.upkeep import Readiness
from core.gateway.http_app import EndpointApp, status_routes
from tests.cases import each
from tests.gateway.conftest import Console, ask, refused, talk
from tests.gateway.serving import asgi


def get(url: str, headers: Mapping[str, str] | None = None) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=dict(headers or {})), timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def samples(console: Console) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    status, text = get(f"{console.url}/metrics")
    assert status == 200
    series = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for sample in series}


def total(counts: Mapping[tuple[str, tuple[tuple[str, str], ...]], float], name: str, **labels: str) -> float:
    return sum(value for (metric, tags), value in counts.items() if metric == name and set(labels.items()) <= set(tags))


def test_decisions_and_calls_are_counted(console: Console) -> None:
    async def script(client: Client) -> None:
        search = await ask(client, "search_tools", task="convert 300 miles to kilometres")
        call = {"tool": "unit-exchange::convert_units", "route_id": search["route_id"]}
        await ask(client, "execute_tool", arguments={"value": 300, "source": "mi", "target": "km"}, **call)
        wrong = {"value": 300, "source": "mi", "target": "kg"}
        await refused(client, "execute_tool", arguments=wrong, **call)

    before = samples(console)
    talk(console.mcp, script)
    deadline = time.monotonic() + 10
    calls = {"server": "unit-exchange", "simulated": "false", "origin": "agent"}
    name = "wayfare_call_duration_seconds_count"
    while total(after := samples(console), name, **calls) < total(before, name, **calls) + 2:
        assert time.monotonic() < deadline
    ok = total(after, name, outcome="ok", **calls) - total(before, name, outcome="ok", **calls)
    assert ok == 1
    assert total(after, "wayfare_decision_duration_seconds_count", origin="agent") > total(
        before, "wayfare_decision_duration_seconds_count", origin="agent"
    )
    for (sample, labels), value in after.items():
        if sample.endswith("_bucket") and ("le", "+Inf") in labels:
            pairs = tuple(pair for pair in labels if pair[0] != "le")
            assert value == after[sample.replace("_bucket", "_count"), pairs]
    assert total(after, "wayfare_server_connection", server="unit-exchange", state="ready") == 1


def test_the_console_is_healthy_at_once_and_ready_when_a_decision_is(console: Console) -> None:
    assert get(f"{console.url}/healthz") == (200, '{"status":"ok"}')
    deadline = time.monotonic() + 60
    while (answer := get(f"{console.url}/readyz"))[0] != 200:
        assert answer[0] == 503
        assert time.monotonic() < deadline
    assert '"ready"' in answer[1]


@each("path", ["healthz", "readyz", "metrics", "mcp"])
def test_strangers_get_nothing(console: Console, path: str) -> None:
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        assert get(f"{console.url}/{path}", headers)[0] == 403


def test_a_catalog_is_ready_when_the_rest_is_loaded(world: App) -> None:
    begun, loaded = threading.Event(), threading.Event()

    def load(_: str) -> None:
        begun.set()
        assert loaded.wait(30)

    readiness = Readiness(world.catalogs, world.encoders[0], world.background, words_after_s=0, load_rest=load)
    job = readiness.begin("world")
    assert begun.wait(30)
    assert (readiness.is_ready("world"), world.catalogs.is_ready("world")) == (False, True)
    loaded.set()
    assert job is not None
    assert job.wait(30)
    assert readiness.is_ready("world")


def test_a_console_that_cannot_store_is_not_ready_and_says_why() -> None:
    opened: Any = SimpleNamespace(store=SimpleNamespace(problem="The disk is full."))
    routes = status_routes(EndpointApp(lambda: opened), lambda: opened, "world")
    with TestClient(Starlette(routes=routes), base_url="http://127.0.0.1", client=("127.0.0.1", 1)) as http:
        answer = http.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"catalog": "world", "status": "not storing", "why": "The disk is full."}


def test_an_endpoint_that_cannot_be_made_answers_and_leaves_the_others_alone() -> None:
    def broken() -> App:
        raise ImportError("cannot import name 'Server' from partially initialized module")

    with TestClient(asgi(broken), base_url="http://localhost", client=("127.0.0.1", 5)) as http:
        assert [http.post("/mcp", json={}).status_code for _ in range(2)] == [503, 503]
        assert http.get("/healthz").status_code == 200
