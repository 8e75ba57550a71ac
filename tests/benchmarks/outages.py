"""Regret over outages of 10 s, 10 min and 5 h against real servers: fading and checks, each switched off in turn.

Two stdio servers do the same thing; the better one goes down and comes back. Each call is a real decision, a real call by the
caller and, where checks are on, real handshakes of `core.calls.health`. The 10 s are real seconds, and the console's own
thread checks. For 10 min and 5 h the clock of statistics and checks is set by hand from call to call, its rounds are
made between two calls, and a second of a call lasts 1/20 s. A call is worth 100 m$ if it succeeds, less its price and 1 m$ a second;
regret is against the better server while it is up and the other one while it is down, in expectation.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from core.app import App, build_app
from core.calls.health import ROUND_S
from core.domain.outcome import OutcomeKind, ToolCall
from core.domain.settings import Settings, utc_now
from core.lab.execution import S_PER_USD, VALUE_USD
from core.routers.ehrr import EhrrParameters
from core.routers.presets import DEFAULT_PRESET, applied
from core.servers.caller import McpCaller
from core.store import Store
from tests.gateway.conftest import ask, served, talk
from tests.importing import import_text

SEEDS = int(os.environ.get("OUTAGE_SEEDS", "5"))
SPEED = 20.0
LIMIT_S = 5.0
QUESTION = "convert 20 euros to dollars"
SERVER = str(Path(__file__).with_name("outage_server.py"))
BETTER, OTHER = "alpha-money", "beta-money"


@dataclass(frozen=True)
class Outage:
    """Steps of `step_s`; the better server is down in [down_from, down_to). `real`: the seconds pass as they are."""

    title: str
    step_s: float
    down_from: int
    down_to: int
    steps: int
    real: bool = False


OUTAGES = (
    Outage("10 s", 1.0, 15, 25, 50, real=True),
    Outage("10 min", 10.0, 20, 80, 120),
    Outage("5 h", 600.0, 10, 40, 80),
)


@dataclass(frozen=True)
class Cure:
    """What is switched on. `listed`: the first that `search_tools` lists at the defaults is called, else the router's first."""

    half_life_s: float = EhrrParameters().half_life_s
    checks: bool = True
    listed: bool = False


CURES: Mapping[str, Cure] = {
    "as agents get it": Cure(listed=True),
    "fading and checks": Cure(),
    "fading alone": Cure(checks=False),
    "checks alone": Cure(half_life_s=0.0),
    "neither": Cure(half_life_s=0.0, checks=False),
}


@dataclass(frozen=True)
class World:
    """Success, seconds and price (USD) of the better and of the other server, drawn from a seed."""

    seed: int
    success: tuple[float, float]
    latency_s: tuple[float, float]
    price_usd: tuple[float, float]

    @classmethod
    def drawn(cls, seed: int) -> World:
        """The better one is better in each figure."""
        rng = np.random.default_rng(seed)

        def pair(better: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
            return round(rng.uniform(*better), 4), round(rng.uniform(*other), 4)

        return cls(
            seed, pair((0.97, 1.0), (0.85, 0.95)), pair((0.2, 0.5), (0.6, 1.2)), pair((5e-4, 1.5e-3), (2e-3, 4e-3))
        )

    def values_musd(self, down_s: float) -> tuple[float, float, float]:
        """Expected value in m$ of a call to the better server, to the other one, and to the better one while it is down."""
        value = [1e3 * (VALUE_USD * r - price - s / S_PER_USD) for r, s, price in zip(self.success, self.latency_s, self.price_usd, strict=True)]  # fmt: skip
        return value[0], value[1], -1e3 * down_s / S_PER_USD

    def catalog(self, folders: Sequence[Path], speed: float) -> str:
        """Both servers with their true figures."""
        servers: list[dict[str, Any]] = []
        for place, name in enumerate((BETTER, OTHER)):
            line = ["-S", SERVER, str(folders[place]), str(self.success[place]), str(self.latency_s[place] / speed), f"{self.seed}-{name}"]  # fmt: skip
            tool = {"name": "convert_currency", "description": "Convert an amount of money from one currency into another.",
                    "price_usd": self.price_usd[place], "success": self.success[place], "latency_s": self.latency_s[place]}  # fmt: skip
            servers.append({
                "name": name, "description": "Money.", "tools": [tool], "success": self.success[place], "call_s": self.latency_s[place],
                "connection": {"type": "stdio", "command": "${python}", "args": line},
            })  # fmt: skip
        return json.dumps({"servers": servers})


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@dataclass(frozen=True)
class Run:
    """Regret in m$, and the calls that were lost to the outage."""

    regret: float
    lost: int


def outages() -> None:
    """Every length, kind and cure over the same seeds."""
    for outage in OUTAGES:
        for kind in ("gone",) if outage.real else ("gone", "hangs"):
            print(
                f"down for {outage.title}, {kind}: {SEEDS} seeds, {outage.steps} calls, one every {outage.step_s:g} s"
            )
            print(f"  {'':<20}{'regret, m$':>18}{'lost calls':>12}{'more than the first':>22}")
            first: np.ndarray | None = None
            for name, cure in CURES.items():
                runs = _over_seeds(outage, kind, cure)
                regret, lost = np.array([run.regret for run in runs]), np.mean([run.lost for run in runs])
                first = regret if first is None else first
                print(f"  {name:<20}{_mean(regret):>18}{lost:>12.1f}{_mean(regret - first):>22}", flush=True)


def _mean(values: np.ndarray) -> str:
    return f"{values.mean():.0f} ± {values.std(ddof=1) / len(values) ** 0.5:.0f}"


def _over_seeds(outage: Outage, kind: str, cure: Cure) -> list[Run]:
    """One after the other where processor time counts; at once where they only wait."""
    with ThreadPoolExecutor(SEEDS if outage.real else 1) as pool:
        return list(pool.map(lambda seed: _lived(outage, kind, cure, World.drawn(seed)), range(SEEDS)))


def _lived(outage: Outage, kind: str, cure: Cure, world: World) -> Run:
    """One world under one cure, step by step."""
    speed = 1.0 if outage.real else SPEED
    with tempfile.TemporaryDirectory() as place:
        folders = [Path(place) / name for name in (BETTER, OTHER)]
        for folder in folders:
            folder.mkdir()
            (folder / "state").write_text("up")
        clock: Callable[[], datetime] = utc_now if outage.real else Clock()
        settings = replace(Settings.from_environment(db=":memory:"), now=clock)

        def caller() -> McpCaller:
            return McpCaller(app.pool.get(), clock=lambda: time.perf_counter() * speed, now=clock)

        with build_app(Store(None), settings, caller=caller) as app:
            import_text(app.catalog_editor, world.catalog(folders, speed), "world")
            app.catalogs.prepare("world")
            if outage.real and cure.checks:
                app.health.start()
            return _steps(app, outage, kind, cure, world, folders[0], clock)


def _steps(app: App, outage: Outage, kind: str, cure: Cure, world: World, better: Path, clock: Any) -> Run:
    parameters = applied(EhrrParameters, DEFAULT_PRESET, {"half_life_s": cure.half_life_s})
    up, other, regret, lost, begun = *world.values_musd(0.0)[:2], 0.0, 0, time.monotonic()
    for step in range(outage.steps):
        if step == outage.down_from:
            _down(better, kind)
        if step == outage.down_to:
            (better / "state").write_text("up")
        decision = app.routing.route(QUESTION, catalog="world", router="ehrr", parameters=parameters, anew=True)
        chosen = decision.winner.server if decision.winner else OTHER
        if cure.listed:
            listed = talk(served(app), lambda client: ask(client, "search_tools", task=QUESTION))["candidates"]
            chosen = listed[0]["tool"].partition("::")[0] if listed else OTHER
        limit_s = LIMIT_S / (1.0 if outage.real else SPEED)
        call = ToolCall(chosen, "convert_currency", {"number": step}, catalog="world", timeout_s=limit_s)
        outcome = app.calls.run(call).outcome
        down = outage.down_from <= step < outage.down_to
        best = other if down else up
        mine = other if chosen == OTHER else world.values_musd(outcome.latency_s)[2] if down else up
        regret += best - mine
        lost += down and outcome.kind.post_accept_failure and outcome.kind is not OutcomeKind.OK
        if outage.real:
            time.sleep(max(0.0, begun + (step + 1) * outage.step_s - time.monotonic()))
        else:
            _pass(app, clock, outage.step_s, checks=cure.checks)
    return Run(regret, lost)


def _down(folder: Path, kind: str) -> None:
    (folder / "state").write_text(kind)
    if kind == "gone":
        with suppress(ProcessLookupError, FileNotFoundError):
            os.kill(int((folder / "pid").read_text()), signal.SIGKILL)


def _pass(app: App, clock: Clock, seconds: float, *, checks: bool) -> None:
    """Let time go by in the rounds of the checks."""
    for _ in range(int(seconds / ROUND_S)):
        clock.now += timedelta(seconds=ROUND_S)
        if checks:
            app.health.check_due()
