"""The outcome of a tool call. A tool that fails is an `Outcome`, never an exception."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from core.domain.catalog import ServerId
from core.domain.params import AS_MEASURED, NetworkMoment

SIMULATED_MARK = "wayfare/simulated"
"""The key under `_meta` of a result, and the extension among a server's capabilities, that say: it is simulated."""


class CallMode(StrEnum):
    REAL = "real"  # to the server itself
    VIRTUAL = "virtual"  # to a virtual server: real MCP, simulated results
    DRAWN = "drawn"  # nothing is called: the outcome is drawn from the known figures


class OutcomeKind(StrEnum):
    """How a call ended. EHRR (8) needs two bits of it: `y` (success) and `fail` (post-accept failure)."""

    OK = "ok"
    TOOL_ERROR = "tool_error"
    INVALID_ARGUMENTS = "invalid_arguments"
    TIMEOUT = "timeout"
    CRASH = "crash"
    NOT_CONNECTED = "not_connected"
    CANCELLED = "cancelled"
    NOT_TRIED = "not_tried"
    BUSY = "busy"

    @property
    def success(self) -> bool:
        """y of EHRR (8)."""
        return self is OutcomeKind.OK

    @property
    def post_accept_failure(self) -> bool:
        """fail of EHRR (8): the call never got an answer from the tool."""
        return self in {OutcomeKind.TIMEOUT, OutcomeKind.CRASH, OutcomeKind.NOT_CONNECTED}

    @property
    def counts(self) -> bool:
        """Whether statistics learn from it. A cancelled, delayed or unmade call says nothing about the tool."""
        return self not in {OutcomeKind.CANCELLED, OutcomeKind.NOT_TRIED, OutcomeKind.BUSY}

    def charged_usd(self, price_usd: float) -> float | None:
        """The cost of a call at its declared price: 0 if no tool answered, None without a declared price (NaN).

        >>> OutcomeKind.TOOL_ERROR.charged_usd(0.002), OutcomeKind.TIMEOUT.charged_usd(0.002)
        (0.002, 0.0)
        """
        if math.isnan(price_usd):
            return None
        return price_usd if self in {OutcomeKind.OK, OutcomeKind.TOOL_ERROR} else 0.0


@dataclass(frozen=True, slots=True)
class ContentBlock:
    """A block of a result, by MCP content type.

    `kind` is text, image, audio, resource or resource_link. `data` is bytes for pictures, sound and binary resources.
    """

    kind: str
    text: str = ""
    data: bytes = b""
    mime_type: str = ""
    uri: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call to make. `timeout_s` bounds the call itself, not the connection. A simulated `network` troubles it.
    `payment_usd` is the payment by a decision. Without it the call pays its listed price."""

    server: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    timeout_s: float = 30.0
    catalog: str = ""
    decision_id: str | None = None
    network: NetworkMoment = AS_MEASURED
    payment_usd: float | None = None

    @property
    def server_id(self) -> ServerId:
        return ServerId(self.catalog, self.server)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a call: kind, content, times in seconds, and the source of the figures.

    `connect_s` is None if a kept session was used. `latency_s` is the tool call alone. `injected` is the effect of an
    injected network on the call, in plain words, or "". `original` is the server's answer or error in the protocol's own
    type, to pass on unchanged. `note` is further information for the client. `cut` says what was sanitised in the result. A server
    that `asks_back` has not ended the call: the client repeats it with its answers.
    """

    call: ToolCall
    kind: OutcomeKind
    started_at: datetime
    latency_s: float
    connect_s: float | None = None
    content: tuple[ContentBlock, ...] = ()
    structured: Any = None
    error: str = ""
    attempts: int = 1
    protocol_version: str = ""
    mode: CallMode = CallMode.REAL
    price_usd: float | None = None
    id: str = ""
    injected: str = ""
    note: str = ""
    cut: str = ""
    asks_back: bool = False
    original: object = field(default=None, repr=False, compare=False)

    @property
    def simulated(self) -> bool:
        """Whether no real tool was called. Then statistics do not learn from it."""
        return self.mode is not CallMode.REAL
