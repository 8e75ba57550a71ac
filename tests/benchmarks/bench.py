"""`make bench`: Wayfare's speed on this machine, and its figures beside published figures. Asserts nothing."""

from __future__ import annotations

import os
import platform
import sys

import core  # noqa: F401  before NumPy: one thread of BLAS, as everywhere in Wayfare
from tests.benchmarks import (
    agents,
    browsing,
    by_model,
    clients,
    deciding,
    loading,
    planning,
    pressing,
    probabilities,
    recovering,
    refusing,
    sizes,
    touring,
    turning,
)

SECTIONS = {
    "embedding": deciding.embedding,
    "decisions": deciding.decisions,
    "sizes": sizes.sizes,
    "agents": agents.agents,
    "clients": clients.clients,
    "turning": turning.turning,
    "starts": browsing.starts,
    "loading": loading.loading,
    "planning": planning.planning,
    "pressing": pressing.pressing,
    "refusing": refusing.refusing,
    "honest": refusing.honest,
    "refusals": probabilities.refusals,
    "reliability": probabilities.reliability,
    "recovering": recovering.recovering,
    "by_model": by_model.by_model,
    "tour": touring.tour,
}


def main() -> None:
    """Runs all sections, or the sections named on the command line."""
    print(
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}"
    )
    for name in sys.argv[1:] or SECTIONS:
        SECTIONS[name]()


if __name__ == "__main__":
    main()
