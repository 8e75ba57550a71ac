"""Networks, and runs of routers in them."""

import numpy as np

from core.lab.scenario_runs import planned
from core.lab.scenarios.measures import Setting, measured
from core.lab.scenarios.simulation import walk
from core.network.profiles import Profile
from core.network.states import Fluctuating, HighJitter, HighLatency, Ideal, Outage
from core.routers import ROUTERS
from tests.routers.worlds import table_v

WIDE = Setting(5, 5)
DOWN = Outage(start=0.1, shortest=60, longest=360)
HYBRID = Profile(
    "hybrid",
    servers={
        "alpha": (DOWN,),
        "bravo": (Fluctuating(),),
        "carol": (HighLatency(),),
        "delta": (HighJitter(),),
        "echo": (Ideal(),),
    },
    default=(Ideal(base_ms=30),),
)
RHYTHM = [Fluctuating(base_ms=160, amplitude_ms=158, phase=2 * np.pi * n / 5) for n in range(5)]
FLUCTUATING = Profile(
    "fluctuating", servers={name: (RHYTHM[n],) for n, name in enumerate(("alpha", "bravo", "carol", "delta", "echo"))}
)


def parameters_of(router):
    """EHRR's by its Table V: NetMCP's networks and an outage are about its form in the paper. Other routers' defaults."""
    return table_v() if router == "ehrr" else ROUTERS[router].parameters()


def run(world, router, setting=WIDE):
    (entry,) = planned([router], [setting], {} if router != "ehrr" else table_v(k=setting.s).values())
    parameters = entry.parameters
    return measured(world, router, setting, parameters.values(), walk(world, router, parameters))
