"""The Activity page's figures against plain sums; exports: Parquet exactly, CSV without formulas."""

from __future__ import annotations

import csv
import dataclasses
from datetime import datetime, timedelta
from io import BytesIO, StringIO
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from pyarrow import parquet

from core.domain.errors import StoreError
from core.store import ActivityFilter, Store
from core.store.log import TABLES

HOUR = timedelta(hours=1)


def ids(frame: pd.DataFrame) -> list[str]:
    return frame["id"].tolist()


@pytest.fixture
def filled(store: Store, make: SimpleNamespace) -> Store:
    """Four decisions and seven calls of two servers over three hours."""
    t0 = make.parameter().at.replace(minute=10, second=0, microsecond=0)
    call = make.outcome
    store.events.append(
        make.decision(id="d-read", at=t0, subtask="Read 100% of a_file", winner="files::read"),
        make.decision(id="d-none", at=t0 + HOUR, winner=None, reason="no candidate", origin="cli"),
        make.decision(id="d-find", at=t0 + 2 * HOUR, subtask="find ÄRGER", winner="web::find", catalog="other"),
        make.decision(id="d-list", at=t0 + 3 * HOUR, subtask="list", winner="files::list", router="sonar"),
        call(id="c1", at=t0, decision_id="d-read", price_usd=0.002, latency_s=1.0),
        call(id="c2", at=t0 + timedelta(minutes=40), price_usd=None, latency_s=3.0, kind="timeout", error="no answer"),
        call(id="c3", at=t0 + timedelta(minutes=41), price_usd=0.5, latency_s=9.0, kind="cancelled"),
        call(id="c4", at=t0 + HOUR, tool="list", price_usd=0.004, latency_s=2.0, decision_id="d-list"),
        call(id="c5", at=t0 + HOUR, simulated=True, price_usd=7.0, latency_s=50.0, decision_id="d-read"),
        call(id="c6", at=t0 + 2 * HOUR, server="web", tool="find", price_usd=None, catalog="other", origin="agent"),
        call(id="c7", at=t0 - HOUR, server="web", tool="find", price_usd=None, kind="tool_error"),
    )
    return store


def test_decisions_newest_first_without_long_fields(filled: Store) -> None:
    frame = filled.activity.decisions()
    assert ids(frame) == ["d-list", "d-find", "d-none", "d-read"]
    assert not {"parameters_json", "candidates_json", "trace_json"} & set(frame.columns)
    assert str(frame["at"].dtype) == "datetime64[us, UTC]"
    assert ids(filled.activity.decisions(limit=2, offset=1)) == ["d-find", "d-none"]
    assert ids(filled.activity.decisions(limit=0)) == []


def test_calls_newest_first_with_their_decision(filled: Store) -> None:
    frame = filled.activity.calls()
    assert ids(frame) == ["c6", "c5", "c4", "c3", "c2", "c1", "c7"]
    row = frame.set_index("id").loc["c4"]
    assert (row["subtask"], row["router"]) == ("list", "sonar")
    assert frame["price_usd"].isna().sum() == 3
    assert ids(filled.activity.calls(limit=3, offset=5)) == ["c1", "c7"]


CALLS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, {"c1", "c2", "c3", "c4", "c5", "c6", "c7"}),
    ({"catalog": "other"}, {"c6"}),
    ({"server": "web"}, {"c6", "c7"}),
    ({"server": "web", "tool": "read"}, set()),
    ({"tool": "list"}, {"c4"}),
    ({"kinds": ("timeout", "tool_error")}, {"c2", "c7"}),
    ({"origin": "agent"}, {"c6"}),
    ({"simulated": True}, {"c5"}),
    ({"simulated": False, "server": "files"}, {"c1", "c2", "c3", "c4"}),
    ({"text": "NO ANS"}, {"c2"}),
    ({"text": "100% of a_f"}, {"c1", "c5"}),
    ({"text": "%"}, {"c1", "c5"}),
    ({"text": "_"}, {"c1", "c5"}),
    ({"text": "' OR true --"}, set()),
    ({"server": ""}, set()),
]


def test_filtered_calls(filled: Store) -> None:
    for fields, expected in CALLS:
        criteria = ActivityFilter(**fields)
        assert set(ids(filled.activity.calls(criteria))) == expected, fields
        assert filled.activity.call_count(criteria) == len(expected)


DECISIONS: list[tuple[dict[str, Any], set[str]]] = [
    ({"catalog": "other"}, {"d-find"}),
    ({"server": "files"}, {"d-read", "d-list"}),
    ({"server": "file"}, set()),
    ({"tool": "find"}, {"d-find"}),
    ({"server": "files", "tool": "list"}, {"d-list"}),
    ({"origin": "cli"}, {"d-none"}),
    ({"text": "ärger"}, {"d-find"}),
    ({"text": "no cand"}, {"d-none"}),
    ({"text": "\\"}, set()),
    ({"kinds": ("ok",)}, {"d-read", "d-list"}),
    ({"simulated": True}, {"d-read"}),
]


def test_filtered_decisions(filled: Store) -> None:
    for fields, expected in DECISIONS:
        criteria = ActivityFilter(**fields)
        assert set(ids(filled.activity.decisions(criteria))) == expected, fields
        assert filled.activity.decision_count(criteria) == len(expected)


def test_since_is_inclusive_and_until_exclusive(filled: Store) -> None:
    times = {row.id: row.at for row in filled.activity.calls().itertuples()}
    criteria = ActivityFilter(since=times["c1"].to_pydatetime(), until=times["c4"].to_pydatetime())
    assert ids(filled.activity.calls(criteria)) == ["c3", "c2", "c1"]
    assert ids(filled.activity.decisions(criteria)) == ["d-read"]
    with pytest.raises(StoreError, match="no zone"):
        ActivityFilter(since=datetime(2026, 1, 1))


def test_spending_keeps_unpriced_and_simulated_apart(filled: Store) -> None:
    rows = filled.activity.spending_by_server().set_index(["server", "simulated"])
    real = rows.loc[("files", False)]
    assert real["spent_usd"] == pytest.approx(0.506)
    assert (real["calls"], real["unpriced_calls"]) == (4, 1)
    assert rows.loc[("files", True), "spent_usd"] == 7.0
    assert pd.isna(rows.loc[("web", False), "spent_usd"])
    assert rows.loc[("web", False), "unpriced_calls"] == 2


def test_spending_over_time(filled: Store) -> None:
    frame = filled.activity.spending_over_time(HOUR, ActivityFilter(server="files"))
    assert frame["at"].dt.hour.tolist() == [12, 13, 13]
    assert frame["simulated"].tolist() == [False, False, True]
    assert frame["spent_usd"].tolist() == pytest.approx([0.502, 0.004, 7.0])
    assert frame["calls"].tolist() == [3, 1, 1]
    assert frame["unpriced_calls"].tolist() == [1, 0, 0]


def test_success_and_latency_over_time(filled: Store) -> None:
    frame = filled.activity.success_and_latency_over_time(HOUR, ActivityFilter(server="files", simulated=False))
    first = frame.iloc[0]
    assert (first["calls"], first["success_share"]) == (2, 0.5)  # the cancelled call does not count
    assert (first["latency_p50_s"], first["latency_p95_s"]) == pytest.approx((2.0, 2.9))
    assert frame.iloc[1]["latency_p50_s"] == 2.0
    series = filled.activity.success_and_latency_over_time(timedelta(days=1), ActivityFilter(server="files"))
    assert series["simulated"].tolist() == [False, True]
    assert series["latency_p50_s"].tolist() == [2.0, 50.0]


def test_a_call_that_was_not_made_or_that_an_injected_network_troubled_says_nothing_about_a_tool(
    store: Store, make: SimpleNamespace
) -> None:
    store.events.append(*(make.outcome(latency_s=9.0, kind=kind) for kind in ("not_tried", "busy")))
    store.events.append(make.outcome(latency_s=1.0), make.outcome(latency_s=9.0, kind="timeout", injected="no answer"))
    (row,) = store.activity.success_and_latency_over_time(timedelta(days=1)).to_dict("records")
    assert (row["calls"], row["success_share"], row["latency_p95_s"]) == (1, 1.0, 1.0)
    assert store.activity.calls(limit=2)["injected"].tolist() == ["no answer", ""]


@pytest.mark.parametrize("bucket", [timedelta(0), timedelta(seconds=-1)])
def test_a_bucket_has_a_length(store: Store, bucket: timedelta) -> None:
    for draw in (store.activity.spending_over_time, store.activity.success_and_latency_over_time):
        with pytest.raises(StoreError, match="bucket"):
            draw(bucket)


def test_statistics_history(store: Store, make: SimpleNamespace) -> None:
    events = [make.statistics(server_calls=n, tool="read" if n % 2 else "list") for n in range(6)]
    store.events.append(*events, make.statistics(server="web"), make.statistics(catalog="other"))
    history = store.activity.statistics_history
    assert history("demo", "files")["server_calls"].tolist() == [0, 1, 2, 3, 4, 5]
    assert history("demo", "files", "read")["server_calls"].tolist() == [1, 3, 5]
    assert history("demo", "files", limit=2)["server_calls"].tolist() == [4, 5]
    fields = {field.name for field in dataclasses.fields(events[0])}
    assert set(history("demo", "files").columns) == {"sequence", *fields}


def test_the_marker_moves_with_every_commit(store: Store, make: SimpleNamespace) -> None:
    marks = [store.activity.latest_sequence()]
    for write in (
        lambda: store.events.append(make.decision(), make.outcome()),
        lambda: store.catalogs.set_override(make.override()),
        lambda: (store.events.append_later(make.parameter()), store.events.flush()),
    ):
        write()
        marks.append(store.activity.latest_sequence())
    assert marks == [0, 2, 3, 4]


HARMLESS = ["plain", "1+1", "it's", "a=b", "a,b", 'say "hi"', "two\nlines", "ünïcode", " =1"]
FORMULAS = ["=1+1", "+1", "-1", "@sum", '=HYPERLINK("http://x","y")', "\t=1", "\r=1", "\n=1", '=","']


def test_parquet_is_exact(store: Store, make: SimpleNamespace) -> None:
    events = [make.outcome(error=text, price_usd=None if n % 2 else -0.5) for n, text in enumerate(HARMLESS + FORMULAS)]
    store.events.append(*events)
    rows = parquet.read_table(BytesIO(store.activity.export("outcomes", "parquet"))).to_pylist()
    assert [row.pop("sequence") for row in rows] == list(range(1, len(events) + 1))
    assert [type(events[0])(**row) for row in rows] == events


def test_csv_comes_back_with_formulas_disarmed(store: Store, make: SimpleNamespace) -> None:
    texts = HARMLESS + FORMULAS
    store.events.append(*(make.decision(subtask=text, expected_time_s=-1.5, winner=None, reason="") for text in texts))
    text = store.activity.export("decisions", "csv").decode("utf-8")
    rows = list(csv.DictReader(StringIO(text, newline="")))
    assert [row["subtask"] for row in rows] == HARMLESS + [f"'{text}" for text in FORMULAS]
    assert {row["expected_time_s"] for row in rows} == {"-1.5"}
    assert '"' in text.splitlines()[1]
    cells = [cell for row in csv.reader(StringIO(text, newline="")) for cell in row]
    assert not [cell for cell in cells if cell[:1] in "=+@\t\r\n" and cell]


def test_csv_distinguishes_missing_from_empty(store: Store, make: SimpleNamespace) -> None:
    store.events.append(make.outcome(decision_id=None, error=""))
    line = store.activity.export("outcomes", "csv").decode().splitlines()[1]
    assert ",,".join(('"', '"')) not in line
    assert line.endswith(',,1,0.002,false,"","console","",""')


def test_every_table_exports_when_empty_and_others_are_refused(store: Store) -> None:
    for table in TABLES.values():
        for format_ in ("csv", "parquet"):
            assert b"sequence" in store.activity.export(table, format_)
    with pytest.raises(StoreError, match="no table 'catalogs; DROP TABLE decisions'"):
        store.activity.export("catalogs; DROP TABLE decisions", "csv")
    with pytest.raises(StoreError, match="no export format 'xlsx'"):
        store.activity.export("decisions", "xlsx")  # type: ignore[arg-type]
