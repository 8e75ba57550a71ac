"""The strips of EHRR: the values of each parameter at which the decision changes, and each change.

The engine decides over a grid of each parameter; a change between two points is bisected. A band that is narrower than both a step of
the slider and 1 / TRACK of its track can be missed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from core.decisions.case import SERVER_WEIGHTS, TOOL_WEIGHTS, WEIGHTS, Case, Outcomes, decide
from core.decisions.strips import Strip, asked, assembled, reason_now, reason_of
from core.domain.params import CUBE_ROOT, Knob
from core.domain.trace import Array
from core.routers.context import Match, weighted
from core.routers.ehrr import EhrrEngine, EhrrParameters

SMOOTH = ("alpha_s", "alpha_t", "kappa", "p_bs", "p_ofs", "l0_s", "l_route_s", "eps", "budget_usd")
WHOLE = ("k", "n")
MOVES_SERVERS = ("alpha_s", "l_route_s", "eps", "k")  # knobs that change the short-list

TRACK = 64  # points of a grid along the track of a slider
NEXT_TO_END = 1e-6  # of the range
PARTS = 8  # into which a range with a change is divided
NARROW_WEIGHTS = 1e-7  # of the range of a weight, because similarities of views have 32 bits
NARROW = 1e-12  # of the range; nearer changes count as a single change
AT_ONCE = 1_000_000  # points times tools or servers

Signatures = Callable[[Sequence[str], Array], Sequence[Hashable]]


def grid(knob: Knob) -> Array:
    """Sorted values of a knob: all whole numbers, or the middles between the steps of its slider and along its track, and values right
    next to the ends. Ends and round values are left out, because many utilities are equal there.

    >>> grid(Knob("k", int, 5, "k", "", 1, 4, 1, "", "")).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    low, high, step = float(knob.low or 0.0), float(knob.high or 1.0), float(knob.step or 1.0)
    if knob.kind is int:
        return np.arange(low, high + 1).astype(np.float64)
    along = (np.arange(TRACK) + 0.5) / TRACK
    steps = (np.arange(math.ceil((high - low) / step)) + 0.5) * step
    shares = np.concatenate([[NEXT_TO_END, 1 - NEXT_TO_END], along**3 if knob.scale == CUBE_ROOT else along])
    values = np.concatenate([low + (high - low) * shares, low + steps])
    return np.unique(values[values < high]).astype(np.float64)


def bracketed(grids: Mapping[str, Array], decided: Signatures) -> dict[str, Array]:
    """For each parameter the sorted values at which the decision changes between points of its grid.

    `decided` takes names of parameters, each with a value, and returns the decision of each. All parameters are bisected together.

    >>> def decided(names, values):
    ...     return [value**2 > 0.5 for value in values]
    >>> bracketed({"x": np.linspace(0.0, 1.0, 5)}, decided)["x"].round(6).tolist()
    [0.707107]
    """
    least = {
        name: (NARROW_WEIGHTS if name in WEIGHTS else NARROW) * float(np.ptp(points)) for name, points in grids.items()
    }
    borders: dict[str, list[float]] = {name: [] for name in grids}
    changes: list[tuple[str, float, float]] = []
    for name, points in grids.items():
        changes += _changed([name] * len(points), points, decided)
    while changes:
        wide = list[tuple[str, float, float]]()
        for name, low, high in changes:
            if high - low > least[name]:
                wide.append((name, low, high))
            else:
                borders[name].append((low + high) / 2)
        names = [name for name, _, _ in wide for _ in range(PARTS + 1)]
        changes = _changed(
            names, np.array([np.linspace(low, high, PARTS + 1) for _, low, high in wide]).ravel(), decided
        )
    return {name: np.sort(values) for name, values in borders.items()}


def _changed(names: Sequence[str], values: Array, signatures_of: Signatures) -> list[tuple[str, float, float]]:
    """The ranges between neighbouring values of a parameter whose decisions differ."""
    decisions, points = signatures_of(names, values), values.tolist()
    return [
        (names[i], points[i], points[i + 1])
        for i in range(len(points) - 1)
        if decisions[i] != decisions[i + 1] and names[i] == names[i + 1] and points[i] < points[i + 1]
    ]


def of_listed(case: Case, points: Sequence[Mapping[str, Array]], *, with_tool: str = "") -> Case:
    """The case with only the servers (and their tools) that are on the short-list at any of these points, and the server of `with_tool`.
    Decisions at the points do not change, because tools of other servers are not in the race.
    """
    if not case.can_be_narrowed:
        return case
    count = len(case.context.server_names)
    of_servers = case.context.narrowed(np.zeros(0, dtype=np.int64), np.arange(count))  # tools need no estimates yet
    listed = np.zeros(count, dtype=np.bool_)
    for block in points:
        total = len(next(iter(block.values())))
        for span in np.array_split(np.arange(total), math.ceil(total * count / AT_ONCE)):
            columns = {name: values[span, None] for name, values in block.items()}
            layer = EhrrEngine.of(of_servers, case.parameters, None, columns).server_layer(case.match.servers)
            listed |= layer.listed.any(axis=0)
    if with_tool:
        listed[case.context.tool_server[case.context.tool_ids.index(with_tool)]] = True
    return case.of_servers(np.flatnonzero(listed))


def near_the_short_list(case: Case, *, with_tool: str = "") -> Case:
    """The case with only the current short-list, also if a single server moves, and the server of `with_tool`."""
    return of_listed(case, [{"k": np.array([case.parameters.k + 1])}], with_tool=with_tool)


def strips(case: Case) -> dict[str, Strip]:
    """The strip of every parameter, with the views' weights if similarity comes from weighted views."""
    knobs = {knob.name: knob for knob in case.parameters.knobs()}
    whole = of_listed(case, [{"k": np.array([knobs["k"].high])}])
    return {
        **_of_smooth(case, [knobs[name] for name in SMOOTH]),
        **_of_smooth(case, [knobs[name] for name in _weights(case)]),
        **{name: _of_whole(whole, knobs[name]) for name in WHOLE},
    }


def strip(case: Case, knob: Knob) -> Strip:
    return _of_whole(case, knob) if knob.name in WHOLE else _of_smooth(case, [knob])[knob.name]


def _of_whole(case: Case, knob: Knob) -> Strip:
    points = grid(knob)
    bounds = np.concatenate([points[:1], points[:-1] + 0.5, points[-1:]])
    return _assembled(case, knob, bounds)


def _of_smooth(case: Case, knobs: Sequence[Knob]) -> dict[str, Strip]:
    grids = {knob.name: _with_present(knob, getattr(case.parameters, knob.name)) for knob in knobs}
    if not any(name in WEIGHTS for name in grids):
        moving = [{name: points} for name, points in grids.items() if name in MOVES_SERVERS]
        case = of_listed(case, [{"k": np.array([case.parameters.k])}, *moving])
    borders = bracketed(grids, lambda names, values: _signatures(case, names, values))
    made: dict[str, Strip] = {}
    for knob in knobs:
        low, high = float(knob.low or 0.0), float(knob.high or 1.0)
        # a present value at an end may decide as no value beside it does
        beside = low + (high - low) * np.array([NEXT_TO_END, 1 - NEXT_TO_END])
        made[knob.name] = _assembled(case, knob, apart(np.sort(np.append(borders[knob.name], beside)), low, high))
    return made


def _with_present(knob: Knob, value: float | None) -> Array:
    points = grid(knob)
    inside = value is not None and bool(points[0] < value < points[-1])
    more = [float(value)] if value is not None and inside else []
    if knob.name in WEIGHTS:  # a weight of 0 switches its part off
        more += [float(knob.low or 0.0), float(knob.high or 1.0)]
    return np.unique(np.append(points, more))


def _signatures(case: Case, names: Sequence[str], values: Array) -> list[int]:
    signatures: list[int] = []
    for span in np.array_split(
        np.arange(len(names)), max(math.ceil(len(names) * len(case.context.tool_ids) / AT_ONCE), 1)
    ):
        rows: list[int] = span.tolist()
        signatures += _outcomes(case, [names[row] for row in rows], values[span]).signatures() if len(span) else []
    return signatures


def _outcomes(case: Case, names: Sequence[str], values: Array) -> Outcomes:
    p, columns = case.parameters, np.array(names)
    present = {name: getattr(p, name) for name in set(names)}
    points = {name: np.where(columns == name, values, np.inf if x is None else float(x)) for name, x in present.items()}
    weights = {name: points.pop(name)[:, None] for name in WEIGHTS if name in points}
    if case.signals is None or not weights:
        return decide(case, points)
    match = weighted(case.signals, p, weights)
    servers, tools = (np.broadcast_to(array, (len(values), array.shape[-1])) for array in (match.servers, match.tools))
    return decide(case, points, Match(servers, tools))


def _weights(case: Case) -> list[str]:
    """The weights of views that matter, with the hint's weight if there is a hint."""
    if case.signals is None:
        return []
    hinted = case.signals.hinted
    return [name for name in WEIGHTS if (hinted or name != "hint_weight") and not _alone(case.parameters, name)]


def _alone(p: EhrrParameters, name: str) -> bool:
    """Whether a weight is the only weight above 0 of its layer, so that its value does not matter."""
    layer = next((names for names in (TOOL_WEIGHTS, SERVER_WEIGHTS) if name in names), ())
    return bool(layer) and not any(getattr(p, other) for other in layer if other != name)


def apart(inside: Array, low: float, high: float) -> Array:
    """The ends of the range and the values between them, without values right next to the previous value."""
    edges = np.concatenate([[low], inside, [high]])
    edges = edges[np.concatenate([[True], np.diff(edges) > 2 * NARROW * (high - low)])]
    edges[-1] = high
    return edges


def _assembled(case: Case, knob: Knob, edges: Array) -> Strip:
    """The strip of a parameter: segments between the edges at which the decision changes, each with its reason."""
    current = getattr(case.parameters, knob.name)
    points = np.array(asked(knob, edges.tolist(), current))
    signatures = _outcomes(case, [knob.name] * len(points), points).signatures()
    changed = [True, *(first != other for first, other in pairwise(signatures))]
    bounds = [*edges[:-1][changed].tolist(), float(edges[-1])]
    values = np.array(asked(knob, bounds, current))
    outcomes = _outcomes(case, [knob.name] * len(values), values)
    seconds, margins = outcomes.runners_up()
    names = [case.context.tool_ids[int(row)] if row >= 0 else None for row in outcomes.winner]
    return assembled(
        knob, bounds, current, names, margins.tolist(),
        lambda place: reason_now(case, outcomes, place, int(seconds[place]), float(margins[place])),
        lambda neighbour, place: reason_of(case, outcomes, neighbour, place),
    )  # fmt: skip
