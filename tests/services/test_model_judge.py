"""A model as judge: what people graded first, agreement before its grades count, and both taken back."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest

from core.app import App
from core.domain.feedback import AskedQuery
from core.planning.model import ModelPlanner
from core.planning.model_endpoint import Message, Reply
from core.planning.rules import RulesPlanner
from core.services.lab.judgments import ModelJudgeService
from core.shared.errors import PlannerError

WORLD, MINE = "world", "mine"
READ, WRITE = AskedQuery("read a file"), AskedQuery("write a file", "files")


@dataclass
class Scripted:
    """An endpoint that grades 3 where the tool's name is in the sub-task, else `otherwise`."""

    otherwise: int = 0
    model: str = "scripted"
    asked: list[dict[str, str]] = field(default_factory=list)

    def ask(self, message: Message) -> Reply:
        data = json.loads(message.user.partition("<data>")[2].partition("</data>")[0])
        self.asked.append(data)
        name = json.loads(data["tool"])["name"]
        grade = 3 if name in data["subtask"] else self.otherwise
        return Reply(json.dumps({"grade": grade, "why": f"It says\n{name}."}), 10, 5, 0.0, whole=True)


@pytest.fixture
def endpoint() -> Scripted:
    return Scripted()


@pytest.fixture
def judge(app: App, endpoint: Scripted) -> ModelJudgeService:
    """The judge over an app in which one person graded three tools."""
    for query, tool, grade in ((READ, "files::read", 3), (READ, "raw::echo", 0), (WRITE, "files::write", 2)):
        app.judgments.judge(
            query.subtask, tool, grade, judge="ann", set_name=MINE, catalog=WORLD, server_hint=query.server_hint
        )
    return ModelJudgeService(app.judgments, app.catalogs, {"rules": RulesPlanner(), "model": ModelPlanner(endpoint)})


def test_people_come_first_and_agreement_is_known_before_grades_count(
    app: App, judge: ModelJudgeService, endpoint: Scripted
) -> None:
    assert judge.checked(WORLD, MINE) is None
    pairs = judge.to_check(WORLD, MINE)
    assert pairs == ((READ, "files::read"), (READ, "raw::echo"), (WRITE, "files::write"))
    assert judge.judge(WORLD, MINE, pairs) == 3
    assert endpoint.asked[2]["server_hint"] == "files"
    assert judge.to_check(WORLD, MINE) == ()
    checked = judge.checked(WORLD, MINE)
    assert checked is not None
    assert (checked.agreement.shared, checked.agreement.same) == (3, 2)
    (differ,) = checked.differ
    assert [(one.judge, one.grade) for one in differ] == [("ann", 2), ("model scripted", 3)]
    assert differ[1].note == "It says write."
    assert len(app.judgments.judgments(WORLD, MINE)) == 3, "nothing counts yet"


def test_its_grades_count_as_one_judge_more_and_are_taken_back(app: App, judge: ModelJudgeService) -> None:
    judge.judge(WORLD, MINE, [*judge.to_check(WORLD, MINE), (READ, "mail::send")])
    judge.count(WORLD, MINE)
    assert app.judgments.agreement(WORLD, MINE).judges == {"ann": 3, "model scripted": 4}
    assert judge.to_check(WORLD, MINE) == (), "its own grades are not people's"
    checked = judge.checked(WORLD, MINE)
    assert checked is not None
    assert checked.agreement.shared == 3
    judge.discount(WORLD, MINE)
    assert app.judgments.agreement(WORLD, MINE).judges == {"ann": 3}
    assert len(judge.grades(WORLD, MINE)) == 4


def test_what_was_graded_before_an_end_stays(judge: ModelJudgeService) -> None:
    def stop(done: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judge.judge(WORLD, MINE, judge.to_check(WORLD, MINE), stop)
    assert judge.to_check(WORLD, MINE) == ((WRITE, "files::write"),)


def test_without_a_model_it_says_so(app: App) -> None:
    assert app.model_judge.name == ""
    with pytest.raises(PlannerError, match="WAYFARE_LLM_MODEL"):
        app.model_judge.judge(WORLD, MINE, [(READ, "files::read")])


def test_a_grade_that_is_none_is_refused(judge: ModelJudgeService, endpoint: Scripted) -> None:
    endpoint.otherwise = 7
    with pytest.raises(PlannerError, match="holds no JSON object that fits"):
        judge.judge(WORLD, MINE, judge.to_check(WORLD, MINE))
    assert len(judge.grades(WORLD, MINE)) == 1
