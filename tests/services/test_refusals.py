"""The trade-off of refusing on a catalog: as shipped until there are labels enough, then measured on them."""

from __future__ import annotations

from core.app import App
from core.relevance.calibration import LEAST_LABELS
from core.relevance.refusal import shipped_curve


def test_it_is_measured_once_there_are_labels_enough(app: App) -> None:
    tools = app.catalogs.catalog("sample").tools
    for number, tool in enumerate(tools[:LEAST_LABELS]):
        assert app.refusals.curve("sample") == shipped_curve(), number
        app.feedback.label(f"{tool.description} {number}", tool.id, right=True)
    curve = app.refusals.curve("sample")
    assert curve.questions == LEAST_LABELS
    assert curve is app.refusals.curve("sample"), "nothing was said since: nothing is measured again"
    assert all(point.refused >= point.wrong for point in curve.points), (
        "without its tools a question looks less answerable"
    )
    app.feedback.label("one more", tools[0].id, right=True)
    assert app.refusals.curve("sample").questions == LEAST_LABELS + 1


def test_the_limit_is_that_of_the_routers(app: App) -> None:
    assert app.refusals.limit(0.0) == 1.0 > app.refusals.limit(5.0)
