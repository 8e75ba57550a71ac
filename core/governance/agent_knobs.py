"""The knobs that agents decide with if their address names none: an operator's choice for a router, kept over restarts."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from core.domain.params import Parameters, Value
from core.domain.people import actions
from core.routers.presets import usable
from core.store import Store


@actions("tune", put="set the knobs of agents")
class AgentKnobs:
    """For each router the values that differ from its defaults. Thread-safe.

    >>> from core.routers import ROUTERS
    >>> knobs = AgentKnobs(Store(None))
    >>> knobs.put("ehrr", ROUTERS["ehrr"].parameters(alpha_t=0.08))
    >>> knobs.of("ehrr"), knobs.of("rag_mcp")
    ({'alpha_t': 0.08}, {})
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, dict[str, Value]] = {}
        self._lock = threading.Lock()

    def of(self, router: str) -> Mapping[str, Value]:
        """Returns the changed values of a router, none of an unknown one. A stored value that it no longer takes has its default."""
        with self._lock:
            if router not in self._known:
                self._known[router] = usable(router, self._store.get_setting(_setting(router)))
            return self._known[router]

    def put(self, router: str, parameters: Parameters) -> None:
        """Keep a router's values for agents. Raises StoreError."""
        changed = parameters.changed()
        with self._lock:
            self._store.set_setting(_setting(router), changed)
            self._known[router] = changed

    def read_anew(self) -> None:
        """Take over what another process has written."""
        with self._lock:
            self._known.clear()


def _setting(router: str) -> str:
    return f"agent_knobs:{router}"
