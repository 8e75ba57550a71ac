"""Decisions beside each other: ranks, drops and overlap."""

import numpy as np
import pytest

from core.domain.catalog import Catalog
from core.domain.trace import Drop
from core.lab.stored_runs import agreement, compared_tools, winners
from core.routers.ehrr import Ehrr
from core.routers.rag_mcp import RagMcp
from core.routers.tool_attention_baselines import FullCatalog
from tests.routers import worlds


@pytest.fixture(scope="module")
def decisions():
    chosen = ((Ehrr, worlds.table_v()), (RagMcp, None), (FullCatalog, None))
    return tuple(router().route("x", worlds.tables_context(), parameters) for router, parameters in chosen)


def test_each_tool_has_its_place_in_each_decision(decisions) -> None:
    found = {tool.tool: tool.placings for tool in compared_tools(decisions)}
    assert [placing.rank for placing in found["s1::t12"]] == [1, None, None]
    assert found["s1::t12"][1].dropped_by is Drop.OUTRANKED
    assert [placing.rank for placing in found["s2::t21"]] == [None, 1, 1]
    assert found["s2::t21"][0].dropped_by is Drop.REJECTED
    assert found["s1::t12"][0].score == pytest.approx(0.516, abs=5e-4)


def test_what_most_keep_comes_first(decisions) -> None:
    kept = [sum(placing.rank is not None for placing in tool.placings) for tool in compared_tools(decisions)]
    assert kept == sorted(kept, reverse=True)
    assert kept[0] == 3


def test_agreement_is_the_overlap_of_candidates(decisions) -> None:
    overlap = agreement(decisions)
    assert overlap.shape == (3, 3)
    assert np.array_equal(overlap, overlap.T)
    assert np.array_equal(np.diag(overlap), np.ones(3))
    assert overlap[1, 2] == 1.0
    assert overlap[0, 1] == pytest.approx(1 / 4)  # t12, t13 against t21, t11, t13
    assert agreement(()).shape == (0, 0)


def test_winners_are_counted(decisions) -> None:
    assert winners(decisions) == {"s2::t21": 2, "s1::t12": 1}
    nothing = Ehrr().route("x", worlds.context(Catalog("empty"), {}, {}))
    assert winners((nothing,)) == {"": 1}
    assert agreement((nothing, nothing)).tolist() == [[1.0, 1.0], [1.0, 1.0]]
