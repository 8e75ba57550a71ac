"""What could not be used of what comes with Wayfare is said on the Catalog page."""

from __future__ import annotations

from core.app import App
from core.relevance.encoder import EncoderSource
from tests.dashboard.harness import app_with, open_page
from tests.relevance.toy_encoders import Letters


class Replaced(Letters):
    """An encoder other than the requested encoder."""

    note = "The encoder is the <b>frozen</b> one."


app = app_with({}, encoder=lambda: EncoderSource.of(Replaced()))


def test_the_catalog_page_says_what_could_not_be_used(app: App) -> None:
    assert not [warning.value for warning in open_page("catalog").warning]
    app.readiness.make("sample")
    (note,) = app.notes
    assert note == Replaced.note
    assert [warning.value.replace("\\", "") for warning in open_page("catalog").warning] == [Replaced.note]
