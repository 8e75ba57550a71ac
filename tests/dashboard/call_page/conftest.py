"""Fixtures of the Call page's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.dashboard.call_page.bench import CATALOG, Bench, Caller
from tests.dashboard.harness import opened


@pytest.fixture(scope="module")
def shared() -> Iterator[Bench]:
    """An app with a fake caller."""
    caller = Caller()
    with opened({"small": CATALOG}, caller=lambda: caller) as app:
        yield Bench(app, caller)


@pytest.fixture
def bench(shared: Bench) -> Iterator[Bench]:
    """The app of the file, without labels and with its first policy; statistics have learnt from the calls before."""
    policy = shared.app.governance.policy
    yield shared
    shared.caller.begin_anew()
    if shared.app.governance.policy != policy:
        shared.app.governance.set_policy(policy, origin="test")
    for label in shared.app.feedback.labels("small"):
        shared.app.feedback.retract(label.id)
