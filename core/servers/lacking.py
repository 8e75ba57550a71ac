"""The values and sign-ins that a server lacks, and the places where a person gives them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from core.domain.catalog import Connection, ServerId
from core.domain.execution import ANONYMOUS
from core.servers.secrets import SecretVault, names_in, personal_names


def lack(vault: SecretVault, server: ServerId, connection: Connection) -> str:
    """Returns a sentence about the value or sign-in that is needed first, or ""."""
    if missing := vault.missing(server, connection):
        return f"Server {server.server} needs a value for {', '.join(missing)}. {how_to_enter(server, missing[0])}"
    lacks = lacks_sign_in(vault, server, connection)
    return f"Server {server.server} needs a sign-in. {how_to_sign_in(server)}" if lacks else ""


def lacks_sign_in(vault: SecretVault, server: ServerId, connection: Connection) -> bool:
    """Whether a person lacks a sign-in to a server over HTTP that has no secrets, or has a shared sign-in."""
    if not server.person or not may_sign_in(connection) or vault.grant(server) is not None:
        return False
    return not personal_names(server, connection) or vault.grant(server._replace(person="")) is not None


def may_sign_in(connection: Connection | None) -> bool:
    """Whether a server is reached over HTTP without a header Authorization of its catalog."""
    if connection is None or connection.transport == "stdio" or not connection.url:
        return False
    return not any(name.lower() == "authorization" for name in connection.headers)


def how_to_sign_in(server: ServerId) -> str:
    """What an operator does about a server that asks for a sign-in.

    >>> how_to_sign_in(ServerId("mine", "web"))
    'The operator signs in on the Catalog page, or with `wayfare signin web --catalog mine`.'
    >>> how_to_sign_in(ServerId("mine", "web", "ann"))
    'Each person signs in: ann on the Catalog page, or the operator for ann with `wayfare signin web --catalog mine --for ann`.'
    """
    return _how(server, ("signin", server.server), "signs in")


def how_to_enter(server: ServerId, reference: str) -> str:
    """What an operator does about a missing value.

    >>> how_to_enter(ServerId("mine", "web"), "${secret:web/KEY}")
    'The operator enters it on the Catalog page, or with `wayfare secrets set web KEY --catalog mine`.'
    """
    name = next(iter(names_in(reference)), reference).removeprefix(f"{server.server}/")
    return _how(server, ("secrets", "set", server.server, name), "enters it")


def _how(server: ServerId, words: Iterable[str], does: str) -> str:
    command = shlex.join(["wayfare", *words, "--catalog", server.catalog])
    if not server.person:
        return f"The operator {does} on the Catalog page, or with `{command}`."
    own_command = f"`{command} --for {shlex.quote(server.person)}`"
    if server.person == ANONYMOUS:
        return f"Each client {does} for itself, and a request without a token is none: give it a token, or the operator {does} with {own_command}."
    return f"Each person {does}: {server.person} on the Catalog page, or the operator for {server.person} with {own_command}."
