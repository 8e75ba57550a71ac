"""Adds, removes, switches and restarts single servers of a catalog, and keeps their values."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from http.client import HTTPException
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote
from urllib.request import Request, urlopen

from core.catalogs.catalogs import CatalogService
from core.domain.catalog import Catalog, Connection, Discovery, Imported, Note, Server, ServerId
from core.domain.errors import CatalogError, UnknownNameError
from core.domain.leaks import looks_secret, plain_value, telling
from core.domain.people import actions, person
from core.domain.settings import OFFICIAL_REGISTRY
from core.importers import read_document
from core.importers.reading import MAX_BYTES
from core.importers.secrets import secret_name
from core.importers.shipped_catalogs import check_name
from core.servers.lazy_pool import load_protocol
from core.servers.secrets import SecretVault, names_in, personal_names, reference_names

if TYPE_CHECKING:
    from core.servers.pool import SessionPool

SOURCE = "servers added one by one"
CHANGED = "its connection was changed while it was asked; ask it again"
REGISTRY_NAME = re.compile(r"[A-Za-z0-9.-]+/[A-Za-z0-9._-]+")
# the newest form first
REGISTRY_PATHS = ("v0.1/servers/{}/versions/latest", "v0/servers/{}/versions/latest", "v0/servers/{}")
REGISTRY_LIMIT_S = 10.0


@actions("administer", add="add a server", hold="add a server of the registry", remove="remove a server", disable="disable a server", enable="enable a server", restart="restart a server", discover="ask a server for its tools")  # fmt: skip
@dataclass(eq=False)
class ServerEditor:
    catalogs: CatalogService
    vault: SecretVault
    sessions: Callable[[], SessionPool]
    registry: str = OFFICIAL_REGISTRY

    def add(self, catalog: str, imported: Imported) -> Discovery:
        """Add the server of a read document with its tools, and make the catalog if it is missing. A server that does not answer is
        added without tools. Raises CatalogError if the name is taken."""
        self._keep(catalog, imported, imported.servers[0])
        return self.discover(catalog, imported.servers[0].name)

    def hold(self, catalog: str, name: str) -> Imported:
        """Add a server by its name in the MCP Registry, switched off. It does not start before a person has looked at it and switches
        it on. The notes name its command and needs. Raises CatalogError."""
        imported = published(self.registry, name)
        (server,) = imported.servers
        target = server.connection or Connection("http")
        self._keep(catalog, imported, replace(server, connection=replace(target, quarantined=True)), off=True)
        starts = Note(name, f"it starts or is reached as {' '.join((target.url or target.command, *target.args))}")
        needs = (Note(name, f"it needs {prompt.id}: {prompt.description}") for prompt in imported.prompts)
        return replace(imported, notes=(starts, *needs, *imported.notes))

    def _keep(self, catalog: str, imported: Imported, server: Server, *, off: bool = False) -> None:
        if not any(info.name == catalog for info in self.catalogs.infos()):
            if os.path.isfile(catalog):  # noqa: PTH113 - no error for a name that no file can have
                raise CatalogError(f"{catalog} is a file here; import it, or choose another name.")
            check_name(catalog)
            self.catalogs.save(Catalog(catalog), SOURCE)
        self.catalogs.edit(catalog, lambda current: _added(current, server, off=off))
        keep_values(self.vault, catalog, [server], imported.secrets)

    def remove(self, catalog: str, name: str) -> None:
        """Remove a server, its values and its sessions. Its statistics come back with a server of that name. Raises UnknownNameError."""
        self.catalogs.edit(catalog, lambda current: without(current, name))
        self.sessions().end(ServerId(catalog, name))
        for server, value in list(self.vault.names()):
            if server[:2] == (catalog, name):
                self.vault.remove(server, value)

    def disable(self, catalog: str, name: str) -> None:
        """Switch a server off. It is neither offered nor called, but keeps its statistics and values. Raises UnknownNameError."""
        self.catalogs.edit(catalog, lambda current: switched_off(current, name))
        self.sessions().end(ServerId(catalog, name))

    def enable(self, catalog: str, name: str) -> Discovery | None:
        """Switch a server on again. Returns its discovery if its tools were unknown. Raises UnknownNameError."""
        server = self.catalogs.edit(catalog, lambda current: switched_on(current, name)).server(name)
        return self.discover(catalog, name) if server.connection is not None and not server.tools else None

    def restart(self, catalog: str, name: str) -> None:
        """End the sessions of a server and its process, and connect to it again. Raises UnknownNameError, WayfareError if it does not
        answer."""
        server = self.catalogs.catalog(catalog).server(name)
        if server.connection is None:
            raise CatalogError(f"Server {name!r} has no connection, so there is nothing to restart.")
        self.sessions().end(ServerId(catalog, name))
        self.sessions().check(ServerId(catalog, name), server.connection)

    def discover(self, catalog: str, name: str) -> Discovery:
        """Take the tools of one server live. If it does not answer, nothing changes. Raises UnknownNameError."""
        return self.refresh(catalog, [self.catalogs.catalog(catalog).server(name)])[0]

    def refresh(self, catalog: str, servers: Sequence[Server]) -> tuple[Discovery, ...]:
        """Take the tools of some servers of a catalog live. Whatever else of them was changed meanwhile stays, and a server whose
        connection was changed is left as it is."""
        load_protocol()
        from core.servers.discovery import discover

        discoveries, skipped = discover(self.sessions(), catalog, servers), set[str]()

        def change(current: Catalog) -> Catalog:
            stored_servers = {server.name: server for server in current.servers}
            for probe in discoveries:
                old, new = stored_servers.get(probe.name), probe.server
                if probe.error or old is None or new is None:
                    continue
                if old.connection != new.connection:
                    skipped.add(probe.name)
                    continue
                description = old.description if old.description.strip() else new.own_description
                listed = replace(old, tools=new.tools, odd=new.odd, virtual=new.virtual, title=old.title or new.title)
                current = current.with_server(replace(listed, description=description))
            return current

        self.catalogs.edit(catalog, change)
        discoveries = tuple(replace(d, error=CHANGED) if d.name in skipped else d for d in discoveries)
        stored = {server.name: server for server in servers if server.tools}
        return tuple(
            replace(discovery, server=stored[discovery.name], kept=True)
            if discovery.error and discovery.name in stored
            else discovery
            for discovery in discoveries
        )


def published(registry: str, name: str) -> Imported:
    """Returns the newest version of a server, as the registry at an address describes it. Raises CatalogError."""
    if not REGISTRY_NAME.fullmatch(name):
        raise CatalogError(f"{name[:80]!r} is no name of the MCP Registry; give one such as io.github.user/server.")
    for path in REGISTRY_PATHS:
        url = f"{registry.rstrip('/')}/{path.format(quote(name, safe=''))}"
        try:
            with urlopen(Request(url), timeout=REGISTRY_LIMIT_S) as answer:  # noqa: S310 - settings admit only http(s)
                imported = read_document(answer.read(MAX_BYTES), source=f"{registry}: {name}")
        except (OSError, HTTPException) as error:
            if getattr(error, "code", 0) == 404:
                continue
            why = f"{getattr(error, 'code', '')} {getattr(error, 'reason', error)}".strip()
            raise CatalogError(f"The registry {registry} does not answer ({why}); see WAYFARE_REGISTRY.") from None
        if [server.name for server in imported.servers] != [name]:
            raise CatalogError(f"The registry {registry} answers with another server than {name}.")
        return imported
    raise CatalogError(f"The registry {registry} has no server {name}; check the name.")


def keep_values(vault: SecretVault, catalog: str, servers: Iterable[Server], values: Mapping[str, str]) -> None:
    vault.put_all((*key, values[key[1]]) for key in _keys(catalog, servers, values))


def stored_values(
    vault: SecretVault, catalog: str, servers: Iterable[Server], values: Mapping[str, str]
) -> dict[tuple[ServerId, str], str | None]:
    """The values that `keep_values` would replace, None where there is none."""
    stored = vault.names()

    def value(server: ServerId, name: str) -> str:
        return vault.resolve(server, Connection("stdio", command=f"${{secret:{name}}}")).command

    return {key: value(*key) if key in stored else None for key in _keys(catalog, servers, values)}


def _keys(catalog: str, servers: Iterable[Server], values: Mapping[str, str]) -> Iterator[tuple[ServerId, str]]:
    for server in servers:
        for name in reference_names(server.connection) & values.keys():
            yield ServerId(catalog, server.name), name


def switched_off(catalog: Catalog, name: str) -> Catalog:
    """The catalog with a server switched off. Raises UnknownNameError."""
    server = catalog.server(name)
    return replace(without(catalog, name), off=(*catalog.off, server))


def switched_on(catalog: Catalog, name: str) -> Catalog:
    server = next((candidate for candidate in catalog.off if candidate.name == name), None)
    if server is None:
        return catalog.with_server(catalog.server(name))
    return without(catalog, name).with_server(server)


def _added(catalog: Catalog, server: Server, *, off: bool) -> Catalog:
    if server.name in catalog.by_name:
        raise CatalogError(
            f"Catalog {catalog.name!r} has a server {server.name!r}; remove it first, or give another name."
        )
    return replace(catalog, off=(*catalog.off, server)) if off else catalog.with_server(server)


def without(catalog: Catalog, name: str) -> Catalog:
    """The catalog without a server, on or off. Raises UnknownNameError."""
    on, off = (tuple(server for server in group if server.name != name) for group in (catalog.servers, catalog.off))
    if len(on) + len(off) == len(catalog.servers) + len(catalog.off):
        raise UnknownNameError(f"There is no server {name!r} in catalog {catalog.name!r}; check the name.")
    return replace(catalog, servers=on, off=off)


State = Literal["kept", "missing", "environment", "written"]


@dataclass(frozen=True, slots=True)
class ServerValue:
    """One value of a server. `state`: kept in the file of values, missing, taken from the environment, or written in the catalog.

    `name` is the name in references, or the name of a variable that is written out. `written` is then the value itself, and `kind`
    is its kind, as "a path", or "" if no rule matches. `person` is the owner, "" for all.
    """

    server: str
    name: str
    state: State
    set_at: datetime | None = None
    written: str = ""
    kind: str = ""
    person: str = ""

    @property
    def reference(self) -> str:
        return "" if self.state == "written" else self.name

    @property
    def short_name(self) -> str:
        return self.name.removeprefix(secret_name(self.server, ""))


@actions("call", put_own="set a secret of their own", remove_own="remove a secret of their own")
@actions("administer", put="set a secret", send_header="set a header", remove="remove a secret", hide="hide a value in results", show="show a value in results", forget_person="remove the values of a person")  # fmt: skip
@dataclass(eq=False)
class ServerValues:
    """The values of the servers of a catalog. Thread-safe. A secret is never returned."""

    catalogs: CatalogService
    vault: SecretVault

    def list(self, catalog: str, person: str = "") -> tuple[ServerValue, ...]:
        """Every value that the connections of a catalog refer to or have in their variables, server by server, as calls of a person
        or client use them."""
        stored_catalog = self.catalogs.catalog(catalog)
        return tuple(value for server in stored_catalog.servers for value in self._of_server(catalog, server, person))

    def put(self, catalog: str, server: str, name: str, value: str, person: str = "") -> None:
        """Keep a value under the name that the server's references use, for all or for one person. A header that its connection leaves
        empty, or Authorization, is made a reference first. Raises UnknownNameError, WayfareError."""
        self.send_header(catalog, server, name)
        self._put(catalog, server, name, value, person)

    def put_own(self, catalog: str, server: str, name: str, value: str) -> None:
        """Keep a value for the person of this thread alone. Raises UnknownNameError, WayfareError."""
        self._put(catalog, server, name, value, self._own(catalog, server).person)

    def _put(self, catalog: str, server: str, name: str, value: str, person: str) -> None:
        if not value:
            raise CatalogError(f"The value of {name} is empty; give one, or remove it.")
        stored_server = self.catalogs.catalog(catalog).server(server)
        key, holder = self._key(stored_server, name), self._holder(catalog, server, person)
        if person and key not in personal_names(holder, stored_server.connection):
            raise CatalogError(f"{name} of server {server!r} is no secret: it is the same for all.")
        self.vault.put(holder, key, with_scheme(name, value))

    def _holder(self, catalog: str, server: str, person: str) -> ServerId:
        server_id = ServerId(catalog, server)
        return self.vault.own_holder(server_id, person) if person else server_id

    def _own(self, catalog: str, server: str) -> ServerId:
        return self.vault.own_holder(ServerId(catalog, server), person().name)

    def send_header(self, catalog: str, server: str, name: str) -> None:
        """Make a connection over HTTP send a header whose value is a secret, if it leaves this one empty, or is Authorization and
        missing. Raises UnknownNameError, CatalogError."""
        stored_server = self.catalogs.catalog(catalog).server(server)
        connection = stored_server.connection
        if connection is None or connection.transport == "stdio":
            return
        header = next((key for key in connection.headers if key.lower() == name.lower()), "")
        missing = not header and name.lower() == "authorization"
        if missing or (header and connection.headers[header].strip().lower() in {"", "bearer", "basic"}):
            header = header or "Authorization"
            sent = {header: f"${{secret:{secret_name(server, header)}}}"}
            self._save(catalog, server, lambda current: replace(current, headers={**current.headers, **sent}))

    def remove_own(self, catalog: str, server: str, name: str) -> None:
        self._remove(self._own(catalog, server), name)

    def remove(self, catalog: str, server: str, name: str, person: str = "") -> None:
        self._remove(ServerId(catalog, server, person), name)

    def forget_person(self, person: str) -> None:
        """Remove all values of a person or client in every catalog, because an identity provider no longer knows them."""
        self.vault.forget_person(person)

    def _remove(self, holder: ServerId, name: str) -> None:
        catalog, server, _ = holder
        stored = {entry for entry in self.vault.names() if entry[0] == holder}
        key = next((candidate for _, candidate in stored if candidate in {name, secret_name(server, name)}), None)
        if key is None:
            raise UnknownNameError(f"No value {name!r} is kept for server {server!r} of catalog {catalog!r}.")
        self.vault.remove(holder, key)

    def hide(self, catalog: str, server: str, name: str) -> None:
        """Turn a variable that is written in the catalog into a secret. Raises UnknownNameError, CatalogError if the secret cannot be kept."""
        connection = _connection(self.catalogs.catalog(catalog).server(server))
        if name not in connection.env or names_in(connection.env[name]):
            raise UnknownNameError(f"Server {server!r} has no variable {name!r} that is written out.")
        key = secret_name(server, name)
        self.vault.put(ServerId(catalog, server), key, connection.env[name])
        if self.vault.note:
            raise CatalogError(f"{name} of server {server!r} stays written out: {self.vault.note}")

        def change(current: Connection) -> Connection:
            shown = tuple(variable for variable in current.shown if variable != name)
            return replace(current, env={**current.env, name: f"${{secret:{key}}}"}, shown=shown)

        self._save(catalog, server, change)

    def show(self, catalog: str, server: str, name: str) -> None:
        """Write a variable that is no secret into the catalog. Raises UnknownNameError, CatalogError."""
        connection, key = _connection(self.catalogs.catalog(catalog).server(server)), secret_name(server, name)
        if connection.env.get(name) != f"${{secret:{key}}}":
            raise UnknownNameError(f"Server {server!r} has no variable {name!r} that is a secret as a whole.")
        launch = self.vault.resolve(ServerId(catalog, server), Connection("stdio", env={name: connection.env[name]}))
        value = launch.env[name]
        if telling(name) or looks_secret(value):
            raise CatalogError(f"{name} of server {server!r} looks like a secret, so it stays hidden.")

        def change(current: Connection) -> Connection:
            return replace(current, env={**current.env, name: value}, shown=(*current.shown, name))

        self._save(catalog, server, change)
        self.vault.remove(ServerId(catalog, server), key)

    def _of_server(self, catalog: str, server: Server, person: str) -> list[ServerValue]:
        connection = server.connection
        if connection is None:
            return []
        shared, stored = ServerId(catalog, server.name), self.vault.names()
        holder = self.vault.holder(shared, person)
        missing, personal = names_in(*self.vault.missing(holder, connection)), personal_names(holder, connection)
        keys = {name: holder if name in personal else shared for name in sorted(names_in(*connection.texts()))}
        rows = [
            ServerValue(
                server.name,
                name,
                state=_state(name, missing, (key, name) in stored),
                set_at=stored.get((key, name)),
                person=key.person,
            )
            for name, key in keys.items()
        ]
        literals = {name: text for name, text in connection.env.items() if text and not names_in(text)}
        return rows + [
            ServerValue(server.name, name, "written", written=text, kind=plain_value(name, text))
            for name, text in literals.items()
        ]

    def _key(self, server: Server, name: str) -> str:
        """Returns the name in references, from this name or from the variable's name."""
        used_names = names_in(*_connection(server).texts())
        for key in (name, secret_name(server.name, name)):
            if key in used_names:
                return key
        names = ", ".join(sorted(key.removeprefix(secret_name(server.name, "")) for key in used_names))
        raise UnknownNameError(f"Server {server.name!r} refers to no value {name!r}; it refers to: {names or 'none'}.")

    def _save(self, catalog: str, name: str, change: Callable[[Connection], Connection]) -> None:
        def change_server(current: Catalog) -> Catalog:
            server = current.server(name)
            return current.with_server(replace(server, connection=change(_connection(server))))

        self.catalogs.edit(catalog, change_server)


def with_scheme(name: str, value: str) -> str:
    """A value of the header Authorization has a scheme: a token alone is a bearer token.

    >>> with_scheme("Authorization", "abc"), with_scheme("Authorization", "Basic abc"), with_scheme("KEY", "abc")
    ('Bearer abc', 'Basic abc', 'abc')
    """
    return f"Bearer {value}" if name.lower() == "authorization" and " " not in value else value


def _state(name: str, missing: set[str], stored: bool) -> State:
    return "missing" if name in missing else "kept" if stored else "environment"


def _connection(server: Server) -> Connection:
    if server.connection is None:
        raise CatalogError(f"Server {server.name!r} has no connection, so it needs no values.")
    return server.connection
