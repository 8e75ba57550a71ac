"""Catalogs, clients and the policy as a folder of readable files, for git and for another store; and such a folder taken in.

    policy.toml                    `wayfare policy import` reads it
    clients.json                   the scope of each client and operator, without tokens
    catalogs/NAME/catalog.json     servers and tools (`wayfare import`); not of a catalog that comes with Wayfare
                  prices.json      prices and asks that were set by hand, USD a call
                  wordings.json    descriptions in the operator's words
                  requests.jsonl   example requests (`wayfare requests import`)
                  labels.jsonl     sub-tasks with their right and wrong tools (`wayfare label --import`)
                  statistics.jsonl the outcome of each call, from which statistics follow; its id says whether a store has it

A folder adds and replaces what it names, and takes nothing away. It is first taken in by a copy of the store in memory: what that copy
would write into a folder is what changes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from datetime import datetime
from difflib import unified_diff
from pathlib import Path
from typing import Any, Literal, TypeVar, cast
from urllib.parse import quote, unquote

from core.catalogs.catalog_editor import Wordings
from core.catalogs.catalogs import CatalogService
from core.catalogs.loaded_catalog import Wording, setting_of, without_wordings
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
ORIGIN, OFF = "file", "switched_off"
T = TypeVar("T")
Texts = Mapping[str, str]
Prices = dict[str, Annotated[float, AMOUNT]]


@dataclass(frozen=True, slots=True)
class Call:
    """The outcome of a call as a line of a file: the figures that statistics follow from, and no text."""

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
        return cls(**{one.name: getattr(event, one.name) for one in fields(cls)})

    def event(self, catalog: str) -> OutcomeEvent:
        return OutcomeEvent(**asdict(self), catalog=catalog, decision_id=None, error="", origin=ORIGIN)


@dataclass(eq=False)
class Exchange:
    """`copied` opens an exchange over a copy of a store; `read_anew` takes over what was written beside the services."""

    store: Store
    catalogs: CatalogService
    wordings: Wordings
    requests: RequestService
    feedback: FeedbackService
    governance: GovernanceService
    copied: Callable[[Store], Exchange]
    read_anew: Callable[[], None]
    skipped: list[str] = field(default_factory=list[str])
    """What the last folder has and could not be taken, such as the label of a tool that is gone."""

    def texts(self, only: Sequence[str] = ()) -> Texts:
        """Every file by its path, of all catalogs, or of `only` some of them and nothing else. Raises UnknownNameError."""
        return self._of_catalogs(only) if only else self._of_all({*self.catalogs.stored(), *SHIPPED_CATALOGS})

    def _of_all(self, names: Collection[str]) -> Texts:
        policy = {POLICY: to_toml(self.governance.policy)} if self.governance.policy_change is not None else {}
        scopes = {one.name: _said(one.scope) for one in self.governance.clients.all() if not one.revoked}
        clients = {CLIENTS: _json(scopes, sort_keys=True)} if scopes else {}
        known = {info.name for info in self.catalogs.infos()}
        return {**policy, **clients, **self._of_catalogs(sorted(known & {*names}))}

    def _of_catalogs(self, names: Sequence[str]) -> Texts:
        texts = (
            (name, zip(OF_A_CATALOG, self._of_catalog(self.catalogs.catalog(name)), strict=True)) for name in names
        )
        return {f"{CATALOGS}/{_folder(name)}/{file}": text for name, of in texts for file, text in of if text}

    def _of_catalog(self, catalog: Catalog) -> Iterator[str]:
        name, own, place = catalog.name, without_wordings(catalog), _places(catalog)
        if name in SHIPPED_CATALOGS or not (own.servers or own.off):
            yield ""
        else:
            off = [{**_document(one), OFF: True} for one in own.off]
            yield _json({"servers": [*map(_document, own.servers), *off]})
        prices = {_id(one): one.value for one in self.store.catalogs.overrides(name) if _id(one) in place}
        yield _json(prices, sort_keys=True) if prices else ""
        stale = self.wordings.stale(name)
        worded = {_id(one): one.text for one in self.wordings.list(name) if one not in stale}
        yield _json(worded, sort_keys=True) if worded else ""
        yield lines(
            {"tool": tool, "requests": texts, "source": source}
            for tool, of in sorted(self.requests.of_catalog(name).items())
            for source in GIVEN_BY
            if (texts := [one.text for one in of if one.source == source and not one.stale])
        )
        yield lines(
            {"id": AskedQuery(one.query, one.server_hint).id, "subtask": one.query, "server_hint": one.server_hint, "relevant": right, "wrong": wrong}
            for one in sorted(self.feedback.queries(name), key=lambda one: (one.query, one.server_hint))
            for right, wrong in [[sorted(set(tools) & catalog.tool_row.keys()) for tools in (one.right, one.wrong)]]
            if right or wrong
        )  # fmt: skip
        calls = sorted(map(Call.of, self.store.events.outcomes(name)), key=lambda one: one.at)
        yield lines({**_said(one), "at": one.at.isoformat()} for one in calls)

    def write(self, folder: Path, only: Sequence[str] = ()) -> Texts:
        """Write the files into a folder. Of ours, those that are no longer needed go; others stay. Raises UnknownNameError, OSError."""
        found = self.texts(only)
        replaced = tuple(f"{CATALOGS}/{_folder(name)}/" for name in only)
        for name, file in _files(folder):
            if name not in found and (not only or name.startswith(replaced)):
                file.unlink()
        for name, text in found.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if not file.exists() or file.read_bytes() != text.encode():
                file.write_text(text, encoding="utf-8", newline="\n")
        return found

    # Taking a folder in

    def apply(self, folder: Path, *, dry: bool = False) -> Mapping[str, Sequence[str]]:
        """Take a folder in, all or nothing, and return the changed lines of each file as `diff` marks them; with `dry` nothing is written.
        Raises WayfareError with the first fault."""
        given = _read(folder)
        with Store.of_tables(self.store.tables(*COPIED)) as copy:
            other = self.copied(copy)
            names, since = _names(given), copy.activity.latest_sequence()
            before = other._of_all(names)
            changed = other.take(given)
            found, self.skipped = _differences(before, other._of_all(names)), other.skipped
            if found and not dry:
                self.store.merge(copy, since, catalogs=changed, settings=[setting_of(name) for name in names])
                self.read_anew()
        return found

    def take(self, given: Texts) -> list[str]:
        """Take the files in, one after the other. Returns the catalogs that are stored anew."""
        if POLICY in given:
            self.governance.set_policy(from_toml(given[POLICY]), origin=ORIGIN)
        for name, scope in _parsed(dict[str, Scope], given, CLIENTS).items():
            register = self.governance.clients
            if (known := next((one for one in register.all() if one.name == name and not one.revoked), None)) is None:
                register.make(name, scope, origin=ORIGIN, tokenless=True)
            elif known.scope != scope:
                register.change(name, scope, origin=ORIGIN)
        return [name for name in _names(given) if self._take_catalog(name, given, f"{CATALOGS}/{_folder(name)}/")]

    def _take_catalog(self, name: str, given: Texts, at: str) -> bool:
        """Returns whether the catalog itself changed."""
        file, prices, wordings, requests, labels, calls = (at + one for one in OF_A_CATALOG)
        changed = file in given and self._save(name, given[file], file)
        catalog = self.catalogs.catalog(name)
        set_before = {_id(one): one.value for one in self.store.catalogs.overrides(name)}
        for place, usd in _parsed(Prices, given, prices).items():
            if place not in _places(catalog):
                self.skipped.append(f"{prices}: there is no {place}.")
            elif set_before.get(place) != usd:
                server, _, tool = place.partition("::")
                price = "price_usd" if tool else "ask_usd"
                self.catalogs.set_override(Override(name, server, tool, price, usd, self.wordings.now()))
        worded = {_id(one): one.text for one in self.wordings.list(name)}
        for place, text in _parsed(dict[str, str], given, wordings).items():
            if worded.get(place) != text:
                self.wordings.put(name, place, text)
        self._take_requests(name, given, requests)
        self._take_labels(name, given.get(labels, ""), labels)
        there = {one.id for one in self.store.events.outcomes(name)}
        read = [documents.read(Call, line, f"{calls}: line {number}") for number, line in _lines(given, calls)]
        self.store.events.append(*(one.event(name) for one in read if one.id not in there))
        return changed

    def _save(self, name: str, text: str, file: str) -> bool:
        """Puts the servers of a catalog file in the place of those of their names, and the others after these. Returns whether the catalog
        changed."""
        check_name(name)
        read = read_document(text, source=file)
        document = parse(text, source=file)
        if not (isinstance(document, dict) and "servers" in document):
            raise CatalogError(f'{file}: it is no catalog of this folder; give {{"servers": [...]}}.')
        entries = {str(one["name"]): one for one in cast("list[dict[str, Any]]", document["servers"])}
        stored = {one.name: one.source for one in self.store.catalogs.list_catalogs()}
        known = without_wordings(self.catalogs.catalog(name)) if name in stored else Catalog(name)
        kept, fresh = {one.name: one for one in (*known.servers, *known.off)}, dict[str, Server]()
        for one in read.servers:
            reached, made = entries[one.name].get("connection", {}), one
            if "transport" in reached:  # as it was written, where an import looks for secrets
                made = replace(one, connection=documents.read(Connection, reached, f"{file}: {one.name}"))
            before = kept.get(one.name, made)
            fresh[one.name] = before if _document(before) == _document(made) else made
        off = {one.name for one in known.off} - fresh.keys()
        off |= {name for name in fresh if entries[name].get(OFF) is True}
        whole = {**kept, **fresh}.values()
        on, switched_off = (tuple(one for one in whole if (one.name in off) is is_off) for is_off in (False, True))
        if name in stored and (on, switched_off) == (known.servers, known.off):
            return False
        self.catalogs.save(Catalog(name, on, switched_off), stored.get(name, "a folder"))
        return True

    def _take_requests(self, name: str, given: Texts, file: str) -> None:
        read = [
            (number, documents.read(ToolRequests, line, f"{file}: line {number}"))
            for number, line in _lines(given, file)
        ]
        for source in dict.fromkeys(one.source for _, one in read):
            of = [(number, one.tool, one.requests) for number, one in read if one.source == source]
            taken = self.requests.add(name, of, source=source, by=By(origin=ORIGIN))
            self.skipped += [f"{file}: line {one.line}: {one.why}." for one in taken.skipped]

    def _take_labels(self, name: str, text: str, file: str) -> None:
        """Those that the labels of the store do not amount to yet."""
        said = {(one.query, one.server_hint): (set(one.right), set(one.wrong)) for one in self.feedback.queries(name)}
        fresh: list[dict[str, Any]] = []
        for one in read_labels(text, source=file) if text else ():
            right, wrong = said.get((one.query, one.server_hint), (set[str](), set[str]()))
            line = {"id": str(len(fresh)), "subtask": one.query, "server_hint": one.server_hint}
            fresh.append({**line, "relevant": [*{*one.right} - right], "wrong": [*{*one.wrong} - wrong]})
        if fresh := [line for line in fresh if line["relevant"] or line["wrong"]]:
            taken = self.feedback.import_tasks(lines(fresh), source=file, catalog=name)
            if taken.passed_over:
                self.skipped.append(f"{file}: {taken.passed_over} labels are of tools that the catalog does not have.")


@dataclass(frozen=True, slots=True)
class ToolRequests:
    __pydantic_config__ = CLOSED

    tool: documents.ToolId
    requests: tuple[str, ...]
    source: Literal["operator", "client", "model"] = "operator"


# Records as JSON, and folders as texts


def _id(one: Override | Wording) -> str:
    return tool_id(one.server, one.tool) if one.tool else one.server


def _places(catalog: Catalog) -> set[str]:
    servers = (*catalog.servers, *catalog.off)
    return {one.name for one in servers} | {tool.id for one in servers for tool in one.tools}


def _document(server: Server) -> dict[str, Any]:
    reached = {} if server.connection is None else {"connection": _said(server.connection)}
    return {**plain_server(server), **reached}


def _said(record: Any) -> dict[str, Any]:
    """The fields that differ from their defaults."""
    values = [(one, getattr(record, one.name)) for one in fields(record)]
    return {
        one.name: value
        for one, value in values
        if value != one.default and not (value == {} and one.default is MISSING)
    }


def _json(document: Mapping[str, Any], *, sort_keys: bool = False) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1, sort_keys=sort_keys, default=dict) + "\n"


def _folder(name: str) -> str:
    """The folder of a catalog, whatever its name.

    >>> _folder("mine"), _folder("../a b"), _folder("..")
    ('mine', '%2E.%2Fa b', '%2E.')
    """
    quoted = quote(name, safe=" ")
    return f"%2E{quoted[1:]}" if quoted.startswith(".") else quoted


def _files(folder: Path) -> list[tuple[str, Path]]:
    ours = [
        folder / POLICY,
        folder / CLIENTS,
        *(one for one in folder.glob(f"{CATALOGS}/*/*") if one.name in OF_A_CATALOG),
    ]
    return [(file.relative_to(folder).as_posix(), file) for file in ours if file.is_file()]


def _read(folder: Path) -> Texts:
    """Raises CatalogError for a folder without any of our files."""
    if found := {name: decode(file.read_bytes(), source=name) for name, file in _files(folder)}:
        return found
    raise CatalogError(
        f"{folder} has no {POLICY}, {CLIENTS} or {CATALOGS}/NAME/...; `wayfare export` writes such a folder."
    )


def _names(given: Texts) -> list[str]:
    return sorted({unquote(file.split("/")[1]) for file in given if file.startswith(f"{CATALOGS}/")})


def _parsed(kind: type[T], given: Texts, file: str) -> T:
    return documents.read(kind, parse(given.get(file, "{}"), source=file), file)


def _lines(given: Texts, file: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(given.get(file, "").split("\n"), 1):
        if line.strip():
            yield number, parse(line, source=f"{file}: line {number}")


def _differences(before: Texts, after: Texts) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for file in sorted({*before, *after}):
        compared = unified_diff(before.get(file, "").splitlines(), after.get(file, "").splitlines(), n=0, lineterm="")
        found[file] = [line for line in [*compared][2:] if not line.startswith("@@")]
    return {file: changed for file, changed in found.items() if changed}
