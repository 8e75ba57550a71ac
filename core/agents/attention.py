"""Tool Attention around a model: its prompt, and the check of its calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.catalogs.catalogs import CatalogService
from core.domain.catalog import Server, Tool
from core.domain.decision import Decision
from core.domain.errors import CatalogError
from core.routers.attention import LoadedSchema, SchemaLoader, StateView, refusal, state_view
from core.routers.tool_attention import ToolAttention, ToolAttentionParameters, summaries
from core.servers.lazy_pool import load_protocol
from core.virtual.launch import virtual_connection

if TYPE_CHECKING:
    from core.servers.pool import SessionPool


@dataclass(frozen=True, slots=True)
class ToolPrompt:
    """The tools of a turn as they are put before a model.

    `summaries` are phase 1, one line for each tool of the catalog, for the stable prefix; empty if the router has no
    such phase. `schemas` are phase 2, for right before the user's message.
    """

    summaries: tuple[str, ...]
    schemas: tuple[LoadedSchema, ...]


@dataclass(eq=False)
class AttentionService:
    """Between a router and a model. Thread-safe."""

    catalogs: CatalogService
    sessions: Callable[[], SessionPool]
    _: KW_ONLY
    virtual_folder: Path

    def __post_init__(self) -> None:
        self._loader = SchemaLoader(self._listed)

    def definitions(self, catalog: str, tools: Sequence[str], *, live: bool = False) -> tuple[LoadedSchema, ...]:
        """Full definitions of tools (`server::tool`), in their order; `live` asks the servers. Raises UnknownNameError."""
        return self._loader.load(self.catalogs.catalog(catalog), tools, live=live)

    def before_model(self, decision: Decision, *, live: bool = False) -> ToolPrompt:
        """Both phases of a decision; `live` asks the servers themselves for their definitions.

        Raises UnknownNameError if the catalog was replaced and has lost a candidate.
        """
        ids = [decision.tools.ids[row] for row in decision.candidates]
        if decision.router != ToolAttention.id:
            return ToolPrompt((), self.definitions(decision.catalog, ids, live=live))
        p = ToolAttentionParameters().replaced(decision.parameters)
        wanted = ids if p.lazy_loading else []
        catalog = self.catalogs.catalog(decision.catalog)
        return ToolPrompt(
            summaries(catalog, p.summary_tokens).lines, self.definitions(decision.catalog, wanted, live=live)
        )

    def after_model(self, decision: Decision, tool: str) -> dict[str, Any] | None:
        """The error for a model that calls a tool it was not offered. Returns None if the call may be made."""
        if decision.parameters.get("hallucination_gate") is False:
            return None
        return refusal([decision.tools.ids[row] for row in decision.candidates], tool)

    def agent_state(self, decision: Decision) -> StateView | None:
        """How the agent's state changed a decision, for a form that edits it; None for a router without a state."""
        if decision.router != ToolAttention.id:
            return None
        return state_view(decision, self.catalogs.catalog(decision.catalog))

    def _listed(self, catalog: str, server: Server) -> tuple[Tool, ...]:
        """The tools that a server lists now; a virtual one without a connection is started."""
        load_protocol()
        from core.servers.discovery import discover

        reached = server
        if server.virtual and server.connection is None:
            reached = replace(server, connection=virtual_connection(server, self.virtual_folder))
        (found,) = discover(self.sessions(), catalog, (reached,))
        if found.server is None:
            raise CatalogError(found.error)
        return tuple(found.server.tools)
