"""Recovery curves: EHRR after the outage of its best server, in drawn worlds (`core.lab.recovery`)."""

from __future__ import annotations

import numpy as np

from core.lab.papers.report import Chart, Column, Kind, Row, Series, Table, pair, rounded
from core.lab.recovery import CURES, drawn_world, recover, summary
from core.routers.ehrr_parameters import EhrrParameters
from core.routers.presets import applied

WORLDS = 10


def recovery() -> tuple[Table, Chart]:
    """Regret over a thousand calls around an outage: the paper's (8), and three cures of ours."""
    base, worlds = applied(EhrrParameters, "paper"), [drawn_world(seed) for seed in range(WORLDS)]
    rows: list[Row] = []
    lines: list[Series] = []
    for cure, settings in CURES.items():
        runs = [
            recover(world, base.replaced({**settings, "explore_seed": seed}), seed=seed)
            for seed, world in enumerate(worlds)
        ]
        of, mean = summary(cure, runs), np.mean([run.regret for run in runs], axis=0)
        steps = range(0, len(mean), 20)
        lines.append(Series(cure, tuple(map(float, steps)), tuple(rounded(float(mean[step])) for step in steps)))
        values = {"regret": of.regret, "down": of.wasted, "back": 100 * of.back_share, "after": of.back_after}
        rows.append(
            Row(
                f"{cure} (8)" if cure == "paper" else cure,
                Kind.OURS,
                {key: pair(None, value) for key, value in values.items()},
            )
        )
    columns = (
        Column("regret", "Regret", 1), Column("down", "Calls while down", 1), Column("back", "Comes back", 0, "%"),
        Column("after", "After steps", 0),
    )  # fmt: skip
    theirs, ours = (
        "none: the paper learns online and shows no curve of it",
        f"{WORLDS} drawn worlds of 2 to 5 servers, simulated",
    )
    about = "The best server is down for a while and comes back. Does the router? Regret is in units of utility (7)."
    differs = "With (8) alone a server that failed is not called again, so that its figures never mend; docs/decisions/0012-recovery.md."
    table = Table(
        "recovery", "Recovery after an outage (ours)", about, theirs, ours, columns, tuple(rows), differs=differs
    )
    return table, Chart(
        "recovery-curve", "Regret so far (ours)", about, "calls", "regret", "line", tuple(lines), differs=differs
    )
