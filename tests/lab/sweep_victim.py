"""A process that sweeps and kills itself half-way: `python -m tests.lab.sweep_victim DB KIND POINTS`; with 0 it ends well."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from core.app import App
from core.domain.lab_runs import OPTUNA
from core.lab.sweep import read_axis
from core.lab.sweeps import GRID, RANDOM, SweepPlan
from tests.importing import import_text
from tests.lab.test_lab_runs import TASKS
from tests.world import document, open_test_app

KINDS = {  # router, method, count, axes
    "grid": ("ehrr", GRID, 0, ("alpha_t=0:1:0.02", "auction=on,off")),
    "one by one": ("rag_mcp", GRID, 0, ("n=1:10",)),
    "random": ("ehrr", RANDOM, 150, ("alpha_t=0:1", "kappa=0:1000", "w_names=0,0.5", "similarity=fit,views")),
    "optuna": ("ehrr", OPTUNA, 14, ("alpha_t=0:1", "kappa=0:1000:10", "auction=on,off")),
}


def swept(app: App, kind: str, stop_after: int = 0) -> dict[str, Any]:
    """The document of a sweep of this kind; the process is killed once so many points are known."""
    router, method, count, axes = KINDS[kind]
    parameters = app.routing.parameters(router, {"n": 10})

    def progress(done: int, _: int) -> None:
        if stop_after and done >= stop_after:
            os.kill(os.getpid(), signal.SIGKILL)

    return app.sweeps.run(
        TASKS, SweepPlan(tuple(read_axis(text, type(parameters)) for text in axes), method, count), source="t.jsonl",
        catalog="world", router=router, preset="balanced", parameters=parameters, seed=7, progress=progress,
    )  # fmt: skip


def main() -> None:
    """Sweep and die."""
    path, kind, stop_after = sys.argv[1:]
    with open_test_app(Path(path)) as app:
        import_text(app.catalog_editor, document(), "world")
        print(json.dumps(swept(app, kind, int(stop_after))))


if __name__ == "__main__":
    main()
