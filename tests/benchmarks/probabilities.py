"""The probabilities on left-out catalogs: refused questions, and the reliability diagram.

`.venv/bin/python -m tests.benchmarks.probabilities PICTURE.png` draws the diagram; `make bench` prints the tables.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from core.relevance.labelled import BINS, calibration_error
from core.relevance.relevance_index import RelevanceModel
from core.relevance.scoring import sigmoid
from tests.benchmarks.judging import (
    ANSWERABLE,
    NO_SERVER,
    NO_TOOL,
    NO_TWIN,
    Constants,
    Floats,
    Judged,
    catalogs,
    fitted,
    judged,
)
from tests.benchmarks.labelled import opened_app

ADMITTED = 5  # % wrong refusals at which shares are compared
KNOB = (1, 2, 3, 5, 10, 15, 20, 30, 50)
LEAST_IN_BIN = 20


@cache
def _rows() -> tuple[Judged, ...]:
    with opened_app() as app:
        return tuple(judged(app))


@cache
def _without(catalog: str) -> Constants:
    return fitted([row for row in _rows() if row.question.catalog != catalog])


def refusals() -> None:
    """Of impossible questions, the share refused if 5 % of the rest of the set are refused: by the rules' score, by P(nothing fits)
    fitted without the catalog; then the knob's shares, with limits from the other catalogs."""
    rows = _rows()
    constants = fitted(rows)
    for weights, terms in ((constants.nothing, "spread, cosine, 1"), (constants.asked, "spread, cosine, like, 1")):
        print(f"P(nothing fits) = sigmoid({' '.join(f'{x:+.3f}' for x in weights)} . ({terms}))")
    print(
        f"refused at {ADMITTED} % wrong refusals in the same set, %: by rules, by P(nothing fits) with the catalog left out"
    )
    for name, with_requests in dict.fromkeys((row.question.set, row.asked) for row in rows):
        of_set = [row for row in rows if (row.question.set, row.asked) == (name, with_requests)]
        answerable = [row for row in of_set if row.answerable] or _answerable_like(
            name, [row for row in rows if row.asked == with_requests]
        )
        cells = [_shares(answerable, [row for row in of_set if row.how == how and not row.answerable]) for how in (ANSWERABLE, NO_TOOL, NO_TWIN, NO_SERVER)]  # fmt: skip
        print(
            f"{name:<34} {'with requests' if with_requests else '':<13} impossible {cells[0]}   tools out {cells[1]}   twins out {cells[2]}   servers out {cells[3]}"
        )
    print(
        "the knob: percent, limit, share of answerable and of impossible refused (mean over left-out catalogs, with requests and without)"
    )
    for percent in KNOB:
        shares = np.array([_at_knob(rows, catalog, percent) for catalog in dict.fromkeys(row.catalog for row in rows)])
        limit = _quantile(_shipped().doubts(_whole(rows)), _whole(rows), percent)
        print(f"[{percent:.1f}, {sigmoid(np.array(limit)):.3f}, {shares[:, 0].mean():.3f}, {shares[:, 1].mean():.3f}],", shares.round(2).tolist())  # fmt: skip


def reliability() -> None:
    """ECE of p_fit over the thirty best tools of each question: with the shipped constants, and fitted without the catalog."""
    rows = [row for row in _whole(_rows()) if not row.asked]
    for name in dict.fromkeys(row.question.set for row in rows):
        of_set = [row for row in rows if row.question.set == name]
        line = [
            f"{error_of(constants, of_set):.3f}" for constants in (_shipped(), _without(of_set[0].question.catalog))
        ]
        print(f"{name:<34} ECE shipped {line[0]}, catalog left out {line[1]}")


def picture(path: Path) -> None:
    """Reliability of p_fit, shipped and left out, and of P(nothing fits), left out; a line for each catalog."""
    from matplotlib.figure import Figure

    rows = [row for row in _rows() if not row.asked]
    figure = Figure(figsize=(11, 4), layout="constrained")
    titles = ("p_fit, as shipped", "p_fit, catalog left out", "P(nothing fits), catalog left out")
    for panel, (axes, title) in enumerate(zip(figure.subplots(1, 3), titles, strict=True)):
        axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        for catalog in catalogs(rows):
            catalog_rows = [row for row in rows if row.question.catalog == catalog]
            if panel < 2:
                constants = _without(catalog) if panel else _shipped()
                chance, happened = constants.chances(_whole(catalog_rows))
            else:  # about as many impossible questions as others
                catalog_rows = [row for row in catalog_rows if row.how in (ANSWERABLE, NO_TWIN)]
                chance, happened = (
                    sigmoid(_without(catalog).doubts(catalog_rows)),
                    np.array([not row.answerable for row in catalog_rows]),
                )
            x, y = _bins(chance.ravel(), happened.ravel())
            axes.plot(x, y, marker="o", markersize=4, label=_short(catalog))
        axes.set(title=title, xlim=(0, 1), ylim=(0, 1), xlabel="said", ylabel="share that came true")
    figure.axes[0].legend(fontsize=8)
    figure.savefig(path, dpi=110)


def _bins(chance: Floats, happened: np.ndarray) -> tuple[list[float], list[float]]:
    """Mean probability and share that came true in each of ten bins that hold enough."""
    place = np.minimum((chance * BINS).astype(np.int64), BINS - 1)
    full = [in_bin for in_bin in (place == number for number in range(BINS)) if in_bin.sum() >= LEAST_IN_BIN]
    return [float(chance[in_bin].mean()) for in_bin in full], [float(happened[in_bin].mean()) for in_bin in full]


def _shipped() -> Constants:
    model = RelevanceModel.shipped()
    return Constants(
        np.array([model.nothing[name] for name in ("spread", "cosine", "one")]),
        np.array([model.requests.nothing[name] for name in ("spread", "cosine", "like", "one")]),
        np.array([model.fit[name] for name in ("behind", "ahead", "one")]),
    )


def error_of(constants: Constants, rows: Sequence[Judged]) -> float:
    """The calibration error of p_fit with these constants."""
    chance, happened = constants.chances(rows)
    chance = np.clip(chance, 1e-9, 1 - 1e-9)
    return calibration_error(np.log(chance) - np.log1p(-chance), happened)


def _whole(rows: Sequence[Judged]) -> list[Judged]:
    return [row for row in rows if row.answerable]


def _answerable_like(name: str, rows: Sequence[Judged]) -> list[Judged]:
    """The answerable questions to compare with L5, which has none: L2, or the other questions of its catalog."""
    set_name = {
        "l5_out_of_scope": "l2_context",
        "l5_out_of_scope, as asked": "l2_context, as asked",
        "impossible everyday": "everyday",
    }.get(name, "livemcpbench")
    return [row for row in rows if row.answerable and row.question.set == set_name]


def _shares(answerable: list[Judged], impossible: list[Judged]) -> str:
    if not impossible:
        return "      –"
    constants = _without(answerable[0].question.catalog)
    rules = [-row.rules for row in answerable], [-row.rules for row in impossible]
    shares = [float((np.array(no) > np.quantile(yes, 1 - ADMITTED / 100)).mean()) for yes, no in (rules, (constants.doubts(answerable), constants.doubts(impossible)))]  # fmt: skip
    return f"{100 * shares[0]:>3.0f} {100 * shares[1]:>3.0f}"


def _at_knob(rows: Sequence[Judged], catalog: tuple[str, bool], percent: float) -> tuple[float, float]:
    """Shares refused in one catalog, with equal weights of its sets and the limit of the other catalogs."""
    constants = _without(catalog[0])
    other_rows = [row for row in _whole(rows) if row.question.catalog != catalog[0]]
    limit = _quantile(constants.doubts(other_rows), other_rows, percent)
    catalog_rows = [row for row in rows if row.catalog == catalog and row.how in (ANSWERABLE, NO_TWIN)]
    return _mean_over_sets(constants, _whole(catalog_rows), limit), _mean_over_sets(
        constants, [row for row in catalog_rows if not row.answerable], limit
    )


def _mean_over_sets(constants: Constants, rows: Sequence[Judged], limit: float) -> float:
    sets = dict.fromkeys(row.question.set for row in rows)
    return float(np.mean([(constants.doubts([r for r in rows if r.question.set == name]) >= limit).mean() for name in sets]))  # fmt: skip


def _quantile(doubts: Floats, rows: Sequence[Judged], percent: float) -> float:
    """The doubt that so many percent reach. Catalogs weigh the same, and so do the sets of a catalog."""
    keys = [(row.catalog, row.question.set) for row in rows]
    sets = Counter(catalog for catalog, _ in set(keys))
    counts = Counter(keys)
    weight = np.array([1.0 / counts[key] / sets[key[0]] for key in keys])
    order = np.argsort(doubts)
    share = np.cumsum(weight[order]) / weight.sum()
    return float(doubts[order][np.searchsorted(share, 1 - percent / 100)])


def _short(catalog: str) -> str:
    return Path(catalog).parent.name if "/" in catalog else catalog


if __name__ == "__main__":
    picture(Path(sys.argv[1]))
