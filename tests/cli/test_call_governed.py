"""`wayfare call` passes governance: refused in one sentence that says what to do, approved with --approve, and kept in the log."""

from __future__ import annotations

from pathlib import Path

from core.app import App, Settings, open_app
from tests.cli.conftest import Command

CALL = ("call", "unit-exchange", "convert_units", "--args", '{"value": 3, "source": "mi", "target": "km"}')


def policy(wayfare: Command, folder: Path, text: str) -> None:
    """Put a policy in force."""
    file = folder / "policy.toml"
    file.write_text(text)
    assert wayfare("policy", "import", str(file)).code == 0


def test_a_call_that_waits_is_approved_with_the_call(wayfare: Command, app: App, tmp_path: Path) -> None:
    policy(wayfare, tmp_path, "[approvals]\nnew = true\n")
    waits = wayfare(*CALL)
    assert (waits.code, waits.out, waits.err.count("\n")) == (2, "", 1)
    assert "waits for a person, because it is new here" in waits.err
    assert waits.err.rstrip().endswith("Add --approve to approve exactly this call, once.")
    assert wayfare(*CALL, "--approve", "--json").json()["outcome"] == "ok"
    assert [one.action for one in app.store.governance.approvals()][-2:] == ["approved", "used"]
    app.governance.refused.write_due(everything=True)
    assert app.store.activity.refused()["origin"].tolist() == ["cli"]


def test_what_is_denied_is_said_in_one_sentence(wayfare: Command, tmp_path: Path) -> None:
    policy(wayfare, tmp_path, 'deny = ["unit-exchange::*"]\n')
    said = wayfare(*CALL)
    assert (said.code, "unit-exchange::convert_units may not be used: the operator denies it." in said.err) == (2, True)
    assert wayfare(*CALL, "--simulate").code == 0
    assert wayfare(*CALL, "--simulate", "--approve").code == 2


def test_a_call_leaves_its_budget_settled(wayfare: Command, db: Path, tmp_path: Path) -> None:
    policy(wayfare, tmp_path, "[[budgets]]\ncalls = 1\n")
    assert wayfare(*CALL).code == 0
    assert "0 of 1 calls are left" in wayfare(*CALL).err
    with open_app(Settings.from_environment(db=db)) as app:
        assert app.governance.settled_at_start == 0
