"""What more than one room needs: a home of the session's own, the encoders, put together once for all workers and opened once in
each, and the sample's store."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import platformdirs
import pytest
from hypothesis import settings

from core.app import App, Settings, open_app
from core.calls.calls import CallService
from core.domain.catalog import Catalog
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from core.relevance import onnx_encoder, packaged_vectors
from core.relevance.encoder import EncoderSource
from core.relevance.index_files import IndexFiles, Prepared, made_of
from core.relevance.onnx_encoder import onnx_source
from core.relevance.relevance_index import RelevanceIndex
from core.relevance.requests import RequestBook, RequestIndex
from core.servers.secrets import SecretVault
from core.store import connection as store_connection
from core.store.connection import connect
from core.store.migrations import Migration, all_migrations, migrate
from sample_catalog import VECTORS
from tests.forking import FORKS
from tests.world import Scripted, open_world

# a test that passes on a quiet machine passes on a busy machine
settings.register_profile("unhurried", settings.default, deadline=None)
settings.load_profile("unhurried")

STALE_S = 120.0  # a lock of this age was left by a session that was killed
OF_THE_USER = ("WAYFARE_", "OTEL_", "XDG_")  # variables that begin like this


def pytest_configure(config: pytest.Config) -> None:
    """Tests and the programs that they start see nothing of the user's: no variable that changes what is tested, and an empty home,
    so that no store, no keychain, no saved network and no setting of the user's is read or written. Browsers that the user installed stay."""
    gc.disable()
    os.environ.setdefault("PLAYWRIGHT_BROWSERS_PATH", str(Path(platformdirs.user_cache_dir()) / "ms-playwright"))
    for name in [name for name in os.environ if name.startswith(OF_THE_USER)]:
        del os.environ[name]
    # compiled once and kept: without, each worker rewrites all tests (10 s), and each program that is started compiles its modules
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    home = TemporaryDirectory(prefix="wayfare-home-", ignore_cleanup_errors=True)
    config.add_cleanup(home.cleanup)
    os.environ["HOME"] = os.environ["USERPROFILE"] = home.name
    os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
    os.environ["WAYFARE_WORDS_AFTER_S"] = "60"  # on a busy machine vectors take longer than a visitor would wait


def pytest_collection_finish() -> None:
    """What is imported and collected stays to the end: a full collection of garbage does not look at it any more. Until here none
    is made, which takes a quarter of the time of collecting."""
    gc.freeze()
    gc.enable()


@contextmanager
def one_worker_at_a_time(lock: Path) -> Iterator[None]:
    """Waits while another worker is inside."""
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
            break
        except FileExistsError:
            try:
                if time.time() - lock.stat().st_mtime > STALE_S:
                    lock.unlink()
            except FileNotFoundError:
                continue
            time.sleep(0.05)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


@pytest.fixture(scope="session")
def encoder_cache(request: pytest.FixtureRequest) -> Iterator[Path]:
    """The folder of WAYFARE_CACHE: kept between sessions, with both encoders in it.

    Every app of this process that uses it shares the opened encoders: opening one takes a quarter of a second.
    """
    folder = Path(request.config.cache.mkdir("wayfare"))
    models = Settings(cache=folder).models_folder
    shared = _opened_once(models)
    with one_worker_at_a_time(folder / "lock"):
        for tuned in (False, True):
            source = shared(models, tuned=tuned, difference="")
            source.open()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onnx_encoder, "onnx_source", shared)
        yield folder


def _opened_once(models: Path) -> Callable[..., EncoderSource]:
    """`onnx_source`, with one source for equal options of this folder of models."""
    sources: dict[tuple[object, ...], EncoderSource] = {}

    def source(root: Path, *names: str, report: Any = None, **options: Any) -> EncoderSource:
        if root != models:
            return onnx_source(root, *names, **options, **({} if report is None else {"report": report}))
        key = (*names, *sorted(options.items()))
        if key not in sources:
            fresh = onnx_source(root, *names, **options)
            sources[key] = replace(fresh, open=cache(fresh.open))
        return sources[key]

    return source


@pytest.fixture(scope="session", autouse=True)
def shipped_vectors_read_once() -> Iterator[None]:
    """The vectors that come with Wayfare are read once in a process, not for each app."""
    read, once = packaged_vectors.read_vectors, cache(packaged_vectors.read_vectors)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            packaged_vectors,
            "read_vectors",
            lambda folder, model: (once if folder == VECTORS else read)(folder, model),
        )
        yield


@pytest.fixture(scope="session", autouse=True)
def shipped_catalogs_indexed_once() -> Iterator[None]:
    """The indexes of the catalogs that come with Wayfare, and of their example requests, are made once in a process for each encoder,
    not for each app: they take most of the time in which a command decides."""
    prepared, checked = IndexFiles.prepared, RequestBook.checked
    indexes: dict[tuple[str, str], Prepared] = {}
    requests: dict[tuple[int, Path], RequestIndex | None] = {}

    def prepared_once(files: IndexFiles, catalog: Catalog, model: str, make: Callable[[], Prepared]) -> Prepared:
        if catalog.name not in SHIPPED_CATALOGS:
            return prepared(files, catalog, model, make)
        key = catalog.name, made_of(catalog, model)
        if key not in indexes:
            indexes[key] = prepared(files, catalog, model, make)
        return indexes[key]

    def checked_once(
        book: RequestBook, catalog: Catalog, relevance: Callable[[], RelevanceIndex], part: str = ""
    ) -> RequestIndex | None:
        index = relevance() if catalog.name in SHIPPED_CATALOGS else None
        if not any(entry.index is index for entry in indexes.values()) or book.store.requests.history(catalog.name):
            return checked(book, catalog, relevance, part)
        key = id(index), book.folder
        if key not in requests:
            requests[key] = checked(book, catalog, relevance)
        return requests[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IndexFiles, "prepared", prepared_once)
        patch.setattr(RequestBook, "checked", checked_once)
        yield


class Emptied:
    """A database in memory that is emptied when a store closes it, and kept for the next store."""

    ROWS = "SELECT table_name FROM duckdb_tables() WHERE estimated_size > 0 AND table_name <> 'schema_migrations' ORDER BY table_oid DESC"

    def __init__(self, connection: duckdb.DuckDBPyConnection, pool: list[Emptied]) -> None:
        self._connection, self._kept = connection, pool

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def end(self) -> None:
        """Closes the database."""
        self._connection.close()

    def close(self) -> None:
        """Deletes all rows. The database ends if that fails."""
        try:
            tables = self._connection.execute(self.ROWS).fetchall()
            self._connection.execute("".join(f'DELETE FROM "{table}";' for (table,) in tables))
        except duckdb.Error:
            self._connection.close()
        else:
            self._kept.append(self)


@pytest.fixture(scope="session", autouse=True)
def new_stores_made_at_once() -> Iterator[None]:
    """A new store gets its tables in one statement, as the migrations have made them in a first one: the steps take half of the time
    in which a store opens. A store in memory takes a database that an earlier one has left: that takes a tenth of making one.
    `real_migrations` undoes both for a test."""
    with closing(duckdb.connect()) as template:
        migrate(template, "in memory", all_migrations())
        tables = [sql for (sql,) in template.execute("SELECT sql FROM duckdb_tables()").fetchall()]
        steps = template.execute("SELECT number, name, checksum, applied_at::VARCHAR FROM schema_migrations").fetchall()
    rows = ", ".join(map(str, steps))
    script = "\n".join(["BEGIN;", *tables, f"INSERT INTO schema_migrations VALUES {rows};", "COMMIT;"])
    pool: list[Emptied] = []

    def at_once(connection: duckdb.DuckDBPyConnection, where: str, migrations: Sequence[Migration]) -> None:
        if migrations is all_migrations() and not connection.execute("FROM duckdb_tables() LIMIT 1").fetchall():
            connection.execute(script)
        else:
            migrate(connection, where, migrations)

    def connected(path: Path | None, where: str) -> Any:
        if path is not None:
            return connect(path, where)
        return pool.pop() if pool else Emptied(connect(path, where), pool)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_connection, "migrate", at_once)
        patch.setattr(store_connection, "connect", connected)
        yield
    for database in pool:
        database.end()


@pytest.fixture
def real_migrations(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new store takes the steps, as in the console."""
    monkeypatch.setattr(store_connection, "migrate", migrate)
    monkeypatch.setattr(store_connection, "connect", connect)


@pytest.fixture(scope="session", autouse=True)
def quick_python() -> Iterator[None]:
    """Servers of this process's apps start without the second that imports take; `real_python` undoes it for a test. Those that
    hang when their input is closed are ended after half a second, not after two."""
    with FORKS, pytest.MonkeyPatch.context() as patch:
        patch.setattr(SecretVault, "python", property(lambda _: FORKS.python))  # made at its first use
        patch.setattr("core.servers.stdio.EXIT_S", 0.5)
        yield


@pytest.fixture
def real_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """`${python}` is the running interpreter, as in the console."""
    monkeypatch.setattr(SecretVault, "python", sys.executable)


@pytest.fixture(scope="session")
def warm_store(encoder_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which the sample has been counted, and embedded where its vectors do not come with Wayfare."""
    file = tmp_path_factory.mktemp("warm") / "warm.duckdb"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WAYFARE_CACHE", str(encoder_cache))
        with open_app(Settings.from_environment(db=file)) as app:
            app.catalogs.prepare("sample")
    return file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The store file of a test."""
    return tmp_path / "wayfare.duckdb"


@pytest.fixture
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[App]:
    """An app with the catalog `world`; nothing has happened in it. Its store is a file if the test asks for its `path`."""
    with open_world(tmp_path / "wayfare.duckdb", in_memory="path" not in request.fixturenames) as app:
        yield app


@pytest.fixture
def calls_of(app: App) -> Iterator[Callable[[Scripted], CallService]]:
    """The app's calls, made by a scripted caller."""
    services: list[CallService] = []
    folder = app.settings.virtual_folder

    def make(caller: Scripted) -> CallService:
        rng = np.random.default_rng(1)
        services.append(
            CallService(
                app.store,
                app.catalogs,
                lambda: caller,
                lambda _: nullcontext(caller),
                app.simulated_networks,
                rng=rng,
                virtual_folder=folder,
            )
        )
        return services[-1]

    yield make
    for service in services:
        service.close()
