"""The exact what-if against dense sampling."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.economics.auction import smallest_winning_value, winning_interval

LOW, HIGH = 0.0, 4.0
SAMPLES = [LOW + (HIGH - LOW) * i / 800 for i in range(801)]
promise = settings(deadline=None, derandomize=True, max_examples=100)
line = st.tuples(st.floats(-1.0, 1.0), st.floats(0.0, 3.0))
lines = st.lists(line, min_size=1, max_size=7)


def columns(rows):
    return np.array([a for a, _ in rows]), np.array([b for _, b in rows])


def lead(rows, row, x):
    """By how much `row` is ahead of the best other line at x; negative where it trails."""
    a, b = rows[row]
    return min((a - b * x - (c - d * x) for i, (c, d) in enumerate(rows) if i != row), default=1.0)


@promise
@given(lines, st.floats(LOW, HIGH))
def test_the_winner_leads_at_every_sample_inside_its_interval_and_trails_at_every_sample_outside(rows, today):
    winner = max(range(len(rows)), key=lambda row: rows[row][0] - rows[row][1] * today)
    got = winning_interval(*columns(rows), winner, low=LOW, high=HIGH)
    assert got.low <= today + 1e-9
    assert got.high >= today - 1e-9
    for x in SAMPLES:
        if got.low <= x <= got.high:
            assert lead(rows, winner, x) >= -1e-9
        else:
            assert lead(rows, winner, x) <= 1e-9


@promise
@given(lines, st.floats(LOW, HIGH))
def test_the_named_successor_wins_just_beyond_each_end(rows, today):
    winner = max(range(len(rows)), key=lambda row: rows[row][0] - rows[row][1] * today)
    got = winning_interval(*columns(rows), winner, low=LOW, high=HIGH)
    for end, successor, beyond in ((got.low, got.below, -1e-7), (got.high, got.above, 1e-7)):
        if successor is None:
            assert end in (LOW, HIGH)
        else:
            assert successor != winner
            assert lead(rows, successor, end + beyond) >= -1e-6


@promise
@given(lines, st.floats(LOW, HIGH), st.data())
def test_the_smallest_winning_value_wins_and_no_nearer_sample_does(rows, current, data):
    row = data.draw(st.integers(0, len(rows) - 1))
    value = smallest_winning_value(*columns(rows), row, current, low=LOW, high=HIGH)
    if value is None:
        assert all(lead(rows, row, x) <= 1e-9 for x in SAMPLES)
        return
    assert LOW <= value <= HIGH
    assert lead(rows, row, value) >= -1e-9
    nearer = [x for x in SAMPLES if abs(x - current) < abs(value - current) - 1e-9]
    assert all(lead(rows, row, x) <= 1e-9 for x in nearer)


@promise
@given(lines, st.floats(LOW, HIGH))
def test_todays_winner_needs_no_change_to_win(rows, today):
    winner = max(range(len(rows)), key=lambda row: rows[row][0] - rows[row][1] * today)
    assume(lead(rows, winner, today) > 1e-6)
    assert smallest_winning_value(*columns(rows), winner, today, low=LOW, high=HIGH) == today


def test_table_two_by_hand_the_order_of_t12_and_t13_turns_where_their_lines_cross():
    similarity, cost = np.array([0.75, 0.85]), np.array([0.9376725146, 1.4673684211])
    crossing = (0.85 - 0.75) / (1.4673684211 - 0.9376725146)  # 0.18879
    got = winning_interval(similarity, cost, 0, low=0.0, high=2.0)
    assert (got.low, got.high, got.below, got.above) == (pytest.approx(crossing), 2.0, 1, None)
    assert smallest_winning_value(similarity, cost, 1, 0.25, low=0.0, high=2.0) == pytest.approx(crossing)


def test_a_line_alone_wins_everywhere():
    got = winning_interval(np.array([0.3]), np.array([2.0]), 0, low=0.0, high=5.0)
    assert (got.low, got.high, got.below, got.above) == (0.0, 5.0, None, None)


def test_a_line_below_a_parallel_one_never_wins():
    assert smallest_winning_value(np.array([0.9, 0.5]), np.array([1.0, 1.0]), 1, 0.2, low=0.0, high=9.0) is None


def test_a_twin_never_ends_the_winners_interval():
    got = winning_interval(np.array([0.9, 0.9]), np.array([1.0, 1.0]), 0, low=0.0, high=9.0)
    assert (got.low, got.high, got.below, got.above) == (0.0, 9.0, None, None)


def test_a_row_that_wins_only_outside_the_range_never_wins():
    # the lines cross at x = 2, beyond the range
    assert smallest_winning_value(np.array([1.0, 0.0]), np.array([0.5, 0.0]), 1, 0.5, low=0.0, high=1.5) is None


def test_of_three_lines_through_one_point_the_flattest_wins_beyond_and_the_steepest_before():
    # 1 - x, 0.75 - 0.5 x and 0.5 all meet at x = 0.5
    intercept, slope = np.array([1.0, 0.75, 0.5]), np.array([1.0, 0.5, 0.0])
    assert winning_interval(intercept, slope, 0, low=0.0, high=1.0).above == 2
    assert winning_interval(intercept[::-1], slope[::-1], 0, low=0.0, high=1.0).below == 2
