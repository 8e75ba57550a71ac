"""A process that measures and kills itself half-way: `python -m tests.lab.run_victim DB DECISIONS`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from core.lab.execution import Playing
from tests.importing import import_text
from tests.lab.test_lab_runs import MANY
from tests.world import document, open_test_app


def main() -> None:
    """Measure and die."""
    path, stop_after = sys.argv[1:]

    def progress(done: int) -> None:
        if done >= int(stop_after):
            os.kill(os.getpid(), signal.SIGKILL)

    with open_test_app(Path(path)) as app:
        import_text(app.catalog_editor, document(), "world")
        app.measuring.measure(
            MANY, source="t.jsonl", catalog="world", router="ehrr", preset="balanced", playing=Playing(2),
            parameters=app.routing.parameters("ehrr", {"n": 10}), progress=progress,
        )  # fmt: skip


if __name__ == "__main__":
    main()
