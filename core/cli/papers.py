"""`wayfare papers`: the five papers recomputed, for the Papers page. `wayfare replay`: recorded sub-tasks decided
again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from pathlib import Path

import click

from core.app import App, Settings, open_app
from core.cli.options import (
    catalog_option,
    common,
    json_option,
    listed_run,
    opened,
    print_json,
    print_table,
    printable,
    set_option,
    settings_of,
)
from core.domain import units
from core.domain.settings import IN_MEMORY
from core.importers.tasks import read_calls
from core.lab.replay import Chosen, Replayed, ReplayTotals
from core.papers.papers import MODEL_TASKS, papers
from core.papers.report import Kind, Report, agrees, moved_cells
from core.routers.presets import DEFAULT_PRESET, PRESETS


@click.command("papers")
@click.option(
    "--paper",
    "chosen",
    multiple=True,
    metavar="NAME",
    help=f"One of {', '.join(papers())}; may be repeated. [default: all]",
)
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder to write [default: the one that the Papers page reads]",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of networks, orders and draws."
)
@click.option(
    "--model-tasks", type=click.IntRange(1), default=MODEL_TASKS, show_default=True,
    help="With a model: the number of questions that it is asked for each set.",
)  # fmt: skip
@click.option(
    "--poisoned",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Poisoned servers, JSON Lines, for Tool Attention's section 7.6.",
)
@click.option(
    "--db",
    type=click.Path(path_type=Path),
    help="A store whose prices and labels count. [default: none, so that results are reproducible]",
)
@json_option
def papers_command(
    chosen: tuple[str, ...],
    folder: Path | None,
    seed: int,
    model_tasks: int,
    poisoned: Path | None,
    db: Path | None,
    as_json: bool,
) -> None:
    """Recompute the tables of the papers, as far as possible without a model, and write the files of the Papers page.

    Uses the shipped catalogs and tasks. Takes a few minutes on two cores. With WAYFARE_LLM_MODEL set, the rows that
    need a model ask it. Names each cell that moved by more than its noise since the results of the page.

    Example: wayfare papers --paper etom
    """
    rows: list[tuple[str, ...]] = []
    documents: list[dict[str, object]] = []
    with _app(db) as app:
        say = _elapsed()
        for paper in dict.fromkeys(chosen or papers()):
            stored = app.papers.report(paper)
            report = app.papers.make(paper, seed=seed, model_tasks=model_tasks, poisoned=poisoned, say=say)
            file = app.papers.write(report, folder)
            counts, changed = _counts(report), [] if stored is None else moved_cells(stored, report)
            for cell in changed:
                click.echo(f"moved: {cell}", err=True)
            documents.append({"paper": paper, "file": str(file), **counts, "moved": changed})
            rows.append(
                (
                    report.name,
                    f"{counts['agreeing']} of {counts['exact']}",
                    str(counts["ours"]),
                    str(counts["unmade"]),
                    str(len(changed)),
                    str(file),
                )
            )
    if as_json:
        print_json({"papers": documents})
        return
    print_table(
        ("paper", "exact rows that agree", "rows on our data", "rows not made", "cells that moved", "file"), rows
    )


def _app(db: Path | None) -> AbstractContextManager[App]:
    """Returns the app over a store. Without a store returns one in memory, with the shipped encoders."""
    if db is not None:
        return opened(db)
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
    made = [
        row
        for _, row in every
        if row.kind is not Kind.EXACT and any(ours is not None for _, ours in row.values.values())
    ]
    return {
        "exact": len(exact),
        "agreeing": len(agreeing),
        "ours": len(made),
        "unmade": len(every) - len(exact) - len(made),
    }


# `wayfare replay`: recorded sub-tasks under other parameters or another router.

LISTED = 30


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--router", default="", help="Another router, with its defaults and --set. [default: the recorded one]")
@click.option("--preset", default="", metavar="NAME", help=f"Instead of the recorded parameters: {', '.join(PRESETS)}.")
@click.option("--last", default=1_000, show_default=True, type=click.IntRange(1, 100_000), help="How many decisions.")
@set_option
@catalog_option
@common
def replay(
    file: Path | None, router: str, preset: str, last: int, settings: tuple[str, ...], catalog: str, db: Path | None, as_json: bool
) -> None:  # fmt: skip
    """Decide recorded sub-tasks again, with the statistics of their time, and compare winners and their costs.

    Without --router, --preset and --set the recorded parameters are used: any difference comes from a changed catalog
    or from new labels. With FILE, the calls of another gateway (JSON Lines: time, session, question, tool, ok, latency_s,
    price_usd, or the activity of mcpproxy-go), the tools that were called are compared with the decisions of now.

    Example: wayfare replay --set kappa=300
    """
    with opened(db) as app, listed_run(app, "Deciding again") as run:
        name = app.catalogs.open(catalog).name
        run.shows("activity", view="replay", catalog=name)
        again, given = app.replay, settings_of(settings)
        if file is None:
            rows = again.replay(name, router=router, preset=preset, settings=given, decisions=last, progress=run)
        else:
            parameters = app.routing.parameters(router or "ehrr", given, preset=preset or DEFAULT_PRESET)
            recorded = read_calls(file.read_bytes(), source=str(file), catalog=name)
            rows = again.replay_calls(recorded, router or "ehrr", parameters, decisions=last, progress=run)
    totals = ReplayTotals.of(rows)
    if as_json:
        print_json({"totals": asdict(totals), "decisions": [row.to_json() for row in rows]})
        return
    click.echo(
        f"{totals.decisions:,} decisions, {totals.changed:,} with another winner: {totals.refused:,} have none now, "
        f"{totals.answered:,} have one only now. {totals.headline}."
    )
    click.echo()
    print_table(("", "measured", "projected then", "projected now"), totals.words())
    _print_changed([row for row in rows if row.changed])


def _print_changed(changed: Sequence[Replayed]) -> None:
    if not changed:
        return
    click.echo()
    print_table(
        ("sub-task", "winner then", "winner now", "price", "expected s"),
        [
            (
                printable(row.subtask, 60), *(printable(one.tool or "none") for one in (row.then, row.now)),
                f"{_price(row.then)} -> {_price(row.now)}", f"{_seconds(row.then)} -> {_seconds(row.now)}",
            )
            for row in changed[:LISTED]
        ],
    )  # fmt: skip
    if len(changed) > LISTED:
        click.echo(f"and {len(changed) - LISTED:,} more; --json has them all.")


def _price(chosen: Chosen) -> str:
    return "–" if chosen.tool is None else units.price(chosen.usd)


def _seconds(chosen: Chosen) -> str:
    return "–" if chosen.s is None else f"{chosen.s:.2f}"
