"""The composition root and the only facade that the dashboard, the CLI and the co-pilot see."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core.calls import CallHandle, CallReport, Calls, find_tool
from core.domain.catalog import Catalog, Server, Tool
from core.domain.decision import Decision
from core.domain.events import DecisionEvent, Override, ParameterEvent
from core.domain.imports import Imported
from core.domain.outcome import ToolCall
from core.domain.params import Parameters, Value
from core.domain.statistics import Statistics
from core.domain.task import Task
from core.embedding.cached import CachedEncoder
from core.embedding.onnx import onnx_source
from core.errors import CatalogError, UnknownNameError, WayfareError
from core.execution.arguments import argument_problems
from core.execution.base import ToolCaller
from core.importers import read_document, read_files, read_tasks
from core.lab import curves
from core.lab.benchmark import BenchmarkRun, run_benchmark
from core.library import SAMPLE, CatalogInfo, Library, check_name
from core.mcp_bridge.secrets import SecretVault
from core.paths import default_db
from core.routers import ROUTERS, Router
from core.routers.base import Scene
from core.routers.parameters import LearningParameters
from core.routers.why import why_server, why_tool
from core.store import Store

if TYPE_CHECKING:  # the protocol's packages are loaded at the first call: a start does not wait for them
    from core.mcp_bridge.discovery import Discovery
    from core.mcp_bridge.pool import SessionPool
    from core.mcp_bridge.state import ConnectionState

DECISIONS_KEPT = 256
CLOSING_LIMIT_S = 5.0


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import took: the catalog it made, its notes, and what the servers still need."""

    catalog: str
    servers: int
    tools: int
    imported: Imported
    discoveries: tuple[Discovery, ...] = ()


class Console:
    """Everything the product does, over one store. Thread-safe. Close it, or use it as a context manager."""

    def __init__(self, store: Store, encoder: CachedEncoder, *, seed: int | None = None) -> None:
        self.store = store
        self.vault = SecretVault()
        self._sessions: SessionPool | None = None
        self._encoder = encoder
        self.library = Library(store, encoder)
        self._calls = Calls(store, self.library, self._caller, rng=np.random.default_rng(seed))
        self._routers: dict[str, Router] = {name: router() for name, router in ROUTERS.items()}
        self._decisions: OrderedDict[str, Decision] = OrderedDict()
        self._asked: OrderedDict[tuple[object, ...], tuple[Scene, Decision]] = OrderedDict()
        self._last_parameters: dict[str, dict[str, Value]] = {}
        self._lock = threading.Lock()

    @classmethod
    def open(cls, db: Path | str | None = None) -> Console:
        """Open the store (None: `default_db()`, ":memory:": nothing is kept) with the default encoder."""
        return cls.over(Store(default_db() if db is None else db))

    @classmethod
    def over(cls, store: Store) -> Console:
        """The same over a store that is open already; closing the Console closes it."""
        return cls(store, CachedEncoder(onnx_source(), store.vectors))

    def close(self) -> None:
        """End sessions and calls, commit what is queued."""
        self._calls.close()
        if self._sessions is not None:
            self._sessions.close()  # what is still under way ends as cancelled
        self._calls.wait(CLOSING_LIMIT_S)
        self.store.close()

    def __enter__(self) -> Console:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # What there is -----------------------------------------------------------------------------------------------

    def catalogs(self) -> tuple[CatalogInfo, ...]:
        """One line for each catalog."""
        return self.library.infos()

    def routers(self) -> tuple[type[Router], ...]:
        """The routing algorithms, as declared."""
        return tuple(ROUTERS.values())

    def parameters(self, router: str, values: Mapping[str, object] | None = None) -> Parameters:
        """A router's parameters with some values set. Raises ParameterError, UnknownNameError."""
        return self._router(router).parameters().replaced(values or {})

    def statistics(self, catalog: str, parameters: Parameters | None = None) -> Statistics:
        """A catalog's figures as they stand, with their sources."""
        learning = parameters if isinstance(parameters, LearningParameters) else None
        return self.library.statistics(catalog, learning)

    def warm(self, catalog: str) -> None:
        """Get ready for a first decision and a first call. What fails here is said when it is needed."""
        try:
            self.library.prepare(catalog)
            self._encoder.encode_query("warm up")
        except WayfareError:
            return
        self._caller()

    # Decide ------------------------------------------------------------------------------------------------------

    def route(
        self,
        subtask: str,
        *,
        catalog: str = SAMPLE,
        router: str = "ehrr",
        parameters: Parameters | None = None,
        server_hint: str = "",
        record: bool = True,
        origin: str = "console",
    ) -> Decision:
        """One decision; recorded as an event unless told otherwise. The same question over unchanged figures gives the
        same decision again, recorded once."""
        chosen = parameters if parameters is not None else self.parameters(router)
        learning = chosen if isinstance(chosen, LearningParameters) else None
        scene = self.library.scene(catalog, learning)
        if not record:
            return self._router(router).route(subtask, scene, chosen, server_hint=server_hint)
        asked = (id(scene), router, chosen, subtask.strip(), server_hint.strip(), origin)
        with self._lock:
            known = self._asked.get(asked)
        if known is not None and known[0] is scene:
            self._record_changes(known[1], origin)  # the way back to earlier values is a change as well
            return known[1]  # nothing has changed since: it is the same decision, not a new one
        decision = self._router(router).route(subtask, scene, chosen, server_hint=server_hint)
        self._record(decision, origin)
        with self._lock:
            self._asked[asked] = (scene, decision)
            while len(self._asked) > DECISIONS_KEPT:
                self._asked.popitem(last=False)
        return decision

    def decision(self, decision_id: str) -> Decision | None:
        """A decision of this process by id."""
        return self._decisions.get(decision_id)

    def why(self, decision: Decision, name: str) -> str:
        """One sentence about a server (by name) or a tool (by `server::tool`) of a decision."""
        if name in decision.servers.names:
            return why_server(decision, decision.servers.names.index(name))
        if name in decision.tools.ids:
            return why_tool(decision, decision.tools.ids.index(name))
        raise UnknownNameError(f"{name!r} is not in this decision; choose a server or tool of {decision.catalog!r}.")

    utility_lines = staticmethod(curves.utility_lines)
    posted_price_curve = staticmethod(curves.posted_price_curve)
    value_to_win = staticmethod(curves.value_to_win)
    tool_headroom = staticmethod(curves.tool_headroom)

    def example_subtasks(self, catalog: str, count: int = 6) -> tuple[str, ...]:
        """Sub-tasks to start from: labelled ones of the sample, else none."""
        return self.library.example_subtasks(count) if catalog == SAMPLE else ()

    def benchmark(
        self, tasks: Sequence[Task], *, catalog: str, router: str, parameters: Parameters, server_hints: bool = True
    ) -> BenchmarkRun:
        """Retrieval measures over labelled tasks; nothing is recorded."""
        return run_benchmark(
            router,
            parameters.values(),
            tasks,
            lambda task: self.route(
                task.subtask,
                catalog=catalog,
                router=router,
                parameters=parameters,
                server_hint=task.server_hint if server_hints else "",
                record=False,
            ),
        )

    # Call --------------------------------------------------------------------------------------------------------

    def argument_problems(self, tool: Tool, arguments: Mapping[str, Any]) -> dict[str, str]:
        """What is wrong with arguments, by field, before anything is sent."""
        return argument_problems(tool.input_schema, arguments)

    def start_call(self, call: ToolCall, *, simulate: bool = False, origin: str = "console") -> CallHandle:
        """Begin a real (or simulated) call in the background."""
        return self._calls.start(call, simulate=simulate, origin=origin)

    def call(self, call: ToolCall, *, simulate: bool = False, origin: str = "console") -> CallReport:
        """Make a call and wait for it."""
        return self._calls.run(call, simulate=simulate, origin=origin)

    def tool(self, catalog: str, server: str, tool: str) -> Tool:
        """A tool by name. Raises UnknownNameError."""
        return find_tool(self.library, ToolCall(server, tool, catalog=catalog))[1]

    # Catalogs ----------------------------------------------------------------------------------------------------

    def import_files(self, paths: Iterable[Path], name: str | None = None) -> ImportReport:
        """Read catalogs or client configurations and keep them as one catalog. All or nothing."""
        files = [Path(path) for path in paths]
        if not files:
            raise CatalogError("No file was given; name at least one catalog or client configuration.")
        return self._keep(read_files(files), name or files[0].stem, ", ".join(path.name for path in files))

    def import_text(self, text: str | bytes, name: str, source: str = "pasted text") -> ImportReport:
        """The same for text that was pasted or uploaded."""
        return self._keep(read_document(text, source=source), name, source)

    def open_catalog(self, name_or_path: str) -> str:
        """The name under which a stored catalog, or a catalog file read for this process only, can be used."""
        return self.library.open(name_or_path).name

    def read_tasks(self, path: Path) -> tuple[Task, ...]:
        """Labelled tasks from a JSON Lines file. Raises CatalogError naming the line."""
        try:
            return read_tasks(path.read_bytes(), source=str(path))
        except OSError as error:
            raise CatalogError(f"{path}: it cannot be read ({error.strerror}); give a file that can.") from None

    def discover_file(self, path: Path, name: str | None = None) -> ImportReport:
        """Read a client configuration and take its servers' tools live."""
        return self.discover(read_files([path]), name or path.stem, path.name)

    def discover(self, imported: Imported, name: str, source: str) -> ImportReport:
        """Connect to every server of a read document, take its tools live and keep the catalog.

        A server that does not answer harms only itself; where none answers, nothing is kept (CatalogError).
        """
        check_name(name)
        self._remember(imported)
        from core.mcp_bridge.discovery import discover

        found = discover(self._pool(), imported.servers)
        servers = tuple(d.server for d in found if d.server is not None)
        if not servers:
            reasons = "; ".join(d.error for d in found)
            raise CatalogError(f"{source}: no server answered, so nothing was kept. {reasons}")
        self.library.save(Catalog(name, servers), source)
        return ImportReport(name, len(servers), sum(len(s.tools) for s in servers), imported, found)

    def read(self, text: str | bytes, source: str) -> Imported:
        """Read a document without keeping anything."""
        return read_document(text, source=source)

    def remove_catalog(self, name: str) -> None:
        """Forget an imported catalog. Its events stay."""
        self.library.remove(name)

    def set_figure(self, catalog: str, server: str, tool: str, value: float | None) -> None:
        """Set or clear (None) an operator's price of a tool, or with an empty tool the ask of a server. USD per call."""
        if value is not None and not (np.isfinite(value) and value >= 0):
            raise CatalogError(f"{value} is not a price; give a number of at least 0 in USD per call.")
        known = self.library.catalog(catalog)
        if (f"{server}::{tool}" not in known.tool_row) if tool else (server not in known.server_row):
            raise UnknownNameError(f"There is no {tool or server!r} to price in catalog {catalog!r}; check the name.")
        field = "price_usd" if tool else "ask_usd"
        self.library.set_override(Override(catalog, server, tool, field, value, datetime.now(UTC)))

    def connections(self) -> tuple[ConnectionState, ...]:
        """The state of every server that was connected to."""
        return () if self._sessions is None else self._sessions.states()

    def missing_secrets(self, server: Server) -> tuple[str, ...]:
        """References of a server's connection that have no value yet."""
        return self.vault.missing(server.connection) if server.connection else ()

    # Inside ------------------------------------------------------------------------------------------------------

    def _pool(self) -> SessionPool:
        from core.mcp_bridge.pool import SessionPool

        with self._lock:
            if self._sessions is None:
                self._sessions = SessionPool(self.vault)
            return self._sessions

    def _caller(self) -> ToolCaller:
        from core.mcp_bridge.caller import McpCaller

        return McpCaller(self._pool())

    def _router(self, name: str) -> Router:
        if name not in self._routers:
            raise UnknownNameError(f"There is no router {name!r}; choose one of: {', '.join(self._routers)}.")
        return self._routers[name]

    def _keep(self, imported: Imported, name: str, source: str) -> ImportReport:
        self._remember(imported)
        self.library.save(Catalog(name, imported.servers), source)
        tools = sum(len(server.tools) for server in imported.servers)
        return ImportReport(name, len(imported.servers), tools, imported)

    def _remember(self, imported: Imported) -> None:
        for reference, value in imported.secrets.items():
            self.vault.put(reference, value)

    def _record(self, decision: Decision, origin: str) -> None:
        with self._lock:
            self._decisions[decision.id] = decision
            while len(self._decisions) > DECISIONS_KEPT:
                self._decisions.popitem(last=False)
            changes = self._parameter_changes(decision, origin, decision.at)
        self.store.events.append_later(*changes, _decision_event(decision, origin))

    def _record_changes(self, decision: Decision, origin: str) -> None:
        with self._lock:
            changes = self._parameter_changes(decision, origin, datetime.now(UTC))
        if changes:
            self.store.events.append_later(*changes)

    def _parameter_changes(self, decision: Decision, origin: str, at: datetime) -> list[ParameterEvent]:
        default = self._router(decision.router).parameters().values()
        before = self._last_parameters.get(decision.router, default)
        self._last_parameters[decision.router] = dict(decision.parameters)
        return [
            ParameterEvent(at, decision.router, name, str(before.get(name)), str(value), origin)
            for name, value in decision.parameters.items()
            if before.get(name) != value
        ]


def _decision_event(decision: Decision, origin: str) -> DecisionEvent:
    winner = decision.winner
    trace = decision.trace()
    return DecisionEvent(
        id=decision.id,
        at=decision.at,
        catalog=decision.catalog,
        router=decision.router,
        subtask=decision.subtask,
        server_hint=decision.server_hint,
        parameters_json=json.dumps(dict(decision.parameters)),
        winner=winner.tool if winner else None,
        reason=decision.reason,
        expected_price_usd=winner.price_usd if winner else None,
        expected_time_s=winner.time_cost_s if winner else None,
        total_ms=decision.timings_ms["total"],
        candidates_json=json.dumps([t for t in trace["tools"] if t["dropped_by"] is None]),
        trace_json=json.dumps(trace),
        origin=origin,
    )
