"""Around a model, as Tool Attention has it: what it is shown before it speaks, and what happens to the call it makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from core.attention.gate import refusal
from core.attention.loader import LoadedSchema, LoaderCounts, SchemaLoader
from core.attention.state import StateView, state_view
from core.domain.catalog import Server, Tool
from core.domain.decision import Decision
from core.domain.params import Parameters
from core.domain.task import Task
from core.errors import CatalogError
from core.lab.calibration import Calibration, fit_threshold
from core.library import Library
from core.routers.tool_attention import ToolAttention, ToolAttentionParameters, summaries
from core.virtual.launch import virtual_connection

if TYPE_CHECKING:
    from core.mcp_bridge.pool import SessionPool


@dataclass(frozen=True, slots=True)
class ToolPrompt:
    """What a turn shows a model of its tools.

    `summaries` are phase 1, one line for each tool of the catalog, for the stable prefix; empty where the router has no
    such phase. `schemas` are phase 2, for right before the user's message.
    """

    summaries: tuple[str, ...]
    schemas: tuple[LoadedSchema, ...]

    @property
    def phase2_tokens(self) -> int:
        """Tokens of the definitions as they were loaded."""
        return sum(schema.tokens for schema in self.schemas)


class Middleware:
    """Stands between routers and a model. Thread-safe. `route` decides without recording."""

    def __init__(
        self, library: Library, sessions: Callable[[], SessionPool], route: Callable[[Task, str, Parameters], Decision]
    ) -> None:
        self._library = library
        self._sessions = sessions
        self._route = route
        self._loader = SchemaLoader(self._listed)

    @property
    def loader_counts(self) -> LoaderCounts:
        """What the schema loader did so far."""
        return self._loader.counts

    def before_model(self, decision: Decision, *, live: bool = False) -> ToolPrompt:
        """Both phases of a decision; `live` asks the servers themselves for their definitions.

        Raises UnknownNameError where the catalog was replaced and has lost a candidate.
        """
        catalog = self._library.catalog(decision.catalog)
        ids = [decision.tools.ids[row] for row in decision.candidates]
        if decision.router != ToolAttention.id:
            return ToolPrompt((), self._loader.load(catalog, ids, live=live))
        p = ToolAttentionParameters().replaced(decision.parameters)
        wanted = ids if p.lazy_loading else []
        return ToolPrompt(summaries(catalog, p.summary_tokens).lines, self._loader.load(catalog, wanted, live=live))

    def after_model(self, decision: Decision, tool: str) -> dict[str, Any] | None:
        """The error that goes back to the model where it calls what it was not offered, None where the call may be made."""
        if decision.parameters.get("hallucination_gate") is False:
            return None
        return refusal([decision.tools.ids[row] for row in decision.candidates], tool)

    def agent_state(self, decision: Decision) -> StateView | None:
        """What the agent's state did to a decision, for whoever edits it; None for a router that knows no state."""
        if decision.router != ToolAttention.id:
            return None
        return state_view(decision, self._library.catalog(decision.catalog))

    def calibrate(self, tasks: Sequence[Task], *, catalog: str, parameters: Parameters) -> Calibration:
        """The threshold of Tool Attention that fits labelled tasks best. Raises WayfareError where none is labelled."""
        if not isinstance(parameters, ToolAttentionParameters):
            raise TypeError(f"Tool Attention takes ToolAttentionParameters, not {type(parameters).__name__}")
        return fit_threshold(tasks, lambda task: self._route(task, catalog, parameters), k=parameters.n)

    def _listed(self, server: Server) -> tuple[Tool, ...]:
        """The tools that a server lists now; a virtual one without a connection is started."""
        from core.mcp_bridge.discovery import discover

        reached = server
        if server.virtual and server.connection is None:
            reached = replace(server, connection=virtual_connection(server))
        (found,) = discover(self._sessions(), (reached,))
        if found.server is None:
            raise CatalogError(found.error)
        return found.server.tools
