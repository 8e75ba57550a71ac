"""`make bench`: what Wayfare's speed is on this machine, and its figures beside published ones. Asserts nothing."""

from __future__ import annotations

import os
import platform
import sys

import core  # noqa: F401  before NumPy: one thread of BLAS, as everywhere in Wayfare
from tests.benchmarks import (
    agents,
    attending,
    batching,
    browsing,
    by_model,
    calling,
    cascading,
    clients,
    deciding,
    levelling,
    loading,
    outages,
    planning,
    pressing,
    probabilities,
    reading,
    recovering,
    refusing,
    scenarios,
    searching,
    sizes,
    spreading,
    touring,
    turning,
    whatif,
    words_alone,
)

SECTIONS = {
    "embedding": deciding.embedding,
    "decisions": deciding.decisions,
    "sizes": sizes.sizes,
    "batching": batching.batching,
    "spreading": spreading.spreading,
    "strips": whatif.strips,
    "times": levelling.times,
    "stdio": calling.stdio,
    "http": calling.http,
    "agents": agents.agents,
    "searching": searching.searching,
    "clients": clients.clients,
    "turning": turning.turning,
    "starts": browsing.starts,
    "pressing": pressing.pressing,
    "loading": loading.loading,
    "tokens": attending.tokens,
    "states": attending.states,
    "thresholds": attending.thresholds,
    "poisoning": attending.poisoning,
    "levels": levelling.levels,
    "planning": planning.planning,
    "refusing": refusing.refusing,
    "honest": refusing.honest,
    "refusals": probabilities.refusals,
    "reliability": probabilities.reliability,
    "words": words_alone.words_alone,
    "cascading": cascading.cascading,
    "wording": cascading.wording,
    "reranking": cascading.reranking,
    "arguments": cascading.arguments,
    "simulating": scenarios.simulating,
    "scenarios": scenarios.scenarios,
    "recovering": recovering.recovering,
    "outages": outages.outages,
    "reading": reading.reading,
    "by_model": by_model.by_model,
    "tour": touring.tour,
}


def main() -> None:
    """Run all sections, or those named on the command line."""
    print(
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}"
    )
    for name in sys.argv[1:] or SECTIONS:
        SECTIONS[name]()


if __name__ == "__main__":
    main()
