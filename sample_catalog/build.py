"""Writes `servers/*.json` from the running servers and their declared economics; `--check` only compares."""

import argparse
import asyncio
import importlib
import json
import sys
from pathlib import Path
from typing import Any

from mcp import Client

from sample_catalog import SERVERS_DIR
from sample_catalog.profiles import PROFILES, Profile, ask_price, tool_economics


async def describe(profile: Profile) -> dict[str, Any]:
    """One server as the catalog shows it: what it says over MCP, and what we declare about it."""
    module = f"sample_catalog.runnable.{profile.module}"
    server = importlib.import_module(module).server
    async with Client(server) as client:
        listed = (await client.list_tools()).tools
    tools = []
    for tool in listed:
        wire = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
        tools.append(wire | tool_economics(profile, server.name, tool.name))
    if unknown := {*profile.high, *profile.slow} - {tool["name"] for tool in tools}:
        raise ValueError(f"the profile of {server.name} names tools that it does not have: {sorted(unknown)}")
    return {
        "name": server.name,
        "title": server.title,
        "description": server.description,
        "category": profile.category,
        **ask_price(profile, [tool["price_usd"] for tool in tools]),
        "conn_s": profile.conn_s,
        "call_s": profile.call_s,
        "success": profile.success,
        "success_variance": profile.success_variance,
        "post_accept_failure": profile.post_accept_failure,
        "connection": {"type": "stdio", "command": "${python}", "args": ["-m", module]},
        "tools": tools,
    }


async def catalog() -> dict[str, str]:
    """File name and content of every server's description."""
    described = [await describe(profile) for profile in PROFILES]
    return {f"{server['name']}.json": json.dumps(server, indent=2, ensure_ascii=False) + "\n" for server in described}


def drift(wanted: dict[str, str], folder: Path) -> list[str]:
    """In words, where the files of `folder` differ from what they should be."""
    present = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.json"))}
    found = [f"{name} is missing" for name in wanted if name not in present]
    for name, text in present.items():
        if name not in wanted:
            found.append(f"{name} belongs to no server")
        elif text != wanted[name]:
            found.append(f"{name} differs: {', '.join(_differences(text, wanted[name])) or 'layout'}")
    return found


def _differences(text: str, wanted: str) -> list[str]:
    """Names of the server's fields and tools that differ."""
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
    """Write the files, or with `--check` say what differs and answer 1."""
    parser = argparse.ArgumentParser(prog="python -m sample_catalog.build", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when a file is out of date")
    check = parser.parse_args().check
    wanted = asyncio.run(catalog())
    found = drift(wanted, SERVERS_DIR)
    if check:
        for line in found:
            print(line, file=sys.stderr)
        return 1 if found else 0
    for path in SERVERS_DIR.glob("*.json"):
        if path.name not in wanted:
            path.unlink()
    SERVERS_DIR.mkdir(exist_ok=True)
    for name, text in wanted.items():
        (SERVERS_DIR / name).write_text(text, encoding="utf-8")
    print(f"{len(wanted)} servers written, {len(found)} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
