"""Starting virtual servers: the catalog file of one server, profiles of behaviour, the failure model, the connection, and recorded answers."""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from core.domain.catalog import Connection, Server, Tool, ToolHints
from core.domain.errors import UnknownNameError, WayfareError
from core.domain.leaks import MASK

HINTS = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}
SERVER_FIELDS = (
    "title", "category", "ask_usd", "conn_s", "call_s", "success", "success_variance", "post_accept_failure", "virtual",
)  # fmt: skip
TOOL_FIELDS = ("title", "price_usd", "latency_s", "success", "tier", "tier_reason")


def plain_server(server: Server) -> dict[str, Any]:
    """Returns one entry of `servers` in the plain catalog format, without the connection. Unknown values are left out.

    >>> plain_server(Server("a", tools=(Tool("a", "t", hints=ToolHints(read_only=True)),)))
    {'name': 'a', 'description': '', 'tools': [{'name': 't', 'description': '', 'annotations': {'readOnlyHint': True}}]}
    """
    return {
        "name": server.name,
        "description": server.description,
        **_known(server, SERVER_FIELDS),
        "tools": [_tool(tool) for tool in server.tools],
    }


def chosen(servers: Sequence[Server], name: str | None) -> Server:
    if name is None and len(servers) == 1:
        return servers[0]
    match = next((server for server in servers if server.name == name), None)
    if match is None:
        names = ", ".join(server.name for server in servers[:8])
        question = "Which server? Name one" if name is None else f"There is no server {name!r}; name one"
        raise UnknownNameError(f"{question} of: {names}{', …' if len(servers) > 8 else ''}.")
    return match


def hint_names(hints: ToolHints) -> dict[str, bool]:
    values = {name: getattr(hints, field) for field, name in HINTS.items()}
    return {name: value for name, value in values.items() if value is not None}


def _tool(tool: Tool) -> dict[str, Any]:
    schemas = {"inputSchema": tool.input_schema, "outputSchema": tool.output_schema}
    hints = hint_names(tool.hints)
    return {
        "name": tool.name,
        "description": tool.description,
        **{key: dict(schema) for key, schema in schemas.items() if schema is not None},
        **({"annotations": hints} if hints else {}),
        **_known(tool, TOOL_FIELDS),
        **({"preconditions": list(tool.preconditions)} if tool.preconditions else {}),
        **({"requests": list(tool.requests)} if tool.requests else {}),
    }


def _known(record: Server | Tool, fields: tuple[str, ...]) -> dict[str, Any]:
    values = {name: getattr(record, name) for name in fields}
    return {name: value for name, value in values.items() if value not in (None, "", False)}


DEFAULT_PROFILE = "declared"


@dataclass(frozen=True, slots=True)
class Profile:
    """Chances are per call, in [0, 1]; None stands for the catalog's declaration.

    `time_factor` scales the declared call times. The server responds after `start_s`. An outage begins with the chance `outage_start` and
    lasts `outage_calls` calls on average; its calls hang or lose their connection.
    """

    help: str
    time_factor: float = 1.0
    start_s: float = 0.0
    error: float | None = None
    crash: float | None = None
    outage_start: float = 0.0
    outage_calls: float = 1.0
    outage: Literal["hang", "drop"] = "hang"


PROFILES = {
    "declared": Profile("Times, tool errors and crashes as the catalog declares them."),
    "steady": Profile("Answers at once and never fails.", time_factor=0.0, error=0.0, crash=0.0),
    "flaky": Profile("Three calls in ten end with a tool error.", error=0.3),
    "crashing": Profile("One call in four is accepted, then its connection is lost.", crash=0.25),
    "outages": Profile("Now and then about five calls in a row hang.", outage_start=0.1, outage_calls=5.0),
    "drops": Profile(
        "Now and then about five calls in a row lose their connection.",
        outage_start=0.1,
        outage_calls=5.0,
        outage="drop",
    ),
    "slow": Profile("Every call takes five times the declared time.", time_factor=5.0),
    "slow-start": Profile("Takes five seconds to start, then behaves as declared.", start_s=5.0),
}

SPREAD = 0.35  # standard deviation of the logarithm of a call's time
UNDECLARED_S = 0.3


class Ending(StrEnum):
    RESULT = "result"
    ERROR = "error"  # a result that says that the tool failed
    DROP = "drop"  # accepted, then the connection is lost
    HANG = "hang"  # accepted, and no response


@dataclass(frozen=True, slots=True)
class PlannedCall:
    wait_s: float
    ending: Ending
    answer: Mapping[str, Any] | None = None


@dataclass
class FailureModel:
    """Plans the calls of one process in order. The same generator and calls give the same plan.

    >>> flaky = FailureModel(Server("a"), PROFILES["flaky"], rng=random.Random(1), speed=0.0)
    >>> [flaky.next(Tool("a", "t")).ending.value for _ in range(5)]
    ['error', 'result', 'error', 'result', 'result']
    """

    server: Server
    profile: Profile
    rng: random.Random
    speed: float = 1.0
    _outage_left: int = 0

    def next(self, tool: Tool, _arguments: object = None) -> PlannedCall:
        profile, chance = self.profile, self.rng.random
        noise, crash, error, outage = self.rng.gauss(0.0, SPREAD), chance(), chance(), chance()
        length = 1 + int(math.log(1 - chance()) / math.log1p(-1 / max(profile.outage_calls, 1 + 1e-9)))
        call_s = _or(tool.latency_s, _or(self.server.call_s, UNDECLARED_S))
        wait_s = self.speed * profile.time_factor * call_s * math.exp(noise - SPREAD**2 / 2)
        if self._outage_left == 0 and outage < profile.outage_start:
            self._outage_left = length
        if self._outage_left > 0:
            self._outage_left -= 1
            return PlannedCall(wait_s, Ending(profile.outage))
        if crash < _or(profile.crash, _or(self.server.post_accept_failure, 0.0)):
            return PlannedCall(wait_s, Ending.DROP)
        failing = error < _or(profile.error, 1.0 - _or(tool.success, _or(self.server.success, 1.0)))
        return PlannedCall(wait_s, Ending.ERROR if failing else Ending.RESULT)


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


PLAYER = ("-P", "-m", "core.virtual")  # -P: ignores a folder `core` in the working directory


def virtual_connection(
    server: Server,
    folder: Path,
    *,
    profile: str = DEFAULT_PROFILE,
    seed: int | None = None,
    speed: float = 1.0,
) -> Connection:
    """Returns the connection to a virtual server. Its catalog is written into `folder` under the hash of its content. A server that
    plays a recording keeps its connection.

    Raises WayfareError if it cannot be written.
    """
    connection = server.connection
    if connection is not None and connection.command == "${python}" and connection.args[:3] == PLAYER:
        return replace(connection, args=(*connection.args, "--speed", f"{speed:g}"))
    text = json.dumps({"servers": [plain_server(server)]})
    file = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:20]}.json"
    if not file.exists():
        write_whole(file, text, "set WAYFARE_CACHE to a writable folder.")
    options = ["--profile", profile, "--speed", f"{speed:g}"] + ([] if seed is None else ["--seed", str(seed)])
    return Connection("stdio", command="${python}", args=(*PLAYER, str(file), *options), shared=True)


def write_whole(file: Path, text: str, advice: str) -> None:
    """Writes all or nothing; several processes may write at once. Raises WayfareError with the advice."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(dir=file.parent, prefix=".new-", suffix=".json")
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(scratch).replace(file)
    except OSError as error:
        raise WayfareError(f"{file.name} cannot be written to {file.parent} ({error.strerror}); {advice}") from None


# Recorded answers. Their file is a catalog of one server, so that it can be imported. Each tool has `answers` in the order of its calls:
# {"arguments": {}, "latency_s": 0.1, "outcome": "ok", "result": {}}, or `error` in place of a result.

Answer = dict[str, Any]
NEEDED = {"arguments", "latency_s", "outcome"}
MOST_EXAMPLES, MOST_CHARS = 3, 300
RESTART_S = 60.0
_ENDINGS = {"crash": Ending.DROP, "timeout": Ending.HANG}


def canonical(arguments: Mapping[str, Any]) -> str:
    return json.dumps(dict(arguments), sort_keys=True, ensure_ascii=False)


def write_recording(file: Path, server: Server, answers: Mapping[str, list[Answer]]) -> None:
    """Write the definitions of a server and its answers by tool. The first arguments stand as `examples` in the input schemas, for clients
    that make arguments up. Raises WayfareError."""
    entry = plain_server(server)
    for tool in entry["tools"]:
        tool["answers"] = calls = answers.get(tool["name"], [])
        examples = {canonical(call["arguments"]): call["arguments"] for call in calls if call["outcome"] == "ok"}
        if examples:
            tool["inputSchema"] = {**tool.get("inputSchema", {}), "examples": [*examples.values()][:MOST_EXAMPLES]}
    entry |= {"virtual": True, "connection": {"command": "${python}", "args": [*PLAYER, file.name]}}
    write_whole(file, json.dumps({"servers": [entry]}, indent=1, ensure_ascii=False) + "\n", "name another file.")


def read_answers(file: Path, server: str) -> dict[str, list[Answer]]:
    """Returns the answers of a server by tool, none if the file is no recording of it. Raises WayfareError."""
    try:
        servers = json.loads(file.read_text(encoding="utf-8"))["servers"]
        tools = [tool for entry in servers if entry["name"] == server for tool in entry["tools"] if "answers" in tool]
        if not all(answer.keys() >= NEEDED for tool in tools for answer in tool["answers"]):
            raise ValueError(f"an answer lacks one of {', '.join(sorted(NEEDED))}")
        return {tool["name"]: tool["answers"] for tool in tools}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise WayfareError(f"{file}: its answers cannot be read ({error}).") from None


class Recording:
    """The answers of one server, played in the order of their calls. The last answer of equal calls repeats. A masked value
    matches any value. After a crash the next process finds the rest in the file `left`.

    >>> played = Recording({"add": [{"arguments": {"n": 1}, "latency_s": 0.5, "outcome": "ok", "result": {"content": []}}]})
    >>> played.next(Tool("a", "add"), {"n": 1}).wait_s, played.next(Tool("a", "add"), {"n": 2}).answer["result"]["content"][0]["text"]
    (0.5, 'No answer of add is recorded for {"n": 2}; the nearest recorded arguments are {"n": 1}.')
    """

    def __init__(self, answers: Mapping[str, list[Answer]], *, speed: float = 1.0, left: Path | None = None) -> None:
        self._speed, self._left = speed, left
        with suppress(OSError, ValueError):
            if left is not None and time.time() - left.stat().st_mtime < RESTART_S:
                answers = json.loads(left.read_text(encoding="utf-8"))
                left.unlink()
        self._said = {tool: list(tool_answers) for tool, tool_answers in answers.items()}

    def next(self, tool: Tool, arguments: Mapping[str, Any]) -> PlannedCall:
        """Plans the next answer to these arguments, or an error that names the nearest arguments if no answer is recorded."""
        answers, query = self._said.get(tool.name, []), canonical(arguments)
        keys = [canonical(answer["arguments"]) for answer in answers]
        patterns = [".*".join(map(re.escape, key.split(MASK))) for key in keys]
        matches = [answer for answer, pattern in zip(answers, patterns, strict=True) if re.fullmatch(pattern, query)]
        if not matches:
            nearest = get_close_matches(query, keys, 1, 0.0)
            hint = f"the nearest recorded arguments are {nearest[0][:MOST_CHARS]}" if nearest else "it was never called"
            text = f"No answer of {tool.name} is recorded for {query[:MOST_CHARS]}; {hint}."
            result = {"content": [{"type": "text", "text": text}], "isError": True}
            return PlannedCall(0.0, Ending.ERROR, {"result": result})
        if len(matches) > 1:
            answers.remove(matches[0])
        answer = matches[0]
        if answer["outcome"] == "crash" and self._left is not None:
            write_whole(self._left, json.dumps(self._said), "clear the cache.")
        return PlannedCall(answer["latency_s"] * self._speed, _ENDINGS.get(answer["outcome"], Ending.RESULT), answer)


def opened_recording(file: Path, server: str, speed: float) -> Recording | None:
    """The recording of a server in a file, None if the file is no recording. Raises WayfareError."""
    import platformdirs

    answers = read_answers(file, server) if file.suffix == ".json" else {}
    mark = f"{os.getppid()}-{file.stat().st_ino}-{file.stat().st_mtime_ns}.json"
    left = Path(platformdirs.user_cache_dir("wayfare"), "playing", mark)
    return Recording(answers, speed=speed, left=left) if answers else None
