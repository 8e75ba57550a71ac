"""Similarity with its contrast raised."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.economics.utility import calibrated

shares = st.floats(0.0, 1.0)


@given(st.lists(shares, min_size=2, max_size=20), st.floats(0.01, 1.0), st.floats(1.0, 8.0))
def test_it_stays_in_the_unit_interval_and_keeps_the_order(similarities, midpoint, steepness):
    raw = np.array(similarities)
    raised = calibrated(raw, midpoint=midpoint, steepness=steepness)
    assert ((raised >= 0) & (raised <= 1)).all()
    order = np.argsort(raw, kind="stable")
    assert (np.diff(raised[order]) >= 0).all()


@given(st.floats(0.01, 1.0), st.floats(1.0, 8.0))
def test_the_midpoint_counts_one_half(midpoint, steepness):
    assert abs(calibrated(np.array([midpoint]), midpoint=midpoint, steepness=steepness)[0] - 0.5) < 1e-12


@given(st.lists(shares, min_size=1, max_size=5))
def test_midpoint_zero_is_the_papers_cosine(similarities):
    raw = np.array(similarities)
    assert (calibrated(raw, midpoint=0.0, steepness=3.0) == raw).all()
