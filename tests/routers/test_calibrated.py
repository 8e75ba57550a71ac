"""Similarity with its contrast raised."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.routers.utility import calibrated

shares = st.floats(0.0, 1.0)


@given(st.lists(shares, min_size=2, max_size=20), st.floats(0.01, 1.0), st.floats(1.0, 8.0))
def test_it_stays_in_the_unit_interval_and_keeps_the_order(similarities, midpoint, steepness):
    raw = np.array(similarities)
    raised = calibrated(raw, midpoint=midpoint, steepness=steepness)
    assert ((raised >= 0) & (raised <= 1)).all()
    order = np.argsort(raw, kind="stable")
    assert (np.diff(raised[order]) >= -1e-12).all()  # but for rounding


@given(st.floats(0.2, 1.0), st.floats(0.01, 1.0), st.floats(1.0, 8.0))
def test_the_share_midpoint_of_the_best_counts_one_half(best, midpoint, steepness):
    raised = calibrated(np.array([best, midpoint * best]), midpoint=midpoint, steepness=steepness)
    assert abs(raised[1] - 0.5) < 1e-12
    assert abs(raised[0] - 1 / (1 + midpoint**steepness)) < 1e-12


def test_nothing_to_compare_stays_nothing():
    assert calibrated(np.array([]), midpoint=0.7, steepness=6.0).shape == (0,)
    assert calibrated(np.zeros(3), midpoint=0.7, steepness=6.0).tolist() == [0, 0, 0]


@given(st.lists(shares, min_size=1, max_size=5))
def test_midpoint_zero_is_the_papers_cosine(similarities):
    raw = np.array(similarities)
    assert (calibrated(raw, midpoint=0.0, steepness=3.0) == raw).all()
