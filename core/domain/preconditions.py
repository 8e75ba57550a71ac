"""Preconditions of a tool call, declared in catalog data, and the agent's state that they are checked against.

Three predicates of Tool Attention, section 5.4, each with one text. Nothing is evaluated as code:

    is_authenticated(scope="mail:write")       the agent holds the scope
    has_prior_tool_output(prefix="search_")    it has seen the output of a tool whose name, or server::name, begins so
    milestone_reached(name="plan_confirmed")   its workflow has come that far

>>> state = AgentState.of(scopes="mail:*", outputs="files::search_text", milestones="")
>>> [state.satisfies(Precondition.parse(text)) for text in (
...     'is_authenticated("mail:write")', "has_prior_tool_output('search_')", 'milestone_reached(name="confirmed")')]
[True, True, False]
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from core.domain.params import NOTHING

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
