"""The paper's propositions over whole decisions on random catalogs."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.domain.catalog import Server
from core.routers.crossings import Lines, crossings
from core.routers.ehrr import Ehrr
from tests.routers import worlds

promise = settings(derandomize=True, max_examples=50)
seeds = st.integers(0, 2**32 - 1)


def random_context(seed, most_servers=6):
    """A catalog of up to six servers with up to three tools each; some figures are not declared."""
    rng = np.random.default_rng(seed)

    def maybe(value):
        return None if rng.random() < 0.15 else float(value)

    made, of_server, of_tool = [], {}, {}
    for s in range(rng.integers(1, most_servers + 1)):
        name = f"s{s}"
        of_server[name] = float(rng.random())
        own = []
        for t in range(rng.integers(0, 4)):
            of_tool[f"{name}::t{t}"] = float(rng.random())
            figures = {"latency_s": maybe(rng.exponential()), "success": maybe(rng.uniform(0.3, 1))}
            own.append(worlds.tool(f"t{t}", price_usd=maybe(rng.uniform(0, 0.05)), **figures))
        made.append(
            Server(
                name, tools=tuple(own), ask_usd=maybe(rng.uniform(0, 0.05)), conn_s=maybe(rng.exponential(0.3)),
                call_s=maybe(rng.exponential()), success=maybe(rng.uniform(0.3, 1)), success_variance=maybe(0.01),
                post_accept_failure=maybe(rng.uniform(0, 0.5)),
            )
        )  # fmt: skip
    catalog = worlds.catalog(*made)
    return worlds.context(catalog, of_server, of_tool, tokens=rng.integers(1, 400, len(catalog.tools)))


def route(context, **parameters):
    return Ehrr().route("x", context, worlds.table_v(**parameters))


def feasible_rows(decision):
    """F(q) as the paper defines it: short-listed, accepting, affordable."""
    trace = decision.servers
    return [
        row
        for row, server in enumerate(decision.tools.server_row)
        if trace.shortlisted[server] and trace.accepted[server] and decision.tools.affordable[row]
    ]


@promise
@given(seeds, st.integers(1, 5))
def test_proposition_8_exposed_tokens_are_at_most_n_times_the_longest_definition(seed, n):
    context = random_context(seed)
    tokens = route(context, n=n).tokens
    assert tokens["exposed"] <= n * max(context.tool_tokens, default=0)
    assert tokens["baseline"] == sum(int(x) for x in context.tool_tokens)


@promise
@given(seeds)
def test_the_interval_of_alpha_t_is_where_routing_again_gives_the_same_winner(seed):
    context = random_context(seed)
    today = route(context)
    feasible = feasible_rows(today)
    assume(len(feasible) > 1)
    trace = today.tools
    similarity, cost = trace.similarity[feasible], (trace.time_cost_s + trace.money_cost_s)[feasible]
    edges = np.array([0.0, *crossings(Lines(similarity, cost), 0.0, 2.0, keep=1), 2.0])
    above = int(np.searchsorted(edges, today.parameters["alpha_t"], side="right"))
    for end, outwards in ((edges[above - 1], -1e-6), (edges[above], 1e-6)):
        assert route(context, alpha_t=float(end - outwards)).candidates[0] == today.candidates[0]
        if 0.0 < end < 2.0:
            assert route(context, alpha_t=float(end + outwards)).candidates[0] != today.candidates[0]
