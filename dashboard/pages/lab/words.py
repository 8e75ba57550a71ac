"""The names, links and small fields that the views of the Lab share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import streamlit as st

from core.app import App
from core.domain.errors import WayfareError
from core.domain.lab_runs import LabRun
from core.domain.params import Value
from core.domain.tasks import Task
from core.lab.execution import ABSENT
from core.lab.lab import RANKED
from core.lab.stored_runs import NOT_FIRST, NOT_REFUSED, UNKNOWN
from core.routers.presets import DEFAULT_PRESET, PRESETS
from dashboard.ui.text import DROPPED
from dashboard.ui.url_state import UrlState
from dashboard.ui.variants import variant_text


def choose_some(
    state: UrlState,
    linked: Mapping[str, str],
    name: str,
    label: str,
    options: Sequence[str],
    *,
    start: Sequence[str] = (),
    show: Callable[[str], str] = str,
    most: int | None = None,
    note: str | None = None,
) -> tuple[str, ...]:
    """Draw a choice of several options. The link has them separated by commas. Unknown options are left out."""
    key = state.key(name)
    wanted: Sequence[str] = st.session_state.get(key, linked[name].split(",") if linked.get(name) else start)
    st.session_state[key] = [one for one in wanted if one in options][:most]
    return tuple(st.multiselect(label, options, key=key, format_func=show, max_selections=most, help=note))


NAMED = 3

MEASURE_WORDS = {
    "mrr": ("RR", "1 / rank of the first right tool"),
    "hit@1": ("Success@1", "a right tool is first"),
    "hit@3": ("Success@3", "a right tool is among the first 3"),
    "recall@3": ("R@3", "share of the right tools among the first 3"),
    "recall@10": ("R@10", "share of the right tools among the first 10"),
    "ndcg@10": ("nDCG@10", "right tools early, by their grades"),
}

STAGES = {
    **{str(drop): words for drop, words in DROPPED.items()}, ABSENT: "not in the catalog",
    NOT_FIRST: "behind another candidate", NOT_REFUSED: "not refused", UNKNOWN: "not stored with the run",
}  # fmt: skip


def measure_name(key: str) -> str:
    """Returns the name of a measure in ir_measures, and its meaning.

    >>> measure_name("hit@1")
    'Success@1: a right tool is first'
    """
    return ": ".join(MEASURE_WORDS[key])


def run_names(app: App, runs: Sequence[LabRun]) -> dict[str, str]:
    """Returns a name for each run by its id: the router, a preset, changed parameters, and the id if two names are equal."""
    titles = {router.id: router.title for router in app.routing.routers()}
    names = {run.id: _name(app, run, titles.get(run.router, run.router)) for run in runs}
    count = Counter(names.values())
    return {id_: name if count[name] == 1 else f"{name} · {id_[:6]}" for id_, name in names.items()}


def _name(app: App, run: LabRun, title: str) -> str:
    preset = (
        [] if run.preset == DEFAULT_PRESET else [PRESETS[run.preset].title if run.preset in PRESETS else run.preset]
    )
    try:
        start = app.routing.parameters(run.router, {"n": RANKED}, preset=run.preset).values()
    except WayfareError:  # a router or preset that no longer exists
        return " · ".join([title, *preset])
    changed = [f"{name} = {value}" for name, value in run.parameters.items() if start.get(name) != value]
    more = [f"{len(changed) - NAMED} more"] if len(changed) > NAMED else []
    return " · ".join([title, *preset, *([", ".join(changed[:NAMED] + more)] if changed else [])])


@dataclass(frozen=True, slots=True)
class ShownRuns:
    """Runs over the same tasks, with their names by id, and the URL state of the page."""

    app: App
    state: UrlState
    linked: Mapping[str, str]
    runs: Sequence[LabRun]
    names: Mapping[str, str]
    tasks: Sequence[Task]


def changed(app: App, run: LabRun) -> dict[str, Value] | None:
    """Returns the changed parameters of a run, or None if they no longer exist."""
    try:
        return app.routing.parameters(run.router, run.parameters).changed()
    except WayfareError:
        return None


def route_link(run: LabRun, values: Mapping[str, Value] | None, task: Task) -> str:
    """Returns the address of the decision of a run, or "" if its parameters no longer exist."""
    if values is None:
        return ""
    return f"/?{urlencode({**_asked(run, task), 'router': run.router, **values})}"


def compare_link(runs: Mapping[LabRun, Mapping[str, Value] | None], task: Task) -> str:
    """Returns the address that compares the decisions of several runs."""
    variants = [variant_text(run.router, values) for run, values in runs.items() if values is not None]
    return f"/compare?{urlencode({**_asked(next(iter(runs)), task), 'with': ','.join(variants)})}"


def _asked(run: LabRun, task: Task) -> dict[str, str]:
    asked = {"q": task.subtask, "hint": task.server_hint if run.hints else "", "catalog": run.catalog}
    return {name: text for name, text in asked.items() if text}
