"""What routing is worth: labelled tasks played out (`core.lab.execution`), a few routers, as shipped and as the papers have them."""

from __future__ import annotations

import sample_catalog
from core.importers.shipped_catalogs import SAMPLE
from core.lab.sweep import unbeaten
from core.routers.presets import DEFAULT_PRESET
from tests.benchmarks.labelled import opened_app

ROUTERS = ("rag_mcp", "ehrr", "expected_value", "tool_attention")
PRESETS = (DEFAULT_PRESET, "paper")


def outcomes() -> None:
    """The sample's everyday questions to develop on: the odd lines."""
    tasks_file = sample_catalog.TASKS_DIR / "everyday.jsonl"
    with opened_app() as app:
        tasks = app.lab.read_tasks(tasks_file)[0::2]
        played = [
            (preset, app.lab.execute(tasks, catalog=SAMPLE, router=router, parameters=app.routing.parameters(router, preset=preset)))
            for router in ROUTERS
            for preset in PRESETS
            if preset == DEFAULT_PRESET or app.routing.parameters(router, preset=preset).changed()
        ]  # fmt: skip
    print(
        f"outcomes of {len(tasks)} everyday questions on {SAMPLE}, 20 seeds, simulated; * on the front of success and money"
    )
    print(
        f"{'router':<18} {'preset':<10} {'solved':>14} {'m$ each':>8} {'s each':>7} {'wrong tools':>12} {'value, m$':>10}"
    )
    front = unbeaten([(run.success_rate.mean, run.usd_per_solved.mean) for _, run in played])
    for (preset, run), best in zip(played, front, strict=True):
        rate = run.success_rate
        print(
            f"{run.router:<18} {preset:<10} {rate.mean:>6.3f} ± {rate.high - rate.mean:.3f} {1e3 * run.usd_per_solved.mean:>8.2f} "
            f"{run.s_per_solved.mean:>7.2f} {run.invalid_tool_calls.mean:>12.2f} {1e3 * run.value.mean:>10.1f} {'*' if best else ''}"
        )
