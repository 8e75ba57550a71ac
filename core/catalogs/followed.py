"""Catalogs that follow the files they were read from. Changes of a file are shown, taken or ignored."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from core.catalogs.catalogs import CatalogService
from core.catalogs.servers import ServerEditor, switched_off, without
from core.domain.catalog import Catalog, Connection, Discovery, Follow, Imported, Server, ServerId
from core.domain.errors import CatalogError, StoreError, UnknownNameError, WayfareError
from core.domain.people import actions
from core.domain.tool_table import packed
from core.importers import BrokenDocumentError, read_files
from core.servers.secrets import SecretVault, names_in, reference_names
from core.store import Store
from core.store.catalogs import from_json

FILE = ""
"""The values of a file are kept under this name beside the values of its servers, so that changes are noticed."""
SETTING = "file of catalog "
Signature = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class FileChange:
    """A server that changed in the file since it was last taken. `words` name the difference, "" for a whole server."""

    server: str
    kind: Literal["added", "removed", "changed", "switched off", "switched on"]
    words: str = ""

    def __str__(self) -> str:
        return f"{self.server} {self.kind}" + (f" ({self.words})" if self.words else "")


@dataclass(frozen=True, slots=True)
class FollowedFile:
    """The files of a catalog, the way to treat changes, and the servers that the files had when they were last taken."""

    paths: tuple[str, ...]
    follow: Follow
    taken: Catalog

    @property
    def where(self) -> str:
        return ", ".join(self.paths)


@dataclass(frozen=True, slots=True)
class FileState:
    """The result of a look at the files of a catalog. `problem` is the reason why nothing can be taken, or ""."""

    file: FollowedFile
    changes: tuple[FileChange, ...] = ()
    problem: str = ""
    found: Imported = field(default=Imported("", ()), repr=False)
    signature: Signature = ()

    @property
    def shown(self) -> str:
        """A hash of what was read. A client may write its file again without a change. The seed of the process keeps it from being tried
        against guesses of a secret."""
        return str(hash(repr((self.found.servers, self.found.off, sorted(self.found.secrets.items())))))


@actions("administer", set_follow="follow a file", take="take the changes of a file", ignore="ignore the changes of a file")  # fmt: skip
@dataclass(eq=False)
class FollowedFiles:
    """The files of all catalogs. Thread-safe. A file is only read, and a broken file changes nothing."""

    store: Store
    catalogs: CatalogService
    vault: SecretVault
    servers: ServerEditor

    def __post_init__(self) -> None:
        self._files: dict[str, FollowedFile | None] = {}
        self._states: dict[str, FileState] = {}
        self._failed: dict[str, tuple[Signature, str]] = {}
        self._taking = threading.Lock()

    def remember(self, catalog: str, paths: Iterable[Path], taken: Imported, follow: Follow) -> None:
        """Follow these files from now on, as they were just read."""
        absolute = tuple(str(path.expanduser().absolute()) for path in paths)
        self._keep_taken(FollowedFile(absolute, follow, Catalog(catalog)), taken)

    def forget(self, catalog: str) -> None:
        if self.of(catalog) is not None:
            self.store.set_setting(SETTING + catalog, None)
            self.store.catalogs.remove_taken(catalog)
            self._files[catalog] = None

    def by_operator(self, catalog: Catalog) -> set[str]:
        """The servers of a catalog that are switched off, but not by the file."""
        file = self.of(catalog.name)
        return {server.name for server in catalog.off} - {
            server.name for server in (file.taken.off if file is not None else ())
        }

    def set_follow(self, catalog: str, follow: Follow) -> None:
        """Choose the way to treat changes. Raises UnknownNameError for a catalog that came from no file."""
        self._keep(replace(self._known(catalog), follow=follow), {})

    def of(self, catalog: str) -> FollowedFile | None:
        if catalog not in self._files:
            setting = self.store.get_setting(SETTING + catalog)
            self._files[catalog] = None if setting is None else self._of_setting(catalog, setting)
        return self._files[catalog]

    def look(self, catalog: str) -> FileState | None:
        """Returns the changes in the files of a catalog since they were last taken, or None if it follows no file."""
        file = self.of(catalog)
        if file is None or file.follow == "off":
            return None
        signature, state = tuple(map(_signature, file.paths)), self._states.get(catalog)
        if state is None or state.signature != signature or state.file is not file:
            state = self._states[catalog] = self._read(catalog, file, signature)
        failed_at, why = self._failed.get(catalog, ((), ""))
        return replace(state, problem=why) if why and failed_at == signature else state

    def all(self) -> dict[str, FileState]:
        states = {name: self.look(name) for name in self.catalogs.stored()}
        return {name: state for name, state in states.items() if state is not None}

    def take(self, catalog: str, shown: str = "") -> tuple[Discovery, ...]:
        """Take over the changes. New and changed servers are asked for their tools, the others stay unchanged. Raises CatalogError if the
        file cannot be read, or if it has changed since it was `shown`."""
        with self._taking:
            return self._take(catalog, self._changed(catalog, shown))

    def ignore(self, catalog: str, shown: str = "") -> None:
        """Leave the catalog unchanged. Only later changes of the file are shown. Raises CatalogError as `take`."""
        with self._taking:
            state = self._changed(catalog, shown)
            self._keep_taken(state.file, state.found)

    def round(self) -> None:
        """Look at all files. Take the changes if `follow` is "take" and the file has not changed since the last round."""
        old = {name: state.signature for name, state in self._states.items()}
        for name, state in self.all().items():
            if state.file.follow != "take" or state.problem or not state.changes or old.get(name) != state.signature:
                continue
            try:
                with self._taking:
                    safe_state = _held_back(self._changed(name), self.catalogs.catalog(name))
                    if safe_state.changes:
                        self._take(name, safe_state)
            except StoreError:
                continue  # the store cannot be written now, so it is tried again
            except WayfareError as error:
                self._failed[name] = state.signature, f"{error} Nothing more is taken until the file changes."

    def _take(self, catalog: str, state: FileState) -> tuple[Discovery, ...]:
        config, changed_names = state.found, {file_change.server for file_change in state.changes}
        on = [server for server in config.servers if server.name in changed_names]
        off = [server for server in config.off if server.name in changed_names]
        removed_names = [file_change.server for file_change in state.changes if file_change.kind == "removed"]
        values = self._changed_values(catalog, config.secrets)
        previous = state.file.taken.by_name
        self._keep_values(catalog, (*on, *off), config.secrets, values)

        def change(current: Catalog) -> Catalog:
            by_operator = self.by_operator(current)
            stored_servers = current.by_name
            for name in {*removed_names, *changed_names} & stored_servers.keys():
                current = without(current, name)
            for server in (*on, *off):
                old, stored = previous.get(server.name), stored_servers.get(server.name)
                merged = replace(server, connection=_merged(old, stored, server, values))
                current = current.with_server(with_known(merged, stored))
                if server in off or server.name in by_operator:
                    current = switched_off(current, server.name)
            return current

        new_catalog = self.catalogs.edit(catalog, change)
        for name in changed_names:
            self.servers.sessions().end(ServerId(catalog, name))
        lists = {server.name for server in on if server.connection is not None and not server.tools}
        discoveries = self.servers.refresh(catalog, [server for server in new_catalog.servers if server.name in lists])
        self._keep_taken(state.file, config)
        return discoveries

    def _keep_values(
        self, catalog: str, servers: Iterable[Server], values: Mapping[str, str], changed_names: set[str]
    ) -> None:
        """Keep the values of the file that are missing or changed. Other values were perhaps set by hand."""
        stored = self.vault.names()
        self.vault.put_all(
            (ServerId(catalog, server.name), name, values[name])
            for server in servers
            for name in reference_names(server.connection) & values.keys()
            if name in changed_names or (ServerId(catalog, server.name), name) not in stored
        )

    def _changed_values(self, catalog: str, values: Mapping[str, str]) -> set[str]:
        stored, file = self.vault.names(), ServerId(catalog, FILE)
        references = {name: f"${{secret:{name}}}" for name in values if (file, name) in stored}
        old_values = self.vault.resolve(file, Connection("stdio", env=references)).env
        return {name for name, value in old_values.items() if values[name] != value}

    def _keep_taken(self, file: FollowedFile, taken: Imported) -> None:
        self._keep(replace(file, taken=Catalog(file.taken.name, taken.servers, taken.off)), taken.secrets)

    def _keep(self, file: FollowedFile, values: Mapping[str, str]) -> None:
        catalog = file.taken.name
        self.store.catalogs.save_taken(file.taken)
        self.store.set_setting(SETTING + catalog, {"paths": file.paths, "follow": file.follow})
        self._files[catalog] = file
        self.vault.put_all((ServerId(catalog, FILE), name, value) for name, value in values.items())
        self._failed.pop(catalog, None)

    def _of_setting(self, catalog: str, setting: Mapping[str, Any]) -> FollowedFile:
        legacy = setting.get("taken")  # earlier versions kept it in the setting
        taken = from_json(legacy) if legacy is not None else self.store.catalogs.load_taken(catalog)
        return FollowedFile(tuple(setting["paths"]), setting["follow"], taken)

    def _known(self, catalog: str) -> FollowedFile:
        file = self.of(catalog)
        if file is None:
            raise UnknownNameError(f"Catalog {catalog!r} was not read from a file; import one under its name.")
        return file

    def _changed(self, catalog: str, shown: str = "") -> FileState:
        self._known(catalog)
        state = self.look(catalog)
        if state is None:
            raise CatalogError(f"Catalog {catalog!r} does not follow its file; choose show or take first.")
        if state.problem:
            raise CatalogError(state.problem)
        if shown not in ("", state.shown):
            raise CatalogError("The file has changed again; look at its changes once more.")
        return state

    def _read(self, catalog: str, file: FollowedFile, signature: Signature) -> FileState:
        try:
            imported = read_files(file.paths, pack=packed)
        except BrokenDocumentError as error:
            return FileState(file, problem=f"{error} The catalog stays as it is.", signature=signature)
        changes = differences(file.taken, imported, self._changed_values(catalog, imported.secrets))
        if imported.left_out and any(change.kind == "removed" for change in changes):  # perhaps by a fault
            why = next((f"{note.where}: {note.text}" for note in imported.notes if "left out" in note.text), "")
            return FileState(file, problem=f"{why}. The catalog stays as it is.", signature=signature)
        return FileState(file, changes, "", imported, signature)


def differences(before: Catalog, now: Imported, values: set[str]) -> tuple[FileChange, ...]:
    """Returns the changes of a file. `values` are the names of secrets with other values.

    >>> before = Catalog("mine", (Server("git"), Server("mail")))
    >>> [str(change) for change in differences(before, Imported("", (Server("git", "Commits."), Server("web"))), set())]
    ['git changed (description)', 'web added', 'mail removed']
    """
    previous = dict(before.by_name)
    was_off, is_off = {server.name for server in before.off}, {server.name for server in now.off}
    changes: list[FileChange] = []
    for server in (*now.servers, *now.off):
        name, old = server.name, previous.pop(server.name, None)
        words = "" if old is None else difference(old, server, values)
        if old is None:
            changes.append(FileChange(name, "added", "switched off" if name in is_off else _reached(server)))
        elif (name in is_off) is not (name in was_off):
            changes.append(FileChange(name, "switched off" if name in is_off else "switched on", words))
        elif words:
            changes.append(FileChange(name, "changed", words))
    return (*changes, *(FileChange(name, "removed") for name in previous))


def difference(old: Server, new: Server, values: set[str]) -> str:
    """Returns the differences of two entries of a server in words without values, "" if they are equal."""
    a, b = (server.connection or Connection("stdio") for server in (old, new))
    words = [f"{_reached(old) or 'nothing'} → {_reached(new) or 'nothing'}"] if _reached(old) != _reached(new) else []
    for label, x, y in (("variables", a.env, b.env), ("headers", a.headers, b.headers)):
        secret = {name for name, text in y.items() if any(f"${{secret:{value}}}" in text for value in values)}
        if names := sorted({name for name in {*x, *y} if x.get(name) != y.get(name)} | secret):
            words.append(f"{label} {', '.join(names)}")
    words += ["folder"] if a.cwd and a.cwd != b.cwd else []  # earlier versions kept none
    words += ["tools that are switched off"] if (a.without, a.only) != (b.without, b.only) else []
    limits = [(connection.shared, connection.start_s, connection.idle_s) for connection in (a, b)]
    words += ["limits of its sessions"] if limits[0] != limits[1] else []
    words += ["tools"] if old.tools != new.tools else []
    words += ["description"] if (old.description, old.title) != (new.description, new.title) else []
    if not words and values & reference_names(b):
        words.append("a value in its command or address")
    return "; ".join(words) or ("figures" if replace(old, connection=None) != replace(new, connection=None) else "")


def _reached(server: Server) -> str:
    connection = server.connection
    if connection is None:
        return ""
    words = (connection.command, *connection.args)
    return connection.url or " ".join(word if word and word.split() == [word] else shlex.quote(word) for word in words)


def with_known(server: Server, known: Server | None) -> Server:
    """A server of the file. Without tools in the file, it gets the known words, and the known tools that the file allows."""
    if known is None or server.tools:
        return server
    words = {name: getattr(server, name) or getattr(known, name) for name in ("description", "title")}
    reached, tools = server.connection, known.tools
    if reached is not None and not all(reached.allows(tool.name) for tool in tools):
        tools = tuple(tool for tool in tools if reached.allows(tool.name))
    return replace(server, tools=tools, **words)


def _held_back(state: FileState, catalog: Catalog) -> FileState:
    """The changes that need no person. A server in quarantine stays off, even if the file switches it on."""
    blocked = {server.name for server in catalog.off if server.connection is not None and server.connection.quarantined}
    held_servers = {server.name: server for server in state.file.taken.off if server.name in blocked}
    if not (freed := {server.name for server in state.found.servers} & held_servers.keys()):
        return state
    rest = tuple(server for server in state.found.servers if server.name not in freed)
    config = replace(state.found, servers=rest, off=(*state.found.off, *(held_servers[name] for name in freed)))
    return replace(state, found=config, changes=tuple(change for change in state.changes if change.server not in freed))


def _merged(old: Server | None, stored: Server | None, new: Server, values: set[str]) -> Connection | None:
    """The connection of the file, with the variables and headers that only the operator changed."""
    if old is None or stored is None or None in (connections := (old.connection, stored.connection, new.connection)):
        return new.connection
    base, ours, theirs = cast("tuple[Connection, Connection, Connection]", connections)

    def pairs(a: Mapping[str, str], b: Mapping[str, str], c: Mapping[str, str]) -> dict[str, str]:
        still = {name for name in b if a.get(name) == c.get(name) and not names_in(c.get(name, "")) & values}
        return {**c, **{name: b[name] for name in still if b[name] != a.get(name)}}

    env, headers = pairs(base.env, ours.env, theirs.env), pairs(base.headers, ours.headers, theirs.headers)
    return replace(
        theirs,
        env=env,
        headers=headers,
        shown=tuple(name for name in ours.shown if name in env and env[name] == ours.env.get(name)),
    )


def _signature(path: str) -> tuple[int, int, int] | None:
    try:
        stat = Path(path).stat()
    except (OSError, ValueError):
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
