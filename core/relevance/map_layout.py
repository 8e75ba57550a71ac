"""The map of all tools in two dimensions: t-SNE of their meanings, so that neighbours do similar things.

Two dimensions cannot hold the distances of 384. On three catalogs of 527 to 950 tools, 60 to 66 % of a tool's ten nearest are among
its ten nearest on the map (PCA 6 to 18 %, spectral 26 to 37 %); `kept_share` measures it for each map. Every step is seeded, so that
equal vectors give an equal map.

>>> (100 * coordinates(np.eye(2, dtype=np.float32))).round().tolist()
[[10.0, 50.0], [90.0, 50.0]]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.relevance.encoder import Vectors
from core.relevance.vectors import nearest_rows

# scikit-learn and threadpoolctl carry no types
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false


NEIGHBOURS = 10
PERPLEXITY = 30.0
ITERATIONS = 500  # twice as many take twice as long and keep no more neighbours
ALL_ARRANGED = 4000  # up to so many tools are arranged by t-SNE, in 7 s on a core
LANDMARKS = 2000  # of more tools, arranged in 3 s; all other tools are placed among them
SHARPNESS = 16  # of the weights, high enough to keep a text near its most similar tools
MARGIN = 0.02
SORTED_BY = 3  # columns
TWIN_STEP = 0.006  # between tools with an equal vector
SAMPLED = 1000  # rows in `kept_share`


def coordinates(vectors: Vectors, *, seed: int = 0, most: int = ALL_ARRANGED, landmarks: int = LANDMARKS) -> Vectors:
    """(T, D) unit rows to (T, 2) in [0, 1]. Tools with equal vectors are spread a little around their common place.

    Of more than `most` distinct rows, random landmarks are arranged. The other rows lie among their most similar landmarks.
    """
    distinct, place = distinct_rows(vectors.astype(np.float32, copy=False))
    arranged = len(distinct) if len(distinct) <= most else landmarks
    return _apart(_arranged(distinct, seed, arranged), place)


def distinct_rows(rows: Vectors) -> tuple[Vectors, NDArray[np.int64]]:
    """The distinct rows of (N, D), and the place of each row among them, (N,), in a tenth of the time of `np.unique`.

    They ascend by their first columns, then by a weighted sum of all columns.

    >>> distinct_rows(np.array([[2, 1], [1, 0], [2, 1]], dtype=np.float32))[1].tolist()
    [1, 0, 1]
    """
    checked = np.vecdot(rows, np.sin(np.arange(1, rows.shape[1] + 1, dtype=np.float32)))
    order = np.lexsort((checked, *rows.T[SORTED_BY - 1 :: -1]))
    ascending = rows[order]
    first = np.ones(len(rows), dtype=np.bool_)
    first[1:] = (ascending[1:] != ascending[:-1]).any(axis=1)
    place = np.empty(len(rows), dtype=np.int64)
    place[order] = np.cumsum(first) - 1
    return ascending[first], place


def placed(similarity: Vectors, xy: Vectors) -> Vectors:
    """The positions of texts among placed tools: the mean of the ten most similar tools, weighted by cosine^16.

    Shapes: similarity (Q, T), xy (T, 2), result (Q, 2); the middle without tools.

    >>> placed(np.array([[0.9, 0.9, 0.1]]), np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])).round(3).tolist()
    [[0.0, 0.5]]
    """
    if not len(xy):
        return np.full((len(similarity), 2), 0.5, dtype=np.float32)
    k = min(NEIGHBOURS, len(xy))
    rows = np.argpartition(-similarity, k - 1, axis=1)[:, :k]
    return _among(np.take_along_axis(similarity, rows, axis=1), rows, xy)


def _among(cosine: Vectors, rows: NDArray[np.int64], xy: Vectors) -> Vectors:
    """(Q, k) cosines and rows of the most similar placed tools to (Q, 2)."""
    near = np.maximum(cosine.astype(np.float64), 1e-3)
    weights = (near / near.max(axis=1, keepdims=True)) ** SHARPNESS
    return (np.einsum("qk,qkc->qc", weights, xy[rows]) / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def kept_share(vectors: Vectors, xy: Vectors, *, seed: int = 0) -> float:
    """The share of each tool's ten nearest that is among its ten nearest on the map, from at most 1,000 tools."""
    k = min(NEIGHBOURS, len(xy) - 1)
    if k < 1:
        return 1.0
    rows = np.sort(np.random.default_rng(seed).permutation(len(xy))[:SAMPLED])
    flat = xy.astype(np.float64) - 0.5
    lifted = np.column_stack([flat, -(flat**2).sum(axis=1) / 2])  # the largest product with [x, y, 1] is the nearest
    exact = _others(vectors, vectors[rows], rows, k)
    on_map = _others(lifted, np.column_stack([flat[rows], np.ones(len(rows))]), rows, k)
    return float(np.mean([len(set(a) & set(b)) / k for a, b in zip(exact, on_map, strict=True)]))


def _arranged(vectors: Vectors, seed: int, landmarks: int) -> Vectors:
    count = len(vectors)
    if count <= 3:  # a point, a line or a triangle has no neighbourhood
        turn = 2 * np.pi * np.arange(count) / max(count, 1)
        reach = 0.4 if count > 1 else 0.0
        return (0.5 + reach * np.column_stack([np.cos(turn), np.sin(turn)])).astype(np.float32)
    if count <= landmarks:
        return _framed(_tsne(vectors, seed))
    rows = np.sort(np.random.default_rng(seed).permutation(count)[:landmarks])
    landmark_xy = _framed(_tsne(vectors[rows], seed))
    xy = _among(*nearest_rows(vectors[rows], vectors, min(NEIGHBOURS, landmarks)), landmark_xy)
    xy[rows] = landmark_xy
    return xy


def _tsne(vectors: Vectors, seed: int) -> Vectors:
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    method = TSNE(
        perplexity=min(PERPLEXITY, (len(vectors) - 1) / 3),
        metric="cosine",
        init="pca",
        max_iter=ITERATIONS,
        random_state=seed,
    )
    with threadpool_limits(1, user_api="openmp"):  # waiting for a busy second core takes longer than it saves
        return method.fit_transform(vectors)


def _framed(xy: NDArray[np.floating]) -> Vectors:
    low, extent = xy.min(axis=0), np.ptp(xy, axis=0)
    shares = np.where(extent > 0, (xy - low) / np.where(extent > 0, extent, 1), 0.5)
    return (MARGIN + (1 - 2 * MARGIN) * shares).astype(np.float32)


def _apart(xy: Vectors, place: NDArray[np.int64]) -> Vectors:
    """Every tool at its position. Tools of a shared position lie around it like the seeds of a sunflower."""
    order = np.argsort(place, kind="stable")
    sizes = np.bincount(place, minlength=len(xy))
    rank = np.empty(len(place), dtype=np.int64)
    rank[order] = np.arange(len(place)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    radius = TWIN_STEP * np.sqrt(rank)
    turn = rank * np.pi * (3 - np.sqrt(5))
    spread = xy[place] + np.column_stack([radius * np.cos(turn), radius * np.sin(turn)])
    return np.clip(spread, 0.0, 1.0).astype(np.float32)


def _others(
    rows: NDArray[np.floating], queries: NDArray[np.floating], query_rows: NDArray[np.int64], k: int
) -> list[list[int]]:
    nearest = nearest_rows(rows, queries, k + 1)[1]
    return [[i for i in line if i != own][:k] for line, own in zip(nearest.tolist(), query_rows.tolist(), strict=True)]
