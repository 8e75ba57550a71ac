"""Known definitions of tools, and definitions that are held back: changed definitions, and new definitions with a Lint error."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple

from core.catalogs.catalogs import CatalogService
from core.domain.catalog import Catalog, Server, Tool
from core.domain.documents import digest
from core.domain.errors import CatalogError, UnknownNameError
from core.domain.events import DefinitionChange
from core.domain.findings import Finding, Severity
from core.domain.people import actions
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from core.lint import RULES, lint
from core.store import Store

PARTS = ("title", "description", "inputSchema", "outputSchema", "annotations")
MOST_PIECES = 6_000
_PIECE = re.compile(r"\s+|\w+|[^\w\s]")
Change = Literal["same", "removed", "added"]


class Piece(NamedTuple):
    change: Change
    text: str


@dataclass(frozen=True, slots=True)
class PartDifference:
    part: str
    pieces: tuple[Piece, ...]


def definition_json(tool: Tool) -> str:
    """Returns a server's definition of a tool as the text that a person approves. Prices and times are no part of it."""
    document: dict[str, Any] = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.own_description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": {name: value for name, value in asdict(tool.hints).items() if value is not None},
        **({"extras": tool.extras} if tool.extras else {}),
    }
    return json.dumps(document, ensure_ascii=False, sort_keys=True, default=_plain)


def same_definition(one: str, other: str) -> bool:
    """Whether two definitions differ at most in icons and metadata. Changed icons and metadata are not passed on to clients."""
    if one == other:
        return True
    texts = ({**json.loads(text), "extras": ""} for text in (one, other))
    first, second = (json.dumps(document, ensure_ascii=False, sort_keys=True) for document in texts)
    return first == second


def differences(before: str, after: str) -> tuple[PartDifference, ...]:
    """Returns the changes between two definitions, part by part.

    >>> before, after = (definition_json(Tool("files", "read", f"Reads a {kind}.")) for kind in ("file", "secret file"))
    >>> [(part.part, [(piece.change, piece.text) for piece in part.pieces]) for part in differences(before, after)]
    [('description', [('same', 'Reads a '), ('added', 'secret '), ('same', 'file.')])]
    """
    first, second = json.loads(before), json.loads(after)
    texts = ((part, _shown(first.get(part)), _shown(second.get(part))) for part in PARTS)
    return tuple(PartDifference(part, _compared(old, new)) for part, old, new in texts if old != new)


def _compared(old_text: str, new_text: str) -> tuple[Piece, ...]:
    old, new = (_PIECE.findall(text)[:MOST_PIECES] for text in (old_text, new_text))
    pieces: list[Piece] = []
    removed = added = ""
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for place, (kind, start, stop, new_start, new_stop) in enumerate(codes):
        before_text, after_text = "".join(old[start:stop]), "".join(new[new_start:new_stop])
        inside = 0 < place < len(codes) - 1 and not re.search(r"\w", before_text)
        if kind == "equal" and not inside:
            pieces += [*_changed(removed, added), Piece("same", before_text)]
            removed = added = ""
        else:  # a gap between two changed words joins the change, so that whole phrases are compared
            removed, added = removed + before_text, added + after_text
    return (*pieces, *_changed(removed, added))


def _changed(removed: str, added: str) -> list[Piece]:
    pieces = Piece("removed", removed), Piece("added", added)
    return [piece for piece in pieces if piece.text]


def _shown(value: object) -> str:
    if value is None or value == {}:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)


def _plain(value: object) -> Any:
    return dict(value) if hasattr(value, "keys") else str(value)  # pyright: ignore[reportCallIssue, reportArgumentType]


FIRST_USE, APPROVED, DENIED = "first_use", "approved", "denied"
State = Literal["new", "known", "changed", "denied", "waiting"]
Key = tuple[str, str, str]
HELD_BACK = {"changed", "denied", "waiting"}
MOST_COMPARED = 4_096  # definitions found unchanged


@dataclass(frozen=True, slots=True)
class HeldDefinition:
    """A tool whose definition is held back, with its differences and Lint's findings. `known_since` is None for a new tool, which
    waits because of `error`.

    `denied_by` is the origin of a denial of the new definition, or "". `new_findings` are absent from the known definition.
    """

    catalog: str
    tool: Tool
    known_since: datetime | None
    denied_by: str
    differences: tuple[PartDifference, ...]
    findings: tuple[Finding, ...]
    new_findings: tuple[Finding, ...]
    error: str = ""

    @property
    def why(self) -> str:
        return f"it is new, and Lint finds: {self.error}" if self.known_since is None else "its definition changed"


@actions("approve", decide="decide a definition")
@dataclass(eq=False)
class KnownDefinitions:
    """The definitions that agents have used. Thread-safe. Prices and times are no part of a definition.

    `lint_errors` gives the tools of a catalog with an error. If `errors_wait`, a new tool with an error waits for a person.
    """

    store: Store
    catalogs: CatalogService
    now: Callable[[], datetime]
    lint_errors: Callable[[str], Mapping[str, str]]
    errors_wait: Callable[[], bool]

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self.version = 0
        """Grows with each change of a definition's state."""
        self._known: dict[Key, DefinitionChange] = {}
        self._denied: dict[Key, DefinitionChange] = {}
        # the last definition of each tool that was found unchanged
        self._compared: dict[Key, tuple[DefinitionChange, Tool]] = {}
        self.read_anew()

    def read_anew(self) -> None:
        with self._lock:
            for change in self.store.governance.definitions():
                self._take(change)

    def state(self, catalog: str, tool: Tool) -> State:
        """Whether a tool's definition is known, and whether it is unchanged."""
        key = (catalog, tool.server, tool.name)
        change, pair = self._known.get(key), self._compared.get(key)
        if pair is not None and pair[0] is change and pair[1] == tool:
            return "known"
        if change is None:
            if key in self._denied and self._is_denied(key, definition_json(tool)):
                return "denied"
            return "waiting" if self.errors_wait() and self.error(catalog, tool) else "new"
        text = definition_json(tool)
        if same_definition(change.definition_json, text):
            if len(self._compared) > MOST_COMPARED:
                self._compared.clear()  # each tool keeps its catalog in memory
            self._compared[key] = change, tool
            return "known"
        return "denied" if self._is_denied(key, text) else "changed"

    def cautious(self, catalog: str, tool: Tool) -> Tool:
        """Returns the tool with the more dangerous hints of its known and its present definition."""
        change = self._known.get((catalog, tool.server, tool.name))
        if change is None or not tool.hints.retry_safe or self.state(catalog, tool) == "known":
            return tool
        hints = json.loads(change.definition_json)["annotations"]
        weaker = {name: False for name in ("read_only", "idempotent") if hints.get(name) is not True}
        return replace(tool, hints=replace(tool.hints, **weaker))

    def used(self, catalog: str) -> tuple[str, ...]:
        return tuple(f"{server}::{tool}" for name, server, tool in tuple(self._known) if name == catalog)

    def error(self, catalog: str, tool: Tool) -> str:
        """Returns Lint's error in a tool, or "". Shipped catalogs have no errors."""
        return "" if catalog in SHIPPED_CATALOGS else self.lint_errors(catalog).get(tool.id, "")

    def approved(self, catalog: str, tool: Tool) -> bool:
        change = self._known.get((catalog, tool.server, tool.name))
        is_same = change is not None and same_definition(change.definition_json, definition_json(tool))
        return is_same and change is not None and change.action == APPROVED

    def extras(self, catalog: str, tool: Tool) -> dict[str, Any]:
        """Returns the icons and metadata of a tool, if its known definition is missing or has the same icons and metadata."""
        change = self._known.get((catalog, tool.server, tool.name))
        is_same = change is None or json.loads(change.definition_json).get("extras", "") == tool.extras
        return json.loads(tool.extras) if tool.extras and is_same else {}

    def first_use(self, catalog: str, tool: Tool, *, approved: bool, origin: str) -> None:
        self._write(catalog, tool, APPROVED if approved else FIRST_USE, origin)

    def decide(self, catalog: str, tool_id: str, *, approve: bool, origin: str, shown: Tool | None = None) -> None:
        """Approves or denies the present definition. Raises UnknownNameError if the catalog has no such tool, and CatalogError if the
        definition differs from that of `shown`."""
        snapshot = self.catalogs.catalog(catalog)
        row = snapshot.tool_row.get(tool_id)
        if row is None:
            raise UnknownNameError(f"There is no tool {tool_id[:80]!r} in catalog {catalog!r}.")
        tool = snapshot.tools[row]
        if shown is not None and definition_json(tool) != definition_json(shown):
            raise CatalogError("The definition has changed meanwhile; look at it once more.")
        self._write(catalog, tool, APPROVED if approve else DENIED, origin)

    def changed(self) -> tuple[tuple[str, str], ...]:
        """Returns catalog and tool of every definition that is held back now, in the order in which they became known."""
        return tuple((catalog, tool.id) for catalog, tool in self._held_back())

    def held(self) -> tuple[HeldDefinition, ...]:
        return tuple(self._held(catalog, tool) for catalog, tool in self._held_back())

    def held_of(self, catalog: str, tool: Tool) -> HeldDefinition | None:
        """Returns the changes of a tool's definition, or why a new tool waits. Returns None if the tool may be used."""
        return self._held(catalog, tool) if self.state(catalog, tool) in HELD_BACK else None

    def _held_back(self) -> Iterator[tuple[str, Tool]]:
        names = {info.name for info in self.catalogs.infos()}
        keys = [key for key in (*self._known, *self._denied) if key[0] in names]
        judged = [(catalog, f"{server}::{name}") for catalog, server, name in keys]
        stored = self.catalogs.stored() if self.errors_wait() else ()
        waiting = [(catalog, tool_id) for catalog in stored for tool_id in self.lint_errors(catalog)]
        for catalog, tool_id in dict.fromkeys((*judged, *waiting)):
            snapshot = self.catalogs.catalog(catalog)
            row = snapshot.tool_row.get(tool_id)
            if row is not None and self.state(catalog, snapshot.tools[row]) in HELD_BACK:
                yield catalog, snapshot.tools[row]

    def _is_denied(self, key: Key, text: str) -> bool:
        denial = self._denied.get(key)
        return denial is not None and denial.digest == digest(text)

    def _held(self, catalog: str, tool: Tool) -> HeldDefinition:
        change, findings = self._known.get((catalog, tool.server, tool.name)), _findings(tool)
        old = set[str]() if change is None else {item.rule for item in _findings(_tool(tool, change.definition_json))}
        denial = self._denied.get((catalog, tool.server, tool.name))
        return HeldDefinition(
            catalog,
            tool,
            None if change is None else change.at,
            denial.origin if denial is not None and self.state(catalog, tool) == "denied" else "",
            () if change is None else differences(change.definition_json, definition_json(tool)),
            findings,
            tuple(finding for finding in findings if finding.rule not in old),
            self.error(catalog, tool) if change is None else "",
        )

    def _write(self, catalog: str, tool: Tool, action: str, origin: str) -> None:
        text = definition_json(tool)
        change = DefinitionChange(self.now(), catalog, tool.server, tool.name, action, digest(text), text, origin)
        with self._lock:
            self.store.governance.append(change)
            self._take(change)

    def _take(self, change: DefinitionChange) -> None:
        key = (change.catalog, change.server, change.tool)
        self.version += 1
        if change.action == DENIED:
            self._denied[key] = change
        else:
            self._known[key] = change
            self._denied.pop(key, None)


def _findings(tool: Tool) -> tuple[Finding, ...]:
    """Lint's errors and warnings on one tool. Rules that compare tools or need vectors are left out."""
    rules = [rule for rule in RULES.values() if not rule.needs_vectors and rule.severity is not Severity.NOTE]
    report = lint(Catalog("one", (Server(tool.server, tools=(tool,)),)), rules=rules)
    return tuple(finding for finding in report.findings if finding.tool == tool.name)


def _tool(tool: Tool, text: str) -> Tool:
    document = json.loads(text)
    return replace(
        tool,
        title=document["title"],
        description=document["description"],
        input_schema=document["inputSchema"],
        output_schema=document["outputSchema"],
    )
