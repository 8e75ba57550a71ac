"""The gain of a tuned encoder over the frozen encoder: dense retrieval over labelled tasks with intervals; and the training catalogs.

MRR is the mean over queries of 1 / rank of the best right tool. Tools of an equal score share their ranks. The interval is a
paired bootstrap over queries (Efron and Tibshirani 1993). A gain on a few queries alone has zero in its interval.

Training texts of an encoder: texts that ask for a tool, labelled or made by rules from the tool; and the settings of the training.

A document is one view of its tool, drawn at random, so that no single view decides. A text made from a tool is paired with
views that do not repeat it.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import sample_catalog
from core.domain.catalog import Catalog, Tool, first_sentence, words
from core.domain.errors import CatalogError, ParameterError
from core.domain.tasks import Task
from core.importers import read_files, read_tasks
from core.importers.shipped_catalogs import SAMPLE, SHIPPED_CATALOGS
from core.relevance.calibration import change_of_means
from core.relevance.encoder import Vectors
from core.relevance.text_views import description, full, imperative, names, parameters
from sample_catalog import testbeds


@dataclass(frozen=True, slots=True)
class TuningSettings:
    """How to tune. Raises ParameterError for a number below its minimum.

    `rate` is AdamW's highest rate, reached after a tenth of the steps, then falling to 0. `share` of the change is kept, as factors of
    `rank`, because weights between frozen and tuned weights do better on other catalogs than either.

    >>> TuningSettings(rank=0)
    Traceback (most recent call last):
    core.domain.errors.ParameterError: rank is 0; give 1 or more.
    """

    layers: int = 3  # from the top, that learn
    rate: float = 1e-4
    epochs: int = 1
    batch: int = 32
    temperature: float = 0.05
    share: float = 0.75
    positives: int = 1  # of a query's right tools, drawn for each epoch
    synthetic: int = 1  # texts made from each tool, for each epoch
    hard: int = 20  # negatives that the frozen encoder ranks highest, drawn for every second pair; 0: none
    max_tokens: int = 64
    seed: int = 11
    threads: int = 2
    bfloat16: bool = True  # for the products; weights and optimiser stay in float32
    rank: int = 46
    steps: int = 0  # stop after so many, for a trial; 0: all steps

    def __post_init__(self) -> None:
        for name in ("layers", "epochs", "batch", "positives", "max_tokens", "threads", "rank"):
            if (value := getattr(self, name)) < 1:
                raise ParameterError(f"{name} is {value}; give 1 or more.")
        for name in ("synthetic", "hard", "steps", "seed"):
            if (value := getattr(self, name)) < 0:
                raise ParameterError(f"{name} is {value}; give 0 or more.")


LEAST_CHARACTERS = 15  # a shorter description says no more than the name
VIEW_CHARACTERS = 400
REST_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class LabelledCatalog:
    name: str
    tools: tuple[Tool, ...]
    tasks: tuple[Task, ...] = ()
    equal: tuple[frozenset[str], ...] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """A text, the tool that it asks for, and all right tools (`accepted`, ids).

    `catalog` is the position of its catalog, `views` are the tool's texts for pairing.
    """

    catalog: int
    query: str
    tool: str
    accepted: frozenset[str]
    views: tuple[str, ...]


def training_pairs(catalogs: Sequence[LabelledCatalog], settings: TuningSettings, epoch: int) -> list[Pair]:
    """The pairs of an epoch: labelled pairs, and pairs made from the tools' texts. Deterministic in seed and epoch."""
    draw = random.Random(f"{settings.seed}/{epoch}")  # noqa: S311  repeatable, not secret
    pairs: list[Pair] = []
    for number, catalog in enumerate(catalogs):
        tools = {tool.id: tool for tool in catalog.tools}
        equals = _equals(catalog)
        for query, relevant in labelled(catalog.tasks):
            right = [key for key in relevant if key in tools]
            accepted = frozenset(right).union(*(equals[key] for key in right))
            for key in draw.sample(right, min(len(right), settings.positives)):
                pairs.append(Pair(number, query, key, accepted, views_of(tools[key])))
        for tool in catalog.tools:
            texts = synthetic(tool)
            for query, views in draw.sample(texts, min(len(texts), settings.synthetic)):
                pairs.append(Pair(number, query, tool.id, frozenset({tool.id}) | equals[tool.id], views))
    return pairs


def labelled(tasks: Iterable[Task]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Texts by people or models with their right tools: question, sub-task, and every step of a plan.

    All tools of a plan are right for its question. Each step has its right tools.
    """
    for task in tasks:
        for text in dict.fromkeys((task.question, task.subtask)):
            if text.strip() and task.relevant:
                yield text, task.relevant
        for step in task.plan if len(task.plan) > 1 else ():
            if step.subtask.strip():
                yield step.subtask, (step.tool, *step.equal)


def synthetic(tool: Tool) -> list[tuple[str, tuple[str, ...]]]:
    """Texts made from a tool by rules, each with views that do not repeat it.

    >>> [query for query, _ in synthetic(Tool("hub", "list_issues", "Lists open issues."))]
    ['list issues', 'How do I list open issues?', 'list open issues']
    """
    sentence = first_sentence(tool.description, 120)
    does = imperative(sentence)
    rest = tool.description.strip()[len(sentence) :].strip()
    named = f"{names(tool)}; {parameters(tool)}".strip("; ")[:VIEW_CHARACTERS]
    texts: list[tuple[str, tuple[str, ...]]] = []
    if len(tool.description.strip()) > LEAST_CHARACTERS:
        texts.append((words(tool.name), (description(tool),)))
    if len(does) > 12:
        texts += [(f"How do I {does}?", (names(tool), named)), (does, (names(tool), named))]
    if len(rest) > 30:
        texts.append((rest[:REST_CHARACTERS], (f"{names(tool)}: {sentence}",)))
    return texts


def views_of(tool: Tool) -> tuple[str, ...]:
    """The texts of a tool for pairs; likelier texts occur more than once."""
    short = f"{names(tool)}: {first_sentence(tool.description)}"
    unnamed = f"{words(tool.name)}: {tool.description.strip()}"[:1000]
    views = (full(tool), full(tool), full(tool), names(tool), names(tool), short, unnamed, description(tool))
    return tuple(view for view in views if view.strip())


def _equals(catalog: LabelledCatalog) -> defaultdict[str, frozenset[str]]:
    equals: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for group in catalog.equal:
        for key in group:
            equals[key] |= group
    return equals


Encode = Callable[[Sequence[str]], Vectors]
Ranks = NDArray[np.float64]
VIEWS = ("full", "names", "mean")  # two texts of a tool, and the mean of their cosines
TOUCH = 1e-7  # cosines nearer than this are equal
FEW = 0.1  # a catalog with a larger share of trained tools counts as known


@dataclass(frozen=True, slots=True)
class Quality:
    """An encoder over a task file: mean reciprocal rank, and the shares of queries with a right tool among the first 1 and 3."""

    mrr: float
    hit_1: float
    hit_3: float

    @classmethod
    def of(cls, ranks: Ranks) -> Quality:
        return cls(float((1 / ranks).mean()), float((ranks <= 1).mean()), float((ranks <= 3).mean()))


@dataclass(frozen=True, slots=True)
class Judgement:
    """A view of a task file. The gain of MRR has the 95 % interval from `low` to `high`."""

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
    queries: frozenset[str]
    documents: frozenset[str]

    @classmethod
    def on(cls, catalogs: Sequence[LabelledCatalog]) -> Trained:
        queries = frozenset(query for catalog in catalogs for query, _ in labelled(catalog.tasks))
        return cls(queries, frozenset(full(tool) for catalog in catalogs for tool in catalog.tools))

    def leaves_out(self, judged: LabelledCatalog) -> bool:
        """Whether a catalog counts as new: the training had none of its queries and at most a tenth of its tools."""
        count = sum(full(tool) in self.documents for tool in judged.tools)
        return not self.queries & {query for query, _ in queries_of(judged)} and count <= FEW * len(judged.tools)


def judge(judged: LabelledCatalog, frozen: Encode, tuned: Encode, trained: Trained) -> list[Judgement]:
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
    """A sentence on whether the tuned encoder helps on catalogs outside its training."""
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
    """The question of each task, or its sub-task, with its right tools in the catalog."""
    tool_ids = {tool.id for tool in judged.tools}
    pairs = [(task.question or task.subtask, tool_ids.intersection(task.relevant)) for task in judged.tasks]
    return [(query, frozenset(right)) for query, right in pairs if query.strip() and right]


def ranks_of(judged: LabelledCatalog, encode: Encode) -> dict[str, Ranks]:
    """For each view the rank (Q,) of the best right tool of each query, from 1; half ranks if scores are equal."""
    pairs = queries_of(judged)
    queries = encode([query for query, _ in pairs])
    whole = queries @ encode([full(tool) for tool in judged.tools]).T
    named = queries @ encode([names(tool) for tool in judged.tools]).T
    rows = {tool.id: row for row, tool in enumerate(judged.tools)}
    right = [[rows[key] for key in sorted(keys)] for _, keys in pairs]
    scores = {"full": whole, "names": named, "mean": (whole + named) / 2}
    return {
        view: np.array([rank_of(matrix[i], tools) for i, tools in enumerate(right)]) for view, matrix in scores.items()
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
    tool_ids = {tool.id for tool in tools}
    if tasks and not any(tool_ids.intersection(relevant) for _, relevant in labelled(tasks)):
        raise CatalogError(
            f"No task names a tool of the catalog {catalog.name}; give the tasks that were labelled with it."
        )
    return LabelledCatalog(catalog.name, tools, tuple(tasks))
