"""`wayfare scenario`: routers in a network, simulated or injected into real calls."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from core.app import App
from core.cli.opening import opened_even_if_busy
from core.cli.options import common, preset_option, print_json, print_table, set_option, settings_of
from core.lab.scenarios.measures import SETTINGS, ScenarioRun, Setting
from core.lab.scenarios.simulation import STEPS, World
from core.services.scenarios import TESTBED, Entry, planned
from core.shared import units
from core.shared.errors import ParameterError, StoreError

MOST_STEPS = 1_000_000
LIVE_STEPS = 60  # a call takes up to a second
LIVE_NOTE = "Live: every call was made over MCP, with the network injected. AL and FR are measured; virtual servers' results are simulated."


@click.command()
@click.argument("name")
@click.option(
    "--router", "routers", multiple=True, default=("prag", "sonar", "ehrr"), show_default=True, help="May be repeated."
)
@click.option(
    "--setting", "kept", multiple=True, help="Servers and tools kept, as in s3t6; may be repeated. "
    f"[default: {', '.join(s.name for s in SETTINGS)}; with --live {SETTINGS[0].name}]",
)  # fmt: skip
@click.option(
    "--steps", type=click.IntRange(1, MOST_STEPS),
    help=f"Queries, one a step. [default: {STEPS}; with --live {LIVE_STEPS}]",
)  # fmt: skip
@click.option(
    "--live", is_flag=True,
    help="Really call the tools over MCP, with the network injected: delays, time-outs of 1 s, dropped connections.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of traces, order and random draws."
)
@click.option(
    "--tasks", type=click.Path(path_type=Path), help="Labelled tasks, JSON Lines (default: the catalog's own)."
)
@click.option("--predict", default="", help="What tool prediction says of every query, in the planner's place.")
@click.option("--question", is_flag=True, help="Ask what a person wrote instead of the sub-task that a model writes.")
@click.option("--catalog", default=TESTBED, show_default=True, help="A catalog by name, or a catalog file.")
@click.option("--store/--no-store", default=True, show_default=True, help="Store the runs for the Network page.")
@set_option
@preset_option
@common
def scenario(
    name: str,
    routers: tuple[str, ...],
    kept: tuple[str, ...],
    steps: int | None,
    live: bool,
    seed: int,
    tasks: Path | None,
    predict: str,
    question: bool,
    catalog: str,
    store: bool,
    settings: tuple[str, ...],
    preset: str,
    db: Path | None,
    as_json: bool,
) -> None:
    """Run routers through a network scenario. Nothing is called without --live. NAME is a profile (ideal, hybrid, fluctuating, chaos_monday,
    ...), one saved on the Network page, or a JSON file of one. The Network page lists the runs and compares them.

    Example: wayfare scenario hybrid --router prag --router sonar --steps 500
    """
    usual, most = (SETTINGS[:1], LIVE_STEPS) if live else (SETTINGS, STEPS)
    plan = planned(routers, [_setting(text) for text in kept] or usual, settings_of(settings), preset=preset)
    with opened_even_if_busy(db) as app:
        world = app.scenarios.world(
            name,
            catalog=catalog,
            tasks=None if tasks is None else app.lab.read_tasks(tasks),
            source="" if tasks is None else tasks.name,
            steps=most if steps is None else steps,
            seed=seed,
            predicted=predict,
            raw_questions=question,
        )
        runs = _live(app, world, plan) if live else app.scenarios.run(world, plan)
        if store and app.store.path is not None:
            _keep(app, world, runs)
    if as_json:
        print_json({"runs": [run.to_json() for run in runs]})
        return
    if live:
        click.echo(LIVE_NOTE)
    print_table(("router", "setting", "SSR", "EE", "AL ms", "SL ms", "FR", "cost", "utility"), list(map(_row, runs)))


def _live(app: App, world: World, plan: Sequence[Entry]) -> tuple[ScenarioRun, ...]:
    """Make the calls, with a progress bar on standard error."""
    with click.progressbar(length=len(plan) * len(world.order), label="Calling", file=sys.stderr) as bar:
        return app.scenarios.run(world, plan, live=True, progress=lambda done, _: bar.update(done - bar.pos))


def _keep(app: App, world: World, runs: Sequence[ScenarioRun]) -> None:
    try:
        app.scenarios.keep(world, runs)
    except StoreError as error:
        click.echo(f"The runs are not stored. {error}", err=True)


def _row(run: ScenarioRun) -> tuple[str, ...]:
    return (
        run.router,
        run.setting,
        units.share(run.ssr),
        units.share(run.ee),
        f"{run.al_ms:.1f}",
        f"{run.sl_ms:.2f}",
        units.share(run.fr),
        units.price(run.cost_usd),
        "–" if run.utility is None else f"{run.utility:.3f}",
    )


def _setting(text: str) -> Setting:
    found = re.fullmatch(r"s(\d{1,3})t(\d{1,3})", text.strip())
    if found is None:
        raise ParameterError(f"--setting {text[:40]!r} is not like s3t6; write how many servers and tools are kept.")
    return Setting(int(found[1]), int(found[2]))
