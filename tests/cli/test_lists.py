"""Help, the version, and what there is: catalogs, routers, parameters."""

from __future__ import annotations

import re
import shlex

from click import Context, Group

from core.cli.main import COMMANDS
from core.cli.main import wayfare as group
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from core.routers import ROUTERS
from tests.cases import each
from tests.cli.conftest import Command

NAMES = list(COMMANDS)


def help_of(run: Command, *arguments: str) -> str:
    """The help as one line, because its width depends on the terminal."""
    outcome = run(*arguments, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    return " ".join(outcome.out.split())


@each("name", [None, *NAMES])
def test_help_has_an_example_with_options_that_exist(wayfare: Command, name: str | None) -> None:
    text = help_of(wayfare, *([name] if name else []))
    example = re.search(r"Example: wayfare (.*?) Options:", text)
    assert example is not None
    command = shlex.split(example[1])[0]
    options = set(re.findall(r"(?<=\s)--[a-z]+", example[1]))
    assert command == (name or command)
    assert all(option in help_of(wayfare, command) for option in options)


def test_the_list_of_commands_has_the_first_sentence_of_each(wayfare: Command) -> None:
    assert all(f" {name} " in help_of(wayfare) for name in NAMES)
    summaries = {name: group.get_command(Context(group), name).get_short_help_str(500) for name in NAMES}
    assert summaries == {name: line for name, (_, _, line) in COMMANDS.items()}


@each("name", [name for name in NAMES if name not in {"up", "virtual", "mcp"}])
def test_every_command_that_ends_takes_db_and_json(wayfare: Command, name: str) -> None:
    command = group.get_command(Context(group), name)
    for words in [[name, sub] for sub in command.commands] if isinstance(command, Group) else [[name]]:
        text = help_of(wayfare, *words)
        assert "--db PATH" in text
        assert "--json" in text


def test_version(wayfare: Command) -> None:
    assert re.fullmatch(r"wayfare, version [\d.]+\n", wayfare("--version").out)


def test_catalogs(wayfare: Command, write) -> None:
    file = write("mine.json", {"servers": [{"name": "files", "tools": [{"name": "read"}, {"name": "write"}]}]})
    assert wayfare("import", file).code == 0
    sample, *testbeds, mine = wayfare("catalogs", "--json").json()["catalogs"]
    assert (sample["name"], sample["source"]) == ("sample", "shipped with Wayfare")
    assert sample["servers"] >= 15
    assert [(t["name"], t["servers"], t["tools"] >= 120) for t in testbeds] == [
        ("attention-120", 6, True),
        ("search-15", 15, True),
    ]
    followed = {"file": str(file), "follow": "show", "changes": [], "problem": None}
    assert mine == {"name": "mine", "servers": 1, "tools": 2, "source": "mine.json", "off": [], **followed}
    lines = wayfare("catalogs").out.splitlines()
    assert [line.split()[0] for line in lines] == ["catalog", *SHIPPED_CATALOGS, "mine"]


def test_routers(wayfare: Command) -> None:
    document = wayfare("routers", "--json").json()
    assert [router["id"] for router in document["routers"]] == list(ROUTERS)
    assert all(router.keys() == {"id", "title", "paper", "summary", "parameters"} for router in document["routers"])
    text = wayfare("routers").out
    assert [line.split()[0] for line in text.splitlines() if not line.startswith(" ")] == list(ROUTERS)
    words = " ".join(text.split())
    for router in ROUTERS.values():
        assert router.paper in words
        assert all(knob.name in words for knob in router.parameters.knobs())


@each("router", ROUTERS)
def test_parameters(wayfare: Command, router: str) -> None:
    document = wayfare("parameters", "--router", router, "--json").json()
    assert document["router"] == router
    expected = {
        knob.name: (knob.default, knob.unit, knob.low, knob.high) for knob in ROUTERS[router].parameters.knobs()
    }
    assert {p["name"]: (p["default"], p["unit"], p["low"], p["high"]) for p in document["parameters"]} == expected
    lines = wayfare("parameters", "--router", router).out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == list(expected)
    assert all(p["help"] for p in document["parameters"])


def test_the_store_is_named_by_option_or_environment_and_the_option_wins(wayfare: Command, write, tmp_path, db) -> None:
    file = write("mine.json", {"servers": [{"name": "files", "tools": [{"name": "read"}]}]})
    other_db = tmp_path / "other.duckdb"
    assert wayfare("import", file, "--db", other_db).code == 0
    assert other_db.is_file()
    assert not db.exists()
    assert len(wayfare("catalogs", "--json").json()["catalogs"]) == len(SHIPPED_CATALOGS)
    assert db.is_file()
    assert len(wayfare("catalogs", "--json", "--db", other_db).json()["catalogs"]) == len(SHIPPED_CATALOGS) + 1
