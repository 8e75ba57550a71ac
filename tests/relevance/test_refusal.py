"""The limit on P(nothing fits), and the curve that it draws."""

from __future__ import annotations

from itertools import pairwise

from core.relevance.refusal import NEVER, limit_of, measured_curve, shipped_curve


def test_more_wrong_refusals_never_refuse_less() -> None:
    limits = [limit_of(percent / 4) for percent in range(201)]
    assert limits[0] == NEVER
    assert all(0 < after <= before for before, after in pairwise(limits))
    for name in ("wrong", "refused"):
        shares = [getattr(point, name) for point in shipped_curve().points]
        assert shares == sorted(shares)


def test_the_shipped_curve_is_better_than_chance_everywhere() -> None:
    first, *others = shipped_curve().points
    assert (first.percent, first.wrong, first.refused) == (0.0, 0.0, 0.0)
    assert all(point.refused > point.wrong for point in others)


def test_a_measured_curve_counts_what_the_knob_would_refuse() -> None:
    limit = limit_of(10.0)
    curve = measured_curve([limit - 0.01, limit, 0.1, 0.1], [limit + 0.01, 0.1])
    assert curve.questions == 4
    assert (curve.at(10.0).wrong, curve.at(10.0).refused) == (0.25, 0.5)
    assert curve.at(0.0).refused == 0.0
