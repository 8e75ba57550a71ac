"""People: what each role may do, and the one place where that is checked and noted.

A service says with `needs` which right an action takes. Commands, agents, upkeep, and the person at a console without sign-in have
all rights. What an agent may use is its client's scope (`core.governance.policy`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import Literal, ParamSpec, TypeVar

from core.domain.errors import WayfareError
from core.domain.untrusted_text import one_line

Right = Literal["tune", "call", "approve", "administer"]
Role = Literal["viewer", "operator", "approver", "admin"]
RIGHTS: Mapping[Right, str] = {
    "tune": "change knobs, labels and measurements",
    "call": "call tools",
    "approve": "approve or deny",
    "administer": "change clients, budgets, secrets, servers, prices or the policy",
}
ROLES: Mapping[Role, frozenset[Right]] = {
    "viewer": frozenset(),
    "operator": frozenset({"tune", "call"}),
    "approver": frozenset({"approve"}),
    "admin": frozenset(RIGHTS),
}
"""Every role sees every view. A person with several roles has the rights of each."""
ABOUT = {"catalog", "server", "tool", "tool_id", "place", "name", "router", "id_"}
"""The parameters of an action that are noted. Values of secrets are not among them."""
P = ParamSpec("P")
T = TypeVar("T")
Note = Callable[[str, str, bool], None]  # what was done, to what, and whether it was refused instead


class NotAllowedError(WayfareError):
    """The roles of a person do not allow this."""


def _forget(_did: str, _about: str, _refused: bool) -> None:
    """A person without a name leaves no note."""


@dataclass(frozen=True, slots=True)
class Person:
    """A person with roles. `note` keeps what the person did. The default is the person at a console without sign-in."""

    name: str = ""
    roles: Sequence[Role] = ("admin",)
    note: Note = _forget

    def refusal(self, right: Right) -> str:
        """Returns why this person may not, or "".

        >>> Person("ann", ("operator",)).refusal("call"), Person("ann", ("viewer", "approver")).refusal("call")
        ('', 'Your role (viewer, approver) may not call tools. An admin of this console can give you another.')
        """
        if any(right in ROLES[role] for role in self.roles):
            return ""
        if not self.roles:
            return "You are not signed in any more. Reload the page."
        return f"Your role ({', '.join(self.roles)}) may not {RIGHTS[right]}. An admin of this console can give you another."


_ACTING: ContextVar[Person | None] = ContextVar("_ACTING", default=None)
_NOTED: ContextVar[bool] = ContextVar("_NOTED", default=False)
_at_page: Callable[[], Person | None] = lambda: None  # noqa: E731 - it is replaced


def ask_pages(at_page: Callable[[], Person | None]) -> None:
    """Sets what returns the person at the page that this thread draws, None for another thread."""
    global _at_page  # noqa: PLW0603 - one console in a process
    _at_page = at_page


def person() -> Person:
    """Returns the person who acts in this thread."""
    return _ACTING.get() or _at_page() or Person()


@contextmanager
def acting(who: Person) -> Generator[None]:
    """Lets this thread act for a person until the block ends."""
    token = _ACTING.set(who)
    try:
        yield
    finally:
        _ACTING.reset(token)


def for_person(work: Callable[P, T]) -> Callable[P, T]:
    """Returns work that another thread does for the person of this one."""
    who = person()

    def done(*args: P.args, **kwargs: P.kwargs) -> T:
        with acting(who):
            return work(*args, **kwargs)

    return done


def require(right: Right, did: str = "", about: str = "") -> None:
    """Raises NotAllowedError, and notes it, if the person of this thread may not."""
    who = person()
    if why := who.refusal(right):
        who.note(did or RIGHTS[right], about, True)
        raise NotAllowedError(why)


def needs(right: Right, did: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Makes a method an action that takes a right. Once it is done, it is noted as `did`; what it does on the way is not."""

    def guard(method: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(method)

        @wraps(method)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
            given = signature.bind(*args, **kwargs).arguments
            about = one_line(" ".join(str(given[name]) for name in given if name in ABOUT), 200)
            require(right, did, about)
            inside = _NOTED.set(True)
            try:
                result = method(*args, **kwargs)
            finally:
                _NOTED.reset(inside)
            if not _NOTED.get():
                person().note(did, about, False)
            return result

        guarded.__dict__["right"] = right
        return guarded

    return guard
