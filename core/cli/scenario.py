"""`wayfare scenario`: routers in a network, simulated or injected into real calls. `wayfare testbed`: a catalog drawn
by words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import click

from core.app import App
from core.cli.options import (
    common,
    listed_run,
    opened,
    opened_even_if_busy,
    preset_option,
    print_json,
    print_table,
    read_file,
    set_option,
    settings_of,
    write_file,
)
from core.domain import units
from core.domain.errors import ParameterError, StoreError
from core.importers import tasks_text
from core.lab.scenario_runs import TESTBED, planned
from core.lab.scenarios.measures import SETTINGS, ScenarioRun, Setting
from core.lab.scenarios.simulation import STEPS, World
from core.lab.testbed import Registry, Selection
from core.virtual.multiply import HIGHEST_SPREAD, MOST_COPIES

MOST_STEPS = 1_000_000
LIVE_STEPS = 60  # a call takes up to a second
LIVE_NOTE = "Live: every call was made over MCP, with the network injected. AL and FR are measured; virtual servers' results are simulated."


@click.command()
@click.argument("name")
@click.option(
    "--router", "routers", multiple=True, default=("prag", "sonar", "ehrr"), show_default=True, help="May be repeated."
)
@click.option(
    "--setting", "kept", multiple=True, help="Numbers of kept servers and tools, such as s3t6; may be repeated. "
    f"[default: {', '.join(s.name for s in SETTINGS)}; with --live {SETTINGS[0].name}]",
)  # fmt: skip
@click.option(
    "--steps", type=click.IntRange(1, MOST_STEPS),
    help=f"Number of queries, one for each step. [default: {STEPS}; with --live {LIVE_STEPS}]",
)  # fmt: skip
@click.option(
    "--live", is_flag=True,
    help="Make real MCP calls with the network injected: delays, time-outs of 1 s, dropped connections.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of traces, order and random draws."
)
@click.option(
    "--tasks", type=click.Path(path_type=Path), help="Labelled tasks, JSON Lines (default: the catalog's own)."
)
@click.option("--predict", default="", help="A fixed tool prediction for every query, in place of the planner's.")
@click.option("--question", is_flag=True, help="Ask the person's question instead of the sub-task that a model wrote.")
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
    """Run routers through a network scenario. Without --live no tool is called. NAME is a profile (ideal, hybrid,
    fluctuating, chaos_monday, ...), one saved on the Network page, or a JSON file of one. The Network page lists the
    runs and compares them.

    Example: wayfare scenario hybrid --router prag --router sonar --steps 500
    """
    usual, most = (SETTINGS[:1], LIVE_STEPS) if live else (SETTINGS, STEPS)
    plan = planned(routers, [_setting(text) for text in kept] or usual, settings_of(settings), preset=preset)
    with opened_even_if_busy(db) as app, listed_run(app, "Calling" if live else "Simulating") as run:
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
        runs = app.scenarios.run(world, plan, live=live, progress=run, cancel=run.job.stop)
        if store and app.store.path is not None:
            run.shows("network", runs=",".join(_keep(app, world, runs)))
    if as_json:
        print_json({"runs": [run.to_json() for run in runs]})
        return
    if live:
        click.echo(LIVE_NOTE)
    print_table(("router", "setting", "SSR", "EE", "AL ms", "SL ms", "FR", "cost", "utility"), list(map(_row, runs)))


def _keep(app: App, world: World, runs: Sequence[ScenarioRun]) -> list[str]:
    """Stores the runs and returns their ids. If the store cannot be written, says so."""
    try:
        return [kept.id for kept in app.scenarios.keep(world, runs)]
    except StoreError as error:
        click.echo(f"The runs are not stored. {error}", err=True)
        return []


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
        raise ParameterError(
            f"--setting {text[:40]!r} is not of the form s3t6; give the numbers of kept servers and tools."
        )
    return Setting(int(found[1]), int(found[2]))


# `wayfare testbed`: a catalog drawn by words, with matching labelled tasks.


@click.command()
@click.argument("words", nargs=-1)
@click.option("--name", required=True, help="The new catalog's name.")
@click.option(
    "--from",
    "catalogs",
    multiple=True,
    help="A catalog by name or file; may be repeated. [default: sample]",
)
@click.option(
    "--registry", "files", multiple=True, type=click.Path(path_type=Path), help="A server.json file, or a list of them."
)
@click.option("--category", "categories", multiple=True, help="Only servers of this category; may be repeated.")
@click.option(
    "--least-tools",
    default=1,
    show_default=True,
    type=click.IntRange(0),
    help="The smallest number of tools of a server.",
)
@click.option(
    "--most-tools",
    default=1_000,
    show_default=True,
    type=click.IntRange(0),
    help="The largest number of tools of a server.",
)
@click.option("--servers", default=15, show_default=True, type=click.IntRange(1), help="The largest number of servers.")
@click.option(
    "--copies", default=0, show_default=True, type=click.IntRange(0, MOST_COPIES), help="Virtual copies of each server."
)
@click.option(
    "--spread",
    default=2.0,
    show_default=True,
    type=click.FloatRange(1, HIGHEST_SPREAD),
    help="Largest factor on the copies' figures.",
)
@click.option(
    "--tasks",
    type=click.Path(path_type=Path),
    help="Labelled tasks of the first catalog. [default: the shipped ones]",
)
@click.option("--draw", default=100, show_default=True, type=click.IntRange(0), help="The largest number of tasks.")
@click.option("--tasks-out", type=click.Path(path_type=Path), help="Write the drawn tasks to this file, JSON Lines.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of the copies and the tasks.")
@common
def testbed(
    words: tuple[str, ...],
    name: str,
    catalogs: tuple[str, ...],
    files: tuple[Path, ...],
    categories: tuple[str, ...],
    least_tools: int,
    most_tools: int,
    servers: int,
    copies: int,
    spread: float,
    tasks: Path | None,
    draw: int,
    tasks_out: Path | None,
    seed: int,
    db: Path | None,
    as_json: bool,
) -> None:
    """Draw a testbed: servers whose texts contain any of the WORDS, and tasks that their tools can do.

    Example: wayfare testbed search weather --name search-bed --copies 2 --tasks-out bed.jsonl
    """
    selection = Selection(words, categories, least_tools, most_tools, servers, copies, spread, seed, draw)
    with opened(db) as app:
        registries = [Registry(file.name, app.catalog_editor.read(read_file(file), str(file))) for file in files]
        names = [app.catalogs.open(one).name for one in catalogs or (() if files else ("sample",))]
        labelled = None if tasks is None else app.lab.read_tasks(tasks)
        drawn = app.testbeds.draw(names, selection, registries=registries, tasks=labelled)
        app.testbeds.keep(drawn, name, registries=registries)
    if tasks_out is not None:
        write_file(tasks_out, tasks_text(drawn.tasks))
    made = drawn.catalog(name)
    if as_json:
        print_json({
            "catalog": name, "matching": drawn.matching, "servers": len(made.servers), "tools": len(made.tools), "tasks": len(drawn.tasks),
            "chosen": [
                {"server": one.server.name, "from": one.source, "tools": len(one.server.tools), "found": one.found,
                 "copies": [copy.name for copy in one.copies]}
                for one in drawn.chosen
            ],
        })  # fmt: skip
        return
    click.echo(
        f"Catalog {name}: {len(made.servers):,} servers with {len(made.tools):,} tools from {drawn.matching:,} that match; "
        f"{len(drawn.tasks):,} tasks."
    )
    print_table(
        ("server", "from", "tools", "copies", "found"),
        [
            (one.server.name, one.source, str(len(one.server.tools)), str(len(one.copies)), ", ".join(one.found) or "–")
            for one in drawn.chosen
        ],
    )
