"""Which calls wait for a person, and what exactly a person approves."""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass

from core.domain.catalog import Tool
from core.domain.outcome import ToolCall
from core.governance.definitions import definition_json, digest


@dataclass(frozen=True, slots=True)
class ApprovalRules:
    """Calls that wait: of tools that do not say that they only read, dearer than `above_usd`, of tools that are new here.

    A wait lasts `wait_s`; what was approved may be called once within `valid_s`.
    """

    writes: bool = False
    above_usd: float | None = None
    new: bool = False
    wait_s: float = 900.0
    valid_s: float = 900.0

    def reasons(self, tool: Tool, price_usd: float, *, known: bool) -> tuple[str, ...]:
        """Why a call waits; nothing where it does not.

        >>> ApprovalRules(writes=True, above_usd=0.01, new=True).reasons(Tool("mail", "send"), 0.02, known=False)
        ('it may write', 'it costs $0.02, more than $0.01', 'it is new here')
        """
        found = {
            "it may write": self.writes and tool.hints.read_only is not True,
            f"it costs ${price_usd:g}, more than ${self.above_usd or 0:g}": self.above_usd is not None
            and price_usd > self.above_usd,
            "it is new here": self.new and not known,
        }
        return tuple(reason for reason, applies in found.items() if applies)


@dataclass(frozen=True, slots=True)
class Binding:
    """What an approval is for, and nothing else: another client, argument, definition or policy needs another one."""

    client: str
    catalog: str
    server: str
    tool: str
    arguments_digest: str
    definition_digest: str
    policy_digest: str

    @property
    def key(self) -> str:
        """The whole of it as one digest."""
        return digest(json.dumps(astuple(self)))


def binding(client: str, call: ToolCall, tool: Tool, policy_digest: str) -> Binding:
    """The binding of a call. The order of its arguments does not matter.

    >>> made = [binding("ann", ToolCall("a", "b", arguments), Tool("a", "b"), "p") for arguments in ({"x": 1, "y": 2}, {"y": 2, "x": 1})]
    >>> made[0] == made[1]
    True
    """
    arguments = json.dumps(dict(call.arguments), sort_keys=True, ensure_ascii=False, default=str)
    return Binding(
        client, call.catalog, call.server, call.tool, digest(arguments), digest(definition_json(tool)), policy_digest
    )
