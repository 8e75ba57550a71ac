"""A model writes example requests, a few tools at a time. Nothing here reads or writes the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.domain.errors import PlannerError
from core.domain.people import actions
from core.domain.tools import count_tokens
from core.domain.untrusted_text import one_line
from core.learning.requests import HOW, PER_TOOL
from core.planning.base import Watch, watched
from core.planning.model import RULES, with_data
from core.planning.model_endpoint import Endpoint, Message, ModelEndpoint, Reply, endpoint_of
from core.planning.model_replies import WrittenRequests
from core.virtual.sample_values import schema_part

WRITE = f"""\
Write example requests for each of "tools".

{HOW}
Give "tools": for each one its "tool" exactly as given, and its "requests".
"""
AGAIN = "An earlier answer could not be used for these tools: {why} Answer with the JSON object alone, and with every tool of the list.\n"

BATCH_TOOLS = 4
DESCRIPTION_CHARS, SERVER_CHARS, SCHEMA_CHARS = 3_000, 400, 4_000
REQUEST_TOKENS, TOOL_TOKENS = 20, 40  # of an answer: a request with its quotes, and the rest of a tool
ANSWER_TOKENS = 4_000
ASKED = 2  # attempts for a batch
Row = Mapping[str, Any]
"""A tool as `RequestService.missing` gives it."""


def batches(rows: Sequence[Row]) -> list[Sequence[Row]]:
    """Returns the tools in batches, in their order."""
    return [rows[start : start + BATCH_TOOLS] for start in range(0, len(rows), BATCH_TOOLS)]


@dataclass(frozen=True, slots=True)
class Spending:
    """Tokens and money, estimated or spent. `usd` is None for a model without a known price."""

    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0

    def __add__(self, other: Spending) -> Spending:
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Spending(self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens, usd)

    def words(self) -> str:
        """Returns the spending for people.

        >>> Spending(1200, 300, 0.0123).words(), Spending(10, 5, None).words()
        ('1,200 tokens read, 300 written, 0.0123 USD', '10 tokens read, 5 written, price unknown')
        """
        price = "price unknown" if self.usd is None else f"{self.usd:.4f} USD"
        return f"{self.input_tokens:,} tokens read, {self.output_tokens:,} written, {price}"


def writing_endpoint(environment: Mapping[str, str], model: str = "") -> ModelEndpoint:
    """Returns the named model, or the environment's model. Raises PlannerError, see `endpoint_of`."""
    return endpoint_of(environment, model.strip(), answer_tokens=ANSWER_TOKENS)


@dataclass(slots=True)
class WrittenBatch:
    requests: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    left: dict[str, str] = field(default_factory=dict[str, str])
    spent: Spending = Spending()
    problem: str = ""


class RequestWriter:
    def __init__(self, endpoint: Endpoint, price_usd: Callable[[int, int], float | None]) -> None:
        """`price_usd` gives the price of tokens read and written, or None."""
        self._endpoint = endpoint
        self._price_usd = price_usd

    def estimate(self, rows: Sequence[Row]) -> Spending:
        """Returns the spending for the tools if every first answer is usable. Raises PlannerError without genai-prices."""
        spent = Spending()
        for batch in batches(rows):
            message = _message(batch)
            read = count_tokens(message.system) + count_tokens(message.user)
            spent += self._spending(read, len(batch) * (PER_TOOL * REQUEST_TOKENS + TOOL_TOKENS))
        return spent

    def write(self, batch: Sequence[Row]) -> WrittenBatch:
        """Returns the requests of a batch. Asks once more for tools that the first answer lacks."""
        result, pending = WrittenBatch(), {str(row["tool"]): row for row in batch}
        why = ""
        for _ in range(ASKED):
            message = _message(tuple(pending.values()), why)
            try:
                reply = self._endpoint.ask(message)
            except PlannerError as error:
                result.problem = str(error).replace(", or choose planner=rules", "")
                why = "the model could not be asked."
                break
            result.spent += self._of_reply(reply, message)
            requests, why = _read(reply, pending)
            result.requests.update(requests)
            pending = {tool: row for tool, row in pending.items() if tool not in requests}
            if not pending:
                break
        result.left = dict.fromkeys(pending, why)
        return result

    def _of_reply(self, reply: Reply, message: Message) -> Spending:
        if reply.input_tokens:
            return Spending(reply.input_tokens, reply.output_tokens, reply.cost_usd)
        return self._spending(count_tokens(message.system + message.user), count_tokens(reply.text))

    def _spending(self, read: int, written: int) -> Spending:
        return Spending(read, written, self._price_usd(read, written))


MOST_UNUSABLE = 3  # batches in a row


@actions("tune", write="have a model write example requests")
@dataclass
class WritingRun:
    """Writes batch after batch until all tools have requests, the cap is reached, or the model cannot be asked. `keep` stores the requests
    of some tools and returns the numbers taken and the skipped requests. `stopped` says why the run ended early."""

    writer: RequestWriter
    keep: Callable[[Mapping[str, Sequence[str]]], Mapping[str, Any]]
    limit_usd: float | None = None
    done: int = 0
    of: int = 0
    tools: int = 0
    requests: int = 0
    stopped: str = ""
    failed: bool = False
    skipped: list[str] = field(default_factory=list[str])
    spent: Spending = Spending()
    watch: Watch = field(default_factory=Watch)

    def write(self, rows: Sequence[Row], told: Callable[[], object]) -> None:
        self.of, unusable = len(rows), 0
        for batch in batches(rows):
            if self._over_the_cap(batch):
                break
            with watched(self.watch):
                answer = self.writer.write(batch)
            self.spent += answer.spent
            self.done += len(batch)
            if answer.requests:
                counts = self.keep(answer.requests)
                self.tools += counts["tools"]
                self.requests += counts["requests"]
                self.skipped += [skip["why"] for skip in counts["skipped"]]
            unusable = 0 if answer.requests else unusable + 1
            self.skipped += [f"{tool}: {why}" for tool, why in answer.left.items()]
            told()
            if answer.problem or unusable == MOST_UNUSABLE:
                self.failed = True
                self.stopped = answer.problem or f"{unusable} batches in a row could not be used; try another model."
                break

    def words(self) -> str:
        progress = self.watch.words()
        return f"{self.done:,} of {self.of:,} tools: {self.requests:,} requests; {self.spent.words()}{f'; {progress}' if progress else ''}"

    def _over_the_cap(self, batch: Sequence[Row]) -> bool:
        if self.limit_usd is None:
            return False
        usd = (self.spent + self.writer.estimate(batch)).usd
        if usd is not None and usd <= self.limit_usd:
            return False
        self.stopped = f"The next batch would pass the limit of {self.limit_usd:g} USD."
        return True


def _message(rows: Sequence[Row], why: str = "") -> Message:
    task = f"{WRITE}{AGAIN.format(why=why) if why else ''}"
    data = {"tools": [_shown(row) for row in rows]}
    return Message(RULES, with_data(task, data), WrittenRequests.model_json_schema(), "requests")


def _shown(row: Row) -> dict[str, Any]:
    schema = row["inputSchema"]
    short = len(str(schema)) <= SCHEMA_CHARS
    return {
        "tool": row["tool"],
        "server": one_line(row["server"], SERVER_CHARS),
        "description": row["description"][:DESCRIPTION_CHARS],
        "arguments": schema if short else [name[:100] for name in schema_part(schema, "properties")][:50],
    }


def _read(reply: Reply, tools: Iterable[str]) -> tuple[dict[str, list[str]], str]:
    if not reply.whole:
        return {}, "it was cut off before its end."
    try:
        answer = WrittenRequests.read(reply.text)
    except PlannerError:
        return {}, "it had no JSON object that fits."
    ids = set(tools)
    requests = {entry.tool: entry.requests[:PER_TOOL] for entry in answer.tools if entry.tool in ids and entry.requests}
    return requests, "it lacked these tools."
