"""What runs and measures are called on the Lab page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from core.app import App
from core.domain.lab_runs import LabRun
from core.lab.execution import ABSENT
from core.lab.stored_runs import NOT_FIRST, NOT_REFUSED, UNKNOWN
from core.routers.presets import DEFAULT_PRESET, PRESETS
from core.services.lab.lab import RANKED
from core.shared.errors import WayfareError
from dashboard.ui.drop_words import DROPPED

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
    **{str(drop): words for drop, words in DROPPED.items()},
    ABSENT: "not in the catalog",
    NOT_FIRST: "behind another candidate",
    NOT_REFUSED: "not refused",
    UNKNOWN: "the run does not say",
}


def measure_name(key: str) -> str:
    """A measure by its name in ir_measures and in plain words.

    >>> measure_name("hit@1")
    'Success@1: a right tool is first'
    """
    return ": ".join(MEASURE_WORDS[key])


def run_names(app: App, runs: Sequence[LabRun]) -> dict[str, str]:
    """A name for each run by its id: the router, a preset other than the usual one, what else is set; of two alike, the ids too."""
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
    except WayfareError:  # a router or preset that is not there any more
        return " · ".join([title, *preset])
    changed = [f"{name} = {value}" for name, value in run.parameters.items() if start.get(name) != value]
    more = [f"{len(changed) - NAMED} more"] if len(changed) > NAMED else []
    return " · ".join([title, *preset, *([", ".join(changed[:NAMED] + more)] if changed else [])])
