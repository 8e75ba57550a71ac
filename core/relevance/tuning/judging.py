"""The gain of a tuned encoder over the frozen one: dense retrieval over labelled tasks with intervals; and the training catalogs.

MRR is the mean over queries of 1 / rank of the best right tool; tools of an equal score share their ranks. The interval is a
paired bootstrap over queries (Efron and Tibshirani 1993). A gain on a few queries alone has zero in its interval.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import sample_catalog
from core.domain.catalog import Catalog
from core.domain.errors import CatalogError
from core.domain.tasks import Task
from core.importers import read_files, read_tasks
from core.importers.shipped_catalogs import SAMPLE, SHIPPED_CATALOGS
from core.relevance.calibration import change_of_means
from core.relevance.encoder import Vectors
from core.relevance.text_views import full, names
from core.relevance.tuning.pairs import LabelledCatalog, labelled
from sample_catalog import testbeds

Encode = Callable[[Sequence[str]], Vectors]
Ranks = NDArray[np.float64]
VIEWS = ("full", "names", "mean")  # two texts of a tool, and the mean of their cosines
TOUCH = 1e-7  # cosines nearer than this are equal
FEW = 0.1  # a catalog with a larger share of trained tools counts as known


@dataclass(frozen=True, slots=True)
class Quality:
    """One encoder over a task file: mean reciprocal rank, and the shares of queries with a right tool among the first 1 and 3."""

    mrr: float
    hit_1: float
    hit_3: float

    @classmethod
    def of(cls, ranks: Ranks) -> Quality:
        """From the ranks (Q,) of the best right tool."""
        return cls(float((1 / ranks).mean()), float((ranks <= 1).mean()), float((ranks <= 3).mean()))


@dataclass(frozen=True, slots=True)
class Judgement:
    """One view of one task file. The gain of MRR has the 95 % interval from `low` to `high`."""

    name: str
    view: str
    queries: int
    left_out: bool
    frozen: Quality
    tuned: Quality
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Trained:
    """The texts of a training."""

    queries: frozenset[str]
    documents: frozenset[str]

    @classmethod
    def on(cls, catalogs: Sequence[LabelledCatalog]) -> Trained:
        """Labelled texts, and the tools' full texts."""
        queries = frozenset(query for catalog in catalogs for query, _ in labelled(catalog.tasks))
        return cls(queries, frozenset(full(tool) for catalog in catalogs for tool in catalog.tools))

    def leaves_out(self, judged: LabelledCatalog) -> bool:
        """Whether a catalog is as good as new: none of its queries and at most a tenth of its tools were trained on."""
        known = sum(full(tool) in self.documents for tool in judged.tools)
        return not self.queries & {query for query, _ in queries_of(judged)} and known <= FEW * len(judged.tools)


def judge(judged: LabelledCatalog, frozen: Encode, tuned: Encode, trained: Trained) -> list[Judgement]:
    """Both encoders on one labelled catalog, in each view."""
    before, after, left_out = ranks_of(judged, frozen), ranks_of(judged, tuned), trained.leaves_out(judged)
    return [
        Judgement(
            judged.name,
            view,
            len(before[view]),
            left_out,
            Quality.of(before[view]),
            Quality.of(after[view]),
            *_gain(1 / before[view], 1 / after[view]),
        )
        for view in VIEWS
    ]


def conclusion(judgements: Sequence[Judgement]) -> str:
    """One sentence on whether the tuned encoder helps on catalogs outside its training."""
    fresh = [judgement for judgement in judgements if judgement.left_out]
    files = list(dict.fromkeys(judgement.name for judgement in fresh))
    better = [name for name in files if any(j.low > 0 for j in fresh if j.name == name)]
    worse = [name for name in files if any(j.high < 0 for j in fresh if j.name == name)]
    if not files:
        return "Whether it helps is not known: give tasks of a catalog that it was not trained on with --judge."
    if worse:
        return f"It harms {', '.join(worse)} beyond doubt: keep the encoder that you have."
    if better:
        return (
            f"It helps: MRR rises beyond doubt on {len(better)} of {len(files)} left-out task files and falls on none."
        )
    return "It is not shown to help: on no left-out task file does MRR rise beyond doubt; give more tasks to tell."


def queries_of(judged: LabelledCatalog) -> list[tuple[str, frozenset[str]]]:
    """One text of each task, as a person asks it if that is known, with its right tools in the catalog."""
    known = {tool.id for tool in judged.tools}
    found = [(task.question or task.subtask, known.intersection(task.relevant)) for task in judged.tasks]
    return [(query, frozenset(right)) for query, right in found if query.strip() and right]


def ranks_of(judged: LabelledCatalog, encode: Encode) -> dict[str, Ranks]:
    """For each view the rank (Q,) of the best right tool of each query, from 1; half ranks where scores are equal."""
    asked = queries_of(judged)
    queries = encode([query for query, _ in asked])
    whole = queries @ encode([full(tool) for tool in judged.tools]).T
    named = queries @ encode([names(tool) for tool in judged.tools]).T
    rows = {tool.id: row for row, tool in enumerate(judged.tools)}
    right = [[rows[key] for key in sorted(keys)] for _, keys in asked]
    scores = {"full": whole, "names": named, "mean": (whole + named) / 2}
    return {
        view: np.array([rank_of(of[place], found) for place, found in enumerate(right)]) for view, of in scores.items()
    }


def rank_of(scores: Vectors, right: Sequence[int]) -> float:
    """The rank of the best right row among all. Wrong rows of an equal score count half.

    >>> rank_of(np.array([0.9, 0.5, 0.5, 0.1], dtype=np.float32), [2])
    2.5
    """
    best = float(scores[list(right)].max())
    wrong = np.delete(scores, list(right))
    return 1.0 + float((wrong > best + TOUCH).sum()) + 0.5 * float((np.abs(wrong - best) <= TOUCH).sum())


def _gain(before: Ranks, after: Ranks) -> tuple[float, float]:
    change = change_of_means(before, after)
    return change.low, change.high


# Training catalogs: the shipped ones with their labels, and those that an operator adds

# the order makes a training repeatable; everyday.jsonl is left out, for judging
SAMPLE_TASKS = (
    "l1_direct", "l2_context", "ehrr_categories", "pa_rag_simple", "subtasks",
    "l3_within_server", "l4_across_servers", "pa_rag_complex",
)  # fmt: skip
TASK_FILES = {
    SAMPLE: [sample_catalog.TASKS_DIR / f"{name}.jsonl" for name in SAMPLE_TASKS],
    "attention-120": [testbeds.ATTENTION_TASKS],
    "search-15": [testbeds.SEARCH_TASKS],
}


def shipped_catalogs() -> list[LabelledCatalog]:
    """The sample and both testbeds, with their labelled tasks and sets of equal tools."""
    entries = json.loads(sample_catalog.EQUAL_SETS.read_text("utf-8"))
    equal = tuple(frozenset[str](entry["tools"]) for entry in entries)
    return [
        LabelledCatalog(
            name,
            tuple(tool for server in read_files(SHIPPED_CATALOGS[name].files()).servers for tool in server.tools),
            tuple(task for path in paths for task in read_tasks(path.read_bytes(), source=path.name)),
            equal,
        )
        for name, paths in TASK_FILES.items()
    ]


def labelled_catalog(catalog: Catalog, tasks: Sequence[Task] = ()) -> LabelledCatalog:
    """A catalog with tasks. Raises CatalogError if there are tasks but none names a tool of the catalog.

    >>> from core.domain.catalog import Server, Tool
    >>> catalog = Catalog("mine", (Server("files", tools=(Tool("files", "read", "Reads a file."),)),))
    >>> labelled_catalog(catalog, [Task("t1", "open it", relevant=("disk::read",))])
    Traceback (most recent call last):
    core.domain.errors.CatalogError: No task names a tool of the catalog mine; give the tasks that were labelled with it.
    """
    tools = tuple(tool for server in catalog.servers for tool in server.tools)
    known = {tool.id for tool in tools}
    if tasks and not any(known.intersection(relevant) for _, relevant in labelled(tasks)):
        raise CatalogError(
            f"No task names a tool of the catalog {catalog.name}; give the tasks that were labelled with it."
        )
    return LabelledCatalog(catalog.name, tools, tuple(tasks))
