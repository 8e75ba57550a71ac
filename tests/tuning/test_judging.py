"""Judging: ranks, intervals, what counts as left out, and the sentence at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from core.relevance.encoder import Vectors
from core.relevance.tuning.judging import Quality, Trained, conclusion, judge, queries_of, rank_of, ranks_of

from .toys import CATALOG, TASKS, TOOLS

RIGHT = {"what do my notes say": 0, "tell Ann by mail": 2, "look it up and keep it": 4}


def oracle(texts: Sequence[str]) -> Vectors:
    """Each tool has its own direction; a query has its right tool's direction."""
    tool_rows = {text: row for row, tool in enumerate(TOOLS) for text in (tool.name.split("_")[0], tool.name)}
    rows = [RIGHT[text] if text in RIGHT else _row(text, tool_rows) for text in texts]
    return np.eye(len(TOOLS), dtype=np.float32)[rows]


def _row(text: str, tool_rows: dict[str, int]) -> int:
    name = text.partition(":")[0].partition(" ")[2].replace(" ", "_")
    return tool_rows[name]


def nothing(texts: Sequence[str]) -> Vectors:
    """All texts alike."""
    return np.ones((len(texts), 2), dtype=np.float32) / np.float32(np.sqrt(2))


def test_one_text_of_each_task_that_the_catalog_can_do() -> None:
    assert [query for query, _ in queries_of(CATALOG)] == list(RIGHT)
    assert queries_of(CATALOG)[2][1] == {"web::search", "files::write_file"}


def test_ranks_share_places_where_scores_are_equal() -> None:
    assert rank_of(np.array([0.1, 0.9, 0.3], dtype=np.float32), [0, 2]) == 2
    assert ranks_of(CATALOG, nothing)["full"].tolist() == [3.5, 3.5, 3.0]
    assert all(ranks.tolist() == [1, 1, 1] for ranks in ranks_of(CATALOG, oracle).values())


def test_a_gain_on_every_query_is_beyond_doubt() -> None:
    verdicts = judge(CATALOG, nothing, oracle, Trained.on([]))
    assert [item.view for item in verdicts] == ["full", "names", "mean"]
    assert all((item.queries, item.left_out, item.tuned) == (3, True, Quality(1, 1, 1)) for item in verdicts)
    assert all(0 < item.low <= item.high < 1 for item in verdicts)
    assert conclusion(verdicts) == "It helps: MRR rises beyond doubt on 1 of 1 left-out task files and falls on none."
    assert conclusion(judge(CATALOG, oracle, nothing, Trained.on([]))).startswith("It harms toy beyond doubt")
    assert conclusion(judge(CATALOG, oracle, oracle, Trained.on([]))).startswith("It is not shown to help")


def test_what_was_trained_on_says_nothing() -> None:
    assert not Trained.on([CATALOG]).leaves_out(CATALOG)
    assert not Trained.on([replace(CATALOG, tasks=())]).leaves_out(CATALOG)
    assert not Trained.on([replace(CATALOG, tools=())]).leaves_out(CATALOG)
    assert Trained.on([replace(CATALOG, tools=(), tasks=TASKS[2:3])]).leaves_out(CATALOG)
    assert conclusion(judge(CATALOG, nothing, oracle, Trained.on([CATALOG]))).startswith(
        "Whether it helps is not known"
    )
    assert conclusion([]).startswith("Whether it helps is not known")
