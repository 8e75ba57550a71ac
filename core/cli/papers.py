"""Experiments: routers in a network, simulated or injected into real calls, and the five papers recomputed."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from core.app import App, Settings, open_app
from core.cli import apps, options, output
from core.cli.options import option
from core.domain import units
from core.domain.errors import ParameterError, StoreError
from core.domain.settings import IN_MEMORY
from core.lab.scenario_runs import TESTBED, planned
from core.lab.scenarios.measures import SETTINGS, ScenarioRun, Setting
from core.lab.scenarios.simulation import STEPS, World
from core.papers.papers import MODEL_TASKS, papers
from core.papers.report import Kind, Report, agrees, moved_cells

MOST_STEPS = 1_000_000
LIVE_STEPS = 60  # a call takes up to a second
LIVE_NOTE = "Live: every call was made over MCP, with the network injected. AL and FR are measured; virtual servers' results are simulated."


@click.command()
@click.argument("network", type=options.name_or_file, metavar="NAME")
@option("--router", "routers", multiple=True, default=("prag", "sonar", "ehrr"), help="May be repeated.")
@option(
    "--setting", "kept", multiple=True, help="Numbers of kept servers and tools, such as s3t6; may be repeated. "
    f"[default: {', '.join(s.name for s in SETTINGS)}; with --live {SETTINGS[0].name}]",
)  # fmt: skip
@option(
    "--steps", type=click.IntRange(1, MOST_STEPS),
    help=f"Number of queries, one for each step. [default: {STEPS}; with --live {LIVE_STEPS}]",
)  # fmt: skip
@option(
    "--live", is_flag=True,
    help="Make real MCP calls with the network injected: delays, time-outs of 1 s, dropped connections.",
)  # fmt: skip
@option("--seed", type=options.SEED, default=0, help="Seed of traces, order and random draws.")
@option("--tasks", type=options.PATH, help="Labelled tasks, JSON Lines (default: the catalog's own).")
@option(
    "--predict", "predicted", default="", help="A fixed tool prediction for every query, in place of the planner's."
)
@option(
    "--question",
    "raw_questions",
    is_flag=True,
    help="Ask the person's question instead of the sub-task that a model wrote.",
)
@option("--catalog", type=options.name_or_file, default=TESTBED, help="A catalog by name, or a catalog file.")
@option("--store/--no-store", default=True, help="Store the runs for the Network page.")
@options.knobs
@options.common
def scenario(
    network: str,
    routers: tuple[str, ...],
    kept: tuple[str, ...],
    steps: int | None,
    live: bool,
    tasks: Path | None,
    store: bool,
    settings: dict[str, str],
    preset: str,
    **conditions: Any,
) -> None:
    """Run routers through a network scenario. Without --live no tool is called. NAME is a profile (ideal, hybrid,
    fluctuating, chaos_monday, ...), one saved on the Network page, or a JSON file of one. The Network page lists the
    runs and compares them.

    Example: wayfare scenario hybrid --router prag --router sonar --steps 500
    """
    usual, most = (SETTINGS[:1], LIVE_STEPS) if live else (SETTINGS, STEPS)
    plan = planned(routers, [_setting(text) for text in kept] or usual, settings, preset=preset)
    with apps.opened_even_if_busy() as app, apps.listed_run(app, "Calling" if live else "Simulating") as run:
        world = app.scenarios.world(
            network,
            tasks=None if tasks is None else app.lab.read_tasks(tasks),
            source="" if tasks is None else tasks.name,
            steps=most if steps is None else steps,
            **conditions,
        )
        runs = app.scenarios.run(world, plan, live=live, progress=run, cancel=run.job.stop)
        if store and app.store.path is not None:
            run.shows("network", runs=",".join(_keep_runs(app, world, runs)))
    if output.wants_json():
        output.document({"runs": [run.to_json() for run in runs]})
        return
    if live:
        click.echo(LIVE_NOTE)
    forms = {"AL ms": ".1f", "SL ms": ".2f", "FR": "", "cost": "", "utility": ".3f"}
    output.table({"router": "", "setting": "", "SSR": "", "EE": "", **forms}, list(map(_row, runs)))


def _keep_runs(app: App, world: World, runs: Sequence[ScenarioRun]) -> list[str]:
    """Stores the runs and returns their ids. If the store cannot be written, reports it."""
    try:
        return [stored.id for stored in app.scenarios.keep(world, runs)]
    except StoreError as error:
        click.echo(f"The runs are not stored. {error}", err=True)
        return []


def _row(run: ScenarioRun) -> tuple[object, ...]:
    ssr, ee, fr = map(units.share, (run.ssr, run.ee, run.fr))
    return run.router, run.setting, ssr, ee, run.al_ms, run.sl_ms, fr, run.spent, run.utility


def _setting(text: str) -> Setting:
    match = re.fullmatch(r"s(\d{1,3})t(\d{1,3})", text.strip())
    if match is None:
        raise ParameterError(
            f"--setting {text[:40]!r} is not of the form s3t6; give the numbers of kept servers and tools."
        )
    return Setting(int(match[1]), int(match[2]))


@click.command("papers")
@option(
    "--paper",
    "chosen",
    multiple=True,
    metavar="NAME",
    help=f"One of {', '.join(papers())}; may be repeated. [default: all]",
)
@option(
    "--to",
    "folder",
    type=options.File(path_type=Path, file_okay=False),
    help="The folder to write [default: the one that the Papers page reads]",
)
@option("--seed", type=click.IntRange(0), default=0, help="Seed of networks, orders and draws.")
@option(
    "--model-tasks",
    type=click.IntRange(1),
    default=MODEL_TASKS,
    help="With a model: the number of questions that it is asked for each set.",
)
@option(
    "--poisoned",
    type=options.File(path_type=Path, exists=True, dir_okay=False),
    help="Poisoned servers, JSON Lines, for Tool Attention's section 7.6.",
)
@option(
    "--db", type=options.PATH, expose_value=False, callback=options.kept,
    help="A store whose prices and labels count. [default: none, so that results are reproducible]",
)  # fmt: skip
@options.as_json
def papers_command(chosen: tuple[str, ...], folder: Path | None, **given: Any) -> None:
    """Recompute the tables of the papers, as far as possible without a model, and write the files of the Papers page.

    Uses the shipped catalogs and tasks. Takes a few minutes on two cores. With WAYFARE_LLM_MODEL set, the rows that
    need a model ask it. Names each cell that moved by more than its noise since the results of the page.

    Example: wayfare papers --paper etom
    """
    documents: list[dict[str, Any]] = []
    names: list[str] = []
    with _app() as app:
        material = app.papers.material(**given, say=_elapsed())
        for paper in dict.fromkeys(chosen or papers()):
            stored = app.papers.report(paper)
            report = app.papers.make(paper, material)
            file = app.papers.write(report, folder)
            counts, changed = _counts(report), [] if stored is None else moved_cells(stored, report)
            for cell in changed:
                click.echo(f"moved: {cell}", err=True)
            documents.append({"paper": paper, "file": str(file), **counts, "moved": changed})
            names.append(report.name)
    columns = ("paper", "exact rows that agree", "rows on our data", "rows not made", "cells that moved", "file")
    rows = [
        (name, f"{row['agreeing']} of {row['exact']}", row["ours"], row["unmade"], len(row["moved"]), row["file"])
        for name, row in zip(names, documents, strict=True)
    ]
    output.result(lambda: {"papers": documents}, lambda: output.table(columns, rows))


def _app() -> AbstractContextManager[App]:
    """Returns the app over a store. Without a store, returns an app in memory with the shipped encoders."""
    if click.get_current_context().meta["db"] is not None:
        return apps.opened()
    return open_app(replace(Settings.from_environment(db=IN_MEMORY), encoder_difference="", reranker=""))


def _elapsed() -> Callable[[str], None]:
    started = time.monotonic()
    return lambda text: click.echo(f"{time.monotonic() - started:6.0f} s  {text}", err=True)


def _counts(report: Report) -> dict[str, int]:
    """Counts rows by their kind, and the exact rows that agree with the paper in every figure."""
    every = [(table, row) for table in report.tables for row in table.rows]
    exact = [(table, row) for table, row in every if row.kind is Kind.EXACT]
    agreeing = [
        row for table, row in exact if all(agrees(c, *row.values[c.key]) for c in table.columns if c.key in row.values)
    ]
    our_rows = [
        row
        for _, row in every
        if row.kind is not Kind.EXACT and any(ours is not None for _, ours in row.values.values())
    ]
    return {
        "exact": len(exact),
        "agreeing": len(agreeing),
        "ours": len(our_rows),
        "unmade": len(every) - len(exact) - len(our_rows),
    }
