"""The way in for a client: how this Wayfare is reached, whether the client has come, and the configurations on this machine.

Client files are only read, and only below the home folder.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from core.catalogs.catalogs import CatalogService
from core.domain.catalog import OWN_PATH, Connection, Imported, Server
from core.domain.errors import WayfareError
from core.domain.settings import FIRST_CATALOG, Settings, own_url
from core.governance.client_texts import CLIENTS, SetupClient, Target
from core.governance.clients import ClientVisits, Visit
from core.importers import detect, read_files
from core.importers.reading import parse
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from core.importers.token_meter import Counted, TokenMeter, token_meter

TURNS = 30


def target_of(settings: Settings, catalog: str = FIRST_CATALOG, token: str = "", url: str = "") -> Target:
    """Returns how a client reaches this Wayfare: a command with the options that differ from the defaults, and an address. `url` is that
    of the running console, if it is another process."""
    options = [] if catalog == FIRST_CATALOG else ["--catalog", catalog]
    if str(settings.db) != str(Settings().db):
        options += ["--db", str(Path(settings.db).expanduser().absolute())]
    query = "" if catalog == FIRST_CATALOG else f"?catalog={catalog}"
    return Target((*_program(), "mcp", *options), f"{url or own_url()}{OWN_PATH}{query}", token)


def _program() -> tuple[str, ...]:
    """Returns the full path of the command, because a client does not start it from this folder."""
    beside = shutil.which("wayfare", path=str(Path(sys.executable).parent)) or shutil.which("wayfare")
    return (beside,) if beside else (sys.executable, "-m", "core.cli")


def visits_of(visits: ClientVisits, client: SetupClient, token_client: str = "") -> tuple[Visit, ...]:
    """Returns the requests of a client, by the name that it gives itself or by the client of its token. The latest first."""
    return tuple(
        one for one in visits.all() if client.is_named(one.name) or (token_client and one.token == token_client)
    )


# Client configurations on this machine, and the tokens of their tools.


@dataclass(frozen=True)
class FoundConfiguration:
    """A client's configuration file. `servers` are its servers without Wayfare itself. `known` are those of them whose tools are in
    a catalog, `tokens` and `tools` count these tools. `problem` says why the file cannot be read, or is ""."""

    client: SetupClient
    path: Path
    problem: str = ""
    imported: Imported | None = field(default=None, repr=False)
    servers: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    tools: int = 0
    tokens: int = 0
    has_wayfare: bool = False

    @property
    def others(self) -> Imported | None:
        """The import without Wayfare itself, which would be its own server. None if the file cannot be read or names no other."""
        return self.imported if self.servers else None

    def meter(self, own_tokens: int) -> TokenMeter:
        """Returns the tokens of one turn now and with the definitions of Wayfare's own tools, counted, and of `TURNS` equal turns,
        projected."""
        return token_meter(Counted(self.tools, self.tokens, exposed=own_tokens, cached=0), turns=TURNS)


def found_configurations(catalogs: CatalogService, home: Path) -> list[FoundConfiguration]:
    """Returns the configurations of known clients below a home folder."""
    known = _known_tools(catalogs)
    return [_read(client, path, known) for client in CLIENTS.values() for path in _files(client, home)]


def _files(client: SetupClient, home: Path) -> Iterator[Path]:
    for name in client.files:
        path = home / name
        inside = path.is_file() and path.resolve().is_relative_to(home.resolve())  # a link may lead elsewhere
        if inside and _names_servers(path):
            yield path


def _names_servers(path: Path) -> bool:
    """Tells whether a file is worth a word: it names servers, or it cannot be read. Settings without servers are neither."""
    try:
        return detect(parse(path.read_bytes(), source=path.name)) is not None
    except (OSError, WayfareError):
        return True


def _read(client: SetupClient, path: Path, known: dict[tuple[object, ...], tuple[int, int]]) -> FoundConfiguration:
    try:
        imported = read_files([path])
    except WayfareError as error:
        return FoundConfiguration(client, path, str(error))
    counted = {one.name: known[key] for one in imported.servers if (key := _key(one)) in known}
    return FoundConfiguration(
        client,
        path,
        imported=imported,
        servers=tuple(one.name for one in imported.servers),
        known=tuple(counted),
        tools=sum(tools for tools, _ in counted.values()),
        tokens=sum(tokens for _, tokens in counted.values()),
        has_wayfare=bool(imported.itself),
    )


def _known_tools(catalogs: CatalogService) -> dict[tuple[object, ...], tuple[int, int]]:
    """Returns the number of tools and their tokens for each server of the imported catalogs, by how it is reached."""
    found: dict[tuple[object, ...], tuple[int, int]] = {}
    for info in catalogs.infos():
        if info.name in SHIPPED_CATALOGS:
            continue
        catalog, tokens = catalogs.catalog(info.name), catalogs.tokens(info.name)
        for server in catalog.servers:
            if server.tools and server.connection is not None:
                rows = [catalog.tool_row[tool.id] for tool in server.tools]
                found[_key(server)] = len(rows), int(tokens[rows].sum())
    return found


def _key(server: Server) -> tuple[object, ...]:
    reached = server.connection or Connection("stdio")
    return server.name, reached.command, reached.args, reached.url
