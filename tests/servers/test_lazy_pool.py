"""The protocol's packages are imported by one thread, whoever needs them first: two at once find each other's half done."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import json, sys, threading
from contextlib import suppress
from core.app import Settings, build_app
from core.domain.catalog import Catalog, Server, ServerId, Tool
from core.domain.catalog import Imported
from core.governance.server_requests import ResourceLink
from core.domain.errors import WayfareError
from core.store import Store

app, server = build_app(Store(), Settings(seed=1)), ServerId("own", "nobody")
app.catalogs.add(Catalog("own", (Server("nobody", tools=(Tool("nobody", "nothing"),)),)), "test")
importing, failed, second = set(), [], threading.Barrier(2)


class Watch:
    def find_spec(self, name, path=None, target=None):
        protocol = sys.modules.get("mcp")
        loaded = protocol is not None and not protocol.__spec__._initializing
        if name.startswith(("core.servers.", "core.lab.scenarios.live")) and not loaded:
            importing.add(threading.current_thread().name)
            with suppress(threading.BrokenBarrierError):
                second.wait(0.5)  # gives another thread the time to come here, once


def run(work):
    try:
        work()
    except WayfareError:
        pass
    except Exception as error:
        failed.append(repr(error))


needs = {
    "pool": app.pool.get,
    "caller": app.pool.caller,
    "list": lambda: app.server_requests.list(server, "tools/list", limit_s=1),
    "send": lambda: app.server_requests.send(server, "tools/list", None, limit_s=1),
    "read": lambda: app.linked.read(ResourceLink(*server, "", ""), "a client", limit_s=1),
    "discover": lambda: app.catalog_editor.discover(Imported("none", ()), "found", "nothing"),
    "definitions": lambda: app.attention.definitions("own", ["nobody::nothing"], live=True),
}
sys.meta_path.insert(0, Watch())
threads = [threading.Thread(target=run, args=(work,), name=name) for name, work in needs.items()]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
app.close()
print(json.dumps([len(importing), failed]))
"""


def test_one_thread_imports_the_protocols_packages() -> None:
    folder = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=folder, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [1, []]
