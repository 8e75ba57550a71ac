"""The memory of solved sub-tasks: its bounds as properties, what each label did, and what it costs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.relevance.encoder import unit_rows
from core.relevance.feedback import (
    AGENTS,
    AGENTS_LIMIT,
    BOUND,
    FLOOR,
    HALF,
    LIMIT,
    Evidence,
    Memory,
    QueryMap,
    sharing,
    shifts,
    targets_of,
)
from tests.cases import each

TOOLS = 5
QUERY = np.eye(4, dtype=np.float32)[0]
VISITORS = ("ann", "bob", "cyd", AGENTS)


def rows(cosines: list[float]) -> np.ndarray:
    """Unit rows at these cosines to QUERY."""
    return np.array([[c, np.sqrt(max(0.0, 1 - c * c)), 0, 0] for c in cosines], dtype=np.float32)


@st.composite
def evidence(draw: st.DrawFn) -> tuple[list[Evidence], np.ndarray]:
    cosines = draw(st.lists(st.floats(-1, 1), min_size=1, max_size=6))
    labels = draw(
        st.lists(
            st.tuples(
                st.integers(0, len(cosines) - 1),
                st.integers(0, TOOLS - 1),
                st.sampled_from([1.0, -1.0, 0.25]),
                st.sampled_from(VISITORS),
            ),
            max_size=40,
        )
    )
    return [Evidence(str(n), *label) for n, label in enumerate(labels)], rows(cosines)


def values(labels: list[Evidence], vectors: np.ndarray, **settings_: object) -> np.ndarray:
    shift = Memory(labels, vectors, tools=TOOLS, **settings_).shift(QUERY)
    return np.zeros(TOOLS) if shift is None else shift.values


@given(evidence(), st.integers(1, 3))
@settings(max_examples=50)
def test_n_visitors_lift_no_tool_above_what_n_labels_allow(known, count: int) -> None:
    labels = [label for label in known[0] if label.visitor in VISITORS[:count]]
    assert np.abs(values(labels, known[1])).max() <= BOUND * count / (HALF + count) + 1e-9


@given(evidence(), st.integers(0, TOOLS - 1), st.sampled_from(VISITORS[:3]), st.sampled_from([1.0, -1.0]))
@settings(max_examples=50)
def test_a_right_label_never_lowers_its_tool_and_a_wrong_one_never_lifts_it(known, tool, visitor, sign) -> None:
    labels, vectors = known
    shifted = values([*labels, Evidence("new", 0, tool, sign, visitor)], vectors)
    change = shifted - values(labels, vectors)
    assert sign * change[tool] >= -1e-9
    assert np.delete(np.abs(change), tool).max() <= 1e-9


@given(evidence())
@settings(max_examples=50)
def test_the_parts_of_the_labels_add_up_to_the_shift(known) -> None:
    shift = Memory(*known, tools=TOOLS).shift(QUERY)
    if shift is None:
        return
    summed = np.zeros(TOOLS)
    for move in shift.moves():
        summed[move.tool] += move.logits
    assert summed == pytest.approx(shift.values)
    assert [abs(move.logits) for move in shift.moves()] == sorted((abs(m.logits) for m in shift.moves()), reverse=True)
    assert all(move.tool == 2 for move in shift.moves(2))


def test_repeating_a_label_changes_nothing_and_a_second_visitor_does() -> None:
    once = Evidence("a", 0, 1, 1.0, "ann")
    same = values([once] * 50, rows([1.0]))
    assert same == pytest.approx(values([once], rows([1.0])))
    assert same[1] == pytest.approx(BOUND / 2)
    assert values([once, Evidence("b", 0, 1, 1.0, "bob")], rows([1.0]))[1] == pytest.approx(BOUND * 2 / 3)


def test_all_agents_together_count_for_half_a_label_at_most_and_a_person_outweighs_them() -> None:
    single, forty = ([Evidence(str(n), 0, 0, 0.25, AGENTS) for n in range(count)] for count in (1, 40))
    assert values(single, rows([1.0]))[0] == pytest.approx(shifts(np.array(0.25)))
    assert values(forty, rows([1.0]))[0] == pytest.approx(shifts(np.array(AGENTS_LIMIT)))
    assert values([*forty, Evidence("no", 0, 0, -1.0, "ann")], rows([1.0]))[0] < 0


EQUALS = {
    0: sharing(np.array([0, 1, 1, 0, 0], dtype=bool), equal=[4]),
    1: sharing(np.array([1, 0, 1, 0, 0], dtype=bool)),
}


@given(evidence(), st.booleans())
@settings(max_examples=50)
def test_what_is_shared_stays_within_the_same_bounds_and_adds_up(known, alone: bool) -> None:
    labels = [label for label in known[0] if label.visitor == "ann" or not alone]
    shift = Memory(labels, known[1], tools=TOOLS, shared=EQUALS).shift(QUERY)
    if shift is None:
        return
    most = 1 if alone else len(VISITORS)
    assert np.abs(shift.values).max() <= BOUND * most / (HALF + most) + 1e-9
    summed = np.zeros(TOOLS)
    np.add.at(summed, shift.tools, shift.logits)
    assert summed == pytest.approx(shift.values)


def test_tools_that_do_the_same_share_right_and_those_judged_equal_wrong_too() -> None:
    right, wrong = (Evidence("a", 0, 0, weight, "ann") for weight in (1.0, -1.0))
    assert np.sign(values([right], rows([1.0]), shared=EQUALS)).tolist() == [1, 1, 1, 0, 1]
    assert np.sign(values([wrong], rows([1.0]), shared=EQUALS)).tolist() == [-1, 0, 0, 0, -1]
    assert values([right], rows([1.0]), shared=EQUALS)[4] == values([right], rows([1.0]))[0]
    shared = {row: sharing(np.zeros(2, dtype=bool), equal=[1 - row]) for row in (0, 1)}
    should = [Evidence("a", 0, 0, 1.0, "ann"), Evidence("b", 0, 1, -1.0, "ann")]
    shift = Memory(should, rows([1.0]), tools=2, shared=shared).shift(QUERY)
    assert np.sign(shift.values).tolist() == [
        1,
        -1,
    ]  # a tool's own label counts before its equal's label
    disputed = [should[0], Evidence("b", 0, 1, -1.0, "bob")]
    assert Memory(disputed, rows([1.0]), tools=2, shared=shared).shift(QUERY).values.tolist() == [0, 0]


def test_what_is_not_like_the_query_moves_nothing() -> None:
    label = Evidence("a", 0, 0, 1.0, "ann")
    assert Memory([label], rows([FLOOR - 0.01]), tools=TOOLS).shift(QUERY) is None
    assert Memory([], rows([]).reshape(0, 4), tools=TOOLS).shift(QUERY) is None
    near, nearer = (values([label], rows([cosine]))[0] for cosine in (0.7, 0.9))
    assert 0 < near < nearer


def drawn(seed: int, count: int, width: int = 12) -> np.ndarray:
    return unit_rows(np.random.default_rng(seed).normal(size=(count, width)))


@given(st.integers(0, 10_000), st.integers(1, 40), st.floats(0.01, 100), st.integers(0, 30))
@settings(max_examples=30)
def test_no_tools_cosine_moves_by_more_than_the_limit(seed: int, count: int, ridge: float, copies: int) -> None:
    queries, targets = drawn(seed, count), drawn(seed + 1, count)
    poisoned = [np.concatenate([rows, np.repeat(rows[:1], copies, axis=0)]) for rows in (queries, targets)]
    delta = QueryMap.fit(*poisoned, ridge=ridge).delta(drawn(seed + 2, 5))
    assert np.linalg.norm(delta, axis=1).max() <= LIMIT + 1e-5
    assert np.abs(delta @ drawn(seed + 3, 20).T).max() <= LIMIT + 1e-5


@pytest.mark.parametrize("count", [5, 40])
def test_both_ways_to_solve_it_are_one(count: int) -> None:
    queries, targets = drawn(1, count), drawn(2, count)
    q, residual = queries.astype(float), (targets - queries).astype(float)
    whole = np.linalg.solve(q.T @ q + 3.0 * np.eye(12), q.T @ residual)
    query_map = QueryMap.fit(queries, targets, ridge=3.0)
    query = drawn(3, 1)[0]
    assert query_map.delta(query) == pytest.approx(query @ whole, abs=1e-5)
    assert len(query_map.first) == min(count, 12)


def test_a_query_like_those_learnt_from_goes_to_their_tools() -> None:
    queries, targets = drawn(4, 3), drawn(5, 3)
    mapped = queries[0] + QueryMap.fit(queries, targets, ridge=0.1).delta(queries[0])
    assert mapped @ targets[0] > queries[0] @ targets[0] + 0.3


@each("ridge", [0.0, -1.0, float("nan")])
def test_a_ridge_that_is_none_is_refused(ridge: float) -> None:
    with pytest.raises(ValueError, match="ridge above 0"):
        QueryMap.fit(drawn(1, 2), drawn(2, 2), ridge=ridge)


def test_targets_are_mean_directions() -> None:
    rows = np.eye(3, dtype=np.float32)
    targets = targets_of(rows, [[0, 1], [], [2]])
    assert targets == pytest.approx(np.array([[0.5**0.5, 0.5**0.5, 0], [0, 0, 0], [0, 0, 1]]))
