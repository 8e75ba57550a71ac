"""Wrong use: exit 2, one line on standard error that says what to do, nothing on standard output, no traceback."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from core.cli.main import wayfare as every_command
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from tests.benchmarks.measuring import free_port
from tests.cases import each
from tests.cli.conftest import Command, refused, server, tool

CONVERT = ("call", "unit-exchange", "convert_units")


@each(
    ("line", "words"),
    [
        ("", ("Name a command", "--help")),
        ("nope", ("nope", "wayfare --help")),
        ("--bogus", ("--bogus",)),
        ("catalogs --bogus", ("--bogus", "wayfare catalogs --help")),
        ("catalogs surplus", ("surplus",)),
        ("route", ("TEXT", "wayfare route --help")),
        ("call unit-exchange", ("TOOL",)),
        ("import", ("FILES",)),
        ("pin --remove", ("SERVER::TOOL",)),
        ("pin --client ann", ("SERVER::TOOL",)),
        (f"scenario ideal --seed {2**63}", ("--seed",)),
        (f"bench --tasks x.jsonl --seed {2**63}", ("--seed",)),
        (f"sweep --tasks x.jsonl --axis k=1,2 --seed {2**63}", ("--seed",)),
        ("discover", ("FILE",)),
        ("bench", ("--tasks",)),
        ("route words --set", ("--set",)),
        ("route words --set alpha_t", ("alpha_t", "NAME=VALUE")),
        ("route words --set =1", ("NAME=VALUE",)),
        ("route words --set bogus=1", ("bogus", "wayfare parameters")),
        ("route words --set alpha_t=-1", ("alpha_t", "0.0 to 2.0")),
        ("route words --router nope", ("nope", "ehrr")),
        ("parameters --router nope", ("nope", "ehrr")),
        ("bench --tasks x.jsonl --router nope --catalog nope", ("nope",)),
        ("route words --catalog nope", ("nope", "wayfare catalogs")),
        ("route words --catalog nope.json", ("nope.json", "no such file")),
        ("status --db ~nobody-here/x", ("~nobody-here/x", "no such user")),
        ("server add a --cwd ~nobody-here/x -- a", ("~nobody-here/x", "no such user")),
        ("import nope.json", ("nope.json", "no such file")),
        ("discover nope.json", ("nope.json", "no such file")),
        ("bench --tasks nope.jsonl", ("nope.jsonl", "No such file")),
        ("call nope convert_units", ("nope", "sample")),
        ("call unit-exchange nope", ("nope", "convert_units")),
        ("up --port 0", ("--port",)),
        ("up --port 70000", ("70000", "65535")),
        ("up --host .", ("listen", "--host")),
        ("route words --catalog nope --json", ("nope",)),
        ("catalogs --json --bogus", ("--bogus",)),
        (f"route words --catalog {'x' * 300}", ("There is no catalog",)),
    ],
)
def test_lines(wayfare: Command, line: str, words: tuple[str, ...]) -> None:
    refused(wayfare(*line.split()), *words)


NAN = '{"servers": [{"name": "files", "tools": [{"name": "read", "price_usd": NaN}]}]}'


@each(
    ("content", "words"),
    [
        ("not JSON at all", ("line 1",)),
        ("[1, 2]", ("shape",)),
        ({"servers": []}, ("no server",)),
        ({"servers": [server("files", tool("read"), tool("read"))]}, ("read",)),
        (NAN, ("price_usd", "NaN")),
    ],
)
def test_catalog_files(wayfare: Command, write, content: Any, words: tuple[str, ...]) -> None:
    file = write("broken.json", content)
    for line in (("import", file), ("route", "words", "--catalog", file)):
        refused(wayfare(*line), "broken.json", *words)


@each(
    ("text", "words"),
    [("", ("empty",)), ("x " * 10_001, ("20,001", "20,000")), ("caf\udcff", ("Unicode",))],
    ids=["empty", "over-long", "no Unicode"],
)
def test_sub_tasks_that_are_none(wayfare: Command, raw_catalog: Path, text: str, words: tuple[str, ...]) -> None:
    refused(wayfare("route", text, "--catalog", raw_catalog), *words)


@each(
    ("lines", "words"),
    [
        ("", ("holds no task",)),
        ('{"id": "1", "subtask": "x", "relevant": []}\nnonsense', ("line 2", "JSON")),
        ('{"id": "1", "subtask": "x", "relevant": ["read"]}', ("line 1", "server::tool")),
        ("[]", ("line 1", "a list")),
    ],
)
def test_task_files(wayfare: Command, write, raw_catalog: Path, lines: str, words: tuple[str, ...]) -> None:
    file = write("tasks.jsonl", lines)
    refused(wayfare("bench", "--tasks", file, "--catalog", raw_catalog), "tasks.jsonl", *words)


@each(
    ("arguments", "words"),
    [
        ("{", ("--args", "not JSON")),
        ("[1]", ("--args", "a list")),
        ("null", ("--args", "null")),
        ("[" * 100_000, ("--args", "not JSON")),
        ('{"value": NaN, "source": "mi", "target": "km"}', ("--args", "not JSON")),
        ('{"value": 3, "source": "\\ud83d", "target": "km"}', ("--args", "not JSON")),
        ("{}", ("value is required", "source is required", "target is required")),
        ('{"value": "three", "source": "mi", "target": "km"}', ("value", "number")),
    ],
)
def test_arguments_of_a_call(wayfare: Command, arguments: str, words: tuple[str, ...]) -> None:
    refused(wayfare(*CONVERT, "--args", arguments), *words)


@each("number", ["nan", "inf"])
def test_no_option_with_a_range_takes_a_number_that_is_not_finite(number: str) -> None:
    ranges = list(options_with_a_range(every_command))
    assert len(ranges) >= 11
    for option in ranges:
        with pytest.raises(click.BadParameter):
            option.type_cast_value(click.Context(every_command), number)


def options_with_a_range(command: click.Command) -> Iterator[click.Parameter]:
    """The options of a command, and of those below it, that take a number of a range."""
    yield from (option for option in command.params if isinstance(option.type, click.FloatRange))
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from options_with_a_range(below)


@each("limit", ["0", "-1", "nan", "inf", "4000", "soon"])
def test_limits_of_a_call(wayfare: Command, limit: str) -> None:
    refused(wayfare("call", "gremlin", "hang", "--timeout", limit), "--timeout", limit)


@each("limit", ["--days 9999999", "--days inf", "--days nan", "--per-minute inf", "--per-minute nan"])
def test_limits_of_a_client(wayfare: Command, limit: str) -> None:
    refused(wayfare("clients", "add", "ann", *limit.split()), *limit.split())


def test_what_would_not_work_on_a_page_stops_the_console_from_starting(
    wayfare: Command, tmp_path: Path, db: Path
) -> None:
    refused(wayfare("up", "--port", free_port(), "--db", tmp_path), "directory", "--db")
    refused(wayfare("up", "--port", free_port(), "--catalog", "nope"), "nope", "wayfare catalogs")


def test_the_store_is_no_database(wayfare: Command, write, db: Path) -> None:
    file = write("letter.txt", "Dear Sir or Madam, " * 1000)
    refused(wayfare("catalogs", "--db", file), "letter.txt", "cannot be opened", "--db")
    assert file.read_text().startswith("Dear Sir")


def test_the_store_belongs_to_another_process(wayfare: Command, owner: int, raw_catalog: Path) -> None:
    for line in ("catalogs", "route words", f"import {raw_catalog}"):
        refused(wayfare(*line.split()), f"PID {owner}", "--db")


def test_the_port_is_taken(wayfare: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        refused(wayfare("up", "--port", port), f"127.0.0.1:{port}", "--port")


@each("name", ["sample", "search-15", "  ", "two\nlines", "x" * 201])
def test_names_that_a_catalog_cannot_have(wayfare: Command, raw_catalog: Path, name: str) -> None:
    refused(wayfare("import", raw_catalog, "--name", name), "name", "--name")
    assert [c["name"] for c in json.loads(wayfare("catalogs", "--json").out)["catalogs"]] == [*SHIPPED_CATALOGS]


def test_a_folder_that_cannot_be_written_is_one_sentence_for_the_console_too(
    wayfare: Command, tmp_path: Path, db: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    for words in (("up", "--port", str(free_port())), ("route", "x"), ("audit",)):
        refused(wayfare(*words, "--db", tmp_path / "file" / "a.duckdb"), str(tmp_path / "file"))
