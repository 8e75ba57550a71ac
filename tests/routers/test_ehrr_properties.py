"""The paper's propositions over whole decisions on random catalogs."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.domain.catalog import Server
from core.domain.trace import Drop
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


def rows_of(decision):
    return [decision.tool_at(row) for row in range(len(decision.tools.ids))]


def feasible_rows(decision):
    """F(q) as the paper defines it: short-listed, accepting, affordable."""
    trace = decision.servers
    return [
        row
        for row, server in enumerate(decision.tools.server_row)
        if trace.shortlisted[server] and trace.accepted[server] and decision.tools.affordable[row]
    ]


@promise
@given(seeds, st.integers(1, 4))
def test_proposition_4_no_subset_of_feasible_tools_has_more_utility_than_the_candidates(seed, n):
    decision = route(random_context(seed), n=n)
    u = decision.tools.utility
    feasible = feasible_rows(decision)
    size = min(n, len(feasible))
    assert len(decision.candidates) == size
    best = max(sum(u[row] for row in subset) for subset in combinations(feasible, size))
    assert sum(u[row] for row in decision.candidates) == pytest.approx(best, abs=1e-9)


@promise
@given(seeds, st.integers(1, 4), st.floats(0.0, 0.2))
def test_proposition_5_wrong_similarities_cost_at_most_two_n_delta(seed, n, delta):
    """Tool similarities off by at most delta put every utility off by at most delta and leave F(q) alone."""
    true = random_context(seed)
    wrong = random_context(seed)
    wrong.matcher.answer.tools[:] += np.random.default_rng(seed).uniform(-delta, delta, len(wrong.catalog.tools))
    u = route(true, n=n).tools.utility
    best, chosen = route(true, n=n).candidates, route(wrong, n=n).candidates
    assert len(best) == len(chosen)
    assert -1e-9 <= sum(u[row] for row in best) - sum(u[row] for row in chosen) <= 2 * n * delta + 1e-9


@promise
@given(seeds)
def test_proposition_6_the_tool_layer_evaluates_the_tools_of_accepted_servers_alone(seed):
    context = random_context(seed)
    decision = route(context, k=2)
    on_accepted = sum(len(s.tools) for row, s in enumerate(context.catalog.servers) if decision.servers.accepted[row])
    passed = [row for row in rows_of(decision) if row.dropped_by not in {Drop.NOT_SHORTLISTED, Drop.REJECTED}]
    assert len(passed) == on_accepted


@promise
@given(seeds, st.integers(1, 8))
def test_proposition_7_exactly_k_servers_are_asked_for_their_bit(seed, k):
    context = random_context(seed)
    decision = route(context, k=k)
    asked = [decision.server_at(row).posted_price_usd is not None for row in range(len(context.catalog.servers))]
    assert sum(asked) == min(k, len(asked)) == len(decision.shortlist())
    assert not any(decision.servers.accepted & ~np.array(asked))


@promise
@given(seeds, st.integers(1, 5))
def test_proposition_8_exposed_tokens_are_at_most_n_times_the_longest_definition(seed, n):
    context = random_context(seed)
    tokens = route(context, n=n).tokens
    assert tokens["exposed"] <= n * max(context.tool_tokens, default=0)
    assert tokens["baseline"] == sum(int(x) for x in context.tool_tokens)


@promise
@given(seeds, st.one_of(st.none(), st.floats(0.0, 0.05)))
def test_theorem_1_and_proposition_3_no_accepting_server_asks_more_than_it_is_offered(seed, cap):
    decision = route(random_context(seed), budget_usd=cap)
    for row in decision.shortlist():
        server = decision.server_at(row)
        assert server.accepted == (server.ask_usd is None or server.ask_usd <= server.posted_price_usd)
        assert cap is None or server.posted_price_usd <= cap


@promise
@given(seeds, st.one_of(st.none(), st.floats(0.0, 0.05)))
def test_corollary_2_no_candidate_costs_more_than_the_posted_price_of_its_server(seed, cap):
    decision = route(random_context(seed), budget_usd=cap)
    for row in decision.candidates:
        price = decision.tool_at(row).price_usd
        assert price is None or price <= decision.server_at(int(decision.tools.server_row[row])).posted_price_usd


@promise
@given(seeds, st.floats(0.0, 0.03))
def test_proposition_3_a_cap_only_ever_takes_servers_and_tools_away(seed, cap):
    context = random_context(seed)
    free, capped = route(context), route(context, budget_usd=cap)
    assert not any(capped.servers.accepted & ~free.servers.accepted)
    assert set(feasible_rows(capped)) <= set(feasible_rows(free))


@promise
@given(seeds)
def test_without_the_auction_nobody_is_rejected_and_no_price_is_too_high(seed):
    decision = route(random_context(seed), auction=False)
    assert not {row.dropped_by for row in rows_of(decision)} & {Drop.REJECTED, Drop.NOT_AFFORDABLE}
    assert all(decision.server_at(row).posted_price_usd is None for row in decision.shortlist())


@promise
@given(seeds)
def test_without_execution_signals_similarity_alone_ranks(seed):
    decision = route(random_context(seed), execution_signals=False)
    assert decision.servers.utility.tolist() == decision.servers.similarity.tolist()
    assert decision.tools.utility.tolist() == decision.tools.similarity.tolist()


@promise
@given(seeds)
def test_without_the_hierarchy_no_tool_is_lost_for_its_servers_rank(seed):
    decision = route(random_context(seed), hierarchy=False, k=1)
    assert decision.servers.shortlisted.all()
    assert Drop.NOT_SHORTLISTED not in {row.dropped_by for row in rows_of(decision)}


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
