"""The trade-off of refusing on a catalog, as shipped and as measured on labels; and the strip of admitted wrong refusals."""

from __future__ import annotations

import numpy as np

from core.app import App
from core.decisions.routing import RefusalService
from core.decisions.strips import Segment, refusal_strip
from core.domain.feedback import By, RefusalCurve
from core.relevance.calibration import LEAST_LABELS
from core.relevance.scoring import limit_of, shipped_curve
from core.routers.ehrr import EhrrParameters
from tests.cases import each
from tests.importing import import_text
from tests.relevance.toy_encoders import WordEncoder
from tests.world import document, open_test_app


def test_it_is_measured_once_there_are_labels_enough(app: App) -> None:
    tools = app.catalogs.catalog("sample").tools
    for number, tool in enumerate(tools[:LEAST_LABELS]):
        if number in {0, LEAST_LABELS - 1}:
            assert app.refusals.curve("sample") == shipped_curve(), number
        app.feedback.label(f"{tool.description} {number}", tool.id, right=True)
    curve = app.refusals.curve("sample")
    assert curve.questions == LEAST_LABELS
    assert curve is app.refusals.curve("sample"), "nothing was said since: nothing is measured again"
    assert all(point.refused >= point.wrong for point in curve.points), (
        "without its tools a question looks less answerable"
    )
    assert app.refusals.limit(0.0) == 1.0 > app.refusals.limit(5.0)
    app.feedback.label("one more", tools[0].id, right=True)
    assert app.refusals.curve("sample").questions == LEAST_LABELS + 1


def test_it_is_measured_again_once_a_tool_or_its_requests_change(app: App) -> None:
    for number in range(LEAST_LABELS):
        app.feedback.label(f"send my aunt {number} letters", "mail::send", right=True, catalog="world")

    def fresh() -> RefusalCurve:
        return RefusalService(app.catalogs, app.feedback).curve("world")

    curve = app.refusals.curve("world")
    import_text(app.catalog_editor, document().replace("Send a letter.", "Bake a cake."), "world", "test")
    edited = app.refusals.curve("world")
    assert curve != edited == fresh()
    app.requests.add_by_hand("world", "mail::send", ["send my uncle a letter"], By())
    assert edited != app.refusals.curve("world") == fresh()


def test_a_question_is_compared_with_one_request_and_a_knob_that_is_turned_runs_no_encoder() -> None:
    encoder = WordEncoder()
    with open_test_app(None, encoder=encoder) as app:
        import_text(app.catalog_editor, document(), "world", "test")
        app.requests.add_by_hand("world", "files::read", ["read me a file", "what does the memo say"], By())
        app.catalogs.context("world")
        embedded = len(encoder.seen)
        before = app.routing.route("read the file", catalog="world")
        assert encoder.seen[embedded:] == ["read the file", "read me a file"]
        turned = app.routing.parameters("ehrr", {"n": 1})
        after = app.routing.route("read the file", catalog="world", parameters=turned)
        assert len(encoder.seen) == embedded + 2
        assert before.to_json()["p_nothing_fits"] == after.to_json()["p_nothing_fits"]


KNOB = next(knob for knob in EhrrParameters.knobs() if knob.name == "wrong_refusals")
DECIDED = Segment(1, 50, "a::b", "it is ahead", "candidates", 0.2)


@each("now", [0.0, 3.0, 50.0])
def test_a_subtask_is_refused_from_the_breakpoint_on(now: float) -> None:
    for nothing in np.linspace(0.0, 1.0, 21).tolist():
        strip = refusal_strip(KNOB, now, nothing, DECIDED)
        (below, *refusing) = strip.segments
        assert (below.winner, below.margin, strip.low, strip.high) == ("a::b", 0.2, 0.0, 50.0)
        for percent in (
            0.0,
            *np.linspace(0.01, 50.0, 60).tolist(),
            *(s.low + side for s in refusing for side in (-1e-7, 1e-7)),
        ):
            is_refused = percent > 0 and nothing >= limit_of(percent)
            assert (strip.at(percent).winner is None) == is_refused, (nothing, percent)
        if refusing and now < refusing[0].low:
            assert (below.reason, below.stage) == ("it is ahead", "candidates")
