"""A process with an app that is killed on purpose: `python -m tests.services.victim DB decide|call`.

It prints the id of its decision once that is on the disk; for `call` a call hangs then, and it prints the server's id.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from core.domain.outcome import ToolCall
from tests.services.world import open_test_app, under_way


def main() -> None:
    """Decide, perhaps call, and wait for the end."""
    path, what = sys.argv[1:]
    with open_test_app(Path(path)) as app:
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
