"""A plan over time: a bar for each step from its expected start to its end, and an arrow from what it needs."""

from __future__ import annotations

import plotly.graph_objects as go

from core.domain.plans import Plan, PlannedStep
from core.shared import units
from dashboard.theme import CHOSEN, MUTED, REJECTED_SIGN, TIME
from dashboard.ui.charts.base import EDGES, figure, label, row_texts

ROW_PX, AXIS_PX, TITLE_PX = 46, 34, 34
LEAST = 0.004  # of the whole width: a step that takes next to nothing is still seen


def plan_steps(plan: Plan) -> go.Figure:
    """First step on top. The steps that decide how long all takes are in the colour of what is chosen."""
    rows = list(range(len(plan.steps)))[::-1]  # the row of each position
    whole = plan.elapsed_s or 1.0
    critical = set(plan.longest_path)
    colours = [CHOSEN if position in critical else TIME for position in range(len(plan.steps))]
    bars = {
        "type": "bar",
        "orientation": "h",
        "base": [step.start_s for step in plan.steps],
        "x": [max(step.finish_s - step.start_s, LEAST * whole) for step in plan.steps],
        "y": rows,
        "width": 0.32,
        "marker": {"color": colours},
        "hovertext": [_hover(position, step) for position, step in enumerate(plan.steps)],
        "hoverinfo": "text",
    }
    names = [_name(position, step) for position, step in enumerate(plan.steps)]
    return figure(
        [bars, row_texts(names, rows)],
        title="Steps over expected time",
        height=TITLE_PX + AXIS_PX + ROW_PX * len(plan.steps),
        margin={"l": 8, "r": 12, "t": TITLE_PX, "b": AXIS_PX},
        xaxis={"range": [-0.01 * whole, 1.03 * whole], "ticksuffix": " s", "fixedrange": True, "zeroline": False},
        xaxis2=EDGES,
        yaxis={
            "range": [-0.4, len(rows) - 0.25],
            "visible": False,
            "fixedrange": True,
        },
        annotations=_arrows(plan, rows),
    )


def _arrows(plan: Plan, rows: list[int]) -> list[dict[str, object]]:
    """From the end of what is needed down to the start of the step that needs it."""
    return [
        {
            "x": step.start_s,
            "y": rows[position] + 0.16,
            "ax": plan.steps[need].finish_s,
            "ay": rows[need] - 0.16,
            **dict.fromkeys(("xref", "axref"), "x"),
            **dict.fromkeys(("yref", "ayref"), "y"),
            "text": "",
            "showarrow": True,
            "arrowhead": 2,
            "arrowsize": 0.9,
            "arrowwidth": 1.4,
            "arrowcolor": MUTED,
        }
        for position, step in enumerate(plan.steps)
        for need in step.needs
    ]


def _name(position: int, step: PlannedStep) -> str:
    winner = step.decision.winner
    if winner is None:
        return f"{position + 1} · {REJECTED_SIGN} nothing can do it"
    return f"{position + 1} · {label(winner.tool, 40)} · {units.seconds(winner.time_cost_s)} · {units.price(winner.price_usd)}"


def _hover(position: int, step: PlannedStep) -> str:
    needed = f"<br>after step {' and '.join(str(need + 1) for need in step.needs)}" if step.needs else ""
    span = f"{units.seconds(step.start_s)} to {units.seconds(step.finish_s)}"
    return f"{position + 1} {label(step.text, 90)}<br>{span}{needed}"
