"""Tune the upper layers of a sentence encoder to tool retrieval.

    loss_i = -log( exp(q_i.d_i / t) / sum_j exp(q_i.d_j / t) )      InfoNCE with negatives of the batch, t = 0.05

The sum runs over the documents d_j of a batch without further right documents for q_i: its relevant tools, tools of the same
equal set, and twins, full texts with a cosine above 0.92 (van den Oord et al. 2018; Henderson et al. 2017 for the batch). A batch
has a single catalog, so that its negatives are similar tools. Only the upper layers learn. Equal data, seed, threads, processor and torch give equal arrays.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from core.domain.catalog import Tool
from core.domain.progress import Report, Step, silent
from core.relevance.encoder import EncoderError, Vectors, cleaned
from core.relevance.text_views import full
from core.relevance.tuning.judging import LabelledCatalog, Pair, TuningSettings, training_pairs, views_of
from core.relevance.tuning.weights import Change, Matrix

# torch and sentence-transformers carry few types
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

BATCH = 128  # texts that are encoded at once, without gradients


def _upper_layers(model: Any, count: int) -> dict[str, torch.nn.Module]:
    """The upper layers by name. Raises EncoderError for a model that is not BERT-like, or has fewer layers."""
    blocks: list[Any] = list(getattr(getattr(model[0].auto_model, "encoder", None), "layer", ()))
    if count > len(blocks):
        raise EncoderError(f"The model has {len(blocks)} layers of BERT's kind; {count} cannot be tuned.")
    return {f"encoder.layer.{number}": block for number, block in enumerate(blocks) if number >= len(blocks) - count}


def _rows(model: Any, texts: Sequence[str]) -> torch.Tensor:
    """(N, D) unit rows, with gradients to the layers that learn."""
    output = model(model.preprocess([cleaned(text) for text in texts]))["sentence_embedding"]
    return torch.nn.functional.normalize(output.float(), dim=1)


def _encode(model: Any, texts: Sequence[str]) -> Vectors:
    """(N, D) unit rows, without gradients."""
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    parts = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
    with torch.no_grad():
        rows = [_rows(model, [texts[place] for place in block]).numpy() for block in parts]
    return np.concatenate(rows)[np.argsort(order)]


# Hard negatives: the wrong tools that the frozen encoder ranks highest for each query; twins are not wrong

TWIN = 0.92  # cosine of two equal full texts


class HardNegatives:
    def __init__(
        self,
        model: Any,
        catalogs: Sequence[LabelledCatalog],
        pairs: Sequence[Pair],
        settings: TuningSettings,
        report: Report,
    ) -> None:
        self._tools = [{tool.id: tool for tool in catalog.tools} for catalog in catalogs]
        self._hard = settings.hard
        self._best: dict[tuple[int, str], list[str]] = {}
        self._twins: dict[int, dict[str, frozenset[str]]] = {}
        queries: dict[int, dict[str, None]] = defaultdict(dict)
        for pair in pairs:
            queries[pair.catalog][pair.query] = None
        for done, (number, texts) in enumerate(queries.items()):
            report(Step("Ranking wrong tools", done, len(queries)))
            self._look(number, model, catalogs[number], list(texts))

    def accepted(self, pair: Pair) -> frozenset[str]:
        """The tools (ids) that are no negatives of a pair: the right tools and its twins."""
        return pair.accepted | self._twins[pair.catalog][pair.tool]

    def draw(self, pair: Pair, draw: random.Random) -> Tool:
        right = self.accepted(pair)
        near = [key for key in self._best[pair.catalog, pair.query] if key not in right][: self._hard]
        return self._tools[pair.catalog][draw.choice(near or list(self._tools[pair.catalog]))]

    def _look(self, number: int, model: Any, catalog: LabelledCatalog, queries: list[str]) -> None:
        keys = list(self._tools[number])
        rows = _encode(model, [full(tool) for tool in catalog.tools])
        scores = _encode(model, queries) @ rows.T
        for query, order in zip(queries, np.argsort(-scores, axis=1, kind="stable"), strict=True):
            self._best[number, query] = [keys[place] for place in order[: 2 * self._hard]]
        alike = rows @ rows.T > TWIN
        self._twins[number] = {key: frozenset(keys[j] for j in np.flatnonzero(alike[i])) for i, key in enumerate(keys)}


MOMENT_TEXTS = 512  # texts over which the inputs of the matrices are averaged
TOLD_EVERY = 5  # steps


def tune(model: Any, catalogs: Sequence[LabelledCatalog], settings: TuningSettings, report: Report = silent) -> Change:
    """Tunes the upper layers of a sentence-transformers model and returns the whole change (`share` is not applied).

    Restores the weights of `model` afterwards. `report` gets the ranking and each step with its loss. Raises EncoderError for a
    model that is not BERT-like.
    """
    model.eval()  # no dropout, because drawn views replace it
    model.requires_grad_(False)
    model.max_seq_length = settings.max_tokens
    layers = _upper_layers(model, settings.layers)
    learning = {f"{path}.{name}": value for path, layer in layers.items() for name, value in layer.named_parameters()}
    frozen = {name: value.detach().clone() for name, value in learning.items()}
    epochs = [training_pairs(catalogs, settings, epoch) for epoch in range(settings.epochs)]
    plan = [batch for epoch, pairs in enumerate(epochs) for batch in _batches(pairs, settings, epoch)]
    if settings.steps:
        plan = plan[: settings.steps]
    draw = random.Random(settings.seed)  # noqa: S311  repeatable, not secret
    with _threads(settings.threads):
        try:
            _fit(model, list(learning.values()), catalogs, plan, settings, draw, report)
            inputs = _input_moments(model, layers, epochs[0], draw)
            changed = {name: (value - frozen[name]).detach().numpy().copy() for name, value in learning.items()}
        finally:
            for name, value in learning.items():
                value.requires_grad_(False).copy_(frozen[name])
            report(None)
    return Change(changed, inputs)


def _fit(
    model: Any,
    learning: Sequence[torch.nn.Parameter],
    catalogs: Sequence[LabelledCatalog],
    plan: Sequence[Sequence[Pair]],
    settings: TuningSettings,
    draw: random.Random,
    report: Report,
) -> None:
    pairs = [pair for batch in plan for pair in batch]
    with _cast(settings):
        negatives = HardNegatives(model, catalogs, pairs, settings, report)
    for parameter in learning:
        parameter.requires_grad_(True)
    optimizer = torch.optim.AdamW(learning, lr=settings.rate, weight_decay=0.0)
    late = math.nan
    for step, batch in enumerate(plan):
        for group in optimizer.param_groups:
            group["lr"] = settings.rate * _slope(step, len(plan))
        loss = _loss(model, batch, negatives, settings, draw)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learning, 1.0)
        optimizer.step()
        late = float(loss.detach()) if step == 0 else 0.95 * late + 0.05 * float(loss.detach())
        if (step + 1) % TOLD_EVERY == 0 or step + 1 == len(plan):
            report(Step(f"Training, loss {late:.3f}", step + 1, len(plan)))


def _slope(step: int, steps: int) -> float:
    up = max(1, steps // 10)
    return (step + 1) / up if step < up else max(0.0, (steps - step) / max(1, steps - up))


def _batches(pairs: Sequence[Pair], settings: TuningSettings, epoch: int) -> list[list[Pair]]:
    """Batches of a single catalog each, so that negatives come from that catalog."""
    draw = random.Random(f"{settings.seed}/batches/{epoch}")  # noqa: S311  repeatable, not secret
    by_catalog: dict[int, list[Pair]] = defaultdict(list)
    for pair in pairs:
        by_catalog[pair.catalog].append(pair)
    batches: list[list[Pair]] = []
    for group in by_catalog.values():
        draw.shuffle(group)
        parts = max(1, round(len(group) / settings.batch))
        batches += [group[offset::parts] for offset in range(parts)]
    draw.shuffle(batches)
    return batches


def _loss(
    model: Any,
    batch: Sequence[Pair],
    negatives: HardNegatives,
    settings: TuningSettings,
    draw: random.Random,
) -> torch.Tensor:
    others = [negatives.draw(pair, draw) for pair in batch[::2]] if settings.hard else []
    texts = [draw.choice(pair.views) for pair in batch] + [draw.choice(views_of(tool)) for tool in others]
    tool_ids = [pair.tool for pair in batch] + [tool.id for tool in others]
    with _cast(settings):
        queries, documents = _rows(model, [pair.query for pair in batch]), _rows(model, texts)
    scores = queries @ documents.T / settings.temperature
    masked = torch.zeros(scores.shape, dtype=torch.bool)
    for row, pair in enumerate(batch):
        right = negatives.accepted(pair)
        for column, key in enumerate(tool_ids):
            masked[row, column] = column != row and key in right
    scores = scores.masked_fill(masked, -math.inf)
    return torch.nn.functional.cross_entropy(scores, torch.arange(len(batch)))


def _input_moments(
    model: Any, layers: dict[str, torch.nn.Module], pairs: Sequence[Pair], draw: random.Random
) -> dict[str, Matrix]:
    """The mean of x x^T over the inputs x of every upper matrix, over some texts of the training."""
    sums: dict[str, torch.Tensor] = {}
    counts: dict[str, int] = defaultdict(int)

    def watch(name: str) -> Callable[..., None]:
        def hook(_: Any, inputs: tuple[torch.Tensor, ...]) -> None:
            rows = inputs[0].reshape(-1, inputs[0].shape[-1]).float()
            sums[name] = sums.get(name, torch.zeros(())) + rows.T @ rows
            counts[name] += len(rows)

        return hook

    handles = [
        module.register_forward_pre_hook(watch(f"{prefix}.{name}.weight"))
        for prefix, layer in layers.items()
        for name, module in layer.named_modules()
        if isinstance(module, torch.nn.Linear)
    ]
    chosen = draw.sample(list(pairs), min(MOMENT_TEXTS // 2, len(pairs)))
    _encode(model, [text for pair in chosen for text in (pair.query, pair.views[0])])
    for handle in handles:
        handle.remove()
    return {name: (total / counts[name]).numpy() for name, total in sums.items()}


def _cast(settings: TuningSettings) -> torch.autocast:
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=settings.bfloat16)


@contextmanager
def _threads(count: int) -> Generator[None]:
    """Uses `count` threads inside. Sums depend on their division among threads, so only an equal number repeats a result."""
    previous = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(previous)
