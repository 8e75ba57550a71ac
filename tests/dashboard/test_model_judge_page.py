"""A model as judge on the Lab page: agreement first, then the rest of the pool, then its grades counted and taken back."""

from __future__ import annotations

from functools import partial

from core.app import App
from core.planning.model import ModelPlanner
from core.services.lab.judgments import ModelJudgeService
from dashboard import session
from tests.dashboard.harness import app_with, open_page, press, text_of, with_services
from tests.dashboard.test_judging import CATALOG, stored
from tests.dashboard.test_lab_page import finished
from tests.services.test_model_judge import Scripted

SET = "my judgments"
OPEN = {"lab:model-judge": True}  # the expander
app = app_with({"small": CATALOG})


def test_people_first_then_the_pool_then_counted_and_taken_back(app: App) -> None:
    tasks = stored(app, "rag_mcp")
    visit = partial(open_page, "lab", remembered=OPEN, catalog="small", view="Judge", tasks=tasks)
    assert "No model is set." in text_of(visit())
    planners = {"model": ModelPlanner(Scripted())}
    session.use_app(with_services(app, model_judge=ModelJudgeService(app.judgments, app.catalogs, planners)))
    app.judgments.judge(
        "read a file", "files::read", 2, judge="ann", set_name=SET, catalog="small", server_hint="files"
    )
    app.judgments.judge("read a file", "mail::send", 0, judge="ann", set_name=SET, catalog="small", server_hint="files")
    page = visit()
    keys = {button.key for button in page.button}
    assert "lab:model-rest" not in keys, "before anybody knows how far it agrees"
    page = finished(press(page, "lab:model-check"))
    assert "the same grade on 1 of 2." in text_of(page)
    (differ,) = next(frame.value for frame in page.dataframe if "reason of the model" in frame.value).to_dict("records")
    assert (differ["people"], differ["model"]) == ("2 does it (ann)", "3 does it best")
    page = finished(press(page, "lab:model-rest"))
    before = len(app.judgments.judgments("small", SET))
    page = press(page, "lab:model-count")
    assert len(app.judgments.judgments("small", SET)) > before == 2
    page = press(page, "lab:model-discount")
    assert len(app.judgments.judgments("small", SET)) == 2
