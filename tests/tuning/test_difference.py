"""The change of a tuning: its low-rank factors, and its file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from core.relevance.onnx_encoder import changes, read_difference
from core.relevance.tuning.weights import Change, low_rank, write_difference
from tests.cases import each


def change(rows: int = 12, columns: int = 8, rank: int = 3) -> Change:
    draw = np.random.default_rng(3)
    matrix = draw.normal(size=(rows, rank)) @ draw.normal(size=(rank, columns)) * 1e-2
    inputs = draw.normal(size=(columns, columns))
    return Change(
        {"layer.weight": matrix.astype(np.float32), "layer.bias": draw.normal(size=rows).astype(np.float32)},
        {"layer.weight": (inputs @ inputs.T).astype(np.float32)},
    )


@each("inputs", [True, False])
def test_factors_of_enough_rank_give_the_change_back(inputs: bool) -> None:
    whole = change() if inputs else replace(change(), inputs={})
    found = changes(low_rank(whole, 3))
    assert found.keys() == whole.weights.keys()
    for name, values in found.items():
        assert np.allclose(values, whole.weights[name], rtol=1e-2, atol=1e-4), name


def test_the_truncation_errs_least_on_the_inputs_that_a_matrix_sees() -> None:
    whole = change(rank=6)
    matrix, moment = whole.weights["layer.weight"], whole.inputs["layer.weight"]

    def error(of: Change) -> float:
        gap = changes(low_rank(of, 2))["layer.weight"] - matrix
        return float(np.trace(gap @ moment @ gap.T))

    assert error(whole) < error(replace(whole, inputs={}))


def test_a_file_is_read_as_it_was_written_and_equal_content_is_an_equal_file(tmp_path: Path) -> None:
    factors = low_rank(change().scaled(0.5), 2)
    first, second = tmp_path / "new folder" / "a", tmp_path / "b.npz"
    for file in (first, second):
        write_difference(file, factors, {"base": "toy", "seed": 1})
    assert first.read_bytes() == second.read_bytes()
    assert [path.name for path in first.parent.iterdir()] == ["a"]
    found, about = read_difference(first)
    assert about == {"base": "toy", "seed": 1}
    assert {name: values.tolist() for name, values in found.items()} == {k: v.tolist() for k, v in factors.items()}
