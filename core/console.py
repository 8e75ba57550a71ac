"""The composition root and the only facade that the dashboard, the CLI and the co-pilot see."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core.atlas import Atlas
from core.calls import CallHandle, CallReport, Calls, find_tool
from core.decisions import Decisions
from core.desk import CatalogDesk
from core.domain.catalog import Server, Tool
from core.domain.decision import Decision
from core.domain.outcome import CallMode, ToolCall
from core.domain.params import Parameters
from core.domain.plan import Plan
from core.domain.statistics import Statistics
from core.domain.task import Task
from core.embedding.cached import CachedEncoder
from core.embedding.onnx import onnx_source
from core.errors import CatalogError, UnknownNameError, WayfareError
from core.execution.base import ToolCaller
from core.importers import read_tasks
from core.lab import curves
from core.lab.benchmark import BenchmarkRun, run_benchmark
from core.lab.token_meter import decision_meter, utilisation_lines
from core.library import CatalogInfo, Library
from core.mcp_bridge.secrets import SecretVault
from core.middleware import Middleware
from core.model_prices import priced_models
from core.paths import default_db
from core.planning.base import SubQuery
from core.planning.environment import planners
from core.planning.usage import Usage
from core.recording import Recorder
from core.reviews import Reviews
from core.routers import ROUTERS, Router
from core.routers.parameters import LearningParameters
from core.routers.why import why_server, why_tool
from core.scenarios import Scenarios
from core.schemas import argument_problems
from core.shipped import SAMPLE
from core.store import Store

if TYPE_CHECKING:  # the protocol's packages are loaded at the first call: a start does not wait for them
    from core.mcp_bridge.pool import SessionPool
    from core.mcp_bridge.state import ConnectionState

CLOSING_LIMIT_S = 5.0


class Console:
    """Everything the product does, over one store. Thread-safe. Close it, or use it as a context manager."""

    def __init__(self, store: Store, encoder: CachedEncoder, *, seed: int | None = None) -> None:
        self.store = store
        self.vault = SecretVault()
        self._sessions: SessionPool | None = None
        self._encoder = encoder
        self.library = Library(store, encoder)
        atlas = Atlas(self.library, encoder, store.vectors)
        self.desk = CatalogDesk(self.library, atlas, Reviews(self.library), self.vault, self._pool)
        self.middleware = Middleware(self.library, self._pool, self._attended)
        self._calls = Calls(store, self.library, self._caller, rng=np.random.default_rng(seed))
        self._planners = planners(os.environ)
        self.scenarios = Scenarios(
            self.library, self._planners, store.scenario_runs, vault=self.vault, record=store.events.append_later
        )
        self._decisions = Decisions(self.library, Recorder(store), self._planners)
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

    def planner_usage(self) -> Usage | None:
        """What the model that plans has taken since the start: calls, tokens, USD; None where no model is set."""
        return self._planners["model"].usage if "model" in self._planners else None

    def parameters(self, router: str, values: Mapping[str, object] | None = None) -> Parameters:
        """A router's parameters with some values set. Raises ParameterError, UnknownNameError."""
        return self._decisions.parameters(router, values)

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

    def open_catalog(self, name_or_path: str) -> str:
        """The name under which a stored catalog, or a catalog file read for this process only, can be used."""
        return self.library.open(name_or_path).name

    def read_tasks(self, path: Path) -> tuple[Task, ...]:
        """Labelled tasks from a JSON Lines file. Raises CatalogError naming the line."""
        try:
            return read_tasks(path.read_bytes(), source=str(path))
        except OSError as error:
            raise CatalogError(f"{path}: it cannot be read ({error.strerror}); give a file that can.") from None

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
        return self._decisions.decide(
            subtask,
            catalog=catalog,
            router=router,
            parameters=parameters,
            server_hint=server_hint,
            record=record,
            origin=origin,
        )

    def parts(self, question: str, *, planner: str = "rules") -> tuple[SubQuery, ...]:
        """What a question asks for, one part where it cannot be taken apart. Raises PlannerError."""
        return self._decisions.parts(question, planner=planner)

    def plan(
        self,
        question: str,
        *,
        planner: str = "rules",
        catalog: str = SAMPLE,
        router: str = "ehrr",
        parameters: Parameters | None = None,
        origin: str = "console",
    ) -> Plan:
        """A question taken apart, each part a decision of its own, recorded as `route` does.

        For a router that knows the agent's state, a step has seen what the steps that it needs bring.
        """
        return self._decisions.plan(
            question, planner=planner, catalog=catalog, router=router, parameters=parameters, origin=origin
        )

    def planners(self) -> Mapping[str, str]:
        """Who can be asked to plan, by the name that parameters take: `rules`, and the model where one is set."""
        return {name: planner.name for name, planner in self._planners.items()}

    def decision(self, decision_id: str) -> Decision | None:
        """A decision of this process by id."""
        return self._decisions.by_id(decision_id)

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
    token_meter = staticmethod(decision_meter)
    utilisation_lines = staticmethod(utilisation_lines)
    priced_models = staticmethod(priced_models)

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

    def start_call(self, call: ToolCall, *, mode: CallMode = CallMode.REAL, origin: str = "console") -> CallHandle:
        """Begin a call in the background: real, to a virtual server, or drawn. A virtual server has no real calls."""
        return self._calls.start(call, mode=mode, origin=origin)

    def call(self, call: ToolCall, *, mode: CallMode = CallMode.REAL, origin: str = "console") -> CallReport:
        """Make a call and wait for it."""
        return self._calls.run(call, mode=mode, origin=origin)

    def tool(self, catalog: str, server: str, tool: str) -> Tool:
        """A tool by name. Raises UnknownNameError."""
        return find_tool(self.library, ToolCall(server, tool, catalog=catalog))[1]

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

    def _attended(self, task: Task, catalog: str, parameters: Parameters) -> Decision:
        return self.route(task.subtask, catalog=catalog, router="tool_attention", parameters=parameters, record=False)
