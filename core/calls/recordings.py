"""Recording: the real answers of a server, without secrets, in a file that plays them."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from core.catalogs.catalogs import CatalogService
from core.domain.catalog import ServerId, Tool
from core.domain.errors import CatalogError, WayfareError
from core.domain.leaks import MASK, masked_value, without_marked
from core.domain.outcome import CallMode, Outcome, OutcomeKind
from core.store import Store
from core.virtual.launch import Answer, read_answers, write_recording

SETTING = "recordings"
RESULT = ("content", "structuredContent", "isError")
_log = logging.getLogger(__name__)


class Recordings:
    """The servers whose answers are recorded, and their `files`. Thread-safe; kept over restarts."""

    def __init__(self, store: Store, catalogs: CatalogService, redact: Callable[[str], str]) -> None:
        self._store = store
        self._catalogs = catalogs
        self._redact = redact
        self._lock = threading.Lock()
        self.read_anew()

    def read_anew(self) -> None:
        """Take over what another process has written."""
        known = self._store.get_setting(SETTING, [])
        self.files = {ServerId(catalog, server): Path(file) for catalog, server, file in known}

    def record(self, catalog: str, server: str, file: Path | None) -> None:
        """Record the answers of a server into a file from now on, None: no more. A file that has some goes on. Raises WayfareError."""
        with self._lock:
            one = ServerId(catalog, server)
            files = {of: path for of, path in self.files.items() if of != one}
            if file is not None:
                files[one] = self._begun(one, file.expanduser().absolute())
            elif one not in self.files:
                raise CatalogError(f"Server {server!r} of catalog {catalog!r} is not recorded.")
            self._store.set_setting(SETTING, [[*of, str(path)] for of, path in files.items()])
            self.files = files

    def _begun(self, one: ServerId, file: Path) -> Path:
        found, known = self._catalogs.catalog(one.catalog).server(one.server), dict[str, list[Answer]]()
        if found.connection is None or found.virtual or not found.tools:
            raise CatalogError(
                f"Server {one.server!r} has no tools that can really be called: nothing can be recorded."
            )
        if file.exists() and not (known := read_answers(file, one.server)):
            raise CatalogError(f"{file} is no recording of {one.server!r}; name another file.")
        write_recording(file, found, known)
        return file

    def add(self, outcome: Outcome) -> None:
        """Write the answer of a real call, if its server is recorded. A file that cannot be written harms no call."""
        one = outcome.call.server_id
        real = outcome.mode is CallMode.REAL and not outcome.injected
        if one not in self.files or not real or not outcome.kind.counts or outcome.kind is OutcomeKind.NOT_CONNECTED:
            return
        with self._lock:
            try:
                file, server = self.files[one], self._catalogs.catalog(one.catalog).server(one.server)
                tool = next(tool for tool in server.tools if tool.name == outcome.call.tool)
                known = read_answers(file, one.server) if file.exists() else {}
                known.setdefault(tool.name, []).append(self._answer(outcome, tool))
                write_recording(file, server, known)
            except (WayfareError, LookupError, StopIteration) as error:
                _log.warning("an answer of %s was not recorded: %s", one.server, error)

    def _answer(self, outcome: Outcome, tool: Tool) -> Answer:
        given, shown = outcome.call.arguments, without_marked(outcome.call.arguments, tool.input_schema)
        marked = [re.escape(str(given[name])) for name in given if shown[name] is not given[name] and given[name]]
        hidden = re.compile("|".join(marked) or r"(?!)")

        def hide(value: Any) -> Any:
            return masked_value(value, lambda text: self._redact(hidden.sub(MASK, text)))

        answer = {"arguments": hide(shown), "latency_s": round(outcome.latency_s, 4), "outcome": outcome.kind.value}
        if not isinstance(outcome.original, BaseModel):
            return {**answer, "error": hide(outcome.error)}
        result = outcome.original.model_dump(mode="json", by_alias=True, exclude_none=True)
        result["content"] = [one for one in result["content"] if one.get("text") != (outcome.note or None)]
        return {**answer, "result": hide({name: result[name] for name in RESULT if name in result})}
