"""Catalogs that follow the files they were read from: what changed there, and taking it or leaving it."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from core.catalogs.catalogs import CatalogService
from core.catalogs.servers import ServerEditor, switched_off, without
from core.domain.catalog import Catalog, Connection, Discovery, Follow, Imported, Server, ServerId
from core.domain.errors import CatalogError, UnknownNameError, WayfareError
from core.domain.people import actions
from core.domain.tool_table import packed
from core.importers import BrokenDocumentError, read_files
from core.servers.secrets import SecretVault, names_in, reference_names
from core.store import Store
from core.store.catalogs import from_json

FILE = ""
"""The values that a file has are kept under this name beside those of its servers, so that a change of one is noticed."""
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
    """The files of a catalog, what is done about changes, and the servers that the files had when they were last taken."""

    paths: tuple[str, ...]
    follow: Follow
    taken: Catalog

    @property
    def where(self) -> str:
        return ", ".join(self.paths)


@dataclass(frozen=True, slots=True)
class FileState:
    """The result of a look at the files of a catalog. `problem` tells why nothing can be taken, or is ""."""

    file: FollowedFile
    changes: tuple[FileChange, ...] = ()
    problem: str = ""
    found: Imported | None = field(default=None, repr=False)
    signature: Signature = ()


@actions("administer", set_follow="follow a file", take="take the changes of a file", ignore="ignore the changes of a file")  # fmt: skip
@dataclass(eq=False)
class FollowedFiles:
    """The files of all catalogs. Thread-safe. A file is only read, and a broken one changes nothing."""

    store: Store
    catalogs: CatalogService
    vault: SecretVault
    servers: ServerEditor

    def __post_init__(self) -> None:
        self._files: dict[str, FollowedFile | None] = {}
        self._states: dict[str, FileState] = {}
        self._failed: dict[str, tuple[Signature, str]] = {}
        self._taking = threading.Lock()

    def remember(self, catalog: str, paths: Iterable[Path], taken: Imported, follow: Follow | None = None) -> None:
        """Follow these files from now on, as they were just read. `follow` None keeps what was chosen before."""
        known = self.of(catalog)
        mode = follow or (known.follow if known is not None else "show")
        at = tuple(str(path.expanduser().absolute()) for path in paths)
        self._keep(catalog, FollowedFile(at, mode, Catalog(catalog, taken.servers, taken.off)), taken.secrets)

    def forget(self, catalog: str) -> None:
        if self.of(catalog) is not None:
            self.store.set_setting(SETTING + catalog, None)
            self.store.catalogs.remove_taken(catalog)
            self._files[catalog] = None

    def by_operator(self, catalog: Catalog) -> set[str]:
        """The servers that are switched off in a catalog, and not because the file says so."""
        file = self.of(catalog.name)
        return {one.name for one in catalog.off} - {one.name for one in (file.taken.off if file is not None else ())}

    def set_follow(self, catalog: str, follow: Follow) -> None:
        """Choose what is done about changes. Raises UnknownNameError for a catalog that came from no file."""
        self._keep(catalog, replace(self._known(catalog), follow=follow), {})

    def of(self, catalog: str) -> FollowedFile | None:
        if catalog not in self._files:
            known = self.store.get_setting(SETTING + catalog)
            self._files[catalog] = None if known is None else self._of_setting(catalog, known)
        return self._files[catalog]

    def look(self, catalog: str) -> FileState | None:
        """Returns the changes in the files of a catalog since they were last taken, or None if it follows no file."""
        file = self.of(catalog)
        if file is None or file.follow == "off":
            return None
        signature, known = tuple(map(_signature, file.paths)), self._states.get(catalog)
        if known is None or known.signature != signature or known.file is not file:
            known = self._states[catalog] = self._read(catalog, file, signature)
        failed_at, why = self._failed.get(catalog, ((), ""))
        return replace(known, problem=why) if why and failed_at == signature else known

    def all(self) -> dict[str, FileState]:
        found = {name: self.look(name) for name in self.catalogs.stored()}
        return {name: state for name, state in found.items() if state is not None}

    def take(self, catalog: str, shown: Sequence[FileChange] | None = None) -> tuple[Discovery, ...]:
        """Take over the changes: new and changed servers are asked for their tools, the others stay as they are. Raises CatalogError for a
        file that cannot be read, or has other changes than those that were `shown`."""
        with self._taking:
            state = self._changed(catalog)
            if shown is not None and tuple(shown) != state.changes:
                raise CatalogError("The file has changed again; look at its changes once more.")
            return self._take(catalog, state, state.found or Imported("", ()))

    def ignore(self, catalog: str) -> None:
        """Leave the catalog as it is; only later changes of the file are shown. Raises CatalogError."""
        with self._taking:
            state = self._changed(catalog)
            found = state.found or Imported("", ())
            self._keep(catalog, replace(state.file, taken=Catalog(catalog, found.servers, found.off)), found.secrets)

    def round(self) -> None:
        """Look at all files, and take changes where that was chosen and the file is quiet since the last round."""
        before = {name: state.signature for name, state in self._states.items()}
        for name, state in self.all().items():
            if state.file.follow != "take" or state.problem or not state.changes or before.get(name) != state.signature:
                continue
            try:
                with self._taking:
                    held = _held_back(self._changed(name), self.catalogs.catalog(name))
                    if held.changes:
                        self._take(name, held, held.found or Imported("", ()))
            except WayfareError as error:
                self._failed[name] = state.signature, f"{error} Nothing more is taken until the file changes."

    def _take(self, catalog: str, state: FileState, found: Imported) -> tuple[Discovery, ...]:
        changed = {one.server for one in state.changes}
        on = [server for server in found.servers if server.name in changed]
        off = [server for server in found.off if server.name in changed]
        gone = [one.server for one in state.changes if one.kind == "removed"]
        values = self._changed_values(catalog, found.secrets)
        before = {server.name: server for server in (*state.file.taken.servers, *state.file.taken.off)}
        self._keep_values(catalog, (*on, *off), found.secrets, values)

        def change(known: Catalog) -> Catalog:
            by_operator = self.by_operator(known)
            tools = {server.name: server for server in (*known.servers, *known.off)}
            for name in {*gone, *changed} & tools.keys():
                known = without(known, name)
            for server in (*on, *off):
                old, own = before.get(server.name), tools.get(server.name)
                merged = replace(server, connection=_merged(old, own, server, values))
                known = known.with_server(with_known(merged, own))
                if server in off or server.name in by_operator:
                    known = switched_off(known, server.name)
            return known

        after = self.catalogs.edit(catalog, change)
        for name in changed:
            self.servers.sessions().end(ServerId(catalog, name))
        lists = {server.name for server in on if server.connection is not None and not server.tools}
        asked = self.servers.refresh(catalog, [server for server in after.servers if server.name in lists])
        self._keep(catalog, replace(state.file, taken=Catalog(catalog, found.servers, found.off)), found.secrets)
        return asked

    def _keep_values(
        self, catalog: str, servers: Iterable[Server], values: Mapping[str, str], changed: set[str]
    ) -> None:
        """Keep the values of the file that are missing or changed there; others were perhaps set by hand."""
        kept = self.vault.names()
        self.vault.put_all(
            (ServerId(catalog, server.name), name, values[name])
            for server in servers
            for name in reference_names(server.connection) & values.keys()
            if name in changed or (ServerId(catalog, server.name), name) not in kept
        )

    def _changed_values(self, catalog: str, values: Mapping[str, str]) -> set[str]:
        known, file = self.vault.names(), ServerId(catalog, FILE)
        seen = {name: f"${{secret:{name}}}" for name in values if (file, name) in known}
        before = self.vault.resolve(file, Connection("stdio", env=seen)).env
        return {name for name, value in before.items() if values[name] != value}

    def _keep(self, catalog: str, file: FollowedFile, values: Mapping[str, str]) -> None:
        self.store.catalogs.save_taken(file.taken)
        self.store.set_setting(SETTING + catalog, {"paths": file.paths, "follow": file.follow})
        self._files[catalog] = file
        self.vault.put_all((ServerId(catalog, FILE), name, value) for name, value in values.items())
        self._failed.pop(catalog, None)

    def _of_setting(self, catalog: str, known: Mapping[str, Any]) -> FollowedFile:
        before = known.get("taken")  # until a version kept it as rows
        taken = from_json(before) if before is not None else self.store.catalogs.load_taken(catalog)
        return FollowedFile(tuple(known["paths"]), known["follow"], taken)

    def _known(self, catalog: str) -> FollowedFile:
        known = self.of(catalog)
        if known is None:
            raise UnknownNameError(f"Catalog {catalog!r} was not read from a file; import one under its name.")
        return known

    def _changed(self, catalog: str) -> FileState:
        self._known(catalog)
        state = self.look(catalog)
        if state is None:
            raise CatalogError(f"Catalog {catalog!r} does not follow its file; choose show or take first.")
        if state.problem:
            raise CatalogError(state.problem)
        return state

    def _read(self, catalog: str, file: FollowedFile, signature: Signature) -> FileState:
        try:
            found = read_files(file.paths, pack=packed)
        except BrokenDocumentError as error:
            return FileState(file, problem=f"{error} The catalog stays as it is.", signature=signature)
        changes = differences(file.taken, found, self._changed_values(catalog, found.secrets))
        if found.left_out and any(change.kind == "removed" for change in changes):  # by a fault, for all that is known
            why = next((f"{note.where}: {note.text}" for note in found.notes if "left out" in note.text), "")
            return FileState(file, problem=f"{why}. The catalog stays as it is.", signature=signature)
        return FileState(file, changes, "", found, signature)


def differences(before: Catalog, now: Imported, values: set[str]) -> tuple[FileChange, ...]:
    """Returns the changes of a file. `values` are the names of secrets with other values.

    >>> before = Catalog("mine", (Server("git"), Server("mail")))
    >>> [str(one) for one in differences(before, Imported("", (Server("git", "Commits."), Server("web"))), set())]
    ['git changed (description)', 'web added', 'mail removed']
    """
    known = {server.name: server for server in (*before.servers, *before.off)}
    was_off, is_off = {server.name for server in before.off}, {server.name for server in now.off}
    found: list[FileChange] = []
    for server in (*now.servers, *now.off):
        name, old = server.name, known.pop(server.name, None)
        words = "" if old is None else difference(old, server, values)
        if old is None:
            found.append(FileChange(name, "added", "switched off" if name in is_off else _reached(server)))
        elif (name in is_off) is not (name in was_off):
            found.append(FileChange(name, "switched off" if name in is_off else "switched on", words))
        elif words:
            found.append(FileChange(name, "changed", words))
    return (*found, *(FileChange(name, "removed") for name in known))


def difference(old: Server, new: Server, values: set[str]) -> str:
    """Returns the differences of two entries of a server in words without values, "" if they are equal."""
    a, b = (one.connection or Connection("stdio") for one in (old, new))
    words = [f"{_reached(old) or 'nothing'} → {_reached(new) or 'nothing'}"] if _reached(old) != _reached(new) else []
    for what, x, y in (("variables", a.env, b.env), ("headers", a.headers, b.headers)):
        secret = {name for name, text in y.items() if any(f"${{secret:{value}}}" in text for value in values)}
        if names := sorted({name for name in {*x, *y} if x.get(name) != y.get(name)} | secret):
            words.append(f"{what} {', '.join(names)}")
    words += ["folder"] if a.cwd and a.cwd != b.cwd else []  # earlier versions kept none
    words += ["tools that are switched off"] if (a.without, a.only) != (b.without, b.only) else []
    limits = [(one.shared, one.start_s, one.idle_s) for one in (a, b)]
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
    """A server of the file with the words that it told itself and those tools that the file allows, unless the file has some."""
    if known is None or server.tools:
        return server
    said = {name: getattr(server, name) or getattr(known, name) for name in ("description", "title")}
    reached, tools = server.connection, known.tools
    if reached is not None and not all(reached.allows(tool.name) for tool in tools):
        tools = tuple(tool for tool in tools if reached.allows(tool.name))
    return replace(server, tools=tools, **said)


def _held_back(state: FileState, known: Catalog) -> FileState:
    """The changes that need no person: a server of the catalog in quarantine stays off, whatever the file says now."""
    waits = {one.name for one in known.off if one.connection is not None and one.connection.quarantined}
    held = {one.name: one for one in state.file.taken.off if one.name in waits}
    if state.found is None or not (released := {one.name for one in state.found.servers} & held.keys()):
        return state
    stay = tuple(one for one in state.found.servers if one.name not in released)
    found = replace(state.found, servers=stay, off=(*state.found.off, *(held[name] for name in released)))
    return replace(state, found=found, changes=tuple(one for one in state.changes if one.server not in released))


def _merged(old: Server | None, own: Server | None, new: Server, values: set[str]) -> Connection | None:
    """The connection of the file, with the variables and headers that the operator changed and the file did not."""
    if old is None or own is None or None in (one := (old.connection, own.connection, new.connection)):
        return new.connection
    before, known, now = cast("tuple[Connection, Connection, Connection]", one)

    def pairs(a: Mapping[str, str], b: Mapping[str, str], c: Mapping[str, str]) -> dict[str, str]:
        still = {name for name in b if a.get(name) == c.get(name) and not names_in(c.get(name, "")) & values}
        return {**c, **{name: b[name] for name in still if b[name] != a.get(name)}}

    env, headers = pairs(before.env, known.env, now.env), pairs(before.headers, known.headers, now.headers)
    return replace(
        now,
        env=env,
        headers=headers,
        shown=tuple(name for name in known.shown if name in env and env[name] == known.env.get(name)),
    )


def _signature(path: str) -> tuple[int, int, int] | None:
    try:
        at = Path(path).stat()
    except (OSError, ValueError):
        return None
    return at.st_mtime_ns, at.st_size, at.st_ino
