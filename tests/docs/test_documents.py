"""Our documents are true: commands run, code runs, links lead somewhere, and every file and name in them is there."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import nullcontext
from pathlib import Path

import click
import pytest

from core.app import open_app
from core.cli import main
from core.cli.apps import working_on
from core.cli.main import COMMANDS, wayfare
from tests.cases import each
from tests.docs.markdown import (
    DECISIONS,
    DOCUMENTS,
    ROOT,
    blocks,
    commands,
    defined_in,
    inline_code,
    links,
    module_exists,
    modules,
    named_things,
    paths,
    text_of,
)
from tests.forking import FORKS

every_document = each("document", [*DOCUMENTS, *DECISIONS])
INSTALLS = {'python3 -m venv .venv && .venv/bin/pip install -e ".[dev]"', ".venv/bin/wayfare up"}
PICTURES = "docs/images/"
TARGETS = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warm_store: Path, encoder_cache: Path) -> Path:
    """A working directory, a store and a user's folders of the test's own, with the files that the documents name."""
    monkeypatch.setenv("WAYFARE_DB", str(shutil.copy(warm_store, tmp_path / "docs.duckdb")))
    monkeypatch.setenv("WAYFARE_CACHE", str(encoder_cache))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "path/to").mkdir(parents=True)
    unit_exchange = {
        "command": FORKS.python,
        "args": ["-m", "sample_catalog.runnable.unit_exchange"],
        "cwd": str(ROOT),
    }
    (tmp_path / "path/to/mcp.json").write_text(json.dumps({"mcpServers": {"units": unit_exchange}}))
    plain = {"servers": [{"name": "a", "description": "b", "tools": [{"name": "c", "description": "d"}]}]}
    (tmp_path / "path/to/catalog.json").write_text(json.dumps(plain))
    task = {"id": "miles", "subtask": "convert 300 miles to kilometres", "relevant": ["unit-exchange::convert_units"]}
    (tmp_path / "path/to/tasks.jsonl").write_text(json.dumps(task))
    judgment = {"subtask": task["subtask"], "tool": "unit-exchange::convert_units", "grade": 3, "judge": "ann"}
    (tmp_path / "path/to/judgments.jsonl").write_text(json.dumps(judgment))
    return tmp_path


@every_document
def test_shell_blocks_hold_targets_commands_and_the_installation(document: str) -> None:
    for line in commands(document):
        if line.startswith("make "):
            assert line.split()[1] in TARGETS, line
        else:
            assert line.startswith("wayfare ") or line in INSTALLS, line


@pytest.mark.parametrize("document", [d for d in DOCUMENTS if any(c.startswith("wayfare ") for c in commands(d))])
def test_the_commands_of_shell_blocks_run(document: str, elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In one app, as beside a console; a command that names its own store runs alone."""
    with open_app() as app:
        for line in commands(document):
            if line.startswith("wayfare "):
                short = line.replace("--steps 200", "--steps 10").replace("0:1:0.05", "0:1:0.5")
                words = re.findall(r'"[^"]*"|\S+', short)[1:]
                with nullcontext() if "--db" in words else working_on(app):
                    try:
                        main([word.strip('"') for word in words])
                    except SystemExit as end:  # the outcome of a virtual server is drawn
                        if (words[0], end.code) != ("call", 1):
                            raise
                assert capsys.readouterr().out, line


@every_document
def test_commands_in_a_sentence_exist_with_their_options(document: str) -> None:
    for code in inline_code(document):
        first, *rest = code.split()
        if first == "make" and rest:
            assert rest[0] in TARGETS, code
        if first == "wayfare" and rest and not rest[0].startswith("-"):
            assert rest[0] in COMMANDS, code
            command = wayfare.get_command(click.Context(wayfare), rest[0])
            assert command is not None
            if isinstance(command, click.Group) and len(rest) > 1:
                command = command.commands[rest[1]]
            options = {
                option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
            }
            assert {word for word in rest if word.startswith("--")} <= options | {"--help"}, code


def test_every_python_block_is_run_somewhere() -> None:
    with_code = {document for document in (*DOCUMENTS, *DECISIONS) if blocks(document, "python")}
    assert with_code == {"README.md", "CONTRIBUTING.md", "docs/python-api.md"}


def test_the_python_api_runs_from_top_to_bottom(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, object] = {}
    warm = repr(str(elsewhere / "docs.duckdb"))  # in memory the sample's texts would be embedded again
    parts = [source.replace('":memory:"', warm) for source in blocks("docs/python-api.md", "python")]
    routing = [line for line in parts[0].splitlines() if line.strip() and not line.startswith("from")]
    assert len(routing) <= 10
    for number, source in enumerate(parts, start=1):
        exec(compile(source, f"python-api.md, block {number}", "exec"), namespace)  # our own document
        assert capsys.readouterr().out


@every_document
def test_links_and_pictures_lead_somewhere(document: str) -> None:
    for target in links(document):
        if not re.match(r"\w+:", target) and not target.startswith("#"):
            file = (ROOT / document).parent / target.partition("#")[0]
            if PICTURES in file.as_posix() and not (ROOT / PICTURES).is_dir():
                pytest.skip("the pictures have not been taken")
            assert file.exists(), target


@every_document
def test_every_file_that_is_named_is_there(document: str) -> None:
    new = set(re.findall(r"(?:One file|A folder with its view), `([^`]+)`", text_of(document)))  # in "how to add a ..."
    missing = {path for path in paths(document) - new if not (ROOT / path).exists()}
    assert {path for path in missing if not path.startswith(PICTURES)} == set()


@every_document
def test_every_name_in_a_file_is_there(document: str) -> None:
    missing = {f"{p}::{n}" for p, n in named_things(document) if not (ROOT / p).is_file() or n not in defined_in(p)}
    assert missing == set()


@every_document
def test_every_module_that_is_named_is_there(document: str) -> None:
    assert {dotted for dotted in modules(document) if not module_exists(dotted)} == set()
