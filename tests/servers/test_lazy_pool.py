"""The MCP SDK that is installed still has what Wayfare takes from inside it, and one thread alone imports its packages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import version
from inspect import iscoroutinefunction
from pathlib import Path
from pkgutil import resolve_name

import core

SCRIPT = """
import json, sys, threading
from contextlib import suppress
from core.app import Settings, build_app
from core.domain.catalog import Catalog, Imported, Server, ServerId, Tool
from core.domain.errors import WayfareError
from core.gateway.http_app import EndpointApp
from core.governance.governed_calls import ResourceLink
from core.relevance.encoder import CachedEncoder, EncoderSource
from core.store import Store
from tests.relevance.toy_encoders import WordEncoder

store, server = Store(), ServerId("own", "nobody")
app = build_app(store, Settings(seed=1), encoder=CachedEncoder(EncoderSource.of(WordEncoder()), store.vectors))
app.catalogs.add(Catalog("own", (Server("nobody", tools=(Tool("nobody", "nothing", "Echo words."),)),)), "test")
importing, failed, second = set(), [], threading.Barrier(2)


class Watch:
    def find_spec(self, name, path=None, target=None):
        protocol = sys.modules.get("mcp")
        loaded = protocol is not None and not protocol.__spec__._initializing
        if name.startswith(("mcp", "core.servers.", "core.lab.scenarios.live")) and not loaded:
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
    "read": lambda: app.linked.read(ResourceLink(server.catalog, server.server, "", ""), "a client", limit_s=1),
    "discover": lambda: app.catalog_editor.discover(Imported("none", ()), "found", "nothing"),
    "definitions": lambda: app.attention.definitions("own", ["nobody::nothing"], live=True),
    "endpoint": EndpointApp(lambda: app)._made,
}
sys.meta_path.insert(0, Watch())
threads = [threading.Thread(target=run, args=(work,), name=name) for name, work in needs.items()]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
app.readiness.make("own")
before = set(sys.modules)
import anyio
from core.gateway.base import EndpointOptions, Request, Services
from core.gateway.search import SEARCH
answer = anyio.run(SEARCH.run, Services(app), Request("search_tools", {"task": "echo words"}, options=EndpointOptions("own")))
further = {name.partition(".")[0] for name in set(sys.modules) - before} - {"core", "anyio"}
app.close()
print(json.dumps([len(importing), failed, len(answer.structured_content["candidates"]), sorted(further)]))
"""


def test_one_thread_imports_the_protocols_packages_and_a_search_needs_no_more() -> None:
    folder = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [1, [], 1, []]


INSIDE = (
    ("mcp.client.session", "DISCOVER_TIMEOUT_SECONDS"), ("mcp.client.auth", "OAuthClientProvider._refresh_token"),
    ("mcp.client.auth", "OAuthClientProvider._perform_authorization"), ("mcp.os.posix.utilities", "terminate_posix_process_tree"),
    *(("mcp.os.win32.utilities", name) for name in (
        "FallbackProcess", "close_process_job", "create_windows_process", "get_windows_executable_command",
        "terminate_windows_process_tree",
    )),
)  # fmt: skip


def test_the_installed_release_has_all_that_is_taken_from_inside_it() -> None:
    for module, path in INSIDE:
        try:
            member = resolve_name(f"{module}:{path}")
        except (ImportError, AttributeError):
            raise AssertionError(
                f"mcp {version('mcp')} has no {module}.{path} any more: see core/servers/sdk.py"
            ) from None
        assert iscoroutinefunction(member) or not path.startswith("OAuth"), f"mcp {version('mcp')} changed {path}"


def test_no_other_module_of_ours_reaches_inside() -> None:
    inside = re.compile(
        r"from mcp\.os\b|\bDISCOVER_TIMEOUT_SECONDS\b|\._(refresh_token|perform_authorization|transport)\b|\b(from|import) mcp\.(\w+\.)*_"
    )
    root = Path(core.__file__).parent
    files = {
        str(file.relative_to(root)) for file in root.rglob("*.py") if inside.search(file.read_text(encoding="utf-8"))
    }
    assert files == {"servers/sdk.py"}
