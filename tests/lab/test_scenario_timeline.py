"""A run over time: changes of server and their reasons, latency curves, the decision at a step."""

from dataclasses import replace

import numpy as np

from core.lab.scenarios.records import changes, curves
from core.network.profiles import Profile
from core.network.states import Ideal, Outage
from core.network.traces import Traces
from tests.lab.scenario_worlds import FLUCTUATING, run


def test_sonar_leaves_a_server_in_an_outage_and_comes_back_and_it_is_said_why(world) -> None:
    profile = Profile(
        "p", servers={"alpha": (Outage(start=0.03, shortest=3, longest=5),)}, default=(Ideal(base_ms=300),)
    )
    one_task = world(profile, seed=3)
    one_task = replace(one_task, order=np.zeros_like(one_task.order))
    found = run(one_task, "sonar")
    found_changes = changes(one_task, found)
    states = profile.assign(one_task.context.catalog.servers)
    (alpha,) = curves(one_task.traces, states, ["alpha"])
    left = [change for change in found_changes if change.left == "alpha"]
    assert {change.time_s for change in left if change.why == "alpha is down."} <= {begin for begin, _ in alpha.outages}
    assert sum(change.why == "alpha is down." for change in left) >= 3
    assert sum(change.chosen == "alpha" for change in found_changes) >= 3
    assert not (one_task.traces.outage[found.server, found.at]).any()
    assert changes(one_task, run(one_task, "prag")) == ()


def test_a_change_without_an_outage_names_both_latencies_or_the_failed_call(world) -> None:
    rhythm = replace(world(FLUCTUATING), order=np.zeros(360, dtype=np.int64))
    (first, *_) = changes(rhythm, run(rhythm, "sonar"))
    assert first.why.startswith(f"{first.left} is at ")
    assert f", {first.chosen} at " in first.why
    once = Outage(start=1.0, shortest=1, longest=1, base_ms=20)
    latency_s = world(Profile("p", servers={"alpha": (once,)}), lead_in=0, steps=20).traces.latency_s.copy()
    latency_s[0, 1:] = 0.02  # alpha was down at the first step alone
    still = world(Profile("p"), lead_in=0, steps=20)
    still = replace(still, traces=replace(still.traces, latency_s=latency_s), order=np.zeros(20, dtype=np.int64))
    assert changes(still, run(still, "ehrr"))[0].why == "The last call to alpha failed."


def test_curves_carry_states_and_outages() -> None:
    latency_s = np.array([[0.1, 1.0, 1.2, 0.1, 1.0], [0.1] * 5])
    found = curves(Traces(("a", "b"), latency_s, 10.0), {"a": (Outage(), Ideal()), "b": (Ideal(),)})
    assert found[0].outages == ((10, 30), (40, 50))
    assert (found[0].states, found[1].outages) == (("Intermittent outage", "Ideal"), ())
    assert found[1].time_s.tolist() == [0, 10, 20, 30, 40]
