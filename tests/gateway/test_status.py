"""`/healthz`, `/readyz` and `/metrics` of a running console, and who may ask."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Mapping

from mcp import Client
from prometheus_client.parser import text_string_to_metric_families

from tests.cases import each
from tests.gateway.conftest import Console, ask, refused, talk


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
    found = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(one.name, tuple(sorted(one.labels.items()))): one.value for one in found}


def total(found: Mapping[tuple[str, tuple[tuple[str, str], ...]], float], name: str, **labels: str) -> float:
    return sum(value for (one, of), value in found.items() if one == name and set(labels.items()) <= set(of))


def test_decisions_and_calls_are_counted(console: Console) -> None:
    async def script(client: Client) -> None:
        found = await ask(client, "search_tools", task="convert 300 miles to kilometres")
        given = {"tool": "unit-exchange::convert_units", "route_id": found["route_id"]}
        await ask(client, "execute_tool", arguments={"value": 300, "source": "mi", "target": "km"}, **given)
        wrong = {"value": 300, "source": "mi", "target": "kg"}
        await refused(client, "execute_tool", arguments=wrong, **given)

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
            of = tuple(pair for pair in labels if pair[0] != "le")
            assert value == after[sample.replace("_bucket", "_count"), of]
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
