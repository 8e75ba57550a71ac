"""A process with a console that is killed on purpose: `python -m tests.console.victim DB decide|call`.

It prints the id of its decision once that is on the disk; for `call` a call hangs then, and it prints the server's id.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from core.domain.outcome import ToolCall
from tests.console.world import opened, under_way


def main() -> None:
    """Decide, perhaps call, and wait for the end."""
    path, what = sys.argv[1:]
    with opened(Path(path)) as console:
        decision = console.route("swallow words", catalog="world")
        server_pid = 0
        if what == "call":
            console.start_call(ToolCall("gremlin", "hang", catalog="sample", timeout_s=600, decision_id=decision.id))
            server_pid = under_way(console, "gremlin")
        else:
            console.store.events.flush()
        print(decision.id, server_pid, flush=True)
        time.sleep(600)


if __name__ == "__main__":
    main()
