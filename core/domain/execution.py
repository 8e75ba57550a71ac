"""The interface through which tools are called, and the preconditions of a call: declared in catalog data, checked against an agent's state."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Protocol

from core.domain.catalog import Connection, Tool
from core.domain.outcome import Outcome, OutcomeKind, ToolCall
from core.domain.params import NOTHING
from core.domain.people import person

APPROVAL_NEEDED, APPROVAL_DENIED = "approval_needed", "approval_denied"
"""Reasons of refusals that only a person can lift."""
Settle = Callable[[OutcomeKind | None], None]
"""Gets the outcome of a call, or None if it tells nothing about the server."""
Leave = Callable[[ToolCall, str], Settle | None]
"""Returns the function that settles a call, or None if the call may not be made."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a running call is. `progress` and `total` are in the server's own unit; total is None if unknown."""

    progress: float
    total: float | None
    message: str


class ToolCaller(Protocol):
    """Calls one tool and says what happened."""

    def call(
        self,
        call: ToolCall,
        tool: Tool | None,
        connection: Connection | None,
        *,
        on_progress: Callable[[Progress], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> Outcome:
        """Call the tool and wait for its outcome.

        Nothing that the server does is raised: it is in the outcome. `tool` gives the hints and the input schema
        where the catalog has them. `on_progress` runs in the calling thread; what it raises ends the call and is raised.
        Setting `cancel` from another thread ends the call with `OutcomeKind.CANCELLED`.
        """
        ...


def always(_call: ToolCall, _origin: str) -> Settle:
    """Permission for every call, without governance."""
    return lambda _kind: None


# The client that made a call, as its server may reach it while the call runs: log messages, and questions before it can go on.

NOBODY = frozenset[str]()
"""A client without abilities."""


@dataclass
class Waiting:
    """For the answers of a client: how long in all, s, and how many of them are awaited now."""

    total_s: float = 0.0
    now: int = 0


@dataclass(frozen=True)
class ClientSide:
    """`client` is its name, `abilities` are what it declared: sampling, elicitation, roots. `log` and `ask` may be used from any thread and do
    not wait. A client that is `asked_between` rounds gets the questions in place of a result, kept in `questions`, and makes its
    request again with `answers`, the fields input_responses and request_state. `log_level` is "" if it wants no messages.
    `waiting` is no time of the server's."""

    client: str
    abilities: frozenset[str]
    asked_between: bool
    log_level: str
    log: Callable[[Any], None]
    ask: Callable[[Any], Future[Any]]
    answers: dict[str, Any] = field(default_factory=dict[str, Any])
    questions: list[Any] = field(default_factory=list[Any])
    waiting: Waiting = field(default_factory=Waiting)

    @property
    def asked_during(self) -> bool:
        """Whether a question reaches it in the midst of a call."""
        return bool(self.abilities) and not self.asked_between


CLIENT_SIDE: ContextVar[ClientSide | None] = ContextVar("CLIENT_SIDE", default=None)
"""Set while a request of a mirror's client is answered; threads that work for it have it, too."""

TURN_ENDS: ContextVar[Callable[[], object]] = ContextVar("TURN_ENDS", default=lambda: None)
"""Called, from any thread, before a wait for a server or a person: the next request may begin."""


@dataclass(frozen=True, slots=True)
class SessionOwner:
    """The client that a session with a server belongs to. `key` tells it from all others, `name` is for people. Without a key it is
    Wayfare itself, whose requests leave no state behind: it lists tools, and uses the sessions that all clients share. The session
    declares the client's `abilities` to the server. A `passing` client may not be known again: only its next request tells. `person` is the
    person or client by name, for servers that each one signs in to."""

    key: str = ""
    name: str = ""
    abilities: frozenset[str] = NOBODY
    passing: bool = field(default=False, compare=False)
    person: str = field(default="", compare=False)


ANONYMOUS = "anonymous"
"""The client of a request without a token, if there are clients or budgets. Its own name does not count."""
WAYFARE = SessionOwner()
SESSION_OWNER: ContextVar[SessionOwner] = ContextVar("SESSION_OWNER", default=WAYFARE)
"""Set while a request of a client is answered; threads that work for it have it, too."""


def session_owner() -> SessionOwner:
    """Returns the owner in this context; without a client its person is the one for whom this thread works."""
    owner = SESSION_OWNER.get()
    return owner if owner.person else replace(owner, person=person().name)


# What servers list, by the protocol's methods.

TOOLS, RESOURCES, TEMPLATES, PROMPTS = "tools/list", "resources/list", "resources/templates/list", "prompts/list"
ITEMS = {TOOLS: "tools", RESOURCES: "resources", TEMPLATES: "resource_templates", PROMPTS: "prompts"}
"""The methods that list something, and the field of their results that has it."""


ARGUMENTS = {"is_authenticated": "scope", "has_prior_tool_output": "prefix", "milestone_reached": "name"}
WORDS = {"is_authenticated": "scope", "has_prior_tool_output": "output of", "milestone_reached": "milestone"}
EVERYTHING = "*"
SHOWN, SHOWN_CHARACTERS = 8, 40  # of a state in words
_CALL = re.compile(
    r"(?P<predicate>\w+)\(\s*(?:(?P<argument>\w+)\s*=\s*)?(?P<quote>[\"'])(?P<value>[^\"'\\]*)(?P=quote)\s*\)"
)
_VALUE = re.compile(r"[\w.:/+@-]{1,100}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Precondition:
    """One predicate with its argument. Its text is the same however it was written."""

    predicate: str
    value: str

    @classmethod
    def parse(cls, text: str) -> Precondition:
        """Read one. Raises ValueError that says what would be right.

        >>> str(Precondition.parse(" milestone_reached( 'confirmed' ) "))
        'milestone_reached(name="confirmed")'
        >>> Precondition.parse("__import__('os')")
        Traceback (most recent call last):
        ValueError: is none of is_authenticated(scope="…"), has_prior_tool_output(prefix="…"), milestone_reached(name="…")
        """
        return _parsed(text.strip())

    def __str__(self) -> str:
        return f'{self.predicate}({ARGUMENTS[self.predicate]}="{self.value}")'

    def in_words(self) -> str:
        """The precondition as a phrase.

        >>> Precondition("has_prior_tool_output", "search_").in_words()
        'output of search_'
        """
        return f"{WORDS[self.predicate]} {self.value}"


@dataclass(frozen=True, slots=True)
class AgentState:
    """The permissions and history of an agent. `*` stands for everything, `mail:*` for all that begins with `mail:`."""

    scopes: frozenset[str] = frozenset()
    outputs: frozenset[str] = frozenset()
    milestones: frozenset[str] = frozenset()

    @classmethod
    def of(cls, *, scopes: str, outputs: str, milestones: str) -> AgentState:
        """From texts in which commas or spaces separate; `none` and an empty text hold nothing."""
        return cls(*(frozenset(re.split(r"[,\s]+", text)) - {"", NOTHING} for text in (scopes, outputs, milestones)))

    @classmethod
    def satisfying(cls, preconditions: Iterable[str]) -> AgentState:
        """The least state in which all of these hold. Unreadable ones are left out: no state satisfies them.

        >>> AgentState.satisfying(['is_authenticated("a")', "milestone_reached('b')", "c"]).texts()
        {'scopes': 'a', 'outputs': 'none', 'milestones': 'b'}
        """
        granted: dict[str, set[str]] = {predicate: set() for predicate in ARGUMENTS}
        for text in preconditions:
            with suppress(ValueError):
                one = Precondition.parse(text)
                granted[one.predicate].add(one.value)
        return cls(*(frozenset(values) for values in granted.values()))

    def __or__(self, other: AgentState) -> AgentState:
        return AgentState(self.scopes | other.scopes, self.outputs | other.outputs, self.milestones | other.milestones)

    def texts(self) -> dict[str, str]:
        """The state as the texts that `of` reads.

        >>> state = AgentState.of(scopes="b, a", outputs="*", milestones="none")
        >>> state.texts()
        {'scopes': 'a,b', 'outputs': '*', 'milestones': 'none'}
        >>> AgentState.of(**state.texts()) == state
        True
        """
        return {name: ",".join(sorted(granted)) or NOTHING for name, granted in self._parts().items()}

    def satisfies(self, precondition: Precondition) -> bool:
        wanted = precondition.value
        if precondition.predicate == "is_authenticated":
            return _granted(self.scopes, wanted)
        if precondition.predicate == "milestone_reached":
            return _granted(self.milestones, wanted)
        return any(
            seen == EVERYTHING or seen.startswith(wanted) or seen.partition("::")[2].startswith(wanted)
            for seen in self.outputs
        )

    def unmet(self, preconditions: Iterable[str]) -> tuple[str, ...]:
        """The preconditions that do not hold. An unreadable one does not hold.

        >>> AgentState().unmet(['is_authenticated("a")'])
        ('is_authenticated("a")',)
        """
        return tuple(text for text in preconditions if not self._holds(text))

    def _holds(self, text: str) -> bool:
        try:
            return self.satisfies(Precondition.parse(text))
        except ValueError:
            return False

    def in_words(self) -> str:
        """The state as a phrase.

        >>> AgentState.of(scopes="b, a", outputs="*", milestones="").in_words()
        'scopes a, b; outputs all; milestones none'
        """
        return "; ".join(f"{name} {_listed(granted)}" for name, granted in self._parts().items())

    def _parts(self) -> dict[str, frozenset[str]]:
        return {"scopes": self.scopes, "outputs": self.outputs, "milestones": self.milestones}


def _granted(granted: frozenset[str], wanted: str) -> bool:
    return wanted in granted or any(one.endswith(EVERYTHING) and wanted.startswith(one[:-1]) for one in granted)


def _listed(granted: frozenset[str]) -> str:
    if EVERYTHING in granted:
        return "all"
    named = [one[:SHOWN_CHARACTERS] for one in sorted(granted)[:SHOWN]]
    more = [f"{len(granted) - SHOWN} more"] if len(granted) > SHOWN else []
    return ", ".join(named + more) or NOTHING


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Precondition:
    found = _CALL.fullmatch(text)
    if found is None or found["predicate"] not in ARGUMENTS:
        raise ValueError("is none of " + ", ".join(f'{name}({argument}="…")' for name, argument in ARGUMENTS.items()))
    argument = ARGUMENTS[found["predicate"]]
    if found["argument"] not in (None, argument):
        raise ValueError(f"names its argument {found['argument']}; {found['predicate']} takes {argument}")
    if not _VALUE.fullmatch(found["value"]):
        raise ValueError(f"has a {argument} that is no name; use 1 to 100 letters, digits and _ . : / + @ -")
    return Precondition(found["predicate"], found["value"])
