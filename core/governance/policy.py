"""The policy: everything that an operator sets about agents, in one value and in one TOML text."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, cast

from core.domain.catalog import Tool
from core.governance.approvals import ApprovalRules, digest
from core.governance.budgets import Budget
from core.governance.limits import BreakerRules
from core.governance.scope import matches
from core.shared import documents
from core.shared.documents import AMOUNT, CLOSED
from core.shared.errors import WayfareError

WhenTokens = Literal["elsewhere", "always"]
WHEN_TOKENS: tuple[WhenTokens, ...] = ("elsewhere", "always")
WhereShown = Literal["last", "hidden"]
WHERE_SHOWN: tuple[WhereShown, ...] = ("last", "hidden")
HEADING = """\
# Wayfare's policy for agents. Change it here and take it in with `wayfare policy import FILE`, or on the page Govern.
# tokens: when a client of /mcp needs one: "elsewhere" (whoever does not come from this machine) or "always".
#   Where there are clients or budgets, a request without one is the client "anonymous", whatever it calls itself.
# unpriced_usd: what a call of a tool without a price counts as. per_minute: requests of a client, a minute's worth
#   of which may come at once; 0 is no limit.
# allow and deny: tools as server::tool, with * and ?; deny goes first, and an empty allow list allows all.
# changed_definitions: true holds a tool back whose definition is another than the one first used or approved.
# lint_errors and paused_servers: where a search shows tools that Lint marks with an error, and tools of a server that is left alone for
#   a while: "last", with the reason, or "hidden".
# approvals: above_usd has dearer calls wait; left out, none does.
# budgets: of a day (UTC); client, catalog and server are a name, "" for all together, or "*" for each by itself;
#   usd, calls, tokens (of results) are limits, each may be left out; at_limit is "refuse", "cheaper" (only tools that still fit) or "ask" (a person decides):
#   the strictest of the budgets that are short decides, and what a person lets go beyond one counts in all.
"""
PLAIN = (
    "tokens", "unpriced_usd", "per_minute", "changed_definitions", "allow", "deny", "lint_errors", "paused_servers",
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
    """The default lets everything through but tools whose definition changed and servers that keep failing; searches leave out
    tools with errors that Lint finds, unless a person approved them as they are."""

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

    def refusal(self, tool: Tool) -> str:
        """Why no client may use a tool; "" where they may.

        >>> Policy(deny=("mail::*",)).refusal(Tool("mail", "send")), Policy(allow=("files::*",)).refusal(Tool("mail", "send"))
        ('the operator denies it', 'it is not on the list of allowed tools')
        """
        if matches(tool.id, self.deny):
            return "the operator denies it"
        return "" if not self.allow or matches(tool.id, self.allow) else "it is not on the list of allowed tools"

    @property
    def digest(self) -> str:
        """What an approval is bound to."""
        return digest(to_toml(self))


def to_toml(policy: Policy) -> str:
    """The policy for people to read and change; `from_toml` reads it back.

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
    """The policy of a text; what it leaves out is the default. Raises WayfareError, naming the first thing that is wrong."""
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
