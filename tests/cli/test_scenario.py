"""`wayfare scenario`, NetMCP's experiment on a small world, and wrong use of `wayfare papers`: what that makes is in tests/lab/test_papers.py."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote

import pytest

from core.network.profiles import NetworkProfiles, Profile, load_profile
from core.network.states import Ideal, Outage
from core.papers import PAPERS
from core.store import Store
from tests.cases import each
from tests.cli.conftest import Command, refused, server, tool

KEYS = ["router", "setting", "ssr", "ee", "al_ms", "sl_ms", "fr"]
TWO = ("--router", "prag", "--router", "sonar")


@pytest.fixture
def small(write) -> tuple[object, ...]:
    """Two servers that search, one query, and a profile in which the first is down for good: the beginning of a command."""
    servers = [
        server(name, tool("look", f"Use {word} to search the web.")) for name, word in (("a", "this"), ("b", "it"))
    ]
    task = {"id": "t", "subtask": "search the web", "relevant": ["a::look", "b::look"]}
    profile = Profile("gone", servers={"a": (Outage(start=1, shortest=99, longest=99),)}, default=(Ideal(),))
    catalog, tasks = write("c.json", {"servers": servers}), write("t.jsonl", [task])
    return ("scenario", write("gone.json", profile.to_json()), "--catalog", catalog, "--tasks", tasks)


def test_the_document_is_the_one_of_the_contract(wayfare: Command, small) -> None:
    line = (*small, "--steps", "20", *TWO, "--router", "ehrr", "--set", "half_life_s=0")  # else EHRR tries again
    document = wayfare(*line, "--json").json()
    assert list(document) == ["runs"]
    assert [(run["router"], run["setting"]) for run in document["runs"]] == [
        (router, setting) for router in ("prag", "sonar", "ehrr") for setting in ("s3t6", "s4t8", "s5t10", "s6t12")
    ]
    for run in document["runs"]:
        assert list(run) == (KEYS if run["router"] != "ehrr" else [*KEYS, "cost_usd", "utility"])
        assert run["ssr"] == 1
        assert run["fr"] == (1 if run["router"] == "prag" else 0)
    table = wayfare(*line, "--setting", "s3t6").out.splitlines()
    assert table[0].split()[:4] == ["router", "setting", "SSR", "EE"]
    assert all("unpriced" in row for row in table[1:])
    assert [row.split()[:2] for row in table[1:]] == [["prag", "s3t6"], ["sonar", "s3t6"], ["ehrr", "s3t6"]]


def test_live_calls_are_made_and_marked_as_such(wayfare: Command, small, db: Path) -> None:
    (sonar,) = wayfare(*small, "--steps", "2", "--router", "sonar", "--live", "--json").json()["runs"]
    assert list(sonar) == [*KEYS, "mode"]
    assert (sonar["mode"], sonar["setting"], sonar["fr"]) == ("live", "s3t6", 0)
    with Store(db) as store:
        calls = [*store.activity.calls().itertuples()]
        assert {run.mode for run in store.scenario_runs.newest(9)} == {"live"}
    assert [(call.server, call.origin, call.simulated) for call in calls] == [("b", "scenario", True)] * 2


def test_a_parameter_is_for_the_routers_that_have_it(wayfare: Command, small) -> None:
    line = (*small, "--steps", "9", "--setting", "s3t6", *TWO)
    assert wayfare(*line, "--set", "a=1", "--json").json()["runs"][1]["fr"] == 1  # a = 1 is PRAG
    refused(wayfare(*line, "--set", "alpha_t=1"), "alpha_t", "wayfare parameters")
    refused(wayfare(*line, "--set", "a=2"), "a = 2")


@each(
    ("line", "words"),
    [
        ("scenario", ("NAME",)),
        ("scenario nowhere", ("nowhere", "hybrid")),
        ("scenario missing.json", ("missing.json",)),
        ("scenario ideal --router nobody", ("nobody", "sonar")),
        ("scenario ideal --setting s3", ("s3", "s3t6")),
        ("scenario ideal --steps 0", ("--steps",)),
        ("papers --paper nobody's --to made", ("nobody's", *PAPERS)),
    ],
)
def test_wrong_use_is_one_sentence(wayfare: Command, line: str, words: tuple[str, ...]) -> None:
    refused(wayfare(*line.split()), *words)
    assert not Path("made").exists()


def test_runs_are_stored_once_unless_switched_off(wayfare: Command, small, db: Path) -> None:
    def stored() -> list[tuple[str, str, str]]:
        with Store(db) as store:
            return [(run.profile, run.router, run.tasks) for run in store.scenario_runs.newest(99)]

    line = (*small, "--steps", "9", "--setting", "s3t6", *TWO)
    wayfare(*line, "--no-store", "--json").json()
    assert stored() == []
    first, second = (wayfare(*line, "--json").json()["runs"] for _ in range(2))
    assert [run["ssr"] for run in first] == [run["ssr"] for run in second]
    assert stored() == [("gone", "prag", "t.jsonl"), ("gone", "sonar", "t.jsonl")]
    with Store(db) as store:
        ids = [run.id for run in store.scenario_runs.newest(9)]
        commands = [unquote(run.link) for run in store.command_runs.newest(9)]
    assert commands == [*[f"/network?runs={','.join(ids)}"] * 2, ""]


def test_a_store_that_another_process_has_does_not_lose_the_result(
    wayfare: Command, small, owner: int, db: Path
) -> None:
    run = wayfare(*small, "--steps", "9", "--router", "prag", "--json")
    assert (run.code, len(json.loads(run.out)["runs"]), run.err.count("\n")) == (0, 4, 1)
    assert run.err.startswith("The runs are not stored. ")
    assert f"PID {owner}" in run.err


def test_a_store_that_refuses_the_runs_does_not_lose_the_result(wayfare: Command, small, db: Path) -> None:
    with Store(db) as store, store._database.transaction() as connection:
        connection.execute("DROP TABLE scenario_runs")
    run = wayfare(*small, "--steps", "9", "--router", "prag")
    assert (run.code, run.out.count("prag"), run.err.count("\n")) == (0, 4, 1)
    assert run.err.startswith(f"The runs are not stored. The store {db} refused a write")


def test_a_saved_network_is_found_by_its_name_beside_the_store(
    wayfare: Command, small, db: Path, tmp_path: Path
) -> None:
    NetworkProfiles(db.parent / "networks").save(load_profile(str(small[1])))
    line = ("scenario", "gone", *small[2:], "--steps", "9", "--setting", "s3t6", "--router", "prag", "--no-store")
    assert wayfare(*line, "--json").json()["runs"][0]["fr"] == 1
    refused(wayfare(*line, "--db", tmp_path / "elsewhere" / "w.duckdb"), "'gone'", "hybrid")
    (db.parent / "networks" / "bad.json").write_text("{")
    refused(wayfare("scenario", "bad", *small[2:]), "bad.json")
