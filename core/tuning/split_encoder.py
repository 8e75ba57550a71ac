"""A sentence encoder split in two: frozen lower layers whose output is kept by text, upper layers that may learn."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from core.embedding.base import EncoderError, Vectors, cleaned
from core.embedding.difference import transformer
from core.shared.progress import Report, Step, silent

READING = "Reading texts through the frozen layers"


class SplitEncoder:
    """A BERT-like encoder with mean pooling; only its `upper` layers may learn.

    Raises EncoderError for a model that is not of this kind or has fewer layers.
    """

    def __init__(self, model: Any, layers: int, max_tokens: int, *, bfloat16: bool = False) -> None:
        self.bert: Any = transformer(model)
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
        """The parameters that may learn, by the names that the whole model gives them."""
        for name, parameter in self.upper.named_parameters():
            yield self.full_name(name), parameter

    def full_name(self, name: str) -> str:
        """`0.output.dense.weight` of the upper layers as the model names it: `encoder.layer.3.output.dense.weight`."""
        number, rest = name.split(".", 1)
        return f"encoder.layer.{int(number) + self.first}.{rest}"

    def read(self, texts: Iterable[str], batch: int = 64, report: Report = silent) -> None:
        """Run the lower layers over texts that are not known yet; kept in bfloat16, (tokens, width) each."""
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
        """(N, D) unit rows of texts that were read, with gradients to the upper layers; like lengths share a pass."""
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
        """(N, D) unit rows without gradients; texts are read where they were not."""
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
