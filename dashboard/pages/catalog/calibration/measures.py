"""A fit's measures before and after, on held-back folds, as a table. A report may come from a stranger's file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

PARTS = {"ranking": "ranking", "probability": "probability of fit", "threshold": "Tool Attention's θ"}
MEASURES = {  # part, name, what it is
    "mrr": ("ranking", "MRR ↑"),
    "hit@1": ("ranking", "hit@1 ↑"),
    "hit@3": ("ranking", "hit@3 ↑"),
    "log_loss": ("probability", "log loss ↓"),
    "ece": ("probability", "calibration error ↓"),
    "f1": ("threshold", "F1 ↑"),
}
HELP = (
    "Each fold was ranked by a fit to the other folds. ↑: more is better, ↓: less is better. A part is taken where its change is "
    "beyond its 95 % interval: MRR for the ranking, log loss for the probability of fit, F1 for Tool Attention's threshold θ."
)


class Threshold(NamedTuple):
    """Tool Attention's θ: in use and fitted, and whether the fitted one was taken."""

    today: float
    fitted: float
    taken: bool


def measures_table(report: Mapping[str, Any], key: str) -> None:
    """The table, and what it says of Tool Attention's threshold."""
    st.dataframe(
        measures_frame(report),
        hide_index=True,
        height="content",
        key=key,
        column_config={"95 % interval of the change": st.column_config.TextColumn(width=180)},
    )
    theta = threshold_of(report)
    if theta is not None:
        end = "taken" if theta.taken else "not taken"
        st.caption(f"Tool Attention's threshold θ: {theta.today:.2f} in use, {theta.fitted:.2f} fitted, {end}.")


def measures_frame(report: Mapping[str, Any]) -> pd.DataFrame:
    """One row a measure, numbers with four decimals; what the report lacks or what is no number is left out."""
    found = {**_part(report, "measures"), "f1": _part(report, "threshold").get("f1")}
    accepted = report.get("accepted")
    taken = [str(part) for part in accepted] if isinstance(accepted, list) else []
    rows: list[tuple[str, ...]] = []
    for name, (part, title) in MEASURES.items():
        change = found.get(name)
        numbers = [number(change, column) for column in ("before", "after", "low", "high")]
        before, after, low, high = numbers
        if before is None or after is None or low is None or high is None:
            continue
        rows.append(
            (
                PARTS[part],
                title,
                f"{before:.4f}",
                f"{after:.4f}",
                f"{after - before:+.4f}",
                f"{low:+.4f} to {high:+.4f}",
                "✓ taken" if part in taken else "stays as it is",
            )
        )
    columns = ["part", "measure", "before", "after", "change", "95 % interval of the change", "outcome"]
    return pd.DataFrame(rows, columns=columns)


def threshold_of(report: Mapping[str, Any]) -> Threshold | None:
    """What the report says of θ."""
    part = _part(report, "threshold")
    today, fitted = number(part, "today"), number(part.get("best"), "theta")
    return None if today is None or fitted is None else Threshold(today, fitted, part.get("accepted") is True)


def parts_taken(report: Mapping[str, Any]) -> str:
    """The parts that gained, in words."""
    accepted = report.get("accepted")
    return ", ".join(PARTS[part] for part in PARTS if isinstance(accepted, list) and part in accepted)


def _part(report: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = report.get(name)
    return found if isinstance(found, dict) else {}


def number(found: object, name: str) -> float | None:
    """A number of a JSON object; None where there is none."""
    value = found.get(name) if isinstance(found, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
