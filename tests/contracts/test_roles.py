"""Rights of each role for every action of a service, by any way in."""

from __future__ import annotations

import inspect
import pkgutil
import re
import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context
from importlib import import_module
from typing import Any

import core
from core.domain.people import RIGHTS, ROLES, NotAllowedError, Person, Right, Role, act_for, actions, for_person, person
from tests.cases import each

PACKAGES = {"lab", "governance", "catalogs", "learning", "routers", "network", "agents", "store", "calls"}
CHANGES = re.compile(
    r"(add|apply|begin|decide|delete|disable|discover|enable|forget|hide|import|judge|keep|label|make|multiply|put|remove|restart|restore|"
    r"retract|revoke|save|set|show|sign_out|take|undo)(_|$)"
)
SERVICES = re.compile(
    r"(Service|Editor|Register|Vault|Values|SignIns|Wordings|Files|Presets|Knobs|Definitions|Profiles)$"
)
FREE = {
    "CallService.make": "is behind GovernedCalls, for agents",
    "CatalogService": "is behind CatalogEditor, ServerEditor and Wordings, and upkeep uses it",
    "FollowedFiles.remember": "is called by an import alone",
    "FollowedFiles.forget": "is called by the removal of a catalog alone",
    "SignIns.begin": "anyone may sign in",
    "SignIns.begin_with_claims": "anyone may sign in",
}


def services() -> Iterator[type[Any]]:
    for info in pkgutil.walk_packages(core.__path__, "core."):
        if info.name.split(".")[1] in PACKAGES and not info.name.endswith("__main__"):
            module = import_module(info.name)
            yield from (
                service
                for _, service in inspect.getmembers(module, inspect.isclass)
                if service.__module__ == module.__name__
            )


def guarded() -> dict[str, tuple[Callable[..., Any], Right]]:
    methods = {f"{service.__name__}.{name}": method for service in services() for name, method in vars(service).items()}
    return {name: (method, method.right) for name, method in methods.items() if hasattr(method, "right")}


def as_person(roles: tuple[Role, ...], work: Callable[[], Any]) -> tuple[Any, list[tuple[str, str, bool]]]:
    """The result of some work for a person with these roles, and the notes."""
    notes: list[tuple[str, str, bool]] = []

    def done() -> Any:
        act_for(Person("ann", roles, lambda *note: notes.append(note)))
        try:
            return work()
        except NotAllowedError as error:
            return error

    return copy_context().run(done), notes


@each("role", list(ROLES))
def test_each_action_is_refused_to_a_role_without_its_right(role: Role) -> None:
    methods = guarded()
    assert len(methods) > 60
    assert {right for _, right in methods.values()} == set(RIGHTS)
    for name, (method, right) in methods.items():
        if right in ROLES[role]:
            continue
        parameters = [
            parameter
            for parameter in inspect.signature(method).parameters.values()
            if parameter.default is parameter.empty
        ]
        arguments = {
            parameter.name: parameter.name
            for parameter in parameters
            if parameter.kind in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}
        }
        result, notes = as_person((role,), lambda method=method, arguments=arguments: method(**arguments))
        assert isinstance(result, NotAllowedError), name  # before anything else: `self` is a text here
        assert (len(notes), notes[0][2]) == (1, True), name


def test_every_service_that_changes_something_says_which_right_it_takes() -> None:
    open_ = {
        f"{service.__name__}.{name}"
        for service in services()
        for name, method in vars(service).items()
        if SERVICES.search(service.__name__)
        and CHANGES.match(name)
        and inspect.isfunction(method)
        and not hasattr(method, "right")
    }
    assert {name for name in open_ if name not in FREE and name.partition(".")[0] not in FREE} == set()


@actions("call", play="play a tune", twice="play it twice")
class Piano:
    def play(self, name: str, value: str = "") -> str:
        return f"{name}{value}"

    def twice(self, name: str) -> str:
        return self.play(name) + self.play(name)


def test_what_is_done_is_noted_once_without_values() -> None:
    result, notes = as_person(("operator",), lambda: Piano().twice("la"))
    assert (result, notes) == ("lala", [("play it twice", "la", False)])
    _, notes = as_person(("operator",), lambda: Piano().play("la", value="secret"))
    assert notes == [("play a tune", "la", False)]
    error, notes = as_person(("viewer", "approver"), lambda: Piano().play("la"))
    assert "Your role (viewer, approver) may not call tools." in str(error)
    assert notes == [("play a tune", "la", True)]
    assert "not signed in" in str(as_person((), lambda: Piano().play("la"))[0])


def test_another_thread_works_for_the_same_person_and_the_next_one_for_nobody() -> None:
    names: list[str] = []

    def start() -> None:
        for work in (for_person(lambda: names.append(person().name)), lambda: names.append(person().name)):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()

    as_person(("viewer",), start)
    assert names == ["ann", ""]
    assert not person().refusal("administer")  # the person at a console without sign-in
