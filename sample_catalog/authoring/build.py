"""Writes the files of `make catalog`, in this order; `--check` only compares.

1. `servers/*.json`: the definitions of the runnable servers and the drawn prices of all; the testbeds' files from their sheets.
2. The vectors of all their texts and the encoders' graphs, if a text or a model was changed (`sample_catalog.authoring.vectors`).

The file of a runnable server is made from its program and its profile. A written server ("virtual": true) is its file; only its
prices and rates are filled in. A file that belongs to no server is removed.
"""

import argparse
import asyncio
import importlib
import json
import sys
from pathlib import Path

from mcp import Client

from sample_catalog import SERVERS_DIR
from sample_catalog.authoring import vectors
from sample_catalog.authoring.profiles import FIGURES, PROFILES, Document, Profile, ask_price, tool_economics, written
from sample_catalog.authoring.testbeds import attention_120, search_15
from sample_catalog.testbeds import ATTENTION_DIR, SEARCH_DIR


async def runnable(profile: Profile) -> Document:
    """Returns a runnable server for the catalog: its definitions over MCP, and its declared economics."""
    module = f"sample_catalog.runnable.{profile.module}"
    server = importlib.import_module(module).server
    async with Client(server) as client:
        listed = (await client.list_tools()).tools
    tools = [
        tool.model_dump(mode="json", by_alias=True, exclude_none=True)
        | tool_economics(
            f"{server.name}::{tool.name}",
            call_s=profile.call_s,
            success=profile.success,
            latency_factor=profile.slow.get(tool.name, 1.0),
            high_reason=profile.high.get(tool.name, ""),
        )
        for tool in listed
    ]
    if unknown := {*profile.high, *profile.slow} - {tool["name"] for tool in tools}:
        raise ValueError(f"the profile of {server.name} names unknown tools: {sorted(unknown)}")
    return {
        "name": server.name,
        "title": server.title,
        "description": server.description,
        "category": profile.category,
        "figures": FIGURES,
        **ask_price(profile.ask, [tool["price_usd"] for tool in tools]),
        "conn_s": profile.conn_s,
        "call_s": profile.call_s,
        "success": profile.success,
        "success_variance": profile.success_variance,
        "post_accept_failure": profile.post_accept_failure,
        "connection": {"type": "stdio", "command": "${python}", "args": ["-m", module]},
        "tools": tools,
    }


async def catalog(folder: Path) -> dict[str, str]:
    """Returns file name and content of every server: runnable ones from their programs, written ones from their files."""
    files = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    servers = [await runnable(profile) for profile in PROFILES]
    servers += [written(document) for document in files if document.get("virtual")]
    return texts(servers)


def texts(servers: list[Document]) -> dict[str, str]:
    """Returns file name and content of each server."""
    return {f"{server['name']}.json": pretty(server) + "\n" for server in servers}


def pretty(value: object, width: int = 120, indent: str = "", key: str = "") -> str:
    """Returns JSON with everything that fits into one line in one line.

    >>> print(pretty({"name": "files", "tags": ["a", "b"]}, width=22))
    {
      "name": "files",
      "tags": ["a", "b"]
    }
    """
    line = key + json.dumps(value, ensure_ascii=False)
    if len(indent) + len(line) < width or not isinstance(value, dict | list) or not value:
        return line
    deeper = indent + "  "
    if isinstance(value, dict):
        parts = [pretty(inner, width, deeper, f"{json.dumps(name)}: ") for name, inner in value.items()]
    else:
        parts = [pretty(inner, width, deeper) for inner in value]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return f"{key}{begin}" + ",".join(f"\n{deeper}{part}" for part in parts) + f"\n{indent}{end}"


def drift(wanted: dict[str, str], folder: Path) -> list[str]:
    """Returns sentences on the files of `folder` that are not up to date."""
    present = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.json"))}
    found = [f"{name} is missing" for name in wanted if name not in present]
    for name, text in present.items():
        if name not in wanted:
            found.append(f"{name} belongs to no server")
        elif text != wanted[name]:
            found.append(f"{name} differs: {', '.join(_differences(text, wanted[name])) or 'layout'}")
    return found


def _differences(text: str, wanted: str) -> list[str]:
    """Returns the names of the server's fields and tools that differ."""
    try:
        old, new = json.loads(text), json.loads(wanted)
    except ValueError:
        return ["not JSON"]
    old_tools, new_tools = ({tool["name"]: tool for tool in server.pop("tools", ())} for server in (old, new))
    fields = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    return fields + [
        f"tool {name}" for name in {**old_tools, **new_tools} if old_tools.get(name) != new_tools.get(name)
    ]


def main() -> int:
    """Writes the files, or with `--check` prints the differences and returns 1."""
    parser = argparse.ArgumentParser(prog="python -m sample_catalog.authoring.build", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when a file is out of date")
    parser.add_argument("--vectors", action="store_true", help="make the vectors again even if they fit")
    options = parser.parse_args()
    folders = {
        SERVERS_DIR: asyncio.run(catalog(SERVERS_DIR)),
        ATTENTION_DIR: texts(attention_120()),
        SEARCH_DIR: texts(search_15()),
    }
    found = [f"{folder.name}/{line}" for folder, wanted in folders.items() for line in drift(wanted, folder)]
    if options.check:
        found += vectors.drift()
        for line in found:
            print(line, file=sys.stderr)
        return 1 if found else 0
    for folder, wanted in folders.items():
        _write(wanted, folder)
    print(f"{sum(map(len, folders.values()))} servers written, {len(found)} changed")
    print(vectors.build() if options.vectors or vectors.drift() else "the vectors fit: nothing was embedded")
    return 0


def _write(wanted: dict[str, str], folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.json"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
