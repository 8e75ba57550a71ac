"""Documents handed over: read as one import or not at all; prices typed; connections in words."""

from __future__ import annotations

import pytest

from core.app import App
from core.domain.catalog import Connection
from core.domain.errors import CatalogError
from core.importers.shipped_catalogs import check_name
from dashboard.pages.catalog.connection_job import command_line, connection_lines
from dashboard.pages.catalog.detail import parse_price
from dashboard.pages.catalog.imports import (
    PASTED,
    Document,
    name_for,
    read_documents,
    source_of,
)
from tests.cases import each
from tests.dashboard.harness import app_with

ONE = '{"servers": [{"name": "a", "tools": [{"name": "t", "price_usd": 0.001}]}]}'
TWO = '{"mcpServers": {"b": {"command": "npx", "env": {"KEY": "hunter2-secret"}}}}'


app = app_with()


def test_one_bad_document_spoils_all_and_every_problem_is_listed(app: App) -> None:
    bad = '{"servers": [{"name": "a", "tools": [{"name": "t"}, {"name": "t", "price_usd": NaN}]}]}'
    reading = read_documents(app, [Document("one.json", ONE), Document("bad.json", bad)])
    assert reading.imported is None
    assert reading.sentence.startswith("Nothing was imported: bad.json: ")
    assert reading.sentence.endswith("(and 1 more problem).")
    assert len(reading.problems) == 2


def test_servers_of_one_name_in_two_documents_are_a_problem(app: App) -> None:
    reading = read_documents(app, [Document("one.json", ONE), Document("again.json", ONE)])
    assert reading.imported is None
    assert "again.json" in reading.sentence


@each("name", ["", "   ", "x" * 301, "a\nb", "a\u202eb"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(CatalogError, match="name"):
        check_name(name)


def test_a_name_suggests_itself(app: App) -> None:
    assert name_for([Document("my tools.json", "")], app) == "my-tools"
    assert name_for([Document("sample.json", "")], app) == "imported-1"
    assert name_for([Document("search-15.json", "")], app) == "imported-1"
    assert name_for([Document(PASTED, "")], app) == "imported-1"
    assert source_of([Document(f"{n}.json", "") for n in range(7)]).endswith("4.json and 2 more")


def test_a_document_does_not_show_its_content() -> None:
    assert "hunter2" not in repr(Document("two.json", TWO))


@each(("text", "price"), [("2.5", 0.0025), (" 2,5 m$", 0.0025), ("$1.20", 1.2), ("0", 0.0)])
def test_prices_are_read_in_both_units(text: str, price: float) -> None:
    assert parse_price(text) == pytest.approx(price)


@each("text", ["", "free", "-1", "nan", "inf", "1e999", "$", "1 2", "<b>1</b>"])
def test_what_is_no_price_is_told_in_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="write a number of at least 0"):
        parse_price(text)


def test_a_command_is_shown_as_it_will_run() -> None:
    hostile = Connection(
        "stdio", command="sh", args=("-c", "a b; rm\nx\u202e"), env={"K": "${secret:s/K}"}, cwd="/tmp/a b"
    )
    assert command_line(hostile) == r'sh -c "a b; rm\nx\u202e"'
    assert connection_lines(hostile).splitlines()[1:] == ["in '/tmp/a b'", "K=${secret:s/K}"]
    remote = Connection("http", url="https://x.org/mcp", headers={"Authorization": "Bearer ${env:T}"})
    assert connection_lines(remote) == "https://x.org/mcp\nAuthorization: 'Bearer ${env:T}'"
