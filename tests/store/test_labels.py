"""Labels, judgments and calibrations in the store: what counts, and what is evidence."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from core.domain.errors import UnknownNameError
from core.domain.feedback import Calibration, CalibrationSwitch, in_force, labelled_queries, last_said
from core.store import Store
from tests.store.conftest import T0


def test_a_label_is_taken_back_by_an_entry_that_names_it(store: Store, make: SimpleNamespace) -> None:
    first, second = make.label(), make.label(tool="files::write")
    store.labels.append(first, second)
    assert store.labels.find(first.id) == first
    store.labels.append(make.label(id="back", retracts=first.id))
    assert [label.id for label in in_force(store.labels.history("demo"))] == [second.id]
    for id_, message in ((first.id, "taken back already"), ("back", "no label 'back'"), ("x", "no label 'x'")):
        with pytest.raises(UnknownNameError, match=message):
            store.labels.find(id_)


def test_the_last_word_of_a_visitor_counts(make: SimpleNamespace) -> None:
    ann = [make.label(right=True), make.label(right=True), make.label(right=False)]
    bob = make.label(right=True, visitor="bob")
    assert in_force([*ann, bob]) == (ann[-1], bob)
    assert in_force([*ann, bob, make.label(retracts=ann[-1].id)]) == (bob,)  # what it replaced does not come back


def test_a_fit_follows_what_people_say_and_agents_where_no_person_has_judged(make: SimpleNamespace) -> None:
    agents = [
        make.label(origin="agent", visitor=f"crab {number}", tool=tool)
        for number in range(3)
        for tool in ("a::x", "b::y")
    ]
    (query,) = labelled_queries([*agents, make.label(right=False, visitor="ann", tool="a::x")])
    assert (query.right, query.wrong) == (("b::y",), ("a::x",))
    (tied,) = labelled_queries(
        [*agents[:1], *(make.label(right=right, visitor=str(right), tool="a::x") for right in (True, False))]
    )
    assert (tied.right, tied.wrong) == ((), ())


def test_of_a_judge_the_last_word_on_a_tool_counts_and_none_takes_back(make: SimpleNamespace) -> None:
    first, second = make.judgment(grade=1), make.judgment(grade=3)
    judgments = [make.judgment(judge="bob"), make.judgment(tool="files::write"), make.judgment(server_hint="disk")]
    assert last_said([first, *judgments, second]) == (*judgments, second)
    assert last_said([first, *judgments, second, make.judgment(grade=None)]) == tuple(judgments)
    assert last_said([first, make.judgment(grade=None), second]) == (second,)


def calibration(name: str, id_: str, catalog: str = "demo") -> Calibration:
    return Calibration(id_, T0, catalog, name, "{}", '{"labels": 3}', 3, "abc", "cli")


def switch(to: str | None, catalog: str = "demo") -> CalibrationSwitch:
    return CalibrationSwitch(T0, catalog, to, "", "cli")


def test_of_a_name_the_newest_counts(store: Store) -> None:
    for name, id_ in (("spring", "a"), ("summer", "b"), ("spring", "c")):
        store.calibrations.save(calibration(name, id_))
    store.calibrations.save(calibration("spring", "d", "other"))
    assert [row.id for row in store.calibrations.of_catalog("demo")] == ["c", "b"]
    assert store.calibrations.find("demo", "spring").id == "c"
    with pytest.raises(UnknownNameError, match="no calibration 'winter'; it has: spring, summer"):
        store.calibrations.find("demo", "winter")
    assert store.calibrations.active("demo") is None


def test_undo_goes_one_step_back(store: Store) -> None:
    store.calibrations.save(calibration("spring", "a"), switch("a"))
    store.calibrations.save(calibration("summer", "b"), switch("b"))
    store.calibrations.switch(switch("z", "other"))
    names = []
    for step in (None, "", None, None, None):
        store.calibrations.switch(switch(step))
        active = store.calibrations.active("demo")
        names.append(active.name if active else None)
    assert names == ["spring", None, "spring", None, None]
