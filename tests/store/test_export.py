"""Exports: Parquet exactly, CSV without formulas."""

from __future__ import annotations

import csv
from io import BytesIO, StringIO
from types import SimpleNamespace

import pytest
from pyarrow import parquet

from core.domain.errors import StoreError
from core.store import Store
from core.store.log import TABLES

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
