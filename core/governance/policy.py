"""The policy: all settings of an operator about agents, in one value and in one TOML text."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, cast

from core.domain import documents
from core.domain.catalog import Tool
from core.domain.documents import AMOUNT, CLOSED, digest
from core.domain.errors import WayfareError
from core.domain.limits import BreakerRules
from core.governance.approval_rules import ApprovalRules
from core.governance.budgets import Budget
from core.governance.scope import matches

WhenTokens = Literal["elsewhere", "always"]
WhereShown = Literal["last", "hidden"]
HEADING = """\
# Wayfare's policy for agents. Edit it here and import it with `wayfare policy import FILE`, or edit it on the page Govern.
# tokens: which clients of /mcp need a token: "elsewhere" (those on other machines) or "always" (all).
#   If there are clients, budgets or a rate, a request without a token counts as the client "anonymous", under any name.
# unpriced_usd: the assumed price of a call without a price. per_minute: requests of a client, with bursts of up to a
#   minute's worth; 0 means no limit.
# allow and deny: tools as server::tool, with * and ?. deny comes first; an empty allow list allows all.
# changed_definitions: true holds back a tool whose definition differs from the one first used or approved.
# new_with_lint_errors: true holds back a new tool with a Lint error until a person approves it, once there is a client.
# lint_errors and paused_servers: where a search lists tools with a Lint error, and tools of paused servers:
#   "last", with the reason, or "hidden".
# approvals: above_usd makes dearer calls wait for approval. Without it no price does. The request of an agent stays open for
#   hold_s while its call waits; many clients give up after 60 s. client_may_approve asks the person at the agent's client, too
#   (MCP elicitation). It is off by default, because that client could answer by itself: it is the program that wants the call.
# budgets: daily limits (UTC). client, catalog and server are a name, "" for all together, or "*" for each one separately.
#   usd, calls and tokens (of results) are limits; each is optional. at_limit is "refuse", "cheaper" (only tools that still
#   fit) or "ask" (a person decides). The strictest exceeded budget decides. An approved call counts in all budgets.
"""
PLAIN = (
    "tokens", "unpriced_usd", "per_minute", "changed_definitions", "new_with_lint_errors", "allow", "deny", "lint_errors", "paused_servers",
)  # fmt: skip
EXAMPLE = """
# [[budgets]]
# client = "*"
# usd = 1.0
# calls = 500
# tokens = 200000
# at_limit = "refuse"\
"""


@dataclass(frozen=True, slots=True)
class Policy:
    """By default every tool is allowed, except tools with a changed definition and servers that keep failing. Searches
    leave out tools with Lint errors, unless a person approved their definition."""

    __pydantic_config__ = CLOSED

    tokens: WhenTokens = "elsewhere"
    unpriced_usd: Annotated[int | float, AMOUNT] = 0.001
    per_minute: Annotated[int | float, AMOUNT] = 0.0
    changed_definitions: bool = True
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    approvals: ApprovalRules = field(default_factory=ApprovalRules)
    breaker: BreakerRules = field(default_factory=BreakerRules)
    budgets: tuple[Budget, ...] = ()
    lint_errors: WhereShown = "hidden"
    paused_servers: WhereShown = "last"
    new_with_lint_errors: bool = True

    def refusal(self, tool: Tool) -> str:
        """Returns why no client may use a tool, or "".

        >>> Policy(deny=("mail::*",)).refusal(Tool("mail", "send")), Policy(allow=("files::*",)).refusal(Tool("mail", "send"))
        ('the operator denies it', 'it is not on the list of allowed tools')
        """
        if matches(tool.id, self.deny):
            return "the operator denies it"
        return "" if not self.allow or matches(tool.id, self.allow) else "it is not on the list of allowed tools"

    @property
    def digest(self) -> str:
        """The digest that an approval is bound to."""
        return digest(to_toml(self))


def to_toml(policy: Policy) -> str:
    """Returns the policy as text for people. `from_toml` reads it back.

    >>> from_toml(to_toml(Policy(budgets=(Budget(usd=1.5),)))) == Policy(budgets=(Budget(usd=1.5),))
    True
    """
    lines = [HEADING]
    for name in PLAIN:
        lines.append(f"{name} = {_value(getattr(policy, name))}")
    for name in ("approvals", "breaker"):
        lines += ["", f"[{name}]", *_table(getattr(policy, name))]
    for budget in policy.budgets:
        lines += ["", "[[budgets]]", *_table(budget)]
    lines += [] if policy.budgets else [EXAMPLE]
    return "\n".join(lines) + "\n"


def from_toml(text: str) -> Policy:
    """Returns the policy of a text, with defaults for missing parts. Raises WayfareError with the first error."""
    try:
        found: Mapping[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise WayfareError(f"The policy is not valid TOML: {error}.") from None
    policy = documents.read(Policy, found, "The policy", error=WayfareError)
    for budget in policy.budgets:
        if budget.usd is budget.calls is budget.tokens is None:
            raise WayfareError("The policy has a budget without a limit; give usd, calls or tokens.")
    return policy


def _table(rules: object) -> list[str]:
    pairs = ((one.name, getattr(rules, one.name)) for one in fields(cast(Any, rules)))
    return [f"{name} = {_value(value)}" for name, value in pairs if value is not None]


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, cast('tuple[object, ...]', value)))}]"
    if isinstance(value, str):
        return '"' + "".join(_escaped(character) for character in value) + '"'
    return repr(value)


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08X}"
