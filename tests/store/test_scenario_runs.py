"""Scenario runs come back as they were, each once; what is damaged is told."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.domain.errors import StoreError, UnknownNameError
from core.domain.lab_runs import SIMULATED, Conditions, KeptRun, RunSteps, run_id
from core.store import Store
from tests.store.conftest import T0

HOSTILE = "=1+1 '); DROP TABLE scenario_runs; -- <b>\u202e\n名"
CONDITIONS = Conditions("hybrid", "f1", "search-15", "f2", "search-15", "f3", 0, 3, 30, "", raw_questions=False)
STEPS = RunSteps(
    servers=("a", HOSTILE),
    tools=("look",),
    task=np.array([4, 0, 4], dtype=np.int32),
    server=np.array([1, -1, 0], dtype=np.int32),
    tool=np.array([0, -1, 0], dtype=np.int32),
    network_s=np.array([0.25, np.nan, 1.0]),
    price_usd=np.array([0.001, 0.0, 0.0]),
    ok=np.array([True, False, False]),
)


def run(id_: str = "one", **changes: Any) -> KeptRun:
    base = KeptRun(
        **dataclasses.asdict(CONDITIONS), mode=SIMULATED, router="sonar", setting="s3t6", parameters_json='{"a": 0.5}',
        id=id_, at=T0, ssr=0.5, ee=0.25, al_ms=625.0, sl_ms=1.5, fr=0.5, cost_usd=0.001, utility=None, version="0.1",
    )  # fmt: skip
    return dataclasses.replace(base, **changes)


def same(first: RunSteps, second: RunSteps) -> bool:
    assert (first.servers, first.tools) == (second.servers, second.tools)
    for name in ("task", "server", "tool", "network_s", "price_usd", "ok"):
        actual, expected = getattr(first, name), getattr(second, name)
        np.testing.assert_array_equal(actual, expected)
        assert actual.dtype == expected.dtype
    return True


def test_a_run_outlives_the_process_with_every_step(tmp_path: Path) -> None:
    hostile = run(HOSTILE, profile=HOSTILE, catalog=HOSTILE, utility=0.75, raw_questions=True)
    with Store(tmp_path / "db") as store:
        store.scenario_runs.save([(run(at=T0 - timedelta(hours=1)), STEPS), (hostile, STEPS)])
    with Store(tmp_path / "db") as store:
        runs = store.scenario_runs
        assert runs.newest(9) == (hostile, run(at=T0 - timedelta(hours=1)))
        assert runs.newest(9)[1].parameters == {"a": 0.5}
        assert (runs.newest(1), runs.count()) == ((hostile,), 2)
        assert same(runs.steps(HOSTILE), STEPS)
        assert runs.remove([HOSTILE, "never"]) == 1
        assert [kept_run.id for kept_run in runs.newest(9)] == ["one"]
        with pytest.raises(UnknownNameError, match="There is no run"):
            runs.steps(HOSTILE)


def test_the_same_run_takes_the_earlier_ones_place(store: Store) -> None:
    runs = store.scenario_runs
    runs.save([(run("two"), STEPS), (run(), STEPS)])
    fewer = dataclasses.replace(STEPS, ok=np.array([True, True, True]))
    repeated = run(at=T0 + timedelta(days=1), sl_ms=9.0, version="0.2")
    runs.save([(repeated, fewer), (repeated, fewer)])
    assert runs.newest(9) == (repeated, run("two"))
    assert same(runs.steps("one"), fewer)
    assert same(runs.steps("two"), STEPS)


def test_those_saved_together_are_listed_in_their_order_or_not_kept_at_all(store: Store) -> None:
    runs = store.scenario_runs
    runs.save([(run(name), STEPS) for name in "cab"])
    assert [kept_run.id for kept_run in runs.newest(9)] == ["c", "a", "b"]
    with pytest.raises(StoreError, match="cannot be stored"):
        runs.save([(run("d"), STEPS), (run("e", profile="\ud800"), STEPS)])
    assert runs.count() == 3


@pytest.mark.parametrize(
    "damage", ["ok = [true]", "server = [7, 0, 0]", "tool = [-2, 0, 0]", "ok = [true, NULL, true]", "servers = []"]
)
def test_damaged_steps_are_an_error_and_the_rest_is_listed(store: Store, damage: str) -> None:
    runs = store.scenario_runs
    runs.save([(run(), STEPS), (run("two"), STEPS)])
    with store._database.transaction() as connection:
        connection.execute(f"UPDATE scenario_runs SET {damage}, parameters_json = '{{' WHERE id = 'one'")
    with pytest.raises(StoreError, match="steps of run one are damaged; delete the run"):
        runs.steps("one")
    assert same(runs.steps("two"), STEPS)
    assert {kept_run.id: dict(kept_run.parameters) for kept_run in runs.newest(9)} == {"one": {}, "two": {"a": 0.5}}
    assert runs.remove(["one"]) == 1


def test_the_id_follows_from_every_input() -> None:
    def id_of(conditions: Conditions = CONDITIONS, *rest: str) -> str:
        return run_id(conditions, *(rest or (SIMULATED, "sonar", "s3t6", "{}")))

    others = [
        dataclasses.replace(CONDITIONS, **{field.name: "other" if field.type == "str" else 77})
        for field in dataclasses.fields(Conditions)
    ]
    changed = [("live", "sonar", "s3t6", "{}"), (SIMULATED, "prag", "s3t6", "{}"), (SIMULATED, "sonar", "s4t8", "{}")]
    ids = [id_of(), *map(id_of, others), *(id_of(CONDITIONS, *rest) for rest in changed)]
    assert len(set(ids)) == len(ids) == 15
    assert id_of() == id_of(dataclasses.replace(CONDITIONS))
