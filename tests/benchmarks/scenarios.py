"""Simulated steps per second, and NetMCP's scenarios beside the published figures."""

from __future__ import annotations

import time

import numpy as np

from core.app import Settings, open_app
from core.lab.scenario_runs import planned
from core.lab.scenarios.measures import SETTINGS, ScenarioRun, measured
from core.lab.scenarios.simulation import walk
from core.papers.netmcp import FLUCTUATING, HYBRID
from tests.benchmarks.measuring import report

PUBLISHED = {"hybrid": HYBRID, "fluctuating": FLUCTUATING}
SEEDS = 15
QUESTIONS = 156  # each once


def simulating() -> None:
    """Steps per second with every decision made in full; similarities and vectors are looked up before."""
    with open_app(Settings.from_environment(db=":memory:")) as app:
        for catalog, reach in (("search-15", "5,000"), ("sample", "2,000")):
            world = app.scenarios.world("hybrid", catalog=catalog, steps=2000)
            for router in ("ehrr", "sonar", "prag"):
                (entry,) = planned([router], SETTINGS[:1])
                rates: list[float] = []
                for _ in range(8):
                    started = time.perf_counter()
                    measured(world, router, entry.setting, {}, walk(world, router, entry.parameters))
                    rates.append(len(world.order) / (time.perf_counter() - started))
                size = len(world.context.server_names)
                report(
                    f"simulate {router} among {size} servers",
                    {"median": float(np.median(rates[1:])), "best": max(rates)},  # the first fills the memory
                    "steps/s",
                    reach if router == "ehrr" else "",
                )


def scenarios() -> None:
    """Every router over many seeds, and what NetMCP published; then what a person asked, in the ideal network."""
    with open_app(Settings.from_environment(db=":memory:")) as app:
        plan = planned(("prag", "sonar", "ehrr"))
        for name in ("ideal", "hybrid", "hybrid_default", "fluctuating", "fluctuating_default"):
            worlds = [app.scenarios.world(name, steps=1000, seed=seed) for seed in range(SEEDS)]
            runs = [app.scenarios.run(world, plan) for world in worlds]
            for number, entry in enumerate(plan):
                _show(name, [of_seed[number] for of_seed in runs])
                pair = PUBLISHED.get(name, {}).get(entry.setting.name)
                if pair is not None and entry.router in {"prag", "sonar"}:
                    ssr, _, al, *fr = pair[entry.router == "sonar"]
                    print(f"{'':<40} published: SSR {ssr} %, AL {al} ms, FR {fr[0] if fr else 0} %", flush=True)
        asked = app.scenarios.world("ideal", steps=QUESTIONS, raw_questions=True)
        for run in app.scenarios.run(asked, planned(("rag_bm25", "rerank_rag", "prag", "sonar"))):
            _show("ideal, as asked", [run])


def _show(name: str, runs: list[ScenarioRun]) -> None:
    mean = {key: float(np.mean([getattr(run, key) for run in runs])) for key in ("ssr", "ee", "al_ms", "fr")}
    print(
        f"{name:<20} {runs[0].router:<10} {runs[0].setting:<6} SSR {mean['ssr']:6.1%}  EE {mean['ee']:6.1%}  AL {mean['al_ms']:6.1f} ms  FR {mean['fr']:6.2%}",
        flush=True,
    )
