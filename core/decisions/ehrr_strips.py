"""The strips of EHRR: the values of each parameter at which its decision changes, and the change at each."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.decisions.case import SERVER_WEIGHTS, TOOL_WEIGHTS, WEIGHTS, Case, Mask, Outcomes, Rows, ViewSignals, decide
from core.decisions.strips import Segment, Strip, asked, meeting, placed, reason_now, reason_of
from core.domain.params import Knob
from core.domain.trace import Array
from core.routers.auction import accepts, affordable, posted_price
from core.routers.crossings import Lines, crossings, relevant, straight
from core.routers.ehrr import EhrrParameters
from core.routers.estimates import estimate_servers, estimate_tools
from core.routers.utility import attempt_success, money_cost

# EHRR (2), (3), (4), (6) and (7) as functions of one parameter --------------------------------------------------------
#
# y is the parameter, or 1 / eps. Utilities are straight lines in y; over 1 / eps they end at the cap 1 / beta.

UNFLOORED = 1e-300  # an eps that lifts nothing


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms of servers (S,) and tools (T,). `wait_s` is the time of one attempt, with L_route. `chance` is (1 - pfail) r before the
    floor eps, `beta` after it. `paid_s` is the money term for kappa 1."""

    case: Case
    wait_s: Array
    chance: Array
    beta: Array
    tool_wait_s: Array
    tool_chance: Array
    tool_beta: Array
    paid_s: Array

    @classmethod
    def of(cls, case: Case, *, of_tools: bool = True) -> Terms:
        """The terms under the case's parameters; those of tools may be left out."""
        context, p = case.context, case.parameters
        bare = estimate_servers(context, l_route_s=p.l_route_s, eps=UNFLOORED, beliefs=case.beliefs)
        chance = attempt_success(bare.success, bare.post_accept_failure, eps=UNFLOORED)
        wait_s, beta, none = bare.fixed_s + bare.call_s, np.maximum(p.eps, chance), np.zeros(0)
        if not of_tools:
            return cls(case, wait_s, chance, beta, none, none, none, none)
        bare_tools = estimate_tools(context, bare, eps=UNFLOORED, beliefs=case.beliefs)
        tool_beta = np.maximum(p.eps, bare_tools.success)
        price, per_attempt = context.statistics.tools.price_usd, p.billing == "per_attempt"
        return cls(
            case,
            wait_s,
            chance,
            beta,
            bare.fixed_s[context.tool_server] + bare_tools.latency_s,
            bare_tools.success,
            tool_beta,
            money_cost(price, tool_beta, kappa=1.0, per_attempt=per_attempt),
        )

    def servers(self, name: str) -> Lines:
        """U_i (3) over alpha_s, L_route or 1 / eps."""
        p, similarity = self.case.parameters, self.case.match.servers
        alpha, _ = p.weights_of_time()
        if name == "eps":
            return Lines(similarity, alpha * self.wait_s, 1 / self.chance)
        cost_s = self.wait_s / self.beta
        if name == "l_route_s":
            return straight(similarity - alpha * (cost_s - p.l_route_s / self.beta), alpha / self.beta)
        return straight(similarity, cost_s if p.execution_signals else np.zeros_like(cost_s))

    def tools(self, name: str) -> Lines:
        """U_ij (7) over alpha_t, kappa, L_route or 1 / eps."""
        p, similarity = self.case.parameters, self.case.match.tools
        _, alpha = p.weights_of_time()
        time_s, money_s = self.tool_wait_s / self.tool_beta, p.kappa * self.paid_s
        if name == "alpha_t":
            slope = time_s + money_s
            return straight(similarity, slope if p.execution_signals else np.zeros_like(slope))
        if name == "kappa":
            return straight(similarity - alpha * time_s, alpha * self.paid_s)
        if name == "l_route_s":
            return straight(
                similarity - alpha * (time_s - p.l_route_s / self.tool_beta + money_s), alpha / self.tool_beta
            )
        if p.billing == "per_attempt":  # the price is divided by beta as well
            paid = p.kappa * self.paid_s * self.tool_beta
            return Lines(similarity, alpha * (self.tool_wait_s + paid), 1 / self.tool_chance)
        return Lines(similarity - alpha * money_s, alpha * self.tool_wait_s, 1 / self.tool_chance)

    def limit(self, name: str, servers: Rows, price_usd: Array) -> Array:
        """The y at which the posted price (4) of these servers equals `price_usd`; not finite if it never does.

        Shapes: (N,) each.
        """
        p, similarity = self.case.parameters, self.case.match.servers[servers]
        wait_s, beta = self.wait_s[servers], self.beta[servers]
        cost_s = wait_s / beta
        with np.errstate(all="ignore"):
            if name == "budget_usd":
                return price_usd
            if name == "p_bs":
                return (price_usd - p.p_ofs * np.log1p(cost_s / p.l0_s)) / similarity
            if name == "p_ofs":
                return (price_usd - p.p_bs * similarity) / np.log1p(cost_s / p.l0_s)
            needed = np.expm1((price_usd - p.p_bs * similarity) / p.p_ofs)  # C / L0
            if name == "l0_s":
                return cost_s / needed
            if name == "l_route_s":
                return p.l_route_s + p.l0_s * needed * beta - wait_s
            return p.l0_s * needed / wait_s

    def in_race(self, name: str, y: Array, rows: Rows) -> Mask:
        """(E, R) whether the servers of these tools accept and the tools are affordable at each y. `name` is L_route or eps."""
        context, p = self.case.context, self.case.parameters
        if not p.auction:
            return np.ones((len(y), len(rows)), dtype=np.bool_)
        listed, of_row = np.unique(context.tool_server[rows], return_inverse=True)
        if name == "eps":
            cost_s = self.wait_s[listed] * np.minimum(y[:, None], 1 / self.chance[listed])
        else:
            cost_s = (self.wait_s[listed] + (y[:, None] - p.l_route_s)) / self.beta[listed]
        posted = posted_price(
            self.case.match.servers[listed], np.maximum(cost_s, 0.0), p_bs=p.p_bs, p_ofs=p.p_ofs, l0_s=p.l0_s,
            budget_usd=p.budget_usd,
        )  # fmt: skip
        known = context.statistics
        accepted = accepts(known.servers.ask_usd[listed], posted)[:, of_row]
        return accepted & affordable(known.tools.price_usd[rows], posted[:, of_row])


# The values at which a decision may change: closed forms, no sampling -------------------------------------------------
#
# The values include every change. `strip` decides between neighbouring values and drops those at which nothing changes.
#
#     short-list     crossings of U_i (3), linear in alpha_s and L_route; in 1 / eps up to the cap 1 / beta_i
#     acceptance     tau_i (4) is monotone in each parameter: c_i = tau_i solved for it; the same with a tool's price p_ij
#     candidates     crossings of U_ij (7), linear in alpha_t, kappa, L_route, and in 1 / eps up to the cap; and U_ij = 0

SMOOTH = ("alpha_s", "alpha_t", "kappa", "p_bs", "p_ofs", "l0_s", "l_route_s", "eps", "budget_usd")
MOVES_SERVERS = ("alpha_s", "l_route_s", "eps")
MOVES_PRICES = ("p_bs", "p_ofs", "l0_s", "l_route_s", "eps", "budget_usd")
MOVES_TOOLS = ("alpha_t", "kappa", "l_route_s", "eps")


Region = tuple[str, float, float, int]  # one of MOVES_SERVERS, its range, and the largest k there


def shortlistable(case: Case, regions: Sequence[Region], *, with_tool: str = "") -> Case:
    """The case with those servers, and their tools, alone that can be on the short-list in one of these regions and at the present values,
    also if one server is moved, and with the server of a tool. Decisions there are the same, because tools of other servers are not in
    the race.
    """
    if not case.can_be_narrowed:
        return case
    p = case.parameters
    terms, now = Terms.of(case, of_tools=False), p.weights_of_time()[0]
    able = [
        relevant(
            terms.servers(name), *((1 / high, 1 / low) if name == "eps" else (low, high)), keep=k, inside=low < high
        )
        for name, low, high, k in [("alpha_s", now, now, p.k + 1), *regions]
    ]
    if with_tool:
        able.append(case.context.tool_server[[case.context.tool_ids.index(with_tool)]])
    return case.of_servers(np.unique(np.concatenate(able)))


def events(case: Case, terms: Terms, name: str, low: float, high: float) -> Array:
    """Sorted values in (low, high) at which the decision may change. `name` is one of SMOOTH."""
    inverse = name == "eps"
    ends = (1 / high, 1 / low) if inverse else (low, high)
    found = np.unique(np.concatenate(_events(case, terms, name, *ends)))
    values = 1 / found[::-1] if inverse else found
    return values[(values > low) & (values < high)]


def _events(case: Case, terms: Terms, name: str, low: float, high: float) -> list[Array]:
    count, p = len(case.context.server_names), case.parameters
    listing = np.zeros(0)
    if name in MOVES_SERVERS and p.hierarchy and p.k < count:
        lines = terms.servers(name)
        few = lines.rows(relevant(lines, low, high, keep=p.k, inside=True))
        listing = crossings(few, low, high, keep=p.k, ordered=False)
    found = [listing]
    if name not in MOVES_PRICES and name not in MOVES_TOOLS:
        return found
    cells = np.concatenate([[low], listing, [high]])
    middles = (cells[:-1] + cells[1:]) / 2
    lists = decide(case, {name: 1 / middles if name == "eps" else middles}).listed
    for start, end, listed in zip(cells[:-1], cells[1:], lists, strict=True):
        found += _within(case, terms, name, (float(start), float(end)), np.flatnonzero(listed))
    return found


def _within(case: Case, terms: Terms, name: str, ends: tuple[float, float], listed: Rows) -> list[Array]:
    """Where answers and candidates may change while these servers are the short-list."""
    context = case.context
    tools = np.flatnonzero(np.isin(context.tool_server, listed))
    found: list[Array] = []
    if case.parameters.auction and name in MOVES_PRICES:
        known = context.statistics
        limits = (
            terms.limit(name, listed, known.servers.ask_usd[listed]),
            terms.limit(name, context.tool_server[tools], known.tools.price_usd[tools]),
        )
        found += [y[(y > ends[0]) & (y < ends[1])] for y in limits]
    if name in MOVES_TOOLS and not case.refused:
        found.append(_reranked(case, terms, name, ends, tools))
    return found


def _reranked(case: Case, terms: Terms, name: str, ends: tuple[float, float], tools: Rows) -> Array:
    """Where the order of the candidates may change among these tools."""
    p, lines, context = case.parameters, terms.tools(name), case.context
    price, server = context.statistics.tools.price_usd, context.tool_server
    if name in MOVES_PRICES:  # which tools are in the race changes too
        tools = tools[relevant(lines.rows(tools), *ends, keep=p.n, price=price[tools], group=server[tools])]
    else:
        everyone = decide(replace(case, parameters=replace(p, worthwhile=False)), {})
        tools = np.flatnonzero(np.isfinite(everyone.racing[0]))
        tools = tools[relevant(lines.rows(tools), *ends, keep=p.n)]
    drawn = lines.rows(tools)
    if p.worthwhile:  # a line at 0: tools below it are not tried
        drawn = Lines(np.append(drawn.a, 0.0), np.append(drawn.s, 0.0), np.append(drawn.cap, np.inf))

    def counted(y: Array) -> Array:
        at = drawn.at(y)
        at[:, : len(tools)][~terms.in_race(name, y, tools)] = -np.inf
        return at

    values: Callable[[Array], Array] | None = counted if name in MOVES_PRICES else None
    return crossings(drawn, *ends, keep=p.n, values=values)


# Parameters without a closed form -------------------------------------------------------------------------------------
#
# Changes are bracketed between the points of a grid and bisected to a billionth of the range. Two changes within one step of the
# grid that cancel each other can be missed.

GRID = 33
NARROW = 1e-9

Signatures = Callable[[Sequence[str], Array], Sequence[Hashable]]


@dataclass(frozen=True, slots=True)
class _Bracket:
    name: str
    low: float
    high: float
    left: Hashable
    right: Hashable
    span: float


def bracketed(ranges: dict[str, tuple[float, float]], decided: Signatures) -> dict[str, list[float]]:
    """For each parameter the values within its range at which the decision changes.

    `decided` takes names of parameters with a value for each and returns the decision of each. All parameters are searched together.

    >>> def decided(names, values):
    ...     return [value**2 > 0.5 for value in values]
    >>> [round(x, 6) for x in bracketed({"x": (0.0, 1.0)}, decided)["x"]]
    [0.707107]
    """
    names = [name for name in ranges for _ in range(GRID)]
    values = np.concatenate([np.linspace(low, high, GRID) for low, high in ranges.values()])
    known = decided(names, values)
    open_ones = [
        _Bracket(
            names[at],
            float(values[at]),
            float(values[at + 1]),
            known[at],
            known[at + 1],
            float(np.ptp(ranges[names[at]])),
        )
        for at in range(len(names) - 1)
        if names[at] == names[at + 1] and known[at] != known[at + 1]
    ]
    found: dict[str, list[float]] = {name: [] for name in ranges}
    while open_ones:
        middles = np.array([(one.low + one.high) / 2 for one in open_ones])
        halves = list[_Bracket]()
        for one, middle, here in zip(
            open_ones, middles.tolist(), decided([one.name for one in open_ones], middles), strict=True
        ):
            for part in (
                _Bracket(one.name, one.low, middle, one.left, here, one.span),
                _Bracket(one.name, middle, one.high, here, one.right, one.span),
            ):
                if part.left == part.right:
                    continue
                if part.high - part.low > NARROW * part.span:
                    halves.append(part)
                else:
                    found[one.name].append((part.low + part.high) / 2)
        open_ones = halves
    return {name: sorted(values) for name, values in found.items()}


WHOLE = ("k", "n")
NEAREST = 1e-13  # of the range: values nearer to each other count as one


def strips(case: Case) -> dict[str, Strip]:
    """The strip of every parameter, with those of the views if similarity comes from weighted views."""
    knobs = {knob.name: knob for knob in case.parameters.knobs()}
    now = case.parameters.weights_of_time()[0]
    case = shortlistable(
        case,
        [
            ("alpha_s", now, now, int(knobs["k"].high or 1)),
            *(
                (name, float(knobs[name].low or 0.0), float(knobs[name].high or 1.0), case.parameters.k)
                for name in MOVES_SERVERS
            ),
        ],
    )
    terms = Terms.of(case)
    found = {name: strip(case, terms, knobs[name]) for name in (*SMOOTH, *WHOLE)}
    return found | ({} if case.signals is None else _of_views(case, case.signals, knobs))


def strip(case: Case, terms: Terms, knob: Knob) -> Strip:
    """The strip of one parameter."""
    low, high = float(knob.low or 0.0), float(knob.high or 1.0)
    if knob.name in WHOLE:
        middles = np.arange(low, high + 1)
        edges = np.concatenate([[low], middles[:-1] + 0.5, [high]])
    else:
        edges = apart(events(case, terms, knob.name, low, high), low, high)
        middles = (edges[:-1] + edges[1:]) / 2
    kept = np.flatnonzero(np.concatenate([[True], decide(case, {knob.name: middles}).changes]))
    return _assembled(case, knob, [*edges[kept].tolist(), high], lambda values: decide(case, {knob.name: values}))


def _of_views(case: Case, signals: ViewSignals, knobs: Mapping[str, Knob]) -> dict[str, Strip]:
    """The strips of WEIGHTS, with the weight of the hint if there is a hint."""
    p = case.parameters
    names = [name for name in WEIGHTS if (signals.hinted or name != "hint_weight") and not _alone(p, name)]
    current = {name: float(getattr(p, name)) for name in names}

    def outcomes(asked: Sequence[str], values: Array) -> Outcomes:
        points = {name: np.full(len(values), current[name]) for name in set(asked)}
        for at, name in enumerate(asked):
            points[name][at] = values[at]
        return decide(case, {}, signals.match(p, points))

    ranges = {name: (float(knobs[name].low or 0.0), float(knobs[name].high or 1.0)) for name in names}
    found = bracketed(ranges, lambda asked, values: outcomes(asked, values).signatures())
    return {
        name: _assembled(
            case,
            knobs[name],
            apart(np.array(found[name]), *ranges[name]).tolist(),
            lambda values, name=name: outcomes([name] * len(values), values),
        )
        for name in names
    }


def _alone(p: EhrrParameters, name: str) -> bool:
    """Whether a weight is the only one of its layer above 0: then its value does not matter."""
    layer = next((names for names in (TOOL_WEIGHTS, SERVER_WEIGHTS) if name in names), ())
    return bool(layer) and not any(getattr(p, other) for other in layer if other != name)


def apart(inside: Array, low: float, high: float) -> Array:
    """The ends of the range and the values between them, without values right next to the one before."""
    edges = np.concatenate([[low], inside, [high]])
    edges = edges[np.concatenate([[True], np.diff(edges) > NEAREST * (high - low)])]
    edges[-1] = high
    return edges


def _assembled(case: Case, knob: Knob, bounds: list[float], decided: Callable[[Array], Outcomes]) -> Strip:
    """The strip of a parameter: segments between bounds, each with its reason."""
    now = getattr(case.parameters, knob.name)
    outcomes = decided(np.array(asked(knob, bounds, now)))
    seconds, margins = outcomes.runners_up()
    segments: list[Segment] = []
    here = placed(bounds, now)
    for place in range(len(bounds) - 1):
        if place == here:
            stage, reason = reason_now(case, outcomes, place, int(seconds[place]), float(margins[place]))
        else:
            stage, reason = reason_of(case, knob, outcomes, place, *meeting(knob, bounds, place, here))
        winner = int(outcomes.winner[place])
        name = case.context.tool_ids[winner] if winner >= 0 else None
        segments.append(Segment(bounds[place], bounds[place + 1], name, reason, stage, float(margins[place])))
    return Strip(knob.name, bounds[0], bounds[-1], tuple(segments))
