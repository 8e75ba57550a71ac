"""What tells stored runs apart, and how one did against another, in words. All texts are plain, not Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from core.domain.lab_runs import KeptRun, RunSteps
from core.shared import units
from dashboard.ui.event_words import one_line

ASPECTS: Mapping[str, Callable[[KeptRun], str]] = {
    "network": lambda run: run.profile.replace("_", " "),
    "catalog": lambda run: run.catalog,
    "tasks": lambda run: "" if run.tasks == run.catalog else run.tasks,
    "questions": lambda run: "raw questions" if run.raw_questions else "",
    "predicted": lambda run: f"predicted {run.predicted}" if run.predicted else "",
    "setting": lambda run: run.setting,
    "seed": lambda run: f"seed {run.seed}",
    "steps": lambda run: f"{run.steps:,} steps",
    "mode": lambda run: run.mode,
}
BY_SETTING = {"s", "t", "k"}  # parameters that the setting gives
PART = 36


def names(runs: Sequence[KeptRun], titles: Mapping[str, str]) -> tuple[str, ...]:
    """A short name for each of the chosen runs: its router, and in what they differ; parameters where a router's own do."""
    differing = [aspect for aspect in ASPECTS.values() if len({aspect(run) for run in runs}) > 1]
    return tuple(
        " · ".join(
            one_line(part, PART)
            for part in (
                titles.get(run.router, run.router),
                *(aspect(run) for aspect in differing),
                *_own_parameters(run, [other for other in runs if other.router == run.router]),
            )
            if part
        )
        for run in runs
    )


def _own_parameters(run: KeptRun, same_router: Sequence[KeptRun]) -> list[str]:
    return [
        f"{name}={value}"
        for name, value in run.parameters.items()
        if value is not None
        and name not in BY_SETTING
        and any(other.parameters.get(name) != value for other in same_router)
    ]


def not_by_step(run: KeptRun, first: KeptRun) -> str:
    """Why two runs cannot be compared step by step; nothing where they can: every step has the same query and the same random draws."""
    reasons: list[str] = []
    for thing in ("catalog", "tasks"):
        if getattr(run, f"{thing}_fingerprint") != getattr(first, f"{thing}_fingerprint"):
            other, own = (one_line(getattr(one, thing), 60) for one in (first, run))
            reasons.append(f"{thing} {own}, not {other}" if own != other else f"another content of {thing} {own}")
    reasons += [
        f"{thing.replace('_', '-')} {getattr(run, thing):,}, not {getattr(first, thing):,}"
        for thing in ("seed", "steps", "lead_in")
        if getattr(run, thing) != getattr(first, thing)
    ]
    return ", ".join(reasons)


def differences(run: KeptRun, first: KeptRun) -> str:
    """How a run did against the first, measure by measure."""
    return "; ".join(
        (
            _points("SSR", run.ssr, first.ssr),
            _times("AL", run.al_ms, first.al_ms, lambda value: units.seconds(value / 1e3)),
            _points("FR", run.fr, first.fr),
            _times("SL", run.sl_ms, first.sl_ms, lambda value: units.seconds(value / 1e3)),
            _times("cost", run.cost_usd, first.cost_usd, units.price)
            if run.steps == first.steps
            else _times("cost a query", run.cost_usd / run.steps, first.cost_usd / first.steps, units.price),
        )
    )


def by_step(run: RunSteps, first: RunSteps) -> str:
    """How two runs over the same queries differ: where they went, and which succeeded where the other did not.

    >>> def steps(rows, ok): return RunSteps(("a", "b"), (), *[np.array(rows)] * 3, np.zeros(3), np.zeros(3), np.array(ok))
    >>> by_step(steps([0, 1, -1], [True, True, False]), steps([0, 0, -1], [True, False, False]))
    'The same server at 66.7 % of the steps; success where the first had none: 1, none where it had: 0.'
    """
    same = np.mean(_server_names(run) == _server_names(first))
    won, lost = int(np.sum(run.ok & ~first.ok)), int(np.sum(first.ok & ~run.ok))
    return (
        f"The same server at {units.share(float(same))} of the steps; success where the first had none: {won:,}, "
        f"none where it had: {lost:,}."
    )


def _server_names(steps: RunSteps) -> np.ndarray:
    return np.array([*steps.servers, ""], dtype=object)[steps.server]  # -1 is the last: nowhere


def _points(name: str, value: float, first: float) -> str:
    """
    >>> _points("FR", 0.0, 0.45), _points("SSR", 0.991, 0.9911)
    ('FR 45.0 points lower (0 %, not 45 %)', 'SSR the same (99.1 %)')
    """
    change = (value - first) * 100
    if abs(change) < 0.05 or change != change:  # noqa: PLR0124 - NaN
        return f"{name} the same ({units.share(first)})"
    side = "higher" if change > 0 else "lower"
    return f"{name} {abs(change):.1f} points {side} ({units.share(value)}, not {units.share(first)})"


def _times(name: str, value: float, first: float, words: Callable[[float], str]) -> str:
    """
    >>> _times("AL", 20.0, 500.0, lambda ms: f"{ms:g} ms"), _times("AL", 1.2, 1.0, str), _times("cost", 0.0, 2.0, str)
    ('AL 25 times lower (20 ms, not 500 ms)', 'AL 20 % higher (1.2, not 1.0)', 'cost 0.0, not 2.0')
    """
    if value == first or words(value) == words(first):
        return f"{name} the same ({words(first)})"
    if min(value, first) <= 0:
        return f"{name} {words(value)}, not {words(first)}"
    side, ratio = ("higher", value / first) if value > first else ("lower", first / value)
    share = abs(value - first) / first
    by = f"{ratio:.3g} times" if ratio >= 2 else units.share(share)
    return f"{name} {by} {side} ({words(value)}, not {words(first)})"
