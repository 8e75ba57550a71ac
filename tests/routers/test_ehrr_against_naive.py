"""The router against EHRR in plain loops, and the paper's propositions over whole decisions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.catalog import Server
from core.routers.ehrr import Ehrr
from tests.routers import naive, worlds

# coarse figures make ties and prices equal to the posted price; fine figures make the other cases
similarity = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.floats(0.0, 1.0))
seconds = st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.0, 20.0))
probability = st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.0, 1.0))
usd = st.one_of(st.none(), st.sampled_from([0.0, 0.002, 0.01, 0.02]), st.floats(0.0, 0.08))
tools = st.lists(st.tuples(seconds, probability, usd, similarity), max_size=4)
servers = st.lists(
    st.tuples(seconds, seconds, probability, probability, st.floats(0.0, 0.25), usd, similarity, tools), max_size=7
)
parameters = st.fixed_dictionaries(
    {},
    optional={
        "k": st.integers(1, 6),
        "n": st.integers(1, 6),
        "alpha_s": st.sampled_from([0.0, 0.1, 1.0]),
        "alpha_t": st.sampled_from([0.0, 0.25, 1.5]),
        "l_route_s": st.floats(0.0, 1.0),
        "eps": st.sampled_from([1e-3, 0.01, 0.3]),
        "p_bs": st.floats(0.0, 0.1),
        "p_ofs": st.floats(0.0, 0.2),
        "l0_s": st.floats(0.1, 10.0),
        "kappa": st.floats(0.0, 200.0),
        "budget_usd": st.sampled_from([None, 0.0, 0.01, 0.02]),
        "billing": st.sampled_from(["per_call", "per_attempt"]),
        "auction": st.booleans(),
        "execution_signals": st.booleans(),
        "hierarchy": st.booleans(),
    },
)
DEFAULTS = {
    "k": 5, "n": 3, "alpha_s": 0.1, "alpha_t": 0.25, "l_route_s": 0.0, "eps": 1e-3, "p_bs": 0.0025, "p_ofs": 0.0225,
    "l0_s": 1.0, "kappa": 1.0, "budget_usd": None, "billing": "per_call", "auction": True, "execution_signals": True,
    "hierarchy": True,
}  # fmt: skip


def build(rows):
    """A catalog and both dictionaries of similarities; names run against the order of the rows."""
    listed_servers, of_server, of_tool = [], {}, {}
    for place, (conn, call, r, failure, variance, ask, fits, rows_of_tools) in enumerate(rows):
        name = f"s{9 - place}"
        of_server[name] = fits
        listed = []
        for number, (latency, success, price, tool_fits) in enumerate(rows_of_tools):
            listed.append(worlds.tool(f"t{9 - number}", latency_s=latency, success=success, price_usd=price))
            of_tool[f"{name}::t{9 - number}"] = tool_fits
        figures = {"conn_s": conn, "call_s": call, "success": r, "success_variance": variance}
        listed_servers.append(Server(name, tools=tuple(listed), ask_usd=ask, post_accept_failure=failure, **figures))
    return worlds.catalog(*listed_servers), of_server, of_tool


def close(number):
    return pytest.approx(number, rel=1e-9, abs=1e-9)


def compare_server(actual, want, p):
    assert (actual.rank, actual.shortlisted, actual.accepted) == (want["rank"], want["shortlisted"], want["accepted"])
    assert (actual.similarity, actual.cost_s, actual.utility) == (
        want["similarity"],
        close(want["cost"]),
        close(want["utility"]),
    )
    posted = want["posted"] if p["auction"] and want["shortlisted"] else None
    assert actual.posted_price_usd == (None if posted is None else close(posted))
    assert actual.ask_usd == (None if want["ask"] is None else close(want["ask"]))


def compare_tool(actual, want):
    assert (actual.rank, actual.dropped_by, actual.affordable) == (want["rank"], want["dropped_by"], want["affordable"])
    assert actual.similarity == want["similarity"]
    assert (actual.time_cost_s, actual.money_cost_s) == (close(want["time"]), close(want["money"]))
    assert (actual.cost_s, actual.utility) == (close(want["time"] + want["money"]), close(want["utility"]))


@settings(derandomize=True, max_examples=100)
@given(servers, parameters)
def test_every_number_rank_drop_and_candidate_is_that_of_the_plain_loops(rows, chosen):
    catalog, of_server, of_tool = build(rows)
    p = DEFAULTS | chosen
    decision = Ehrr().route("x", worlds.context(catalog, of_server, of_tool), worlds.table_v().replaced(chosen))
    want_servers, want_tools, want_candidates = naive.route(catalog, of_server, of_tool, p)
    assert [decision.tools.ids[row] for row in decision.candidates] == want_candidates
    for row, name in enumerate(decision.servers.names):
        compare_server(decision.server_at(row), want_servers[name], p)
    for row, name in enumerate(decision.tools.ids):
        compare_tool(decision.tool_at(row), want_tools[name])


def test_the_defaults_are_table_five():
    values = worlds.table_v().values()
    assert {name: values[name] for name in DEFAULTS} == DEFAULTS
    assert [values[name] for name in ("lambda_r", "lambda_var", "lambda_p", "lambda_l")] == [0.15] * 4
