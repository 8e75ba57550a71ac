"""Rows in sixteen bits, as an index keeps them, and in eight: all products with a query in a fifth of the time, each within a known distance.

    x      = s_i w_i          w_i: whole numbers to 32,767; s_i: the greatest part of row i, by 32,767          `StoredRows`

    x8     = s_i round(x_i / s_i)                          s_i: the greatest part of row i, by 127 (63: `greatest_part`)
    q.x    = q.x8 +- |q| max |x - x8|                      Cauchy and Schwarz; rows differ little in |x - x8|, and one number costs nothing
    mean   = q . m          m = sum_i n_i x_i / N                             N = sum of n_i: how often row i counts
    square = q' C q / N     C = sum_i n_i (x_i - m) (x_i - m)'               around the mean, so that single precision is enough

So the mean and the deviation that a z-score needs are exact, though no row is read for them. The query has sixteen bits: two rows of
eight, whose product costs what one costs, because reading the rows is what takes the time.

>>> rows = np.eye(3, dtype=np.float32)
>>> coarse = CoarseRows.of(rows)
>>> query = np.array([0.6, 0.8, 0.0], dtype=np.float32)
>>> products, error = coarse.products(query)
>>> bool((np.abs(products - rows @ query) <= error).all()), error < 1e-4
(True, True)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from core.relevance.encoder import Vectors
from core.shared.once import made_once

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

Arrays = Mapping[str, NDArray[Any]]
WHOLE, SAFE = 127, 63
HIGH = 256  # steps of the low half of a query
AT_ONCE = 8192  # rows whose moments are added up in one product
BESIDE = 50_000  # rows from which on a decision does something else during their products: below, they are too short to be handed over
SHARED = 500_000  # rows from which on two threads share a scan
GROUP = 16  # rows, a multiple of what kernels of BLAS take at once
BLOCK = 64 * GROUP  # rows that become single precision at once: 1.5 MB, which the cache of a core holds
MOST = 32_767
TINY = 1e-9
OPSET, IR_VERSION = 17, 9
FOLDER_OF_TENSORS = "session.model_external_initializers_file_folder_path"


class StoredRows:
    """N rows of width D in sixteen bits, immutable: half the memory of single precision, and a cosine is off by a few millionths. They read as an array
    of single precision: `rows[3]`, `rows[[3, 5]]`, `rows[:]`, `rows @ query`.

    `arrays` is all that they are made of: `whole` (N, D) and `scale` (N,).

    >>> rows = StoredRows.of(np.array([[0.6, -0.8], [0.0, 0.0]], dtype=np.float32))
    >>> rows[0].round(4), (rows @ np.array([0.0, 1.0], dtype=np.float32)).round(4)
    (array([ 0.6, -0.8], dtype=float32), array([-0.8,  0. ], dtype=float32))
    """

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        # views without the file of a mapped array, which makes each slice slow
        self._whole, self._scale = (np.asarray(arrays[name]) for name in ("whole", "scale"))

    @classmethod
    def of(cls, rows: Vectors) -> Self:
        """From rows (N, D)."""
        whole, scale = np.empty(rows.shape, dtype=np.int16), np.empty(len(rows), dtype=np.float32)
        for at in range(0, len(rows), BLOCK):
            part = slice(at, at + BLOCK)
            scale[part] = np.maximum(np.abs(rows[part]).max(axis=1, initial=0.0), TINY) / MOST
            whole[part] = np.rint(rows[part] / scale[part, None])
        return cls({"whole": whole, "scale": scale})

    @property
    def shape(self) -> tuple[int, int]:
        """(N, D)."""
        return len(self._whole), self._whole.shape[1]

    def __len__(self) -> int:
        return len(self._whole)

    def __getitem__(self, at: Any) -> Vectors:
        found = self._whole[at].astype(np.float32)
        found *= self._scale[at, ...][..., None]
        return found

    def __matmul__(self, others: Vectors) -> Vectors:
        """(N,) or (N, M) products with a vector (D,) or with columns (D, M)."""
        found = np.empty((len(self), *others.shape[1:]), dtype=np.float32)
        block = np.empty((min(BLOCK, len(self)), self.shape[1]), dtype=np.float32)
        for at in range(0, len(self), BLOCK):
            whole = self._whole[at : at + BLOCK]
            block[: len(whole)] = whole
            np.matmul(block[: len(whole)], others, out=found[at : at + BLOCK])
        found *= self._scale if others.ndim == 1 else self._scale[:, None]
        return found

    def times(self, row: int, weight: float) -> Vectors:
        """(D,) one row times a number, in one pass."""
        return np.multiply(self._whole[row], self._scale[row] * np.float32(weight), dtype=np.float32)

    def products(self, rows: NDArray[np.int64], vector: Vectors) -> Vectors:
        """(K,) products of some rows with a vector, as those of all rows to the last bit (but for the last few of N)."""
        found = (self._whole[in_groups(rows)].astype(np.float32) @ vector)[: len(rows)]
        found *= self._scale[rows]
        return found

    def side_by_side(self, rows: NDArray[np.int64]) -> Callable[[Vectors], Vectors]:
        """The same for rows that are asked for with each query: they are copied once, in single precision."""
        whole, scale = self._whole[in_groups(rows)].astype(np.float32), self._scale[rows]
        return lambda vector: (whole @ vector)[: len(rows)] * scale


class CoarseRows:
    """N rows of width D, immutable. `arrays` is all that they are made of: `whole` (D, N), `scale` (N,), `mean` (D,) and `squares` (D, D), and
    how many rows count, the length of the longest in eight bits and the greatest |x - x8|, (3,).
    """

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self._scale, self._mean, self._squares = (np.asarray(arrays[name]) for name in ("scale", "mean", "squares"))
        times, self._longest, self._farthest = arrays["bounds"].tolist()
        self._times = int(times)
        self._product = _product_with(arrays["whole"])

    @classmethod
    def of(cls, rows: Vectors | StoredRows, times: NDArray[np.int64] | None = None) -> Self:
        """From rows (N, D). `times` (N,) is how often each counts in the moments, once where it is not given."""
        count, width = rows.shape
        counts = np.ones(count, dtype=np.int64) if times is None else times
        scales, whole = np.empty(count, dtype=np.float32), np.empty((width, count), dtype=np.int8)
        total, squares = np.zeros(width), np.zeros((width, width))
        longest = farthest = 0.0
        for at in range(0, count, AT_ONCE):
            part = slice(at, at + AT_ONCE)
            block = rows[part].astype(np.float64)
            scales[part] = np.maximum(np.abs(block).max(axis=1, initial=0.0), TINY) / greatest_part()
            scale = scales[part, None].astype(np.float64)
            rounded = np.rint(block / scale)
            whole[:, part] = rounded.T
            coarse = rounded * scale
            longest = max(longest, float(np.linalg.norm(coarse, axis=1).max()))
            farthest = max(farthest, float(np.linalg.norm(block - coarse, axis=1).max()))
            weighted = block * counts[part, None]
            total += weighted.sum(axis=0)
            squares += weighted.T @ block
        mean = total / max(counts.sum(), 1)
        return cls(
            {
                "whole": whole, "scale": scales, "mean": mean,
                "squares": (squares - np.outer(total, mean)).astype(np.float32),
                "bounds": np.array([counts.sum(), longest, farthest]),
            }
        )  # fmt: skip

    def products(self, vector: Vectors) -> tuple[Vectors, float]:
        """(N,) products with a query (D,), and how far each is from the exact one at most."""
        return self.started(vector)()

    def started(self, vector: Vectors) -> Callable[[], tuple[Vectors, float]]:
        """The same, under way in another thread where there are many rows: what is returned waits for them."""
        step, asked = _sixteen_bits(vector)
        scan = partial(self._scanned, asked, step)
        beside = _beside().submit(scan) if len(self._scale) >= BESIDE else None
        lost = step * math.sqrt(len(vector))  # twice what rounding takes at most
        error = math.sqrt(float(vector @ vector)) * self._farthest + lost * self._longest
        return lambda: (scan() if beside is None else beside.result(), error)

    def _scanned(self, asked: NDArray[np.uint8], step: float) -> Vectors:
        by_high, by_low = self._product.run(None, {"query": asked})[0]
        by_high *= HIGH
        by_high += by_low
        found = by_high.astype(np.float32)  # in one step it asks the system for memory each time
        found *= self._scale
        found *= np.float32(step)
        return found

    def moments(self, vector: Vectors) -> tuple[int, float, float]:
        """How many exact products with a query (D,) there are, their mean, and the sum of their squares around it."""
        mean = float(vector.astype(np.float64) @ self._mean)
        return self._times, mean, float(np.dot(vector, self._squares @ vector))


@dataclass(frozen=True, slots=True)
class Coarse:
    """The mixed views of the tools and the profiles of the servers in eight bits; a profile counts for each tool of its server. `filled` (S,):
    the servers that have tools.
    """

    tools: CoarseRows
    profiles: CoarseRows
    filled: NDArray[np.bool_]

    @classmethod
    def of(cls, mixed: StoredRows, profiles: StoredRows, server_of: NDArray[np.int64]) -> Self:
        """From the mixed views (T, D), the profiles (S, D) and the servers of the tools (T,)."""
        sizes = np.bincount(server_of, minlength=len(profiles))
        return cls(CoarseRows.of(mixed), CoarseRows.of(profiles, sizes), sizes > 0)

    @classmethod
    def from_arrays(cls, tools: Arrays, profiles: Arrays, server_of: NDArray[np.int64]) -> Self:
        """From the `arrays` of both."""
        sizes = np.bincount(server_of, minlength=profiles["whole"].shape[1])
        return cls(CoarseRows(tools), CoarseRows(profiles), sizes > 0)


def in_groups(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows (K,), the last one some times more. BLAS takes rows in groups, and adds up what is left over in another order.

    >>> len(in_groups(np.arange(3)))
    16
    """
    return np.concatenate([rows, rows[-1:].repeat(-len(rows) % GROUP)])


def runs_of(ascending: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different ones of ascending numbers (K,), and the place of each among them: `np.unique` without a sort."""
    first = np.ones(len(ascending), dtype=np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return ascending[first], np.cumsum(first) - 1


def _sixteen_bits(vector: Vectors) -> tuple[float, NDArray[np.uint8]]:
    """A query as step * (256 high + low), and (2, D) both halves plus 128. No product with a row goes beyond 32 bits."""
    greatest = max(float(vector.max(initial=0.0)), -float(vector.min(initial=0.0)), 1e-9)
    step = greatest / min(WHOLE * HIGH, (1 << 31) // (WHOLE * len(vector)) - 1)
    whole = np.rint(vector * np.float32(1 / step)).astype("<i2")
    whole += (
        HIGH // 2 * (1 - HIGH)
    )  # 128 for the low byte, which is that of the low half then, and the sign of the high one
    return step, whole.view(np.uint8).reshape(-1, 2).T[::-1].copy()


@made_once
def _beside() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(2, thread_name_prefix="wayfare-products")


@made_once
def greatest_part() -> int:
    """The greatest whole number of a row: 127, or 63 on processors that add two products in sixteen bits and cut off what is beyond."""
    rows, asked = np.full((128, 32), WHOLE, dtype=np.int8), np.full((2, 128), 255, dtype=np.uint8)
    found = _product_with(rows).run(None, {"query": asked})[0]
    return WHOLE if (found == 128 * WHOLE * WHOLE).all() else SAFE


def _product_with(rows: NDArray[np.int8]) -> Any:
    """The product of two queries in eight bits, plus 128, with rows (D, N), as a session of onnxruntime: it gives (2, N) whole numbers.

    Rows that are a file mapped into memory are read from there, without a copy.
    """
    import onnxruntime as ort
    from onnx import TensorProto, helper, numpy_helper

    width, count = rows.shape
    options = ort.SessionOptions()
    # of 100,000 rows a second thread saves 1 ms of 2.5 on an idle machine, and costs 5 on a busy one; of a million it saves 12 of 30
    options.intra_op_num_threads = 1 if count < SHARED else 2
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    if isinstance(rows, np.memmap):
        file = Path(str(rows.filename))
        stored = TensorProto(name="rows", data_type=TensorProto.INT8, dims=rows.shape)
        stored.data_location = TensorProto.EXTERNAL
        for key, value in (("location", file.name), ("offset", rows.offset), ("length", rows.nbytes)):
            stored.external_data.add(key=key, value=str(value))
        options.add_session_config_entry(FOLDER_OF_TENSORS, str(file.parent))
    else:
        stored = numpy_helper.from_array(np.ascontiguousarray(rows), "rows")
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["query", "rows", "zero"], ["products"])],
        "products",
        [helper.make_tensor_value_info("query", TensorProto.UINT8, [2, width])],
        [helper.make_tensor_value_info("products", TensorProto.INT32, [2, count])],
        [stored, numpy_helper.from_array(np.array(HIGH // 2, dtype=np.uint8), "zero")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
