"""Recovery after an outage: the paper's form does not return, each cure does."""

from dataclasses import replace

import numpy as np
import pytest

from core.papers.recovery import CURES, drawn_world, recover
from tests.benchmarks.recovering import compare
from tests.cases import each
from tests.routers.worlds import table_v

SEEDS = 2  # `make bench` takes 20
SURE = (1.0, 1.0)  # rivals that never fail: the draws give the paper's form no second look


def worlds(steps: int, count: int = SEEDS, **fields):
    return [drawn_world(seed, steps=steps, rivals=SURE, **fields) for seed in range(count)]


def only(name: str, worlds, **parameters):
    (recovery,) = compare(worlds, {name: CURES[name]}, **parameters)
    return recovery


def test_in_the_papers_form_a_server_that_failed_is_never_tried_again():
    paper = only("paper", worlds(200))
    assert paper.seeds == SEEDS
    assert paper.wasted > 0
    assert (paper.tried_share, paper.back_share) == (0.0, 0.0)
    assert np.isnan(paper.back_after)


@each(("cure", "steps"), [("decay", 250), ("optimism", 400)])
def test_each_cure_comes_back_in_every_seed(cure, steps):
    recovery = only(cure, worlds(steps))
    assert (recovery.seeds, recovery.tried_share, recovery.back_share) == (SEEDS, 1.0, 1.0)
    assert recovery.back_after < steps / 4


def test_values_and_regret_by_hand():
    world = replace(
        drawn_world(0, steps=10),
        similarity=np.array([0.8, 0.8]), success=np.array([1.0, 0.5]), latency_s=np.array([0.4, 1.2]),
        down_from=4, down_to=6, outage_s=2.0,
    )  # fmt: skip
    values = world.values(0.25)
    assert values[0] == pytest.approx([0.8 - 0.1, 0.4 - 0.3])
    assert values[4] == pytest.approx([-0.5, 0.1])
    run = recover(world, table_v(), seed=0)
    gaps = np.diff(run.regret, prepend=0.0)
    assert gaps[:4] == pytest.approx(0.0)  # the best is called until it fails
    assert gaps[4] == pytest.approx(0.6)
    assert np.all(np.isclose(gaps, 0.0) | np.isclose(gaps, 0.6))
    assert run.wasted >= 1
