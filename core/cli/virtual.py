"""Virtual servers: served to any client, recorded from a real server, multiplied; and testbeds drawn from catalogs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from core.cli import apps, options, output
from core.cli.options import option
from core.importers import read_files, tasks_text
from core.lab.testbed import Registry, Selection
from core.virtual.launch import DEFAULT_PROFILE, PROFILES, chosen, opened_recording
from core.virtual.multiply import HIGHEST_SPREAD, MOST_COPIES, Recipe

PROFILES_HELP = " ".join(f"{name}: {profile.help}" for name, profile in PROFILES.items())


@click.command(epilog=f"Profiles. {PROFILES_HELP}")
@click.argument("server")
@option("--http", "port", type=click.IntRange(0, 65535), help="Listen on 127.0.0.1:PORT (0: a free one), not stdio.")
@option("--profile", default=DEFAULT_PROFILE, type=click.Choice(tuple(PROFILES)), help="How it behaves.")
@option("--seed", type=int, help="Makes results and failures repeatable; without it failures differ at each start.")
@option("--speed", default=1.0, type=options.Finite(0, 100), help="Factor on every wait; 0 never waits.")
@options.catalog
@options.db
def virtual(server: str, port: int | None, profile: str, seed: int | None, speed: float, catalog: str) -> None:
    """Serve one server of a catalog over real MCP with simulated results, by default on stdio. SERVER may be a file of `wayfare record`: it
    is played at its recorded times, and needs no store.

    Example: wayfare virtual web-search --http 8700 --profile flaky
    """
    if Path(server).is_file():
        definition = chosen(read_files([server]).servers, None)
        recording = opened_recording(Path(server), definition.name, speed)
    else:
        with apps.opened(alone=True) as app:
            definition, recording = app.catalogs.open(catalog).server(server), None
    from core.virtual.server import Behaviour, serve

    serve(definition, Behaviour(profile, seed, speed, recording), port)


@click.command()
@click.argument("server", required=False)
@option("--to", "file", type=options.PATH, help="Record into this JSON file from now on.")
@option("--stop", is_flag=True, help="Record no further answer; the file stays.")
@options.of_catalog
def record(server: str | None, file: Path | None, stop: bool, catalog: str) -> None:
    """Record the real answers of a server, with times and failures and without secrets, into a file; or list what is recorded.

    `wayfare virtual FILE` plays the file to any client, and `wayfare import FILE` makes a catalog of it.

    Example: wayfare record git --to git.json --catalog mine
    """
    if (server is None) is not (file is None and not stop) or (file is not None and stop):
        raise click.UsageError("record takes a SERVER with --to FILE or --stop, or nothing.")
    with apps.opened() as app:
        if server is not None:
            app.recordings.record(app.catalogs.open(catalog).name, server, file)
        recordings = [
            {"catalog": server_id.catalog, "server": server_id.server, "file": str(path)}
            for server_id, path in app.recordings.files.items()
        ]
    lines = [tuple(row.values()) for row in recordings]
    output.listing({"recordings": recordings}, ("catalog", "server", "file"), lines, none="No server is recorded.")


@click.command()
@click.argument("server")
@option("--copies", required=True, type=click.IntRange(1, MOST_COPIES), help="The number of virtual copies.")
@option("--name", default="", help="The new catalog's name (default: made from catalog, server and number).")
@option("--seed", default=0, type=int, help="Another seed gives other words and numbers.")
@option(
    "--spread",
    default=2.0,
    type=options.Finite(1, HIGHEST_SPREAD),
    help="Largest factor, up or down, on the declared times, prices and odds.",
)
@option("--replace", is_flag=True, help="Leave the original server out.")
@options.of_catalog
def multiply(server: str, copies: int, name: str, seed: int, spread: float, replace: bool, catalog: str) -> None:
    """Make a new catalog with virtual copies of one server: other names, words and numbers.

    Example: wayfare multiply unit-exchange --copies 4 --name exchanges
    """
    with apps.opened_catalog(catalog) as (app, source):
        new_catalog = app.catalog_editor.multiply(source, server, Recipe(copies, seed, spread, not replace), name=name)
        known_servers = app.catalogs.catalog(source).server_row
    fresh = [copy for copy in new_catalog.servers if copy.name not in known_servers]
    if output.wants_json():
        output.document({
            "catalog": new_catalog.name, "servers": len(new_catalog.servers), "tools": len(new_catalog.tools), "copied": server,
            "copies": [{"name": copy.name, "description": copy.description, "tools": len(copy.tools)} for copy in fresh],
        })  # fmt: skip
        return
    click.echo(
        f"Catalog {new_catalog.name}: {len(new_catalog.servers)} servers with {len(new_catalog.tools)} tools, {copies} of them virtual copies of {server}."
    )
    output.table(("copy", "description"), [(copy.name, copy.description) for copy in fresh])


@click.command()
@click.argument("words", nargs=-1)
@option("--name", required=True, help="The new catalog's name.")
@option(
    "--from",
    "catalog",
    type=options.name_or_file,
    multiple=True,
    help="A catalog by name or file; may be repeated. [default: sample]",
)
@option("--registry", "files", multiple=True, type=options.PATH, help="A server.json file, or a list of them.")
@option("--category", "categories", multiple=True, help="Only servers of this category; may be repeated.")
@option("--least-tools", default=1, type=click.IntRange(0), help="The smallest number of tools of a server.")
@option("--most-tools", default=1_000, type=click.IntRange(0), help="The largest number of tools of a server.")
@option("--servers", default=15, type=click.IntRange(1), help="The largest number of servers.")
@option("--copies", default=0, type=click.IntRange(0, MOST_COPIES), help="Virtual copies of each server.")
@option("--spread", default=2.0, type=options.Finite(1, HIGHEST_SPREAD), help="Largest factor on the copies' figures.")
@option(
    "--tasks", "task_file", type=options.PATH, help="Labelled tasks of the first catalog. [default: the shipped ones]"
)
@option("--draw", "tasks", default=100, type=click.IntRange(0), help="The largest number of tasks.")
@option("--tasks-out", type=options.PATH, help="Write the drawn tasks to this file, JSON Lines.")
@option("--seed", default=0, type=click.IntRange(0), help="Seed of the copies and the tasks.")
@options.common
def testbed(
    name: str,
    catalog: tuple[str, ...],
    files: tuple[Path, ...],
    task_file: Path | None,
    tasks_out: Path | None,
    **selected: Any,
) -> None:
    """Draw a testbed: servers whose texts contain any of the WORDS, and tasks that their tools can do.

    Example: wayfare testbed search weather --name search-bed --copies 2 --tasks-out bed.jsonl
    """
    with apps.opened() as app:
        registries = [
            Registry(file.name, app.catalog_editor.read(options.read_file(file), str(file))) for file in files
        ]
        names = [app.catalogs.open(source).name for source in catalog or (() if files else ("sample",))]
        labelled = None if task_file is None else app.lab.read_tasks(task_file)
        drawn = app.testbeds.draw(names, Selection(**selected), registries=registries, tasks=labelled)
        app.testbeds.keep(drawn, name, registries=registries)
    if tasks_out is not None:
        options.write_file(tasks_out, tasks_text(drawn.tasks))
    new_catalog = drawn.catalog(name)
    if output.wants_json():
        output.document({
            "catalog": name, "matching": drawn.matching, "servers": len(new_catalog.servers), "tools": len(new_catalog.tools), "tasks": len(drawn.tasks),
            "chosen": [
                {"server": pick.server.name, "from": pick.source, "tools": len(pick.server.tools), "found": pick.found,
                 "copies": [copy.name for copy in pick.copies]}
                for pick in drawn.chosen
            ],
        })  # fmt: skip
        return
    click.echo(
        f"Catalog {name}: {len(new_catalog.servers):,} servers with {len(new_catalog.tools):,} tools from {drawn.matching:,} that match; "
        f"{len(drawn.tasks):,} tasks."
    )
    output.table(
        ("server", "from", "tools", "copies", "found"),
        [
            (
                pick.server.name,
                pick.source,
                str(len(pick.server.tools)),
                str(len(pick.copies)),
                ", ".join(pick.found) or "–",
            )
            for pick in drawn.chosen
        ],
    )
