"""What a trace makes of a message at a moment."""

import numpy as np
import pytest

from core.network.traces import Fault, FaultKind, Injection, Traces
from tests.cases import each

STEPS = 400


def faults(seed: int, *, steps: int = STEPS, names: tuple[str, ...] = ("a", "b"), dropped_share: float = 0.5):
    """Of servers that are always down, step by step; the order of asking is turned round."""
    injection = Injection(Traces(names, np.ones((len(names), steps))), seed=seed, dropped_share=dropped_share)
    found = {}
    for at in reversed(range(steps)):
        injection.at = at
        found |= {(name, at): injection.fault(name) for name in names}
    return found


def test_below_a_second_a_message_is_late_and_from_then_on_it_is_lost() -> None:
    injection = Injection(Traces(("a",), np.array([[0.999, 1.0]])))
    injection.at = 0
    assert injection.fault("a") == Fault(FaultKind.DELAYED, 0.999)
    injection.at = 1
    assert injection.fault("a").kind in {FaultKind.SILENT, FaultKind.DROPPED}


def test_there_are_none_before_the_first_step_and_for_unknown_servers() -> None:
    injection = Injection(Traces(("a",), np.ones((1, 1))))
    assert injection.fault("a") is None
    injection.at = 0
    assert injection.fault("b") is None


def test_the_kind_of_a_failure_follows_from_seed_server_and_step_alone() -> None:
    one, same = faults(1), faults(1)
    assert one == same
    assert one != faults(2)
    alone = faults(1, steps=9, names=("b",))
    assert alone == {key: one[key] for key in alone}
    assert [one["a", at] for at in range(STEPS)] != [one["b", at] for at in range(STEPS)]


@each("share", [0.0, 0.3, 1.0])
def test_the_given_share_is_dropped(share: float) -> None:
    found = faults(0, dropped_share=share).values()
    dropped = sum(fault.kind is FaultKind.DROPPED for fault in found) / len(found)
    assert dropped == pytest.approx(share, abs=0.06 if 0 < share < 1 else 0)
