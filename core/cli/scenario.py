"""`wayfare scenario`: routers in a simulated network."""

from __future__ import annotations

import re
from pathlib import Path

import click

from core import units
from core.cli.options import common, print_json, print_table, set_option, settings_of
from core.console import Console
from core.errors import ParameterError
from core.lab.scenario import STEPS
from core.lab.scenario_measures import SETTINGS, ScenarioRun, Setting
from core.scenarios import TESTBED, planned

MOST_STEPS = 1_000_000


@click.command()
@click.argument("name")
@click.option(
    "--router", "routers", multiple=True, default=("prag", "sonar", "ehrr"), show_default=True, help="May be repeated."
)
@click.option(
    "--setting", "kept", multiple=True, default=tuple(s.name for s in SETTINGS), show_default=True,
    help="Servers and tools kept, as in s3t6; may be repeated.",
)  # fmt: skip
@click.option(
    "--steps", type=click.IntRange(1, MOST_STEPS), default=STEPS, show_default=True, help="Queries, one a step."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of traces, order and luck.")
@click.option(
    "--tasks", type=click.Path(path_type=Path), help="Labelled tasks, JSON Lines (default: the catalog's own)."
)
@click.option("--predict", default="", help="What tool prediction says of every query, in the planner's place.")
@click.option("--question", is_flag=True, help="Ask what a person wrote instead of the sub-task that a model writes.")
@click.option("--catalog", default=TESTBED, show_default=True, help="A catalog by name, or a catalog file.")
@set_option
@common
def scenario(
    name: str,
    routers: tuple[str, ...],
    kept: tuple[str, ...],
    steps: int,
    seed: int,
    tasks: Path | None,
    predict: str,
    question: bool,
    catalog: str,
    settings: tuple[str, ...],
    db: Path | None,
    as_json: bool,
) -> None:
    """Run routers through a network scenario. Nothing is called. NAME is a profile (ideal, hybrid, fluctuating, chaos_monday,
    ...) or a JSON file of one.

    Example: wayfare scenario hybrid --router prag --router sonar --steps 500
    """
    plan = planned(routers, [_setting(text) for text in kept], settings_of(settings))
    with Console.open(db) as console:
        world = console.scenarios.world(
            name,
            catalog=catalog,
            tasks=None if tasks is None else console.read_tasks(tasks),
            steps=steps,
            seed=seed,
            predicted=predict,
            raw_questions=question,
        )
        runs = console.scenarios.run(world, plan)
    if as_json:
        print_json({"runs": [run.to_json() for run in runs]})
        return
    print_table(("router", "setting", "SSR", "EE", "AL ms", "SL ms", "FR", "cost", "utility"), list(map(_row, runs)))


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
