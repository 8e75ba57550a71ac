"""Exports catalogs, clients and the policy into a folder of readable files, for git and for another store, and imports such a folder.

    policy.toml                    `wayfare policy import` reads it
    clients.json                   the scope of each client and operator, without tokens
    catalogs/NAME/catalog.json     servers and tools (`wayfare import`); not of a catalog that comes with Wayfare
                  prices.json      prices and asks that were set by hand, USD a call
                  wordings.json    descriptions in the operator's words
                  requests.jsonl   example requests (`wayfare requests import`)
                  labels.jsonl     sub-tasks with their right and wrong tools (`wayfare label --import`)
                  statistics.jsonl the outcome of each call, from which statistics follow; its id says whether a store has it

An import adds and replaces, and deletes nothing. A copy of the store in memory imports the folder first. The difference between the
exports of both shows the changes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from datetime import datetime
from difflib import unified_diff
from pathlib import Path
from typing import Any, Literal, TypeVar, cast
from urllib.parse import quote, unquote

from core.catalogs.catalog_editor import Wordings
from core.catalogs.catalogs import CatalogService
from core.catalogs.loaded_catalog import FROM_FILE, Wording, setting_of, without_wordings
from core.domain import documents
from core.domain.catalog import Catalog, Connection, Server, tool_id
from core.domain.documents import AMOUNT, CLOSED, Annotated, Wanted
from core.domain.errors import CatalogError
from core.domain.events import OutcomeEvent, Override
from core.domain.feedback import AskedQuery, By
from core.domain.outcome import OutcomeKind
from core.governance.governance import GovernanceService
from core.governance.policy import Scope, from_toml, to_toml
from core.importers import read_document
from core.importers.judgments import read_labels
from core.importers.reading import decode, parse
from core.importers.shipped_catalogs import SHIPPED_CATALOGS, check_name
from core.learning.feedback import FeedbackService
from core.learning.requests import GIVEN_BY, RequestService, lines
from core.store import Store
from core.virtual.launch import plain_server

POLICY, CLIENTS, CATALOGS = "policy.toml", "clients.json", "catalogs"
OF_A_CATALOG = ("catalog.json", "prices.json", "wordings.json", "requests.jsonl", "labels.jsonl", "statistics.jsonl")
COPIED = (
    "catalogs", "servers", "tools", "schema_blocks", "overrides", "settings", "labels", "request_changes", "client_changes",
    "policy_changes", "outcomes",
)  # fmt: skip
ORIGIN, OFF = FROM_FILE, "switched_off"
T = TypeVar("T")
Texts = Mapping[str, str]
Prices = dict[str, Annotated[float, AMOUNT]]


@dataclass(frozen=True, slots=True)
class Call:
    """The outcome of a call as a line of a file. It has the figures for statistics, and no text."""

    __pydantic_config__ = CLOSED

    id: str
    at: datetime
    server: str
    tool: str
    kind: Annotated[str, Wanted("an outcome's kind, as ok", lambda kind: kind in {*OutcomeKind})]
    latency_s: Annotated[float, AMOUNT]
    connect_s: Annotated[float, AMOUNT] | None = None
    attempts: int = 1
    price_usd: Annotated[float, AMOUNT] | None = None
    simulated: bool = False
    injected: str = ""

    @classmethod
    def of(cls, event: OutcomeEvent) -> Call:
        return cls(**{field_.name: getattr(event, field_.name) for field_ in fields(cls)})

    def event(self, catalog: str) -> OutcomeEvent:
        return OutcomeEvent(**asdict(self), catalog=catalog, decision_id=None, error="", origin=ORIGIN)


@dataclass(eq=False)
class Exchange:
    """`copied` opens an exchange over a copy of a store. `read_anew` makes the services read the store again."""

    store: Store
    catalogs: CatalogService
    wordings: Wordings
    requests: RequestService
    feedback: FeedbackService
    governance: GovernanceService
    copied: Callable[[Store], Exchange]
    read_anew: Callable[[], None]
    skipped: list[str] = field(default_factory=list[str])
    """Entries of the last folder that were not imported, such as the label of a removed tool."""

    def texts(self, only: Sequence[str] = ()) -> Texts:
        """Returns every file by its path, or with `only` the files of these catalogs alone. Raises UnknownNameError."""
        return self._of_catalogs(only) if only else self._of_all({*self.catalogs.stored(), *SHIPPED_CATALOGS})

    def _of_all(self, names: Collection[str]) -> Texts:
        policy = {POLICY: to_toml(self.governance.policy)} if self.governance.policy_change is not None else {}
        scopes = {client.name: _said(client.scope) for client in self.governance.clients.all() if not client.revoked}
        clients = {CLIENTS: _json(scopes, sort_keys=True)} if scopes else {}
        catalog_names = {info.name for info in self.catalogs.infos()}
        return {**policy, **clients, **self._of_catalogs(sorted(catalog_names & {*names}))}

    def _of_catalogs(self, names: Sequence[str]) -> Texts:
        texts = (
            (name, zip(OF_A_CATALOG, self._of_catalog(self.catalogs.catalog(name)), strict=True)) for name in names
        )
        return {f"{CATALOGS}/{_folder(name)}/{file}": text for name, files in texts for file, text in files if text}

    def _of_catalog(self, catalog: Catalog) -> Iterator[str]:
        name, original, places = catalog.name, without_wordings(catalog), _places(catalog)
        if name in SHIPPED_CATALOGS or not (original.servers or original.off):
            yield ""
        else:
            off = [{**_document(server), OFF: True} for server in original.off]
            yield _json({"servers": [*map(_document, original.servers), *off]})
        prices = {_id(price): price.value for price in self.store.catalogs.overrides(name) if _id(price) in places}
        yield _json(prices, sort_keys=True) if prices else ""
        wordings = self._wordings(name)
        yield _json(wordings, sort_keys=True) if wordings else ""
        yield lines(
            {"tool": tool, "requests": texts, "source": source}
            for tool, requests in sorted(self.requests.with_servers_off(name).items())
            for source in GIVEN_BY
            if (texts := [request.text for request in requests if request.source == source and not request.stale])
        )
        yield lines(
            {"id": AskedQuery(query.query, query.server_hint).id, "subtask": query.query, "server_hint": query.server_hint, "relevant": right, "wrong": wrong}
            for query in sorted(self.feedback.queries(name), key=lambda query: (query.query, query.server_hint))
            for right, wrong in [[sorted(set(tools) & places) for tools in (query.right, query.wrong)]]
            if right or wrong
        )  # fmt: skip
        calls = sorted(map(Call.of, self.store.events.outcomes(name)), key=lambda call: call.at)
        yield lines({**_said(call), "at": call.at.isoformat()} for call in calls)

    def _wordings(self, name: str) -> dict[str, str]:
        stale = self.wordings.stale(name)
        return {_id(wording): wording.text for wording in self.wordings.list(name) if wording not in stale}

    def write(self, folder: Path, only: Sequence[str] = ()) -> Texts:
        """Writes the files into a folder. Deletes files of an earlier export that are not needed. Raises UnknownNameError, OSError."""
        texts = self.texts(only)
        replaced = tuple(f"{CATALOGS}/{_folder(name)}/" for name in only)
        for name, file in _files(folder):
            if name not in texts and (not only or name.startswith(replaced)):
                file.unlink()
        for name, text in texts.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if not file.exists() or file.read_bytes() != text.encode():
                file.write_text(text, encoding="utf-8", newline="\n")
        return texts

    # Import

    def apply(self, folder: Path, *, dry: bool = False) -> Mapping[str, Sequence[str]]:
        """Imports a folder, all or nothing. Returns the changed lines of each file as `diff` marks them. With `dry` it writes nothing.
        Raises WayfareError with the first fault."""
        texts = _read(folder)
        with Store.of_tables(self.store.tables(*COPIED)) as copy:
            other = self.copied(copy)
            names, since = _names(texts), copy.activity.latest_sequence()
            replaced = _replaced(copy, names)
            previous = other._of_all(names)
            catalogs = other.take(texts)
            changes, self.skipped = _differences(previous, other._of_all(names)), other.skipped
            if changes and not dry:
                with self.catalogs.unchanged(), self.store.kept():
                    if _replaced(self.store, names) != replaced:
                        raise CatalogError(
                            "A catalog was changed meanwhile, so nothing was imported; apply the folder again."
                        )
                    self.store.merge(copy, since, catalogs=catalogs, settings=[setting_of(name) for name in names])
                self.read_anew()
        return changes

    def take(self, given: Texts) -> list[str]:
        """Imports the files. Returns the catalogs that changed."""
        if POLICY in given:
            self.governance.set_policy(from_toml(given[POLICY]), origin=ORIGIN)
        for name, scope in _parsed(dict[str, Scope], given, CLIENTS).items():
            register = self.governance.clients
            if (old := next((item for item in register.all() if item.name == name and not item.revoked), None)) is None:
                register.make(name, scope, origin=ORIGIN, tokenless=True)
            elif old.scope != scope:
                register.change(name, scope, origin=ORIGIN)
        return [name for name in _names(given) if self._take_catalog(name, given, f"{CATALOGS}/{_folder(name)}/")]

    def _take_catalog(self, name: str, texts: Texts, prefix: str) -> bool:
        """Returns whether the catalog itself changed."""
        file, prices, wordings, requests, labels, calls = (prefix + suffix for suffix in OF_A_CATALOG)
        changed = file in texts and self._save(name, texts[file], file)
        catalog = self.catalogs.catalog(name)
        known_prices = {_id(override): override.value for override in self.store.catalogs.overrides(name)}
        for place, usd in _parsed(Prices, texts, prices).items():
            if place not in _places(catalog):
                self.skipped.append(f"{prices}: there is no {place}.")
            elif known_prices.get(place) != usd:
                server, _, tool = place.partition("::")
                price = "price_usd" if tool else "ask_usd"
                self.catalogs.set_override(Override(name, server, tool, price, usd, self.wordings.now()))
        known_texts = self._wordings(name)
        for place, text in _parsed(dict[str, str], texts, wordings).items():
            if known_texts.get(place) != text:
                self.wordings.put(name, place, text)
        self._take_requests(name, texts, requests)
        self._take_labels(name, texts.get(labels, ""), labels)
        stored_ids = {outcome.id for outcome in self.store.events.outcomes(name)}
        entries = (call for _, call in _lines(Call, texts, calls))
        self.store.events.append(*(call.event(name) for call in entries if call.id not in stored_ids))
        return changed

    def _save(self, name: str, text: str, file: str) -> bool:
        """Replaces servers by name with the servers of a catalog file, and appends new servers. Returns whether the catalog changed."""
        check_name(name, self.catalogs.stored())
        imported = read_document(text, source=file)
        document = parse(text, source=file)
        if not (isinstance(document, dict) and "servers" in document):
            raise CatalogError(f'{file}: it is no catalog of this folder; give {{"servers": [...]}}.')
        entries = {str(entry["name"]): entry for entry in cast("list[dict[str, Any]]", document["servers"])}
        stored = {info.name: info.source for info in self.store.catalogs.list_catalogs()}
        base = without_wordings(self.catalogs.catalog(name)) if name in stored else Catalog(name)
        servers, fresh = {server.name: server for server in (*base.servers, *base.off)}, dict[str, Server]()
        for server in (*imported.servers, *imported.off):
            connection, incoming = entries[server.name].get("connection") or dict[str, Any](), server
            if "transport" in connection:  # as written; an import looks for secrets in it
                incoming = replace(server, connection=documents.read(Connection, connection, f"{file}: {server.name}"))
            previous = servers.get(server.name, incoming)
            fresh[server.name] = previous if _document(previous) == _document(incoming) else incoming
        off = {server.name for server in base.off} - fresh.keys()
        off |= {server.name for server in imported.off}
        whole = {**servers, **fresh}.values()
        on, disabled = (tuple(server for server in whole if (server.name in off) is is_off) for is_off in (False, True))
        if name in stored and (on, disabled) == (base.servers, base.off):
            return False
        self.catalogs.save(Catalog(name, on, disabled), stored.get(name, "a folder"))
        return True

    def _take_requests(self, name: str, texts: Texts, file: str) -> None:
        entries = list(_lines(ToolRequests, texts, file))
        for source in dict.fromkeys(entry.source for _, entry in entries):
            batch = [(number, entry.tool, entry.requests) for number, entry in entries if entry.source == source]
            result = self.requests.add(name, batch, source=source, by=By(origin=ORIGIN))
            self.skipped += [f"{file}: line {skip.line}: {skip.why}." for skip in result.skipped]

    def _take_labels(self, name: str, text: str, file: str) -> None:
        """Imports the labels that the store does not have yet."""
        labels = {(row.query, row.server_hint): (set(row.right), set(row.wrong)) for row in self.feedback.queries(name)}
        fresh: list[dict[str, Any]] = []
        for label in read_labels(text, source=file)[0] if text else ():
            right, wrong = labels.get((label.query, label.server_hint), (set[str](), set[str]()))
            line = {"id": str(len(fresh)), "subtask": label.query, "server_hint": label.server_hint}
            fresh.append({**line, "relevant": [*{*label.right} - right], "wrong": [*{*label.wrong} - wrong]})
        if fresh := [line for line in fresh if line["relevant"] or line["wrong"]]:
            result = self.feedback.import_tasks(lines(fresh), source=file, catalog=name)
            if result.passed_over:
                self.skipped.append(f"{file}: {result.passed_over} labels are of tools that the catalog does not have.")


@dataclass(frozen=True, slots=True)
class ToolRequests:
    __pydantic_config__ = CLOSED

    tool: documents.ToolId
    requests: tuple[str, ...]
    source: Literal["operator", "client", "model"] = "operator"


# Records as JSON, and folders as texts


def _id(entry: Override | Wording) -> str:
    return tool_id(entry.server, entry.tool) if entry.tool else entry.server


def _places(catalog: Catalog) -> set[str]:
    servers = (*catalog.servers, *catalog.off)
    return {server.name for server in servers} | {tool.id for server in servers for tool in server.tools}


def _document(server: Server) -> dict[str, Any]:
    connection = {} if server.connection is None else {"connection": _said(server.connection)}
    return {**plain_server(server), **connection}


def _said(record: Any) -> dict[str, Any]:
    """Returns the fields that differ from their defaults."""
    values = [(field_, getattr(record, field_.name)) for field_ in fields(record)]
    return {
        field_.name: value
        for field_, value in values
        if value != field_.default and not (value == {} and field_.default is MISSING)
    }


def _json(document: Mapping[str, Any], *, sort_keys: bool = False) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1, sort_keys=sort_keys, default=dict) + "\n"


def _folder(name: str) -> str:
    """Returns the folder of a catalog of any name.

    >>> _folder("mine"), _folder("../a b"), _folder("..")
    ('mine', '%2E.%2Fa b', '%2E.')
    """
    quoted = quote(name, safe=" ")
    return f"%2E{quoted[1:]}" if quoted.startswith(".") else quoted


def _files(folder: Path) -> list[tuple[str, Path]]:
    paths = [
        folder / POLICY,
        folder / CLIENTS,
        *(path for path in folder.glob(f"{CATALOGS}/*/*") if path.name in OF_A_CATALOG),
    ]
    return [(file.relative_to(folder).as_posix(), file) for file in paths if file.is_file()]


def _read(folder: Path) -> Texts:
    """Raises CatalogError for a folder without any of our files."""
    if texts := {name: decode(file.read_bytes(), source=name) for name, file in _files(folder)}:
        return texts
    raise CatalogError(
        f"{folder} has no {POLICY}, {CLIENTS} or {CATALOGS}/NAME/...; `wayfare export` writes such a folder."
    )


def _replaced(store: Store, names: Iterable[str]) -> list[tuple[Catalog | None, Any]]:
    """What an import replaces as a whole: catalogs and their wordings."""
    return [(store.catalogs.load_catalog(name), store.get_setting(setting_of(name))) for name in names]


def _names(texts: Texts) -> list[str]:
    return sorted({unquote(file.split("/")[1]) for file in texts if file.startswith(f"{CATALOGS}/")})


def _parsed(kind: type[T], texts: Texts, file: str) -> T:
    return documents.read(kind, parse(texts.get(file, "{}"), source=file), file)


def _lines(kind: type[T], texts: Texts, file: str) -> Iterator[tuple[int, T]]:
    for number, line in enumerate(texts.get(file, "").split("\n"), 1):
        if line.strip():
            place = f"{file}: line {number}"
            yield number, documents.read(kind, parse(line, source=place), place)


def _differences(old: Texts, new: Texts) -> Mapping[str, Sequence[str]]:
    changes: dict[str, list[str]] = {}
    for file in sorted({*old, *new}):
        compared = unified_diff(old.get(file, "").splitlines(), new.get(file, "").splitlines(), n=0, lineterm="")
        changes[file] = [line for line in [*compared][2:] if not line.startswith("@@")]
    return {file: diff for file, diff in changes.items() if diff}
