"""The interface to call tools, and the preconditions of a call, which a catalog declares and an agent's state meets or not."""

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
"""Takes the outcome of a call, or None if it says nothing about the server."""
Leave = Callable[[ToolCall, str], Settle | None]
"""Returns the function that settles a call, or None if the call may not be made."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a running call. `progress` and `total` are in the server's own unit. `total` is None if unknown."""

    progress: float
    total: float | None
    message: str


class ToolCaller(Protocol):
    """Calls a tool and returns the outcome."""

    def call(
        self,
        call: ToolCall,
        tool: Tool | None,
        connection: Connection | None,
        *,
        on_progress: Callable[[Progress], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> Outcome:
        """Calls the tool and waits for its outcome.

        Faults of the server are in the outcome, never raised. `tool` gives the hints and the input schema if the catalog
        has them. `on_progress` runs in the calling thread. Its errors end the call and are raised. Setting `cancel` from
        another thread ends the call with `OutcomeKind.CANCELLED`.
        """
        ...


def always(_call: ToolCall, _origin: str) -> Settle:
    """Allows every call, without governance."""
    return lambda _kind: None


# The client of a call. Its server may send it log messages and questions while the call runs.

NOBODY = frozenset[str]()
"""A client without abilities."""


@dataclass
class Waiting:
    """The waits for answers of a client: the time in all, s, and the number of waits `now`."""

    total_s: float = 0.0
    now: int = 0


@dataclass(frozen=True)
class ClientSide:
    """`client` is its name. `abilities` are those that it declared: sampling, elicitation, roots. `log` and `ask` may be used from any thread
    and do not wait. A client that is `asked_between` rounds gets the `questions` in place of a result. It repeats its request with
    `answers`, the fields input_responses and request_state. `log_level` is "" if it wants no messages. The time of `waiting` does
    not count as the server's."""

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
        """Whether it can be asked during a call."""
        return bool(self.abilities) and not self.asked_between


CLIENT_SIDE: ContextVar[ClientSide | None] = ContextVar("CLIENT_SIDE", default=None)
"""Set while a request of a mirror's client is answered, also in threads that work for it."""

TURN_ENDS: ContextVar[Callable[[], object]] = ContextVar("TURN_ENDS", default=lambda: None)
"""Called from any thread before a wait for a server or a person. Then the next request may begin."""


@dataclass(frozen=True, slots=True)
class SessionOwner:
    """The client of a session with a server. `key` identifies it, `name` is for people. Without a key it is Wayfare itself, whose
    requests leave no state behind. Wayfare lists tools and uses the sessions that all clients share. The session declares the
    client's `abilities` to the server. A `passing` client may not come back under this key. `person` is the name of the person
    or client, for servers that each person signs in to."""

    key: str = ""
    name: str = ""
    abilities: frozenset[str] = NOBODY
    passing: bool = field(default=False, compare=False)
    person: str = field(default="", compare=False)


ANONYMOUS = "anonymous"
"""The client of a request without a token, if there are clients or budgets. The name that it gives does not count."""
WAYFARE = SessionOwner()
SESSION_OWNER: ContextVar[SessionOwner] = ContextVar("SESSION_OWNER", default=WAYFARE)
"""Set while a request of a client is answered, also in threads that work for it."""


def session_owner() -> SessionOwner:
    """Returns the owner in this context. Without a person it gets the person for whom this thread works."""
    owner = SESSION_OWNER.get()
    return owner if owner.person else replace(owner, person=person().name)


# The protocol's methods that list something.

TOOLS, RESOURCES, TEMPLATES, PROMPTS = "tools/list", "resources/list", "resources/templates/list", "prompts/list"
ITEMS = {TOOLS: "tools", RESOURCES: "resources", TEMPLATES: "resource_templates", PROMPTS: "prompts"}
"""The methods and the fields of their results."""


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
    """A predicate with its argument. Its text has one form, however it was written."""

    predicate: str
    value: str

    @classmethod
    def parse(cls, text: str) -> Precondition:
        """Reads a precondition. Raises ValueError with the correct form.

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
    """The permissions and history of an agent. `*` stands for everything, `mail:*` for everything that begins with `mail:`."""

    scopes: frozenset[str] = frozenset()
    outputs: frozenset[str] = frozenset()
    milestones: frozenset[str] = frozenset()

    @classmethod
    def of(cls, *, scopes: str, outputs: str, milestones: str) -> AgentState:
        """Reads texts that commas or spaces separate. `none` and an empty text hold nothing."""
        return cls(*(frozenset(re.split(r"[,\s]+", text)) - {"", NOTHING} for text in (scopes, outputs, milestones)))

    @classmethod
    def satisfying(cls, preconditions: Iterable[str]) -> AgentState:
        """The least state that satisfies all of these. Unreadable ones are left out, because no state satisfies them.

        >>> AgentState.satisfying(['is_authenticated("a")', "milestone_reached('b')", "c"]).texts()
        {'scopes': 'a', 'outputs': 'none', 'milestones': 'b'}
        """
        grants: dict[str, set[str]] = {predicate: set() for predicate in ARGUMENTS}
        for text in preconditions:
            with suppress(ValueError):
                precondition = Precondition.parse(text)
                grants[precondition.predicate].add(precondition.value)
        return cls(*(frozenset(values) for values in grants.values()))

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
        return {name: ",".join(sorted(values)) or NOTHING for name, values in self._parts().items()}

    def satisfies(self, precondition: Precondition) -> bool:
        value = precondition.value
        if precondition.predicate == "is_authenticated":
            return _granted(self.scopes, value)
        if precondition.predicate == "milestone_reached":
            return _granted(self.milestones, value)
        return any(
            output == EVERYTHING or output.startswith(value) or output.partition("::")[2].startswith(value)
            for output in self.outputs
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
        return "; ".join(f"{name} {_listed(values)}" for name, values in self._parts().items())

    def _parts(self) -> dict[str, frozenset[str]]:
        return {"scopes": self.scopes, "outputs": self.outputs, "milestones": self.milestones}


def _granted(grants: frozenset[str], value: str) -> bool:
    return value in grants or any(grant.endswith(EVERYTHING) and value.startswith(grant[:-1]) for grant in grants)


def _listed(grants: frozenset[str]) -> str:
    if EVERYTHING in grants:
        return "all"
    names = [grant[:SHOWN_CHARACTERS] for grant in sorted(grants)[:SHOWN]]
    more = [f"{len(grants) - SHOWN} more"] if len(grants) > SHOWN else []
    return ", ".join(names + more) or NOTHING


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Precondition:
    match = _CALL.fullmatch(text)
    if match is None or match["predicate"] not in ARGUMENTS:
        raise ValueError("is none of " + ", ".join(f'{name}({argument}="…")' for name, argument in ARGUMENTS.items()))
    argument = ARGUMENTS[match["predicate"]]
    if match["argument"] not in (None, argument):
        raise ValueError(f"names its argument {match['argument']}; {match['predicate']} takes {argument}")
    if not _VALUE.fullmatch(match["value"]):
        raise ValueError(f"has a {argument} that is no name; use 1 to 100 letters, digits and _ . : / + @ -")
    return Precondition(match["predicate"], match["value"])
