"""Values that servers need to be reached: which there are, where each comes from, and how an operator sets or hides one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from core.catalogs.catalogs import CatalogService
from core.domain.catalog import Connection, Server, ServerId
from core.domain.errors import CatalogError, UnknownNameError
from core.domain.leaks import looks_secret, plain_value, telling
from core.domain.people import actions
from core.importers.connections import secret_name
from core.servers.secrets import SecretVault, names_in

State = Literal["kept", "missing", "environment", "written"]


@dataclass(frozen=True, slots=True)
class ServerValue:
    """One value of a server. `state`: kept in the file of values, missing, taken from the environment, or written in the catalog.

    `name` is the one that references use, or that of a variable which is written out. `written` is then the value itself, and `kind`
    is what it is, as "a path"; "" if no rule tells.
    """

    server: str
    name: str
    state: State
    set_at: datetime | None = None
    written: str = ""
    kind: str = ""

    @property
    def reference(self) -> str:
        """The name that references use, "" for a value that is written out."""
        return "" if self.state == "written" else self.name

    @property
    def short_name(self) -> str:
        """The name without that of the server before it."""
        return self.name.removeprefix(secret_name(self.server, ""))


@actions("administer", put="set a secret", send_header="set a header", remove="remove a secret", hide="hide a value in results", show="show a value in results")  # fmt: skip
class ServerValues:
    """The values of the servers of a catalog. Thread-safe. A secret is never returned."""

    def __init__(self, catalogs: CatalogService, vault: SecretVault) -> None:
        self._catalogs = catalogs
        self._vault = vault

    def list(self, catalog: str) -> tuple[ServerValue, ...]:
        """Every value that the connections of a catalog refer to or have in their variables, server by server."""
        known = self._catalogs.catalog(catalog)
        return tuple(value for server in known.servers for value in self._of_server(catalog, server))

    def put(self, catalog: str, server: str, name: str, value: str) -> None:
        """Keep a value under the name that the server's references use. A header that its connection leaves empty, or Authorization,
        is made a reference first. Raises UnknownNameError, CatalogError."""
        if not value:
            raise CatalogError(f"The value of {name} is empty; give one, or remove it.")
        self.send_header(catalog, server, name)
        found = self._catalogs.catalog(catalog).server(server)
        key = self._key(found, name)
        self._vault.put(ServerId(catalog, server), key, with_scheme(name, value))

    def send_header(self, catalog: str, server: str, name: str) -> None:
        """Make a connection over HTTP send a header whose value is a secret, if it leaves this one empty, or is Authorization and
        missing. Raises UnknownNameError, CatalogError."""
        found = self._catalogs.catalog(catalog).server(server)
        connection = found.connection
        if connection is None or connection.transport == "stdio":
            return
        header = next((given for given in connection.headers if given.lower() == name.lower()), "")
        missing = not header and name.lower() == "authorization"
        if missing or (header and connection.headers[header].strip().lower() in {"", "bearer", "basic"}):
            header = header or "Authorization"
            headers = {**connection.headers, header: f"${{secret:{secret_name(server, header)}}}"}
            self._save(catalog, found, replace(connection, headers=headers))

    def remove(self, catalog: str, server: str, name: str) -> None:
        """Forget a kept value. Raises UnknownNameError."""
        kept = {own for own in self._vault.names() if own[0] == ServerId(catalog, server)}
        key = next((own for _, own in kept if own in {name, secret_name(server, name)}), None)
        if key is None:
            raise UnknownNameError(f"No value {name!r} is kept for server {server!r} of catalog {catalog!r}.")
        self._vault.remove(ServerId(catalog, server), key)

    def hide(self, catalog: str, server: str, name: str) -> None:
        """Keep a variable as a secret that was written in the catalog. Raises UnknownNameError."""
        found = self._catalogs.catalog(catalog).server(server)
        connection = _connection(found)
        if name not in connection.env or names_in(connection.env[name]):
            raise UnknownNameError(f"Server {server!r} has no variable {name!r} that is written out.")
        key = secret_name(server, name)
        self._vault.put(ServerId(catalog, server), key, connection.env[name])
        shown = tuple(one for one in connection.shown if one != name)
        self._save(catalog, found, replace(connection, env={**connection.env, name: f"${{secret:{key}}}"}, shown=shown))

    def show(self, catalog: str, server: str, name: str) -> None:
        """Write a variable into the catalog as it is, because it is no secret. Raises UnknownNameError, CatalogError."""
        found = self._catalogs.catalog(catalog).server(server)
        connection, key = _connection(found), secret_name(server, name)
        if connection.env.get(name) != f"${{secret:{key}}}":
            raise UnknownNameError(f"Server {server!r} has no variable {name!r} that is a secret as a whole.")
        launch = self._vault.resolve(ServerId(catalog, server), Connection("stdio", env={name: connection.env[name]}))
        value = launch.env[name]
        if telling(name) or looks_secret(value):
            raise CatalogError(f"{name} of server {server!r} looks like a secret, so it stays hidden.")
        shown = (*connection.shown, name)
        self._save(catalog, found, replace(connection, env={**connection.env, name: value}, shown=shown))
        self._vault.remove(ServerId(catalog, server), key)

    def _of_server(self, catalog: str, server: Server) -> list[ServerValue]:
        connection = server.connection
        if connection is None:
            return []
        key, kept = ServerId(catalog, server.name), self._vault.names()
        missing = names_in(*self._vault.missing(key, connection))
        rows = [
            ServerValue(
                server.name, name, state=_state(name, missing, (key, name) in kept), set_at=kept.get((key, name))
            )
            for name in sorted(names_in(*connection.texts()))
        ]
        written = {name: text for name, text in connection.env.items() if text and not names_in(text)}
        return rows + [
            ServerValue(server.name, name, "written", written=text, kind=plain_value(name, text))
            for name, text in written.items()
        ]

    def _key(self, server: Server, name: str) -> str:
        """The name that references use, from it or from that of the variable alone."""
        used = names_in(*_connection(server).texts())
        for key in (name, secret_name(server.name, name)):
            if key in used:
                return key
        known = ", ".join(sorted(key.removeprefix(secret_name(server.name, "")) for key in used))
        raise UnknownNameError(f"Server {server.name!r} refers to no value {name!r}; it refers to: {known or 'none'}.")

    def _save(self, catalog: str, server: Server, connection: Connection) -> None:
        changed = replace(server, connection=connection)
        self._catalogs.edit(catalog, lambda known: known.with_server(changed))


def with_scheme(name: str, value: str) -> str:
    """A value of the header Authorization has a scheme: a token alone is a bearer token.

    >>> with_scheme("Authorization", "abc"), with_scheme("Authorization", "Basic abc"), with_scheme("KEY", "abc")
    ('Bearer abc', 'Basic abc', 'abc')
    """
    return f"Bearer {value}" if name.lower() == "authorization" and " " not in value else value


def _state(name: str, missing: set[str], kept: bool) -> State:
    return "missing" if name in missing else "kept" if kept else "environment"


def _connection(server: Server) -> Connection:
    if server.connection is None:
        raise CatalogError(f"Server {server.name!r} has no connection, so it needs no values.")
    return server.connection
