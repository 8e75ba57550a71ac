"""The posted-price reverse auction at the server layer: EHRR (4), (5), Theorem 1, Corollary 2, Propositions 2 and 3."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.routers.utility import Array


def posted_price(
    similarity: Array,
    cost_s: Array,
    *,
    p_bs: float | Array,
    p_ofs: float | Array,
    l0_s: float | Array,
    budget_usd: float | Array | None = None,
) -> Array:
    """The client's offer per call, EHRR (4), with the optional cap of Proposition 3.

        tau_i = p_bs * Sim_i + p_ofs * ln(1 + C_i / L0),      tau'_i = min(tau_i, B)

    Shapes: (S,) each, or any that broadcast. Units: similarity in [0, 1], cost in s, result in USD per call.
    Raises ValueError if a cost is negative.

    >>> similarity, cost_s = np.array([0.75, 0.85]), np.array([1.78, 3.33])
    >>> posted_price(similarity, cost_s, p_bs=0.0025, p_ofs=0.0225, l0_s=1.0).round(4)      # Table I
    array([0.0249, 0.0351])
    >>> posted_price(similarity, cost_s, p_bs=0.0025, p_ofs=0.0225, l0_s=1.0, budget_usd=0.03).round(4)
    array([0.0249, 0.03  ])
    """
    if (cost_s < 0).any():
        raise ValueError("a cost is negative")
    offer_usd = p_bs * similarity + p_ofs * np.log1p(cost_s / l0_s)
    return offer_usd if budget_usd is None else np.minimum(offer_usd, budget_usd)


def accepts(ask_usd: Array, posted_usd: Array) -> NDArray[np.bool_]:
    """The one-bit answer of each server, EHRR (5): accept if the ask price is at most the posted price.

    A server without an ask price (NaN) accepts. Shapes: (S,) each; USD per call.

    >>> accepts(np.array([0.010, 0.050, np.nan]), np.array([0.0249, 0.0351, 0.01]))      # Table I
    array([ True, False,  True])
    """
    return np.isnan(ask_usd) | (ask_usd <= posted_usd)


def affordable(price_usd: Array, posted_usd: Array) -> NDArray[np.bool_]:
    """Tools whose price is at most their server's posted price (Algorithm 2, line 20); unpriced tools (NaN) pass.

    >>> affordable(np.array([0.030, 0.002, 0.020]), np.full(3, 0.0249))      # Table II
    array([False,  True,  True])
    """
    return np.isnan(price_usd) | (price_usd <= posted_usd)


SETTLEMENTS = {
    "price": "A call pays the listed price of its tool.",
    "posted": "A call pays exactly the posted price τ of its server (EHRR, Corollary 2).",
    "ask": "A call pays the ask of its server.",
}


def payment(settlement: str, *, price_usd: Array, posted_usd: Array, ask_usd: Array) -> Array:
    """The payment for a call of a tool on a server that accepted.

        price: p_ij,      posted: tau_i (EHRR, Corollary 2),      ask: c_i

    A server without an ask, or without a posted price, is paid the listed price. NaN if that is unknown too.
    Shapes: any that broadcast. Units: USD per call.

    >>> prices = {"price_usd": np.array([0.002, 0.020]), "posted_usd": np.array([0.0249]), "ask_usd": np.array([0.010])}
    >>> {name: payment(name, **prices).tolist() for name in SETTLEMENTS}      # t12 and t13 of Table II, s1 of Table I
    {'price': [0.002, 0.02], 'posted': [0.0249, 0.0249], 'ask': [0.01, 0.01]}
    >>> payment("ask", **{**prices, "ask_usd": np.array([np.nan])}).tolist()
    [0.002, 0.02]
    """
    agreed_usd = {"price": price_usd, "posted": posted_usd, "ask": ask_usd}[settlement]
    return np.where(np.isnan(agreed_usd), price_usd, agreed_usd)


def earned(stated_usd: Array, cost_usd: Array, *, settlement: str, price_usd: Array, posted_usd: Array) -> Array:
    """The earnings of an executed server with a true cost that states another cost: a_i (payment - c_i), 0 if it rejects. If the payment
    is the posted price, no statement earns more than the true cost, EHRR Theorem 1.

    Shapes: any that broadcast. Units: USD per call.

    >>> cost, offer = np.array([0.010]), {"price_usd": np.array([0.020]), "posted_usd": np.array([0.0249])}
    >>> stated = np.array([0.010, 0.024, 0.050])      # s1 of Table I: a false ask pays only if the payment is the ask
    >>> {name: earned(stated, cost, settlement=name, **offer).round(4).tolist() for name in SETTLEMENTS}
    {'price': [0.01, 0.01, 0.0], 'posted': [0.0149, 0.0149, 0.0], 'ask': [0.0, 0.014, 0.0]}
    """
    paid_usd = payment(settlement, price_usd=price_usd, posted_usd=posted_usd, ask_usd=stated_usd)
    return np.where(accepts(stated_usd, posted_usd), paid_usd - cost_usd, 0.0)
