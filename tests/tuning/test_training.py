"""A training on toy data: seeded, undone in the model, told step by step; its change as low-rank factors and as a file."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.domain.progress import Step
from core.relevance.encoder import EncoderError
from core.relevance.onnx_encoder import changes, read_difference
from core.relevance.tuning.judging import TuningSettings
from core.relevance.tuning.weights import Change, low_rank, write_difference
from tests.cases import each

from .toys import CATALOG, toy_transformer

SETTINGS = TuningSettings(layers=2, rate=1e-2, batch=8, hard=2, threads=1, bfloat16=False, rank=4, steps=2, seed=3)


def tune(*arguments: Any) -> Change:
    """`core.relevance.tuning.training.tune`, imported when it is called: it loads torch."""
    from core.relevance.tuning import training

    return training.tune(*arguments)


@pytest.fixture(scope="module")
def change() -> Change:
    return tune(toy_transformer(), [CATALOG], SETTINGS)


def test_the_same_seed_gives_the_same_arrays_and_another_gives_others(change: Change) -> None:
    same_seed, other_seed = low_rank(tune(toy_transformer(), [CATALOG], SETTINGS), 4), low_rank(change, 4)
    assert {name: values.tobytes() for name, values in same_seed.items()} == {
        n: v.tobytes() for n, v in other_seed.items()
    }
    seeded = tune(toy_transformer(), [CATALOG], TuningSettings(**{**_fields(SETTINGS), "seed": 4}))
    assert any(not np.array_equal(seeded.weights[name], values) for name, values in change.weights.items())


def test_the_upper_layers_alone_learn_and_the_model_is_as_it_was(change: Change) -> None:
    import torch

    model, threads = toy_transformer(), torch.get_num_threads()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    tune(model, [CATALOG], SETTINGS)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert torch.get_num_threads() == threads
    assert {name.split(".")[2] for name in change.weights} == {"1", "2"}
    assert any(np.abs(values).max() > 1e-3 for values in change.weights.values())
    assert all(np.isfinite(values).all() for values in change.weights.values())
    matrices = {name for name, values in change.weights.items() if values.ndim == 2}
    assert matrices == set(change.inputs)


def test_training_lowers_the_loss_and_tells_each_step() -> None:
    steps: list[Step | None] = []
    settings = TuningSettings(**{**_fields(SETTINGS), "steps": 0, "epochs": 12, "synthetic": 0, "positives": 2})
    tune(toy_transformer(), [CATALOG], settings, steps.append)
    losses = [float(step.what.rpartition(" ")[2]) for step in steps if step and step.what.startswith("Training")]
    assert steps[-1] is None
    assert steps[-2] is not None
    assert steps[-2].done == steps[-2].total == 12
    assert losses[-1] < losses[0] < 3 * math.log(12)


def test_a_model_without_such_layers_is_one_sentence() -> None:
    import torch

    with pytest.raises(EncoderError, match="The model has 3 layers of BERT's kind; 7 cannot be tuned"):
        tune(toy_transformer(), [CATALOG], TuningSettings(layers=7))

    strange = toy_transformer()
    strange[0].auto_model = torch.nn.Linear(2, 2)
    with pytest.raises(EncoderError, match="0 layers"):
        tune(strange, [CATALOG], SETTINGS)


def _fields(settings: TuningSettings) -> dict[str, object]:
    return {name: getattr(settings, name) for name in TuningSettings.__slots__}


def drawn_change(rows: int = 12, columns: int = 8, rank: int = 3) -> Change:
    draw = np.random.default_rng(3)
    matrix = draw.normal(size=(rows, rank)) @ draw.normal(size=(rank, columns)) * 1e-2
    inputs = draw.normal(size=(columns, columns))
    return Change(
        {"layer.weight": matrix.astype(np.float32), "layer.bias": draw.normal(size=rows).astype(np.float32)},
        {"layer.weight": (inputs @ inputs.T).astype(np.float32)},
    )


@each("inputs", [True, False])
def test_factors_of_enough_rank_give_the_change_back(inputs: bool) -> None:
    original = drawn_change() if inputs else replace(drawn_change(), inputs={})
    by_name = changes(low_rank(original, 3))
    assert by_name.keys() == original.weights.keys()
    for name, values in by_name.items():
        assert np.allclose(values, original.weights[name], rtol=1e-2, atol=1e-4), name


def test_the_truncation_errs_least_on_the_inputs_that_a_matrix_sees() -> None:
    full = drawn_change(rank=6)
    matrix, moment = full.weights["layer.weight"], full.inputs["layer.weight"]

    def error(original: Change) -> float:
        gap = changes(low_rank(original, 2))["layer.weight"] - matrix
        return float(np.trace(gap @ moment @ gap.T))

    assert error(full) < error(replace(full, inputs={}))


def test_a_file_is_read_as_it_was_written_and_equal_content_is_an_equal_file(tmp_path: Path) -> None:
    factors = low_rank(drawn_change().scaled(0.5), 2)
    first, second = tmp_path / "new folder" / "a", tmp_path / "b.npz"
    for file in (first, second):
        write_difference(file, factors, {"base": "toy", "seed": 1})
    assert first.read_bytes() == second.read_bytes()
    assert [path.name for path in first.parent.iterdir()] == ["a"]
    by_name, header = read_difference(first)
    assert header == {"base": "toy", "seed": 1}
    assert {name: values.tolist() for name, values in by_name.items()} == {k: v.tolist() for k, v in factors.items()}
