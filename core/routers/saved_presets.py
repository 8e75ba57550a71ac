"""The presets that operators saved under a name, for each router, kept over restarts."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, cast

from core.domain.errors import ParameterError
from core.domain.params import Value
from core.domain.people import actions
from core.routers import ROUTERS
from core.routers.presets import PresetFile
from core.store import Store


@actions("tune", put="save a preset", delete="delete a preset")
class SavedPresets:
    """Thread-safe.

    >>> presets = SavedPresets(Store(None))
    >>> presets.put("ehrr", PresetFile("mine", "for noon", ROUTERS["ehrr"].parameters(alpha_t=0.08)))
    >>> [(one.name, one.note, one.parameters.changed()) for one in presets.of("ehrr").values()]
    [('mine', 'for noon', {'alpha_t': 0.08})]
    >>> presets.delete("ehrr", "mine")
    >>> presets.of("ehrr")
    {}
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()

    def of(self, router: str) -> Mapping[str, PresetFile]:
        """Returns the presets of a router by name. A stored value that it no longer takes has its default."""
        return {
            name: PresetFile(
                name, str(one["note"]), ROUTERS[router].parameters().replaced(usable(router, one["values"]))
            )
            for name, one in self._stored(router).items()
        }

    def put(self, router: str, preset: PresetFile) -> None:
        """Keep a preset, in place of an earlier one of its name. Raises StoreError."""
        with self._lock:
            kept = {"note": preset.note, "values": preset.parameters.changed()}
            self._store.set_setting(_setting(router), {**self._stored(router), preset.name: kept})

    def delete(self, router: str, name: str) -> None:
        """Forget a preset, if there is one of this name. Raises StoreError."""
        with self._lock:
            left = {other: kept for other, kept in self._stored(router).items() if other != name}
            self._store.set_setting(_setting(router), left)

    def _stored(self, router: str) -> dict[str, dict[str, Any]]:
        return cast("dict[str, dict[str, Any]]", self._store.get_setting(_setting(router), {}))


def _setting(router: str) -> str:
    return f"presets:{router}"


def usable(router: str, stored: object) -> dict[str, Value]:
    """Returns those of the stored values that a router still takes, none for an unknown router."""
    found = dict[str, Value]()
    if router not in ROUTERS:
        return found
    parameters = ROUTERS[router].parameters()
    for name, value in cast("dict[str, Any]", stored if isinstance(stored, dict) else {}).items():
        try:
            parameters.replaced({name: value})
        except ParameterError:
            continue
        found[name] = value
    return found
