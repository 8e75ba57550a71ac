"""Contract of every format: a new entry of IMPORTERS is tested here without new test code."""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Callable
from dataclasses import fields

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.domain.catalog import Imported
from core.domain.errors import CatalogError
from core.importers import IMPORTERS, Importer, detect, read_document
from tests.cases import each
from tests.importers.test_broken import SECRET, client, plain, registry, remote

every = each("importer", IMPORTERS, ids=lambda importer: importer.name)
light = settings(max_examples=40, suppress_health_check=list(HealthCheck))

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.text(max_size=6), st.just(10**400), st.just("\ud800")
)
WORDS = re.findall(
    r"\S+",
    """servers mcpServers mcp_servers inputs name tools command url args env headers type packages remotes server config
    _meta mcp variables value id inputSchema environmentVariables price_usd connection mcp_server_cost_info annotations
    $schema isSecret isRequired default disabled enabled title description category protocol""",
)
KEYS = st.one_of(st.sampled_from(WORDS), st.text(max_size=4))
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=15
)


def sound(imported: Imported) -> None:
    """Checks guarantees that later code relies on."""
    names = [server.name for server in imported.servers]
    assert names
    assert len(set(names)) == len(names)
    for server in imported.servers:
        assert server.name.strip()
        assert "::" not in server.name
        assert len({tool.name for tool in server.tools}) == len(server.tools)
        for thing in (server, *server.tools):
            numbers = [v for f in fields(thing) if isinstance(v := getattr(thing, f.name), float)]
            assert all(math.isfinite(v) and v >= 0 for v in numbers)
    assert set(imported.needs_discovery) <= set(names)


def places(value: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """Every path in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in items for place in places(item, (*path, key)))]


def replaced(document: object, path: tuple[object, ...], value: object) -> object:
    if not path:
        return value
    copied = copy.deepcopy(document)
    inner = copied
    for key in path[:-1]:
        inner = inner[key]  # type: ignore[index]
    inner[path[-1]] = value  # type: ignore[index]
    return copied


@every
def test_detects_its_example_and_none_of_the_others(importer: Importer) -> None:
    assert detect(json.loads(importer.example)) is importer
    for other in IMPORTERS:
        assert other.matches(json.loads(importer.example)) is (other is importer)


@every
def test_reads_its_example_the_same_each_time_and_leaves_it_alone(importer: Importer) -> None:
    document = json.loads(importer.example)
    first = importer.read(document, source="a.json")
    assert document == json.loads(importer.example)
    assert first == importer.read(document, source="a.json") == read_document(importer.example, source="a.json")
    assert first.format == importer.name
    sound(first)


@every
@given(document=JSON)
@light
def test_no_document_makes_it_raise_anything_but_a_catalog_error(importer: Importer, document: object) -> None:
    for variant in (
        document,
        [document],
        {"servers": document},
        {"mcpServers": document},
        {"name": "x", "remotes": document},
    ):
        attempt(lambda variant=variant: importer.read(variant, source="a.json"))


@every
@given(data=st.data())
@light
def test_no_mutation_of_a_good_document_makes_it_raise_anything_else(importer: Importer, data: st.DataObject) -> None:
    document = data.draw(st.sampled_from([json.loads(importer.example), *RICH.get(importer.name, [])]))
    for _ in range(data.draw(st.integers(1, 3))):
        document = replaced(document, data.draw(st.sampled_from(places(document))), data.draw(JSON))
    attempt(lambda: importer.read(document, source="a.json"))
    attempt(lambda: read_document(json.dumps(document), source="a.json"))


@given(text=st.text() | st.binary())
@light
def test_no_text_makes_reading_raise_anything_else(text: str | bytes) -> None:
    for source in ("a.json", "a.toml"):
        with pytest.raises(CatalogError, match=r"^a\."):
            read_document(text, source=source)


def attempt(read: Callable[[], Imported]) -> None:
    """Reading gives a sound import or one clean sentence."""
    try:
        imported = read()
    except CatalogError as error:
        message = str(error)
    else:
        sound(imported)
        assert SECRET not in repr(imported)
        return
    assert re.fullmatch(r"a\.json: .*\.", message), "one line that names the source"
    assert SECRET not in message
    message.encode()


RICH: dict[str, list[object]] = {
    "plain": [plain(connection={"command": "npx", "args": ["--api-key", SECRET], "env": {"KEY": SECRET}})],
    "client_config": [
        remote(headers={"Authorization": f"Bearer {SECRET}"}, http_headers={"K": SECRET}, bearer_token_env_var="TOKEN"),
        client(args=["db", f"postgres://u:{SECRET}@h/d"], env={"K": "${input:key}"}),
        [{"name": "P", "category": "C", "config": client(env={"K": SECRET})}],
    ],
    "server_json": [
        registry(
            registry_type="oci",
            runtime_arguments=[{"type": "named", "name": "--token", "value": SECRET}],
            package_arguments=[{"type": "positional", "value": SECRET, "is_secret": True}],
            environment_variables=[{"name": "K", "default": SECRET}],
        ),
        {"name": "org.x/w", "remotes": [{
            "type": "sse", "url": "https://{tenant}.x.org/mcp", "variables": {"tenant": {"isRequired": True}},
            "headers": [{"name": "X-Key", "value": SECRET, "isSecret": True}],
        }]},
    ],
}  # fmt: skip
