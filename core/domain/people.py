"""People: the rights of each role, and the one place that checks and notes them.

A service declares with `actions` the right for its methods. Commands, agents, upkeep, and the person at a console without sign-in
have all rights. The scope of its client limits an agent (`core.governance.policy`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context, ContextVar
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Literal, ParamSpec, TypeVar

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
"""Every role sees every view. A person with several roles has the rights of each role."""
ABOUT = {"catalog", "server", "tool", "tool_id", "place", "name", "router", "id_", "person"}
"""The noted parameters of an action. They hold no values of secrets."""
P = ParamSpec("P")
T = TypeVar("T")
Note = Callable[[str, str, bool], None]  # the action, its object, and whether it was refused


class NotAllowedError(WayfareError):
    """The roles of a person do not allow this."""


@dataclass(frozen=True, slots=True)
class Person:
    """A person with roles. `note` records the person's actions. The default is the person at a console without sign-in."""

    name: str = ""
    roles: Sequence[Role] = ("admin",)
    note: Note = lambda _did, _about, _refused: None

    def refusal(self, right: Right) -> str:
        """Returns the reason why this person lacks a right, or "".

        >>> Person("ann", ("operator",)).refusal("call"), Person("ann", ("viewer", "approver")).refusal("call")
        ('', 'Your role (viewer, approver) may not call tools. An admin of this console can give you another.')
        """
        if any(right in ROLES[role] for role in self.roles):
            return ""
        if not self.roles:
            return "You are not signed in any more. Reload the page."
        return f"Your role ({', '.join(self.roles)}) may not {RIGHTS[right]}. An admin of this console can give you another."


_acting: ContextVar[Person | None] = ContextVar("_acting", default=None)
_inside: ContextVar[bool] = ContextVar("_inside", default=False)  # an action, whose steps are not noted
_at_page: Callable[[], Person | None] = lambda: None  # noqa: E731 - it is replaced


def ask_pages(at_page: Callable[[], Person | None]) -> None:
    """Sets the function that returns the person at the page that this thread draws, or None in other threads."""
    global _at_page  # noqa: PLW0603 - one console in a process
    _at_page = at_page


def person() -> Person:
    """Returns the person for whom this thread works."""
    return _acting.get() or _at_page() or Person()


def act_for(who: Person) -> None:
    """Makes the rest of this context (a request, a thread) work for a person."""
    _acting.set(who)


def for_person(work: Callable[P, T]) -> Callable[P, T]:
    """Returns work that another thread does for the person of this thread."""
    context = Context()
    context.run(act_for, person())
    return partial(context.run, work)


def require(right: Right, did: str = "", about: str = "") -> None:
    """Raises NotAllowedError, and notes the refusal, if the person of this thread lacks the right."""
    actor = person()
    if why := actor.refusal(right):
        actor.note(did or RIGHTS[right], about, True)
        raise NotAllowedError(why)


def actions(right: Right, **did: str) -> Callable[[type[T]], type[T]]:
    """Makes methods of a class actions that need a right. An action is noted in these words. Actions inside it are not noted."""

    def guard(service: type[T]) -> type[T]:
        for name, words in did.items():
            setattr(service, name, _guarded(getattr(service, name), right, words))
        return service

    return guard


def _guarded(method: Callable[..., Any], right: Right, did: str) -> Callable[..., Any]:
    signature = inspect.signature(method)

    @wraps(method)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        arguments = signature.bind(*args, **kwargs).arguments
        about = one_line(" ".join(str(arguments[name]) for name in arguments if name in ABOUT), 200)
        require(right, did, about)
        token = _inside.set(True)
        try:
            result = method(*args, **kwargs)
        finally:
            _inside.reset(token)
        if not _inside.get():
            person().note(did, about, False)
        return result

    guarded.__dict__["right"] = right
    return guarded
