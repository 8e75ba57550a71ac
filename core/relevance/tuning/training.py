"""Tune the upper layers of a sentence encoder to tool retrieval.

    loss_i = -log( exp(q_i.d_i / t) / sum_j exp(q_i.d_j / t) )      InfoNCE with negatives of the batch, t = 0.05

The sum runs over the documents d_j of a batch without those that are right for q_i as well: its relevant tools, tools of the same
equal set, and twins, full texts with a cosine above 0.92 (van den Oord et al. 2018; Henderson et al. 2017 for the batch). A batch
has one catalog, so that its negatives are tools that could be mistaken. Only the upper layers learn; the output of the lower ones
is computed once for each text. Seeded: the same data, seed, threads, processor and torch give the same arrays.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
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

# The encoder in two parts: frozen lower layers with kept outputs, upper layers that may learn

READING = "Reading texts through the frozen layers"


class SplitEncoder:
    """A BERT-like encoder with mean pooling. Only its `upper` layers may learn.

    Raises EncoderError for a model of another kind or with fewer layers.
    """

    def __init__(self, model: Any, layers: int, max_tokens: int, *, bfloat16: bool = False) -> None:
        self.bert: Any = getattr(model[0], "auto_model", None) or model[0].model  # two names of sentence-transformers
        self.tokenizer: Any = model.tokenizer
        self.max_tokens = max_tokens
        self.bfloat16 = bfloat16
        blocks: list[Any] = list(getattr(getattr(self.bert, "encoder", None), "layer", ()))
        if not layers <= len(blocks):
            raise EncoderError(f"The model has {len(blocks)} layers of BERT's kind; {layers} cannot be tuned.")
        self.first = len(blocks) - layers
        self.lower, self.upper = blocks[: self.first], torch.nn.ModuleList(blocks[self.first :])
        self._kept: dict[str, torch.Tensor] = {}
        for parameter in self.bert.parameters():
            parameter.requires_grad_(False)

    def parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        for name, parameter in self.upper.named_parameters():
            yield self.full_name(name), parameter

    def full_name(self, name: str) -> str:
        """`0.output.dense.weight` of the upper layers as the model names it: `encoder.layer.3.output.dense.weight`."""
        number, rest = name.split(".", 1)
        return f"encoder.layer.{int(number) + self.first}.{rest}"

    def read(self, texts: Iterable[str], batch: int = 64, report: Report = silent) -> None:
        """Run the lower layers over unknown texts; the outputs are kept in bfloat16, (tokens, width) each."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._kept]
        missing.sort(key=len)
        for start in range(0, len(missing), batch):
            if start % (8 * batch) == 0 and len(missing) > batch:
                report(Step(READING, start, len(missing)))
            part = missing[start : start + batch]
            ids = self.tokenizer(
                [cleaned(text) for text in part],
                padding=True,
                truncation=True,
                max_length=self.max_tokens,
                return_tensors="pt",
            )
            mask = ids["attention_mask"]
            with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.bfloat16):
                hidden = self.bert.embeddings(input_ids=ids["input_ids"], token_type_ids=ids.get("token_type_ids"))
                hidden = _through(self.lower, hidden, mask)
            for text, row, length in zip(part, hidden, mask.sum(1).tolist(), strict=True):
                self._kept[text] = row[:length].to(torch.bfloat16).clone()

    def forward(self, texts: Sequence[str]) -> torch.Tensor:
        """(N, D) unit rows of texts that were read, with gradients to the upper layers. Texts of similar length share a pass."""
        order = sorted(range(len(texts)), key=lambda place: len(self._kept[texts[place]]))
        rows: list[torch.Tensor] = []
        half = max(1, (len(order) + 1) // 2)
        for start in range(0, len(order), half):
            kept = [self._kept[texts[place]] for place in order[start : start + half]]
            hidden = torch.nn.utils.rnn.pad_sequence(kept, batch_first=True).float()
            lengths = torch.tensor([len(item) for item in kept])
            mask = (torch.arange(hidden.shape[1])[None, :] < lengths[:, None]).long()
            hidden = _through(self.upper, hidden, mask).float()
            pooled = (hidden * mask[..., None]).sum(1) / lengths[:, None]
            rows.append(torch.nn.functional.normalize(pooled, dim=1))
        back = torch.empty(len(order), dtype=torch.long)
        back[torch.tensor(order)] = torch.arange(len(order))
        return torch.cat(rows)[back]

    def encode(self, texts: Sequence[str], batch: int = 128) -> Vectors:
        self.read(texts)
        order = sorted(range(len(texts)), key=lambda place: len(self._kept[texts[place]]))
        found = np.zeros((len(texts), int(self.bert.config.hidden_size)), dtype=np.float32)
        with torch.no_grad():
            for start in range(0, len(order), batch):
                places = order[start : start + batch]
                found[places] = self.forward([texts[place] for place in places]).numpy()
        return found


def _through(blocks: Iterable[Any], hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    bias = (1.0 - mask[:, None, None, :].to(hidden.dtype)) * torch.finfo(hidden.dtype).min
    for block in blocks:
        hidden = block(hidden, bias)
        hidden = hidden[0] if isinstance(hidden, tuple) else hidden
    return hidden


# Hard negatives: the wrong tools that the frozen encoder ranks highest for each query; twins are not wrong

TWIN = 0.92  # cosine of two full texts that say the same


class HardNegatives:
    def __init__(
        self,
        encoder: SplitEncoder,
        catalogs: Sequence[LabelledCatalog],
        pairs: Sequence[Pair],
        settings: TuningSettings,
    ) -> None:
        self._tools = [{tool.id: tool for tool in catalog.tools} for catalog in catalogs]
        self._hard = settings.hard
        self._best: dict[tuple[int, str], list[str]] = {}
        self._twins: list[dict[str, frozenset[str]]] = []
        queries: dict[int, dict[str, None]] = defaultdict(dict)
        for pair in pairs:
            queries[pair.catalog][pair.query] = None
        for number, catalog in enumerate(catalogs):
            self._look(number, encoder, catalog, list(queries[number]))

    def accepted(self, pair: Pair) -> frozenset[str]:
        """Every tool (id) that is no negative of a pair: the right ones and its twins."""
        return pair.accepted | self._twins[pair.catalog][pair.tool]

    def draw(self, pair: Pair, draw: random.Random) -> Tool:
        right = self.accepted(pair)
        near = [key for key in self._best[pair.catalog, pair.query] if key not in right][: self._hard]
        return self._tools[pair.catalog][draw.choice(near or list(self._tools[pair.catalog]))]

    def _look(self, number: int, encoder: SplitEncoder, catalog: LabelledCatalog, queries: list[str]) -> None:
        keys = list(self._tools[number])
        rows = encoder.encode([full(tool) for tool in catalog.tools])
        scores = encoder.encode(queries) @ rows.T
        for query, order in zip(queries, np.argsort(-scores, axis=1, kind="stable"), strict=True):
            self._best[number, query] = [keys[place] for place in order[: 2 * self._hard]]
        alike = rows @ rows.T > TWIN
        self._twins.append({key: frozenset(keys[j] for j in np.flatnonzero(alike[i])) for i, key in enumerate(keys)})


# Training

MOMENT_TEXTS = 512  # texts over which the inputs of the matrices are averaged
TOLD_EVERY = 5  # steps


def tune(model: Any, catalogs: Sequence[LabelledCatalog], settings: TuningSettings, report: Report = silent) -> Change:
    """Tune the upper layers of a sentence-transformers model and return the whole change (`share` is not applied).

    `model` has its own weights again afterwards. `report` gets the reading and each step with its loss. Raises EncoderError for a
    model that is not BERT-like.
    """
    model.eval()  # no dropout: drawn views replace it, and the kept outputs need it off
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
    up = max(1, steps // 10)
    return (step + 1) / up if step < up else max(0.0, (steps - step) / max(1, steps - up))


def _batches(pairs: Sequence[Pair], settings: TuningSettings, epoch: int) -> list[list[Pair]]:
    """Batches of one catalog each, so that negatives come from the same catalog."""
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
    """Use so many threads inside. Sums depend on their division among threads, so the number must be the same to repeat a result."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
