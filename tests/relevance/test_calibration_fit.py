"""The fit on toy catalogs: what gains is taken, what does not is refused, and nothing of a held-back fold is learnt from."""

from __future__ import annotations

import json

import numpy as np
import pytest

from core.domain.errors import WayfareError
from core.domain.feedback import LabelledQuery
from core.relevance.calibration import FOLDS, fit
from core.relevance.labelled import LabelledSet, Recipe, reciprocal_ranks
from tests.cases import each
from tests.relevance.toys import TOOL_ROW, ToyScorer, tasks


def test_a_signal_that_tells_gets_its_weight_and_the_gain_is_beyond_noise() -> None:
    done: list[int] = []
    found = fit(tasks(60), ToyScorer(words=4.0), TOOL_ROW, progress=lambda at, of: done.append(at))
    assert "ranking" in found.accepted
    assert found.measures["mrr"].low > 0
    assert found.values.weights["words"] > found.values.weights["dense"]
    assert sum(found.values.weights.values()) == pytest.approx(1.0)
    assert (found.remark, found.more) == ("", None)
    assert done == list(range(1, FOLDS + 1))
    json.dumps(found.report(), allow_nan=False)


def test_labels_that_teach_nothing_are_refused_with_a_sentence() -> None:
    rng = np.random.default_rng(5)
    noise = [LabelledQuery(f"{n} about 0", "", (f"s::t{rng.integers(40)}",)) for n in range(30)]
    found = fit(noise, ToyScorer(), TOOL_ROW)
    assert "ranking" not in found.accepted
    assert found.values.weights == {}
    assert found.values.ridge is None
    assert found.values.solved == ()
    assert "95 %" in found.remark
    assert found.remark.endswith(".")
    assert ("more labels" in found.remark) == (found.more is not None)


@each(("count", "more"), [(0, 20), (1, 19), (19, 1)])
def test_too_few_labels_are_refused_and_it_says_how_many_more(count: int, more: int) -> None:
    with pytest.raises(WayfareError, match=f"label at least {more} more") as caught:
        fit(tasks(count), ToyScorer(), TOOL_ROW)
    assert str(caught.value).startswith(f"{count} labelled sub-tasks")


def test_sub_tasks_whose_tools_are_not_there_are_passed_over() -> None:
    strange = LabelledQuery("900 about 1", "", ("moon::walk",))
    assert fit([*tasks(25), strange], ToyScorer(), TOOL_ROW).passed_over == 1


class Overrating(ToyScorer):
    """Says of every tool that it fits better than it does."""

    def logits(self, found, weights, vector, shift) -> np.ndarray:
        return super().logits(found, weights, vector, shift) + 4.0


def test_the_line_is_fitted_to_what_was_not_seen() -> None:
    found = fit(tasks(60), Overrating(words=3.0), TOOL_ROW)
    assert found.measures["log_loss"].after < found.measures["log_loss"].before / 2
    assert "probability" in found.accepted
    assert found.values.offset < -1


def test_labels_that_the_memory_has_are_no_gain_of_the_fit() -> None:
    """Each sub-task is asked twice over: the memory alone ranks them, and a fit that adds nothing is refused."""
    twice = [LabelledQuery(f"{n % 20} about {n % 20}", "", (f"s::t{n % 20}",), group=str(n)) for n in range(40)]
    known = fit(twice, ToyScorer(), TOOL_ROW, known=True)
    unknown = fit(twice, ToyScorer(), TOOL_ROW)
    assert unknown.measures["mrr"].before < known.measures["mrr"].before
    if "ranking" in unknown.accepted and unknown.recipe.bound:
        assert unknown.values.teaches
    assert not known.values.teaches
    assert known.values.bound > 0


def test_a_sub_task_is_not_moved_by_its_own_label() -> None:
    labelled = LabelledSet(ToyScorer(), tasks(30), TOOL_ROW)
    without = labelled.parts(Recipe(bound=0.0), np.arange(1, 30))
    others = labelled.parts(
        Recipe(bound=6.0), np.array([n for n in range(1, 30) if labelled.right[n] != labelled.right[0]])
    )
    right = labelled.right[0][0]
    assert labelled.logits(others, 0)[right] == pytest.approx(labelled.logits(without, 0)[right])
    own = labelled.parts(Recipe(bound=6.0), np.arange(30))
    assert labelled.logits(own, 0)[right] == pytest.approx(labelled.logits(without, 0)[right] + 3.0)


def test_ranks_while_choosing_are_those_of_the_scorer() -> None:
    labelled = LabelledSet(ToyScorer(words=2.0), tasks(30), TOOL_ROW)
    train, asked = np.arange(15), np.arange(15, 30)
    for recipe in (Recipe(bound=0.0), Recipe(4.0, 3.0, 6.0), Recipe(None, 10.0, 3.0)):
        parts = labelled.parts(recipe, train)
        whole = [
            reciprocal_ranks(labelled.logits(parts, int(n))[None], labelled.is_right(int(n))[None])[0] for n in asked
        ]
        assert labelled.reciprocal_ranks(parts, asked) == pytest.approx(np.array(whole))


def test_ties_count_against_the_right_tool() -> None:
    assert reciprocal_ranks(np.zeros((1, 4)), np.array([[True, False, False, False]])).tolist() == [0.25]
