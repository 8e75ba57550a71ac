"""The catalog of one server that a virtual process starts from, and what each profile makes of its declared rates and times."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

from core.domain.catalog import Server, ServerId, Tool
from core.domain.errors import WayfareError
from core.importers import read_document
from core.importers.shipped_catalogs import sample
from core.servers.secrets import SecretVault
from core.virtual.launch import PROFILES, Ending, FailureModel, PlannedCall, Profile, plain_server, virtual_connection
from tests.cases import each
from tests.virtual.conftest import WEATHER


def test_what_is_written_is_read_back_as_it_was() -> None:
    servers = sample().servers
    text = json.dumps({"servers": [plain_server(server) for server in servers]})
    assert read_document(text, source="again").servers == tuple(replace(server, connection=None) for server in servers)


def test_the_same_server_has_the_same_file_and_another_one_another(tmp_path: Path) -> None:
    first, second = (virtual_connection(WEATHER, tmp_path) for _ in range(2))
    assert first == second
    other = virtual_connection(replace(WEATHER, call_s=9.0), tmp_path)
    assert other.args[3] != first.args[3]
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".json"]


def test_the_connection_starts_a_process_on_the_written_file(tmp_path: Path) -> None:
    connection = virtual_connection(WEATHER, tmp_path, profile="flaky", seed=7, speed=0.5)
    assert Path(connection.args[3]).parent == tmp_path
    assert connection.args[4:] == ("--profile", "flaky", "--speed", "0.5", "--seed", "7")
    assert SecretVault().missing(ServerId("", "weather"), connection) == ()


@each("name", ["--http", "${env:HOME}", "a b;c", "ü\ud800", "../x"])
def test_a_strangers_name_is_no_argument(tmp_path: Path, name: str) -> None:
    connection = virtual_connection(Server(name, tools=(Tool(name, "do"),)), tmp_path)
    assert name not in connection.args
    assert Path(connection.args[3]).parent == tmp_path
    (server,) = (
        read_document(Path(connection.args[3]).read_bytes(), source="x").servers
        if "\ud800" not in name
        else (Server(name),)
    )
    assert server.name == name


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "virtual").write_text("a file")
    with pytest.raises(WayfareError, match="set WAYFARE_CACHE"):
        virtual_connection(WEATHER, tmp_path / "virtual")


SERVER = Server("any", call_s=0.5, success=0.7, post_accept_failure=0.2)
TOOL = Tool("any", "do", latency_s=2.0, success=0.9)
CALLS, FEW = 4000, 300


def failures(
    profile: str | Profile,
    server: Server = SERVER,
    tool: Tool = TOOL,
    *,
    seed: int = 1,
    speed: float = 1.0,
    calls: int = CALLS,
) -> list[PlannedCall]:
    """Many calls of one tool."""
    chosen = PROFILES[profile] if isinstance(profile, str) else profile
    model = FailureModel(server, chosen, rng=random.Random(seed), speed=speed)
    return [model.next(tool) for _ in range(calls)]


def shares(calls: list[PlannedCall]) -> dict[Ending, float]:
    counted = Counter(planned.ending for planned in calls)
    return {ending: counted[ending] / len(calls) for ending in Ending}


def mean_s(calls: list[PlannedCall]) -> float:
    return sum(planned.wait_s for planned in calls) / len(calls)


def test_declared_rates_are_met() -> None:
    calls = failures("declared")
    assert shares(calls)[Ending.DROP] == pytest.approx(0.2, abs=0.03)
    assert shares(calls)[Ending.ERROR] == pytest.approx(0.8 * 0.1, abs=0.02)
    assert shares(calls)[Ending.HANG] == 0
    assert mean_s(calls) == pytest.approx(2.0, rel=0.05)
    assert min(planned.wait_s for planned in calls) < 1.4
    assert max(planned.wait_s for planned in calls) > 2.8


def test_the_server_stands_in_where_its_tool_declares_nothing() -> None:
    calls = failures("declared", tool=Tool("any", "do"))
    assert mean_s(calls) == pytest.approx(0.5, rel=0.05)
    assert shares(calls)[Ending.ERROR] == pytest.approx(0.8 * 0.3, abs=0.03)


def test_zero_is_a_declared_value() -> None:
    calls = failures("declared", SERVER, Tool("any", "do", latency_s=0.0, success=0.0))
    assert mean_s(calls) == 0
    assert shares(calls)[Ending.RESULT] == 0


def test_steady_neither_waits_nor_fails() -> None:
    assert set(failures("steady")) == {PlannedCall(0.0, Ending.RESULT)}


@each("profile", PROFILES)
def test_a_speed_of_zero_never_waits_and_changes_no_ending(profile: str) -> None:
    still, real = failures(profile, speed=0.0, calls=FEW), failures(profile, calls=FEW)
    assert {planned.wait_s for planned in still} == {0.0}
    assert [planned.ending for planned in still] == [planned.ending for planned in real]


@each("profile", PROFILES)
def test_a_seed_decides_everything(profile: str) -> None:
    assert failures(profile, calls=FEW) == failures(profile, calls=FEW)
    if profile != "steady":
        assert failures(profile, calls=FEW) != failures(profile, seed=2, calls=FEW)


def test_flaky_crashing_and_slow_are_what_they_say() -> None:
    assert shares(failures("flaky"))[Ending.ERROR] == pytest.approx(0.8 * 0.3, abs=0.03)
    assert shares(failures("crashing"))[Ending.DROP] == pytest.approx(0.25, abs=0.03)
    assert mean_s(failures("slow")) == pytest.approx(10.0, rel=0.05)
    assert PROFILES["slow-start"].start_s == 5


@pytest.mark.parametrize(("profile", "ending"), [("outages", Ending.HANG), ("drops", Ending.DROP)])
def test_outages_come_in_stretches(profile: str, ending: Ending) -> None:
    calm = Server("any", call_s=0.5)
    calls = failures(profile, calm, Tool("any", "do"))
    stretches = [len(list(group)) for down, group in groupby(calls, lambda planned: planned.ending is ending) if down]
    assert sum(stretches) / len(stretches) == pytest.approx(5, abs=1.5)
    assert max(stretches) > 8
    assert 0.2 < shares(calls)[ending] < 0.5
    assert {planned.ending for planned in calls} == {ending, Ending.RESULT}
