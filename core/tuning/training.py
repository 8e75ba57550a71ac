"""Tune the upper layers of a sentence encoder to tool retrieval.

    loss_i = -log( exp(q_i.d_i / t) / sum_j exp(q_i.d_j / t) )      InfoNCE with negatives of the batch, t = 0.05

over the documents d_j of a batch, without those that are right for q_i as well (its relevant tools, tools of the same equal
set, and twins: full texts with a cosine above 0.92). van den Oord et al. 2018; Henderson et al. 2017 for the batch. A batch is
of one catalog, so every negative is a tool that could be mistaken. Only the upper layers learn; what the lower ones say of a
text is computed once. Seeded: the same data, seed, threads, processor and torch give the same arrays.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from core.embedding.difference import Change, Matrix
from core.shared.progress import Report, Step, silent
from core.tuning.negatives import HardNegatives
from core.tuning.pairs import LabelledCatalog, Pair, training_pairs, views_of
from core.tuning.settings import TuningSettings
from core.tuning.split_encoder import SplitEncoder

MOMENT_TEXTS = 512  # over which the inputs of the matrices are averaged
TOLD_EVERY = 5  # steps


def tune(model: Any, catalogs: Sequence[LabelledCatalog], settings: TuningSettings, report: Report = silent) -> Change:
    """Tune the upper layers of a sentence-transformers model and return what changed, whole (`share` is not applied).

    `model` has its own weights again afterwards. `report` is told what is read and each step with its loss.
    Raises EncoderError for a model that is not BERT-like.
    """
    model.eval()  # no dropout: the drawn views do its work, and kept outputs of the lower layers need it off
    encoder = SplitEncoder(model, settings.layers, settings.max_tokens, bfloat16=settings.bfloat16)
    before = {name: value.detach().clone() for name, value in encoder.parameters()}
    epochs = [training_pairs(catalogs, settings, epoch) for epoch in range(settings.epochs)]
    plan = [batch for epoch, pairs in enumerate(epochs) for batch in _batches(pairs, settings, epoch)]
    if settings.steps:
        plan = plan[: settings.steps]
    draw = random.Random(settings.seed)  # noqa: S311  repeatable, not secret
    with _threads(settings.threads):
        try:
            _fit(encoder, catalogs, plan, settings, draw, report)
            inputs = _input_moments(encoder, epochs[0], draw)
            changed = {name: (value - before[name]).detach().numpy().copy() for name, value in encoder.parameters()}
        finally:
            for name, value in encoder.parameters():
                value.requires_grad_(False).copy_(before[name])
            report(None)
    return Change(changed, inputs)


def _fit(
    encoder: SplitEncoder,
    catalogs: Sequence[LabelledCatalog],
    plan: Sequence[Sequence[Pair]],
    settings: TuningSettings,
    draw: random.Random,
    report: Report,
) -> None:
    pairs = [pair for batch in plan for pair in batch]
    encoder.read((view for catalog in catalogs for tool in catalog.tools for view in views_of(tool)), report=report)
    encoder.read((text for pair in pairs for text in (pair.query, *pair.views)), report=report)
    with _cast(settings):
        negatives = HardNegatives(encoder, catalogs, pairs, settings)
    learning = [parameter.requires_grad_(True) for _, parameter in encoder.parameters()]
    optimizer = torch.optim.AdamW(learning, lr=settings.rate, weight_decay=0.0)
    late = math.nan
    for step, batch in enumerate(plan):
        for group in optimizer.param_groups:
            group["lr"] = settings.rate * _slope(step, len(plan))
        loss = _loss(encoder, batch, negatives, settings, draw)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learning, 1.0)
        optimizer.step()
        late = float(loss.detach()) if step == 0 else 0.95 * late + 0.05 * float(loss.detach())
        if (step + 1) % TOLD_EVERY == 0 or step + 1 == len(plan):
            report(Step(f"Training, loss {late:.3f}", step + 1, len(plan)))
    for parameter in learning:
        parameter.requires_grad_(False)


def _slope(step: int, steps: int) -> float:
    """A tenth of the steps up, then straight down to nothing."""
    up = max(1, steps // 10)
    return (step + 1) / up if step < up else max(0.0, (steps - step) / max(1, steps - up))


def _batches(pairs: Sequence[Pair], settings: TuningSettings, epoch: int) -> list[list[Pair]]:
    """Batches of pairs of one catalog each (negatives are of the same catalog)."""
    draw = random.Random(f"{settings.seed}/batches/{epoch}")  # noqa: S311  repeatable, not secret
    by_catalog: dict[int, list[Pair]] = defaultdict(list)
    for pair in pairs:
        by_catalog[pair.catalog].append(pair)
    batches: list[list[Pair]] = []
    for found in by_catalog.values():
        draw.shuffle(found)
        parts = max(1, round(len(found) / settings.batch))
        batches += [found[part::parts] for part in range(parts)]
    draw.shuffle(batches)
    return batches


def _loss(
    encoder: SplitEncoder,
    batch: Sequence[Pair],
    negatives: HardNegatives,
    settings: TuningSettings,
    draw: random.Random,
) -> torch.Tensor:
    others = [negatives.draw(pair, draw) for pair in batch[::2]] if settings.hard else []
    texts = [draw.choice(pair.views) for pair in batch] + [draw.choice(views_of(tool)) for tool in others]
    shown = [pair.tool for pair in batch] + [tool.id for tool in others]
    with _cast(settings):
        queries = encoder.forward([pair.query for pair in batch])
        documents = encoder.forward(texts)
    scores = queries @ documents.T / settings.temperature
    masked = torch.zeros(scores.shape, dtype=torch.bool)
    for row, pair in enumerate(batch):
        right = negatives.accepted(pair)
        for column, key in enumerate(shown):
            masked[row, column] = column != row and key in right
    scores = scores.masked_fill(masked, -math.inf)
    return torch.nn.functional.cross_entropy(scores, torch.arange(len(batch)))


def _input_moments(encoder: SplitEncoder, pairs: Sequence[Pair], draw: random.Random) -> dict[str, Matrix]:
    """The mean of x x^T over the inputs x of every upper matrix, over some texts of the training."""
    sums: dict[str, torch.Tensor] = {}
    counts: dict[str, int] = defaultdict(int)

    def watch(name: str) -> Callable[..., None]:
        def hook(_: Any, given: tuple[torch.Tensor, ...]) -> None:
            rows = given[0].reshape(-1, given[0].shape[-1]).float()
            sums[name] = sums.get(name, torch.zeros(())) + rows.T @ rows
            counts[name] += len(rows)

        return hook

    matrices = [(name, part) for name, part in encoder.upper.named_modules() if isinstance(part, torch.nn.Linear)]
    handles = [part.register_forward_pre_hook(watch(encoder.full_name(f"{name}.weight"))) for name, part in matrices]
    chosen = draw.sample(list(pairs), min(MOMENT_TEXTS // 2, len(pairs)))
    encoder.encode([text for pair in chosen for text in (pair.query, pair.views[0])])
    for handle in handles:
        handle.remove()
    return {name: (total / counts[name]).numpy() for name, total in sums.items()}


def _cast(settings: TuningSettings) -> torch.autocast:
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=settings.bfloat16)


@contextmanager
def _threads(count: int) -> Generator[None]:
    """So many threads inside; sums depend on how they are shared out, so the number is part of what is repeatable."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
