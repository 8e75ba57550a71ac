"""The table of stored runs: times on the visitor's clock, values as numbers that sort, strangers' texts on one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from pandas.io.formats.style import Styler
from streamlit.column_config import DatetimeColumn, NumberColumn, TextColumn

from core.domain.lab_runs import SIMULATED, KeptRun
from core.shared import units
from dashboard.theme import MUTED
from dashboard.ui.event_words import one_line

COLUMNS = {
    "at": DatetimeColumn("when", format="YYYY-MM-DD HH:mm", width=125),
    "network": TextColumn("network", width=115),
    "catalog": TextColumn("catalog", width=90),
    "router": TextColumn("router", width=85),
    "setting": TextColumn("short-list", width=70),
    "seed": NumberColumn("seed", width=45),
    "steps": NumberColumn("steps", width=55),
    "mode": TextColumn("mode", width=80),
    "ssr": NumberColumn("SSR", width=65),
    "ee": NumberColumn("EE", width=60),
    "al_ms": NumberColumn("AL", width=75),
    "sl_ms": NumberColumn("SL", width=75),
    "fr": NumberColumn("FR", width=65),
    "cost_usd": NumberColumn("cost", width=80),
    "utility": NumberColumn("utility", width=60),
}


def runs_frame(runs: Sequence[KeptRun], titles: Mapping[str, str], zone: str) -> pd.DataFrame:
    """A row a run; shares in [0, 1], times in ms, money in USD."""
    return pd.DataFrame(
        {
            "at": pd.to_datetime([run.at for run in runs], utc=True).tz_convert(zone),
            "network": [one_line(run.profile.replace("_", " ")) for run in runs],
            "catalog": [one_line(run.catalog) for run in runs],
            "router": [one_line(titles.get(run.router, run.router)) for run in runs],
            "setting": [one_line(run.setting) for run in runs],
            "seed": [run.seed for run in runs],
            "steps": [run.steps for run in runs],
            "mode": [one_line(run.mode) for run in runs],
            **{
                name: [getattr(run, name) for run in runs] for name in ("ssr", "ee", "al_ms", "sl_ms", "fr", "cost_usd")
            },
            "utility": pd.array([run.utility for run in runs], dtype="Float64"),
        }
    )


def runs_styler(frame: pd.DataFrame) -> Styler:
    """The same with units; simulated muted, as on the Activity page."""
    style = frame.style
    style.format(
        {
            "ssr": units.share, "fr": units.share, "ee": "{:.3f}", "al_ms": "{:,.1f} ms", "sl_ms": "{:.2f} ms",
            "cost_usd": units.price, "utility": "{:.3f}", "steps": "{:,}",
        },
        na_rep="–",
    )  # fmt: skip
    return style.map(lambda mode: f"color: {MUTED}" if mode == SIMULATED else "", subset=["mode"])
