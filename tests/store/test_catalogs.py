"""Catalogs come back as they were, whole, without secrets; edits are a log."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.catalog import Catalog, Connection, Server, Tool, ToolHints
from core.domain.errors import StoreError, UnknownNameError
from core.domain.tool_table import ToolRows
from core.store import Store
from core.store.catalogs import from_json
from tests.cases import each

texts = st.text(st.characters(codec="utf-8"), max_size=12)
anything = st.text(max_size=12)  # lone surrogates too: inside the document JSON escapes them
numbers = st.none() | st.floats(allow_nan=False, allow_infinity=False)
flags = st.none() | st.booleans()
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | anything,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(anything, inner, max_size=3),
    max_leaves=8,
)
schemas = st.none() | st.dictionaries(anything, json_values, max_size=3)
references = st.dictionaries(anything, st.sampled_from(["${secret:KEY}", "${env:HOME}", "Bearer ${input:token}", ""]))
proxies = references.map(MappingProxyType)
hints = st.builds(ToolHints, flags, flags, flags, flags)
tools = st.builds(
    Tool,
    *[anything] * 4,
    schemas,
    schemas,
    hints,
    *[numbers] * 3,
    *[anything] * 2,
    st.lists(anything, max_size=3).map(tuple),
)
connections = st.builds(
    Connection,
    st.sampled_from(["stdio", "http", "sse"]),
    command=anything,
    args=st.lists(anything, max_size=3).map(tuple),
    cwd=anything,
    env=references | proxies,
    url=anything,
    headers=references | proxies,
)
servers = st.builds(
    Server,
    *[anything] * 4,
    st.lists(tools, max_size=3).map(tuple),
    *[numbers] * 6,
    st.none() | connections,
    st.booleans(),
)
catalogs = st.builds(Catalog, texts, st.lists(servers, max_size=3).map(tuple))

SMALL = Catalog("demo", (Server("files", tools=(Tool("files", "read", input_schema={}), Tool("files", "list"))),))


@pytest.fixture(scope="module")
def shared() -> Iterator[Store]:
    with Store() as store:
        yield store


@settings(max_examples=15)
@given(catalog=catalogs)
def test_any_catalog_round_trips(shared: Store, catalog: Catalog) -> None:
    shared.catalogs.save_catalog(catalog, "test")
    loaded = shared.catalogs.load_catalog(catalog.name)
    assert loaded == catalog
    assert plain(loaded) == plain(catalog)


def plain(value: Any) -> Any:
    """Values with their types, because 1 equals True and 1.0."""
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict | MappingProxyType):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, ToolRows):
        value = tuple(value)
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(plain, value)]
    return type(value).__name__, repr(value)


def test_a_document_of_an_earlier_version_is_read() -> None:
    document = json.loads(json.dumps(dataclasses.asdict(SMALL)))
    del document["servers"][0]["virtual"]
    for tool in document["servers"][0]["tools"]:
        del tool["preconditions"]
    assert from_json(json.dumps(document)) == SMALL


def test_list_replace_remove(store: Store, make: SimpleNamespace) -> None:
    keep = store.catalogs
    keep.save_catalog(SMALL, "mcp.json")
    keep.save_catalog(Catalog("b'; DROP TABLE catalogs; --"), "")
    rows = keep.list_catalogs()
    assert [(row.name, row.source, row.servers, row.tools) for row in rows] == [
        ("b'; DROP TABLE catalogs; --", "", 0, 0),
        ("demo", "mcp.json", 1, 2),
    ]
    assert rows[0].imported_at == make.parameter().at
    keep.save_catalog(Catalog("demo"), "again")
    assert keep.load_catalog("demo") == Catalog("demo")
    keep.remove_catalog("demo")
    assert keep.load_catalog("demo") is None
    assert len(keep.list_catalogs()) == 1
    with pytest.raises(UnknownNameError, match="no catalog 'demo'"):
        keep.remove_catalog("demo")


@each("part", ["env", "headers"])
@each(
    "value", ["sk-live-123", "$HOME", "sk-live-123 ${env:A}", "${env:A} sk-live-123", "Bearer sk-live-123", "${}", " "]
)
def test_a_secret_is_refused_and_the_old_catalog_stays(store: Store, part: str, value: str) -> None:
    store.catalogs.save_catalog(SMALL, "first")
    connection = Connection("stdio", **{part: {"API_KEY": value}})  # type: ignore[arg-type]
    with pytest.raises(StoreError, match=r"API_KEY of server leaky may be a secret.*\$\{secret:NAME\}") as error:
        store.catalogs.save_catalog(Catalog("demo", (Server("leaky", connection=connection),)), "second")
    assert "sk-live" not in str(error.value)
    assert store.catalogs.load_catalog("demo") == SMALL


@each("schema", [{"x": math.nan}, {"x": math.inf}, {"x": b"bytes"}, {"x": {1, 2}}, {("a",): 1}], ids=str)
def test_what_is_not_json_is_refused(store: Store, schema: dict[Any, Any]) -> None:
    with pytest.raises(StoreError, match="demo cannot be stored, it is not valid JSON"):
        store.catalogs.save_catalog(Catalog("demo", (Server("s", tools=(Tool("s", "t", input_schema=schema),)),)), "")
    assert store.catalogs.list_catalogs() == ()


def test_a_document_of_another_shape_is_an_error(store: Store) -> None:
    with store._database.transaction() as connection:
        connection.execute(
            """INSERT INTO catalogs VALUES ('odd', '', 0, 0, now(), '{"name": "odd", "servers": [{}]}')"""
        )
    with pytest.raises(StoreError, match=r"catalog odd cannot be read .*import it again"):
        store.catalogs.load_catalog("odd")


def test_the_latest_edit_of_each_price_is_in_force(store: Store, make: SimpleNamespace) -> None:
    edit = make.override
    first, second, ask, other = edit(value=1.0), edit(value=2.0), edit(tool="", field="ask_usd"), edit(tool="list")
    for override in (first, second, ask, other, edit(catalog="other", value=9.0)):
        store.catalogs.set_override(override)
    assert store.catalogs.overrides("demo") == (second, ask, other)
    store.catalogs.set_override(edit(value=None))
    assert store.catalogs.overrides("demo") == (ask, other)
    store.catalogs.set_override(zero := edit(value=0.0))
    assert store.catalogs.overrides("demo") == (ask, other, zero)
    assert store.catalogs.overrides("none") == ()
    assert store.activity.export("overrides", "csv").count(b"\n") == 8  # the log keeps them all
    with pytest.raises(StoreError, match=r"Override\.value .*finite"):
        store.catalogs.set_override(edit(value=math.nan))
