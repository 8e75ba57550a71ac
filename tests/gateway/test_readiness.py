"""Ready means loaded."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from starlette.applications import Starlette
from starlette.testclient import TestClient

from core.app import App
from core.catalogs.upkeep import Readiness
from core.gateway.http_app import EndpointApp, status_routes
from tests.forking import FORKS

FIRST_SEARCH = """
import sys
from pathlib import Path

from core.gateway.base import EndpointOptions, Request, Services
from core.gateway.search import SEARCH
from core.store import Store
from tests.importing import import_text
from tests.world import document, open_test_app

with open_test_app(Path(sys.argv[1]), store=Store()) as app:
    import_text(app.catalog_editor, document(), "world")
    app.readiness.make("world")
    before = set(sys.modules)
    import anyio
    request = Request("search_tools", {"task": "echo words"}, EndpointOptions("world"), client="ann")
    answer = anyio.run(SEARCH.run, Services(app), request)
    assert answer.structured_content["candidates"]
    print({name.partition(".")[0] for name in set(sys.modules) - before} - {"core", "anyio"})
"""


def test_a_catalog_is_ready_when_the_rest_is_loaded(world: App) -> None:
    begun, loaded = threading.Event(), threading.Event()

    def load(_: str) -> None:
        begun.set()
        assert loaded.wait(30)

    readiness = Readiness(world.catalogs, world.encoders[0], world.background, words_after_s=0, load_rest=load)
    job = readiness.begin("world")
    assert begun.wait(30)
    assert (readiness.is_ready("world"), world.catalogs.is_ready("world")) == (False, True)
    loaded.set()
    assert job is not None
    assert job.wait(30)
    assert readiness.is_ready("world")


def test_the_first_search_after_that_loads_no_further_library(tmp_path: Path) -> None:
    line = [FORKS.python, "-c", FIRST_SEARCH, str(tmp_path / "wayfare.duckdb")]
    ended = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "set()\n"


def test_a_console_that_cannot_store_is_not_ready_and_says_why() -> None:
    opened: Any = SimpleNamespace(store=SimpleNamespace(problem="The disk is full."))
    routes = status_routes(EndpointApp(lambda: opened), lambda: opened, "world")
    with TestClient(Starlette(routes=routes), base_url="http://127.0.0.1", client=("127.0.0.1", 1)) as http:
        answer = http.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"catalog": "world", "status": "not storing", "why": "The disk is full."}
