"""`wayfare testbed`: a catalog drawn by words, with the labelled tasks that its tools can do."""

from __future__ import annotations

from pathlib import Path

import click

from core.cli.opening import opened
from core.cli.options import common, print_json, print_table, read_file, write_file
from core.importers import tasks_text
from core.lab.testbed import Selection
from core.services.testbeds import Registry
from core.virtual.multiply import HIGHEST_SPREAD, MOST_COPIES


@click.command()
@click.argument("words", nargs=-1)
@click.option("--name", required=True, help="The new catalog's name.")
@click.option("--from", "catalogs", multiple=True, help="A catalog by name or file; may be repeated. [default: sample]")
@click.option(
    "--registry", "files", multiple=True, type=click.Path(path_type=Path), help="A server.json file, or a list of them."
)
@click.option("--category", "categories", multiple=True, help="Only servers of it; may be repeated.")
@click.option(
    "--least-tools", default=1, show_default=True, type=click.IntRange(0), help="Tools a server has at least."
)
@click.option(
    "--most-tools", default=1_000, show_default=True, type=click.IntRange(0), help="Tools a server has at most."
)
@click.option("--servers", default=15, show_default=True, type=click.IntRange(1), help="How many servers at most.")
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
    help="Labelled tasks of the first catalog. [default: those that come with it]",
)
@click.option("--draw", default=100, show_default=True, type=click.IntRange(0), help="How many tasks at most.")
@click.option("--tasks-out", type=click.Path(path_type=Path), help="Write the drawn tasks there, JSON Lines.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of the copies and the tasks.")
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
    """Draw a testbed: servers that any of the WORDS is said of, and tasks that their tools can do.

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
