"""Numbers as people read them."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.units import price, seconds, share
from tests.cases import each

FINITE = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12)
promise = settings(derandomize=True, max_examples=60)


@each(
    ("value", "text"),
    [
        (None, "unpriced"),
        (math.nan, "unpriced"),
        (np.float64("nan"), "unpriced"),
        (math.inf, "no limit"),
        (0.0, "0 m$"),
        (1e-7, "0.0001 m$"),
        (0.002, "2 m$"),
        (0.02494, "24.9 m$"),
        (0.999, "999 m$"),
        (0.9996, "$1.00"),
        (1.0, "$1.00"),
        (1234.5, "$1,234.50"),
        (1e9, "$1,000,000,000.00"),
        (-0.002, "-2 m$"),
    ],
)
def test_price(value, text) -> None:
    assert price(value) == text


@each(
    ("value", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "–"),
        (0.0, "0 s"),
        (1e-6, "0.001 ms"),
        (0.0124, "12.4 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1 s"),
        (1.0, "1 s"),
        (1.784, "1.78 s"),
        (999.4, "999 s"),
        (999.6, "1,000 s"),
        (1_234_567.0, "1,234,567 s"),
        (-0.5, "-500 ms"),
    ],
)
def test_seconds(value, text) -> None:
    assert seconds(value) == text


@each(
    ("value", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (-math.inf, "–"),
        (0.0, "0 %"),
        (0.873, "87.3 %"),
        (0.0001, "0.01 %"),
        (1.0, "100 %"),
    ],
)
def test_share(value, text) -> None:
    assert share(value) == text


@promise
@given(FINITE.filter(lambda value: value == 0 or abs(value) > 1e-6), st.sampled_from([price, seconds]))
def test_no_usual_number_is_written_with_an_exponent(value, show) -> None:
    assert "e" not in show(value)
