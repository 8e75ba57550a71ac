"""EHRR once more, straight from the specification: plain loops, `math.log`, `sorted`. The oracle of the router.

It reads a catalog's declared figures and two dictionaries of similarities; it shares no code with `core.routers`,
`core.routers` or `core.routers`.
"""

from __future__ import annotations

import math
from statistics import median

PRIOR = {"success": 0.9, "variance": 0.0, "failure": 0.02, "call_s": 1.0, "conn_s": 0.3}


def route(catalog, server_similarity, tool_similarity, p):
    """Algorithm 2's result: `(servers by name, tools by id, candidate ids)`."""
    servers = {s.name: _server(s, server_similarity.get(s.name, 0.0), p) for s in catalog.servers}
    by_utility = sorted(servers, key=lambda name: (-servers[name]["utility"], -servers[name]["similarity"], name))
    for place, name in enumerate(by_utility, start=1):
        row = servers[name]
        row["rank"] = place
        row["shortlisted"] = place <= p["k"] or not p["hierarchy"]
        row["accepted"] = row["shortlisted"] and (not p["auction"] or row["ask"] is None or row["ask"] <= row["posted"])
    tools = {}
    for s in catalog.servers:
        for t in s.tools:
            tools[t.id] = _tool(t, servers[s.name], tool_similarity.get(t.id, 0.0), p)
    feasible = [i for i, t in tools.items() if t["on_accepted"] and t["affordable"]]
    feasible.sort(key=lambda i: (-tools[i]["utility"], -tools[i]["similarity"], i))
    for place, i in enumerate(feasible, start=1):
        tools[i]["rank"] = place
        if place > p["n"]:
            tools[i]["dropped_by"] = "outranked"
    return servers, tools, feasible[: p["n"]]


def _given(value, otherwise):
    return otherwise if value is None else value


def _server(s, similarity, p):
    r = _given(s.success, PRIOR["success"])
    variance = _given(s.success_variance, PRIOR["variance"])
    failure = _given(s.post_accept_failure, PRIOR["failure"])
    fixed = p["l_route_s"] + _given(s.conn_s, PRIOR["conn_s"])
    safe = max(p["eps"], r - math.sqrt(variance))
    cost = (fixed + _given(s.call_s, PRIOR["call_s"])) / max(p["eps"], (1 - failure) * safe)
    posted = p["p_bs"] * similarity + p["p_ofs"] * math.log(1 + cost / p["l0_s"])
    if p["budget_usd"] is not None:
        posted = min(posted, p["budget_usd"])
    prices = [t.price_usd for t in s.tools if t.price_usd is not None]
    ask = s.ask_usd
    if ask is None and prices:
        ask = median(prices)
    alpha = p["alpha_s"] if p["execution_signals"] else 0.0
    return {
        "similarity": similarity,
        "fixed": fixed,
        "failure": failure,
        "cost": cost,
        "utility": similarity - alpha * cost,
        "posted": posted,
        "ask": ask,
    }


def _tool(t, server, similarity, p):
    beta = max(p["eps"], (1 - server["failure"]) * _given(t.success, PRIOR["success"]))
    time = (server["fixed"] + _given(t.latency_s, PRIOR["call_s"])) / beta
    money = p["kappa"] * _given(t.price_usd, 0.0)
    if p["billing"] == "per_attempt":
        money = p["kappa"] * (_given(t.price_usd, 0.0) / beta)
    affordable = not p["auction"] or t.price_usd is None or t.price_usd <= server["posted"]
    if not server["shortlisted"]:
        drop = "not_shortlisted"
    elif not server["accepted"]:
        drop = "rejected"
    elif not affordable:
        drop = "not_affordable"
    else:
        drop = None
    alpha = p["alpha_t"] if p["execution_signals"] else 0.0
    return {
        "similarity": similarity,
        "time": time,
        "money": money,
        "utility": similarity - alpha * (time + money),
        "affordable": affordable,
        "on_accepted": server["accepted"],
        "rank": None,
        "dropped_by": drop,
    }
