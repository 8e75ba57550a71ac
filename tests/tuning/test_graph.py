"""The encoder that serves beside its model on torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.relevance.encoder import Vectors
from core.relevance.onnx_encoder import OnnxEncoder, changes, model_folder, read_difference, tuned_folder

TEXTS = [
    "read a file",
    "Search the web for recent news about a company and return titles, links and snippets.",
    "get_weather byCity: {'city': 'Zürich', 'units': '°C'}",
    "使用必应搜索指定的关键词",
    "日本語のテキスト 한국어 العربية עברית हिन्दी",
    "😀 👩‍👩‍👧 \u200b\u0000 �",
    "x" * 300,
    "one two three four five. " * 60,
    "漢字" * 40,
]


@pytest.fixture(scope="module")
def torch_model() -> Any:
    from core.relevance.tuning.weights import frozen_model

    return frozen_model()


def test_vectors_and_token_vectors_are_torchs_frozen_and_tuned(torch_model: Any, tmp_path: Path) -> None:
    import torch

    by_model = list[Vectors]()
    for folder in (model_folder(), tuned_folder(model_folder())):
        if folder.difference is not None:
            parameters = dict(torch_model[0].named_parameters())
            with torch.no_grad():
                for name, values in changes(read_difference(folder.difference)[0]).items():
                    next(parameter for key, parameter in parameters.items() if key.endswith(name)).add_(
                        torch.from_numpy(values)
                    )
        vectors, tokens = OnnxEncoder(tmp_path, folder).with_tokens(TEXTS)
        by_model.append(vectors)
        expected = torch_model.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)
        of_tokens = torch_model.encode(TEXTS[:2], output_value="token_embeddings", show_progress_bar=False)
        np.testing.assert_allclose(np.vecdot(vectors, expected), 1.0, atol=1e-5)
        for actual, rows in zip(tokens, of_tokens, strict=False):
            words = rows.numpy()[1 : len(actual) + 1]  # without the marks of beginning and end
            cosines = np.vecdot(actual, words) / np.linalg.norm(words, axis=1)
            np.testing.assert_allclose(cosines, 1, atol=1e-5)
    # a tool's frozen and tuned vectors had a cosine of .926 on average and .819 at least (docs/decisions/0014-tuned-encoder.md)
    assert 0.85 < np.vecdot(*by_model).mean() < 0.98
