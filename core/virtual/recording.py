"""Recorded answers of a server: their file, and how they are played.

The file is a catalog of one server, so that it can be imported. Each tool has `answers` in the order of its calls:
`{"arguments": {}, "latency_s": 0.1, "outcome": "ok", "result": {}}`, or `error` in place of a result.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from core.domain.catalog import Server, Tool
from core.domain.errors import WayfareError
from core.domain.leaks import MASK
from core.virtual.launch import PLAYER, Ending, PlannedCall, plain_server, write_whole

Answer = dict[str, Any]
NEEDED = {"arguments", "latency_s", "outcome"}
ENDINGS = {"crash": Ending.DROP, "timeout": Ending.HANG}
MOST_EXAMPLES, MOST_CHARS = 3, 300
RESTART_S = 60.0


def canonical(arguments: Mapping[str, Any]) -> str:
    """The arguments as JSON; equal ones are equal texts."""
    return json.dumps(dict(arguments), sort_keys=True, ensure_ascii=False)


def write_recording(file: Path, server: Server, answers: Mapping[str, list[Answer]]) -> None:
    """Write the definitions of a server and its answers by tool. The first arguments stand as `examples` in the input schemas, for clients
    that make arguments up. Raises WayfareError."""
    entry = plain_server(server)
    for tool in entry["tools"]:
        tool["answers"] = said = answers.get(tool["name"], [])
        good = {canonical(one["arguments"]): one["arguments"] for one in said if one["outcome"] == "ok"}
        if good:
            tool["inputSchema"] = {**tool.get("inputSchema", {}), "examples": [*good.values()][:MOST_EXAMPLES]}
    entry |= {"virtual": True, "connection": {"command": "${python}", "args": [*PLAYER, file.name]}}
    write_whole(file, json.dumps({"servers": [entry]}, indent=1, ensure_ascii=False) + "\n", "name another file.")


def read_answers(file: Path, server: str) -> dict[str, list[Answer]]:
    """Returns the answers of a server by tool, none if the file is no recording of it. Raises WayfareError."""
    try:
        servers = json.loads(file.read_text(encoding="utf-8"))["servers"]
        tools = [tool for one in servers if one["name"] == server for tool in one["tools"] if "answers" in tool]
        if not all(one.keys() >= NEEDED for tool in tools for one in tool["answers"]):
            raise ValueError(f"an answer lacks one of {', '.join(sorted(NEEDED))}")
        return {tool["name"]: tool["answers"] for tool in tools}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise WayfareError(f"{file}: its answers cannot be read ({error}).") from None


class Recording:
    """The answers of one server, played in the order of their calls; the last one of equal calls repeats. A value that was masked
    stands for any. After a crash the process that follows finds the rest in the file `left`.

    >>> played = Recording({"add": [{"arguments": {"n": 1}, "latency_s": 0.5, "outcome": "ok", "result": {"content": []}}]})
    >>> played.next(Tool("a", "add"), {"n": 1}).wait_s, played.next(Tool("a", "add"), {"n": 2}).answer["result"]["content"][0]["text"]
    (0.5, 'No answer of add is recorded for {"n": 2}; the nearest recorded arguments are {"n": 1}.')
    """

    def __init__(self, answers: dict[str, list[Answer]], *, speed: float = 1.0, left: Path | None = None) -> None:
        self._answers, self._speed, self._left = answers, speed, left
        with suppress(OSError, ValueError):
            if left is not None and time.time() - left.stat().st_mtime < RESTART_S:
                self._answers = json.loads(left.read_text(encoding="utf-8"))
                left.unlink()

    def next(self, tool: Tool, arguments: Mapping[str, Any]) -> PlannedCall:
        """Plans the next answer to these arguments, or an error that names the nearest ones if none is recorded."""
        said, key = self._answers.get(tool.name, []), canonical(arguments)
        fitting = [one for one in said if _fits(canonical(one["arguments"]), key)]
        if not fitting:
            near = get_close_matches(key, [canonical(one["arguments"]) for one in said], 1, 0.0)
            hint = f"the nearest recorded arguments are {near[0][:MOST_CHARS]}" if near else "it was never called"
            text = f"No answer of {tool.name} is recorded for {key[:MOST_CHARS]}; {hint}."
            result = {"content": [{"type": "text", "text": text}], "isError": True}
            return PlannedCall(0.0, Ending.ERROR, {"result": result})
        answer = fitting[0]
        if len(fitting) > 1:
            said.remove(answer)
        ending = ENDINGS.get(answer["outcome"], Ending.RESULT)
        if ending is Ending.DROP and self._left is not None:
            write_whole(self._left, json.dumps(self._answers), "clear the cache.")
        return PlannedCall(answer["latency_s"] * self._speed, ending, answer)


def _fits(recorded: str, given: str) -> bool:
    pattern = ".*".join(map(re.escape, recorded.split(MASK)))
    return recorded == given or (MASK in recorded and re.fullmatch(pattern, given) is not None)


def opened_recording(file: Path, server: str, speed: float) -> Recording | None:
    """The recording of a server in a file, None if the file is none. Raises WayfareError."""
    import platformdirs

    answers = read_answers(file, server) if file.suffix == ".json" else {}
    mark = hashlib.sha256(f"{os.getppid()}\0{file.absolute()}\0{answers}".encode()).hexdigest()[:20]
    left = Path(platformdirs.user_cache_dir("wayfare")) / "playing" / f"{mark}.json"
    return Recording(answers, speed=speed, left=left) if answers else None
