"""Seven reference servers of npm and PyPI behind one endpoint: installed, searched for in plain words, called, compared with a direct call."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import mcp_types
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

NPM = {"everything": "2026.8.31", "filesystem": "2026.8.31", "memory": "2026.8.31", "sequential-thinking": "2026.8.31"}
PYPI = {"time": "2026.10.19", "git": "2026.10.19", "fetch": "2026.10.24"}
CATALOG = "reference"


@dataclass(frozen=True)
class Case:
    """A person's request, and the tool and arguments that a model would choose."""

    words: str
    server: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Compared:
    """One case: the tool's rank in the search (0: not among five), and the differences from the direct call."""

    case: Case
    rank: int
    through_execute: str
    through_mirror: str


def installed() -> Path:
    """The folder of the seven, beside the system's temporary files. Raises OSError, CalledProcessError without npm or a network."""
    folder = Path(tempfile.gettempdir()) / "wayfare-reference"
    folder.mkdir(exist_ok=True)
    (folder / "package.json").write_text("{}")
    packages = [f"@modelcontextprotocol/server-{name}@{version}" for name, version in NPM.items()]
    servers = [f"mcp-server-{name}=={version}" for name, version in PYPI.items()]
    for line in (
        ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *packages],
        [sys.executable, "-m", "venv", "pypi"],
        [str(folder / "pypi/bin/pip"), "install", "-qqq", *servers],
    ):
        subprocess.run(line, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder


def configuration(folder: Path, installed: Path) -> dict[str, Any]:
    """The seven in the form that clients use, over files in `folder` that are made here."""
    files, repository = folder / "files", folder / "repository"
    files.mkdir(parents=True, exist_ok=True)
    (files / "note.txt").write_text("Buy milk.\n")
    (files / "pixel.png").write_bytes(bytes.fromhex("89504e470d0a1a0a"))
    if not repository.exists():
        repository.mkdir()
        git = ["git", "-C", str(repository), "-c", "user.name=A", "-c", "user.email=a@example.com"]
        subprocess.run([*git, "init", "-q"], check=True)
        (repository / "a.txt").write_text("a\n")
        subprocess.run([*git, "add", "a.txt"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", "the first commit"], check=True)
        (repository / "a.txt").write_text("b\n")
    arguments = {
        "filesystem": [str(files)],
        "git": ["--repository", str(repository)],
        "fetch": ["--ignore-robots-txt", "--allow-private-ips"],
    }
    npm, pypi = installed / "node_modules/.bin", installed / "pypi/bin"
    programs = {name: npm / f"mcp-server-{name}" for name in NPM} | {name: pypi / f"mcp-server-{name}" for name in PYPI}
    servers: dict[str, Any] = {
        name: {"command": str(program), "args": arguments.get(name, [])} for name, program in programs.items()
    }
    servers["memory"]["env"] = {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")}
    return {"mcpServers": servers}


def cases(folder: Path, page: str) -> list[Case]:
    """Each kind of content that these servers give, and errors of theirs; in this order, for some write."""
    repository, files = str(folder / "repository"), folder / "files"
    ann = {"entities": [{"name": "Ann", "entityType": "person", "observations": ["likes tea"]}]}
    return [
        Case("add two numbers", "everything", "get-sum", {"a": 2, "b": 3}),
        Case("give me a small picture", "everything", "get-tiny-image"),
        Case("structured weather data of a city", "everything", "get-structured-content", {"location": "Chicago"}),
        Case("a message with annotations and priority", "everything", "get-annotated-message",
             {"messageType": "error", "includeImage": True}),
        Case("links to several resources", "everything", "get-resource-links", {"count": 3}),
        Case("a reference to a resource", "everything", "get-resource-reference", {"resourceType": "Text", "resourceId": 1}),
        Case("run an operation that takes long and reports progress", "everything", "trigger-long-running-operation",
             {"duration": 1, "steps": 3}),
        Case("list the files of a folder", "filesystem", "list_directory", {"path": str(files)}),
        Case("read the text of a file", "filesystem", "read_text_file", {"path": str(files / "note.txt")}),
        Case("read an image file", "filesystem", "read_media_file", {"path": str(files / "pixel.png")}),
        Case("read a file outside of what is allowed", "filesystem", "read_text_file", {"path": "/etc/passwd"}),
        Case("write text into a file", "filesystem", "write_file", {"path": str(files / "new.txt"), "content": "new"}),
        Case("remember a new person in the knowledge graph", "memory", "create_entities", ann),
        Case("what is in the knowledge graph", "memory", "read_graph"),
        Case("search the knowledge graph for a word", "memory", "search_nodes", {"query": "tea"}),
        Case("convert a time between two time zones", "time", "convert_time",
             {"source_timezone": "Europe/Paris", "time": "12:00", "target_timezone": "Asia/Tokyo"}),
        Case("what time is it in a place that is none", "time", "get_current_time", {"timezone": "Nowhere/None"}),
        Case("the status of the git working tree", "git", "git_status", {"repo_path": repository}),
        Case("show the commit log", "git", "git_log", {"repo_path": repository}),
        Case("what changed and is not staged", "git", "git_diff_unstaged", {"repo_path": repository}),
        Case("fetch a web page as markdown", "fetch", "fetch", {"url": page}),
        Case("fetch a page that is not there", "fetch", "fetch", {"url": f"{page}/none"}),
    ]  # fmt: skip


async def compared(url: str, servers: dict[str, Any], case_list: list[Case]) -> list[Compared]:
    """Every case: directly, by `execute_tool`, and by the mirror of its server. `url` is the endpoint's, without a query."""
    calls: list[Compared] = []
    with Path(os.devnull).open("w") as nowhere:
        for name, entry in servers.items():
            parameters = StdioServerParameters(command=entry["command"], args=entry["args"], env=entry.get("env"))
            mirror = f"{url}?catalog={CATALOG}&mirror={name}"
            async with (
                Client(stdio_client(parameters, errlog=nowhere)) as direct,
                Client(f"{url}?catalog={CATALOG}") as wayfare,
                Client(mirror) as mirrored,
            ):
                calls += [await _case(case, direct, wayfare, mirrored) for case in case_list if case.server == name]
    return calls


async def _case(case: Case, direct: Client, wayfare: Client, mirrored: Client) -> Compared:
    tool = f"{case.server}::{case.tool}"
    answer = await wayfare.call_tool("search_tools", {"task": case.words, "n": 5})
    ids = [candidate["tool"] for candidate in (answer.structured_content or {}).get("candidates", [])]
    await direct.call_tool(case.tool, case.arguments)  # from here on a tool that writes changes nothing
    plain = await direct.call_tool(case.tool, case.arguments)
    through = await wayfare.call_tool("execute_tool", {"tool": tool, "arguments": case.arguments})
    by_mirror = await mirrored.call_tool(case.tool, case.arguments)
    rank = ids.index(tool) + 1 if tool in ids else 0
    return Compared(case, rank, _executed(plain, through), _differences(plain, by_mirror))


def _executed(plain: mcp_types.CallToolResult, through: mcp_types.CallToolResult) -> str:
    """The changes by `execute_tool`. Its content and the `result` in its structured part should be the tool's."""
    document = through.structured_content or {}
    if plain.is_error or through.is_error:
        words = "".join(block.text for block in plain.content if isinstance(block, mcp_types.TextContent))
        same_error = plain.is_error and through.is_error and words.strip() in document.get("why", "")
        return "" if same_error else f"error {plain.is_error} became {through.is_error}: {json.dumps(document)[:200]}"
    changed = [] if _blocks(plain) == _blocks(through) else ["content"]
    if plain.structured_content is not None and document.get("result") != plain.structured_content:
        changed.append("structured result")
    return ", ".join(changed)


def _differences(plain: mcp_types.CallToolResult, mirrored: mcp_types.CallToolResult) -> str:
    pairs = {
        "is_error": (plain.is_error, mirrored.is_error),
        "content": (_blocks(plain), _blocks(mirrored)),
        "structured content": (plain.structured_content, mirrored.structured_content),
        "_meta": (_own(plain.meta), _own(mirrored.meta)),
    }
    return ", ".join(name for name, (expected, actual) in pairs.items() if expected != actual)


def _own(meta: dict[str, Any] | None) -> dict[str, Any]:
    """Metadata of the tool, without the protocol's metadata, which differ by session."""
    return {name: value for name, value in (meta or {}).items() if not name.startswith("io.modelcontextprotocol/")}


def _blocks(result: mcp_types.CallToolResult) -> list[str]:
    return [block.model_dump_json(by_alias=True) for block in result.content]


@contextmanager
def page_in(folder: Path) -> Iterator[str]:
    """A small web page of this machine."""
    (folder / "index.html").write_text("<html><body><h1>Heading</h1><p>A paragraph to read.</p></body></html>")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/index.html"
    finally:
        server.shutdown()
