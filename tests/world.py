"""Apps on a store with an encoder that needs no model, a small catalog, and a caller that follows a script."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from core.app import App, Settings, build_app
from core.domain.events import Spent
from core.domain.execution import Progress, ToolCaller
from core.domain.outcome import ContentBlock, Outcome, OutcomeKind, ToolCall
from core.relevance.encoder import CachedEncoder, Encoder, EncoderSource
from core.store import Store
from core.store.connection import Table
from tests.callers import RecordingCaller
from tests.importing import import_text
from tests.relevance.toy_encoders import WordEncoder

ROOT = Path(__file__).parents[1]
RAW = str(ROOT / "tests" / "servers" / "programs" / "raw.py")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
FIGURES = {"conn_s": 0.2, "call_s": 0.4, "success": 0.9, "success_variance": 0.01, "post_accept_failure": 0.1}


def open_test_app(
    path: Path | None,
    *,
    encoder: Encoder | None = None,
    caller: Callable[[], ToolCaller] | None = None,
    words_after_s: float = 60.0,
    store: Store | None = None,
) -> App:
    """An app on a store; in memory if there is no path. Its cache lies beside the store. Words alone decide only after `words_after_s`
    without vectors. A `store` that is given takes the place of the file."""
    store = Store(path) if store is None else store
    settings = Settings(seed=1, words_after_s=words_after_s)
    if path is not None:
        settings = replace(settings, db=path, cache=path.parent)
    source = EncoderSource.of(WordEncoder() if encoder is None else encoder)
    return build_app(store, settings, encoder=CachedEncoder(source, store.vectors), caller=caller)


def open_world(path: Path, *, in_memory: bool = False) -> App:
    """An app on a new store with the catalog `world`; nothing has happened in it. A store in memory opens in a third of the time."""
    file, tables = _world()
    if in_memory:
        return open_test_app(path, store=Store.of_tables(tables))
    path.write_bytes(file)
    return open_test_app(path)


@cache
def _world() -> tuple[bytes, dict[str, Table]]:
    """That store as a file and as tables with rows: to copy it takes a quarter of the time in which it is made."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "wayfare.duckdb")
        with open_test_app(file) as app:
            import_text(app.catalog_editor, document(), "world")
            tables = {name: rows for name, rows in app.store.tables().items() if rows and name != "schema_migrations"}
        return file.read_bytes(), tables


def document(**changes: Any) -> str:
    """A catalog of three servers; one of them is a real one that starts fast."""
    raw = {
        "name": "raw",
        "description": "Echo words back.",
        "ask_usd": 0.001,
        "connection": {"type": "stdio", "command": "${python}", "args": ["-S", RAW]},
        "tools": [
            {"name": name, "description": f"{text} words.", "price_usd": 0.002, "latency_s": 0.5, "success": 0.8}
            for name, text in (("echo", "Echo"), ("crash", "Break"), ("stall", "Swallow"), ("nap", "Delay"))
        ],
    }
    files = {
        "name": "files",
        "description": "Read and write files.",
        "tools": [
            {"name": "read", "description": "Read a file.", "price_usd": 0.001, "latency_s": 0.3},
            {"name": "write", "description": "Write a file.", "latency_s": 0.3},
        ],
    }
    mail = {
        "name": "mail",
        "description": "Post letters.",
        "tools": [{"name": "send", "description": "Send a letter."}],
    }
    return json.dumps({"servers": [{**raw, **FIGURES, **changes}, files, mail]})


def spending(store: Store) -> tuple[Spent, ...]:
    """What each call used of its budgets, oldest first."""
    store.governance.flush()
    return store.governance._spending.select('true ORDER BY "at"')


def call(tool: str, server: str = "raw", **fields: Any) -> ToolCall:
    """A call to the catalog `world`."""
    return ToolCall(server, tool, fields.pop("arguments", {}), catalog="world", **fields)


def figures(app: App, catalog: str = "world") -> list[Any]:
    """All statistics of a catalog as lists, for comparison."""
    snapshot = app.catalogs.statistics(catalog)
    columns = [*columns_of(snapshot.servers), *columns_of(snapshot.tools)]
    return [*(repr(column.tolist()) for column in columns), snapshot.version]


def columns_of(record: Any) -> Iterable[Any]:
    return (getattr(record, field.name) for field in fields(record))


def under_way(app: App, server: str = "raw", *, calls: int = 1) -> int:
    """Wait until so many calls were handed to a server; gives the id of its process."""
    deadline = time.monotonic() + 60
    while True:
        for state in app.pool.states():
            if state.server == server and state.state == "ready" and state.calls >= calls:
                return state.pid
        if time.monotonic() > deadline:
            raise TimeoutError(f"{server} is not called")
        time.sleep(0.01)


class Scripted(RecordingCaller):
    """A caller that gives one outcome after the other, each after the test's `meanwhile`."""

    def __init__(
        self, *kinds: OutcomeKind, meanwhile: Callable[[ToolCall], None] = lambda _: None, error: str = ""
    ) -> None:
        super().__init__()
        self._kinds = iter(kinds)
        self._meanwhile = meanwhile
        self._error = error

    def answer(self, call: ToolCall, report: Callable[[Progress], None], cancel: threading.Event) -> Outcome:
        """See RecordingCaller."""
        report(Progress(1, 2, "half"))
        self._meanwhile(call)
        number = len(self.calls)
        return Outcome(
            call,
            next(self._kinds, OutcomeKind.OK),
            NOON,
            latency_s=0.1 * number,
            connect_s=0.3 if number == 1 else None,
            content=(ContentBlock("text", text="done"),),
            error=self._error,
        )
