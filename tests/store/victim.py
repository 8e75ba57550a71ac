"""A process with an app that is killed on purpose: `python -m tests.store.victim DB call|answer|edit`.

For `call` a call hangs, and it prints the ids of its decision, which is on the disk, and of the server's process. For `answer`
it answers an agent's calls as fast as it can, and prints of each answered one the id of its outcome and that of its spending. For
`edit` it changes a large catalog, and prints the number of each change once it is saved, and a line every few milliseconds.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

from core.app import App
from core.catalogs.decision_log import AGENT
from core.domain.catalog import Catalog, Server, Tool
from core.domain.outcome import ToolCall
from core.domain.tool_table import packed
from core.governance.refusals import Wanted
from core.store import Store
from tests.world import Scripted, call, open_test_app, under_way


def answer(app: App) -> None:
    """Calls of an agent that no budget covers."""
    _, tool = app.catalogs.catalog("world").find("raw", "echo")
    while True:
        request = Wanted("ann", call("echo"), tool, 100)
        started_call = app.governed.start(request, origin=AGENT, counted=lambda _outcome, limit: limit)
        print(started_call.handle.report().outcome.id, started_call.permit.reserved.id, flush=True)


def large(description: str) -> Catalog:
    """A catalog that takes a while to write."""
    names = [f"s{number}" for number in range(200)]
    servers = (Server(s, description, tools=tuple(Tool(s, f"t{n}", description) for n in range(20))) for s in names)
    return packed(Catalog("large", tuple(servers)))


def edit(path: Path) -> None:
    """Change the first and the last server of a large catalog without an end: the tools and the rows' places change each time."""
    with Store(path) as store:
        catalog = store.catalogs.save_catalog(large("old"), "")
        threading.Thread(target=tick, daemon=True).start()
        for number in itertools.count(1):
            catalog = store.catalogs.save_catalog(changed(catalog, number), "")
            print(f"{number}\n", end="", flush=True)


def changed(catalog: Catalog, number: int) -> Catalog:
    """One change of a large catalog, which says its number."""
    first, last = catalog.servers[0], catalog.servers[-1]
    fewer = tuple(Tool(first.name, f"t{n}", str(number)) for n in range(number % 3))
    return catalog.with_server(replace(first, tools=fewer)).with_server(replace(last, description=str(number)))


def tick() -> None:
    """Print a line every few milliseconds."""
    while not threading.Event().wait(0.005):
        print("saving\n", end="", flush=True)  # one write: another thread prints as well


def main() -> None:
    """Run one action until the process is killed."""
    path, action = sys.argv[1:]
    if action == "edit":
        edit(Path(path))
    with open_test_app(Path(path), caller=Scripted if action == "answer" else None) as app:
        if action == "answer":
            answer(app)
        decision = app.routing.route("swallow words", catalog="world")
        app.calls.start(ToolCall("gremlin", "hang", catalog="sample", timeout_s=600, decision_id=decision.id))
        server_pid = under_way(app, "gremlin")
        app.store.events.flush()
        print(decision.id, server_pid, flush=True)
        time.sleep(600)


if __name__ == "__main__":
    main()
