"""The knobs that agents decide with if their address names none: an operator's choice for a router, kept over restarts."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, cast

from core.domain.errors import ParameterError
from core.domain.params import Parameters, Value
from core.routers import ROUTERS
from core.store import Store


class AgentKnobs:
    """For each router the values that differ from its defaults. Thread-safe.

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
                self._known[router] = _usable(router, self._store.get_setting(_setting(router)))
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


def _usable(router: str, stored: object) -> dict[str, Value]:
    usable = dict[str, Value]()
    if router not in ROUTERS:
        return usable
    parameters = ROUTERS[router].parameters()
    for name, value in cast("dict[str, Any]", stored if isinstance(stored, dict) else {}).items():
        try:
            parameters.replaced({name: value})
        except ParameterError:
            continue
        usable[name] = value
    return usable
