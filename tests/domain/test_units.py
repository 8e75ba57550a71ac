"""Numbers as people read them; what is usual is in the examples of the docstrings."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.units import price, seconds, share
from tests.cases import each

FINITE = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12)


@each(("show", "value", "text"), [
    (price, math.nan, "unpriced"), (price, np.float64("nan"), "unpriced"), (price, math.inf, "no limit"), (price, 1e-7, "0.0001 m$"),
    (price, 0.999, "999 m$"), (price, 1.0, "$1.00"), (price, 1234.5, "$1,234.50"), (price, -0.002, "-2 m$"),
    (seconds, None, "–"), (seconds, math.inf, "–"), (seconds, 0.0, "0 s"), (seconds, 1e-6, "0.001 ms"), (seconds, 0.9994, "999 ms"),
    (seconds, 0.9996, "1 s"), (seconds, 999.4, "999 s"), (seconds, 1_234_567.0, "1,234,567 s"), (seconds, -0.5, "-500 ms"),
    (share, None, "–"), (share, -math.inf, "–"), (share, 0.0, "0 %"), (share, 0.0001, "0.01 %"), (share, 1.0, "100 %"),
])  # fmt: skip
def test_what_is_odd(show, value, text) -> None:
    assert show(value) == text


@settings(derandomize=True, max_examples=60)
@given(FINITE.filter(lambda value: value == 0 or abs(value) > 1e-6), st.sampled_from([price, seconds]))
def test_no_usual_number_is_written_with_an_exponent(value, show) -> None:
    assert "e" not in show(value)
