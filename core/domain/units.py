"""Numbers as people read them: prices below a cent in m$, times in ms or s, shares in percent."""

from __future__ import annotations

import math


def price(value_usd: float | None) -> str:
    """A price per call; `unpriced` if there is none.

    >>> price(0.0249), price(1.5), price(0.0), price(None), price(0.9996)
    ('24.9 m$', '$1.50', '0 m$', 'unpriced', '$1.00')
    """
    if value_usd is None or math.isnan(value_usd):
        return "unpriced"
    if math.isinf(value_usd):
        return "no limit"
    return f"${value_usd:,.2f}" if abs(value_usd) >= 0.9995 else f"{value_usd * 1e3:.3g} m$"


def spent(value_usd: float, calls: int, unpriced: int) -> str:
    """The money of calls, `unpriced` of them without a price.

    >>> spent(0.0249, 5, 0), spent(0.0249, 5, 2), spent(0.0, 3, 3), spent(0.0, 0, 0)
    ('24.9 m$', '24.9 m$ + 2 unpriced', 'unpriced', '0 m$')
    """
    if not unpriced:
        return price(value_usd)
    return "unpriced" if unpriced == calls else f"{price(value_usd)} + {unpriced:,} unpriced"


def seconds(value_s: float | None) -> str:
    """A time.

    >>> seconds(0.0124), seconds(1.784), seconds(95.0), seconds(999.6)
    ('12.4 ms', '1.78 s', '95 s', '1,000 s')
    """
    if value_s is None or not math.isfinite(value_s):
        return "–"
    if abs(value_s) < 0.9995 and value_s != 0:
        return f"{value_s * 1e3:.3g} ms"
    return f"{value_s:.3g} s" if abs(value_s) < 999.5 else f"{value_s:,.0f} s"


def time_left(left_s: float | None) -> str:
    """The expected rest of a time, after a comma, or "" if unknown.

    >>> time_left(3.46), time_left(0.1), time_left(1234.0), time_left(None)
    (', about 3 s left', ', about 1 s left', ', about 21 min left', '')
    """
    if left_s is None or not math.isfinite(left_s):
        return ""
    return f", about {left_s / 60:,.0f} min left" if left_s >= 120 else f", about {max(left_s, 1.0):.0f} s left"


def plain(value: float, digits: int = 3, *, signed: bool = False) -> str:
    """A number with this many decimals. A number that rounds to 0 has no sign.

    >>> plain(-0.00004), plain(0.0312, 2), plain(0.25, 2, signed=True), plain(-0.0001, signed=True)
    ('0.000', '0.03', '+0.25', '0.000')
    """
    text = f"{value:{'+' if signed else ''},.{digits}f}"
    return text if text.strip("+-0.,") else text.lstrip("+-")


def p_value(p: float) -> str:
    """A p value, or `p < 0.001`.

    >>> p_value(0.0342), p_value(0.00004)
    ('p = 0.034', 'p < 0.001')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def share(value: float | None) -> str:
    """A probability as percent.

    >>> share(0.873)
    '87.3 %'
    """
    return "–" if value is None or not math.isfinite(value) else f"{value * 100:.3g} %"
