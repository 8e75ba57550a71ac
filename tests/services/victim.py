"""A process with an app that is killed on purpose: `python -m tests.services.victim DB decide|call|answer`.

It prints the id of its decision once that is on the disk; for `call` a call hangs then, and it prints the server's id. For `answer`
it answers an agent's calls as fast as it can, and prints of each answered one the id of its outcome and that of its spending.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from core.app import App
from core.domain.outcome import ToolCall
from core.governance.calls import Wanted
from core.services.decide.decision_log import AGENT
from tests.services.world import Scripted, call, open_test_app, under_way


def answer(app: App) -> None:
    """Calls of an agent that no budget covers."""
    _, tool = app.catalogs.catalog("world").find("raw", "echo")
    while True:
        wanted = Wanted("ann", call("echo"), tool, 100)
        made = app.governed.start(wanted, origin=AGENT, counted=lambda _outcome, limit: limit)
        print(made.report().outcome.id, made.permit.id, flush=True)


def main() -> None:
    """Decide, perhaps call, and wait for the end."""
    path, what = sys.argv[1:]
    with open_test_app(Path(path), caller=Scripted if what == "answer" else None) as app:
        if what == "answer":
            answer(app)
        decision = app.routing.route("swallow words", catalog="world")
        server_pid = 0
        if what == "call":
            app.calls.start(ToolCall("gremlin", "hang", catalog="sample", timeout_s=600, decision_id=decision.id))
            server_pid = under_way(app, "gremlin")
        else:
            app.store.events.flush()
        print(decision.id, server_pid, flush=True)
        time.sleep(600)


if __name__ == "__main__":
    main()
