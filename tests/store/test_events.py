"""Events: what goes in comes out, in order, whole or not at all, and never changes."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.errors import StoreBusyError, StoreError
from core.domain.events import DecisionEvent, OutcomeEvent
from core.domain.outcome import OutcomeKind
from core.store import Store, catalogs
from core.store.connection import AT_A_TIME
from core.store.log import TABLES, entry
from core.store.migrations import FOLDER


def test_every_kind_in_one_call_and_missing_values(store: Store, make: SimpleNamespace) -> None:
    decision = make.decision(winner=None, expected_price_usd=None, expected_time_s=None)
    outcome = make.outcome(decision_id=decision.id, price_usd=None, connect_s=0.0, kind=OutcomeKind.TIMEOUT)
    store.events.append(decision, outcome, make.statistics(), make.parameter())
    assert store.activity.decision(decision.id) == decision
    assert store.activity.decision_outcomes(decision.id) == (outcome,)
    assert store.activity.latest_sequence() == 4
    assert store.activity.decision("no such") is None


def test_one_bad_event_keeps_all_out(store: Store, make: SimpleNamespace) -> None:
    stored = make.outcome()
    store.events.append(stored)
    with pytest.raises(StoreError, match="nothing of it was kept"):
        store.events.append(make.decision(), make.outcome(id=stored.id), make.parameter())
    assert store.activity.latest_sequence() == 1
    assert store.activity.decision_count() == 0
    store.events.append(make.decision())
    assert store.activity.latest_sequence() == 2


BAD: list[tuple[str, Any, str]] = [
    ("latency_s", float("nan"), "not a finite number"),
    ("latency_s", float("inf"), "not a finite number"),
    ("price_usd", -float("inf"), "not a finite number"),
    ("latency_s", "1", "not a finite number"),
    ("latency_s", None, "not a finite number"),
    ("at", datetime(2026, 1, 1), "not a time with a zone"),
    ("attempts", 1.5, "not a whole number"),
    ("attempts", 2**63, "not a whole number"),
    ("simulated", 1, "neither true nor false"),
    ("server", None, "not text"),
    ("server", "\ud800", "not valid Unicode"),
]


def test_what_cannot_be_stored_is_refused_by_both_ways(store: Store, make: SimpleNamespace) -> None:
    for field, value, words in BAD:
        event = make.outcome(**{field: value})
        for way in (store.events.append, store.events.append_later):
            with pytest.raises(StoreError, match=rf"OutcomeEvent\.{field} .*{words}"):
                way(make.outcome(), event)
    assert store.activity.latest_sequence() == 0


def test_only_events_are_taken(store: Store) -> None:
    with pytest.raises(StoreError, match="int is not a record"):
        store.events.append(3)  # type: ignore[arg-type]


def test_numbers_of_numpy_and_times_of_other_zones(store: Store, make: SimpleNamespace) -> None:
    moment = datetime(2026, 3, 1, 23, 30, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    store.events.append(make.outcome(at=moment, latency_s=np.float32(0.5), attempts=np.int64(2)))
    (event,) = store.events.outcomes("demo")
    assert (event.at, event.at.utcoffset(), event.latency_s, event.attempts) == (moment, timedelta(0), 0.5, 2)
    assert type(event.attempts) is int


def test_outcomes_of_one_catalog_in_order_of_commit(store: Store, make: SimpleNamespace) -> None:
    events = [make.outcome(catalog="demo" if n % 3 else "other") for n in range(AT_A_TIME * 8 // 5)]
    late = make.outcome(at=events[0].at - timedelta(days=1))
    store.events.append(*events)
    store.events.append(late)
    assert list(store.events.outcomes("demo")) == [*(e for e in events if e.catalog == "demo"), late]


def test_background_and_direct_writes_keep_their_order(tmp_path: Path, make: SimpleNamespace) -> None:
    events: list[OutcomeEvent] = []
    with Store(tmp_path / "db") as store:
        for n in range(60):
            event = make.outcome()
            events.append(event)
            (store.events.append if n % 7 == 0 else store.events.append_later)(event)
        store.events.flush()
        assert list(store.events.outcomes("demo")) == events
        store.events.append_later(last := make.outcome())
    with Store(tmp_path / "db") as store:
        assert list(store.events.outcomes("demo")) == [*events, last]
        assert store.activity.latest_sequence() == 61


def test_a_failed_background_write_loses_no_other_and_is_raised_once(
    store: Store, make: SimpleNamespace, caplog: pytest.LogCaptureFixture
) -> None:
    stored = make.outcome()
    store.events.append(stored)
    good, also = make.outcome(), make.outcome()
    with store._database.lock:  # all four gather into one batch
        store.events.append_later(good)
        store.events.append_later(make.outcome(), make.outcome(id=stored.id))
        store.events.make_later("", lambda: [make.outcome(), make.outcome(latency_s=math.nan)])
        store.events.append_later(also)
        with pytest.raises(StoreError, match=r"2 queued writes were lost; the first: .*Duplicate key"):
            store.events.flush()
    store.events.flush()
    assert list(store.events.outcomes("demo")) == [stored, good, also]
    assert caplog.text.count("were not stored") == 2
    assert "latency_s" in store.problem
    store.events.append_later(make.outcome())
    store.events.flush()
    assert store.problem == ""


def test_an_event_waits_until_another_process_gives_the_file_back(
    store: Store, make: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(_: object) -> None:
        raise StoreBusyError("in use")

    with monkeypatch.context() as patched:
        patched.setattr(store._log, "commit", busy)
        store.events.append_later(decision := make.decision())
        with pytest.raises(StoreError, match="in use"):
            store.events.flush()
    store.events.flush()
    assert store.activity.decision(decision.id) == decision


def test_waiting_for_one_event_does_not_wait_for_others(store: Store, make: SimpleNamespace) -> None:
    first, second = make.decision(), make.decision()
    with store._database.lock:  # the background cannot write
        store.events.append_later(first)
        store.events.wait_for("another")
        assert store.activity.decision(first.id) is None
        store.events.wait_for(first.id)
        assert store.activity.decision(first.id) == first
        store.events.make_later(second.id, lambda: [second])
        store.events.wait_for("another")
        assert store.activity.decision(second.id) is None
    store.events.wait_for(second.id)
    assert store.activity.decision(second.id) == second


def test_close_reports_what_was_lost_and_still_closes(tmp_path: Path, make: SimpleNamespace) -> None:
    store = Store(tmp_path / "db")
    store.events.append_later(event := make.outcome())
    store.events.append_later(event)
    with pytest.raises(StoreError, match="queued writes were lost"):
        store.close()
    store.close()
    with Store(tmp_path / "db") as reopened:
        assert list(reopened.events.outcomes("demo")) == [event]


def test_no_way_to_change_or_remove_an_event() -> None:
    sources = [Path(inspect.getfile(cls)).parent.glob("*.py") for cls in (Store,)]
    text = "\n".join(file.read_text() for files in [*sources, FOLDER.glob("*.sql")] for file in files)
    text = re.sub(r"ALTER TABLE \w+ (?:ADD COLUMN|ALTER COLUMN \w+ SET NOT NULL)", "", text)  # written rows stay
    text = text.replace("ALTER TABLE decisions ALTER COLUMN trace_json TYPE VARCHAR USING ''", "")  # moved to traces
    statements = re.findall(r"\b(?:UPDATE|DELETE FROM|TRUNCATE|DROP|ALTER|MERGE|REPLACE INTO) +(\{?\w+\}?)", text)
    # {table}: the caches of vectors, typed tables, and the rows of catalogs, which are replaced; none of them holds events
    replaced = set(re.findall(r'TypedTable\([\w.]+, \w+, "(\w+)"\)', text))
    assert replaced == {
        "catalogs", "settings", "scenario_runs", "snapshots", "run_parts", "equal_judgments", "spending", "lab_inputs", "lab_runs",
        "sweeps", "sweep_points", "command_runs",
    }  # fmt: skip
    assert not (replaced | {*catalogs.ROWS}) & {*TABLES.values(), "seals"}
    assert set(statements) <= {
        "scenario_runs",
        "spending",
        "{table}",
        "traces",
        "TABLE",
    }  # its traces are removed after their time


texts = st.text(st.characters(codec="utf-8"))
numbers = st.floats(allow_nan=False, allow_infinity=False)
offsets = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
instants = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=offsets)
wholes = st.integers(-(2**63), 2**63 - 1)


@pytest.fixture(scope="module")
def shared() -> Any:
    with Store() as store:
        yield store


@settings(max_examples=12)
@given(data=st.data())
def test_any_decision_and_outcome_round_trip(shared: Store, data: st.DataObject) -> None:
    strategies = {"str": texts, "float": numbers, "int": wholes, "bool": st.booleans(), "datetime": instants}

    def draw(kind: type) -> Any:
        values = {}
        for field in dataclasses.fields(kind):
            base, _, optional = str(field.type).partition(" | ")
            values[field.name] = data.draw(st.none() | strategies[base] if optional else strategies[base])
        return kind(**values)

    number = shared.activity.latest_sequence()
    decision = dataclasses.replace(draw(DecisionEvent), id=f"d{number}")
    first, second = (dataclasses.replace(draw(OutcomeEvent), id=f"{n}o{number}", decision_id=decision.id) for n in "ab")
    shared.events.append(first, decision, second)
    assert shared.activity.decision(decision.id) == decision
    assert shared.activity.decision_outcomes(decision.id) == (first, second)
    assert entry(first).values == entry(shared.activity.decision_outcomes(decision.id)[0]).values


def test_the_age_of_the_oldest_unwritten_event(store: Store, make: SimpleNamespace) -> None:
    with store.events.database.lock:  # the writer waits
        store.events.append_later(make.outcome())
        assert store.events.unwritten_s > 0
    store.events.flush()
    assert store.events.unwritten_s == 0
