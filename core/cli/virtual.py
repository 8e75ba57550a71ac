"""Commands about virtual servers: serve one to any client, record a real one, multiply one."""

from __future__ import annotations

from pathlib import Path

import click

from core.cli.options import catalog_option, common, db_option, opened, print_json, print_table
from core.importers import read_files
from core.virtual.launch import DEFAULT_PROFILE, PROFILES, chosen, opened_recording
from core.virtual.multiply import HIGHEST_SPREAD, MOST_COPIES, Recipe

PROFILES_HELP = " ".join(f"{name}: {profile.help}" for name, profile in PROFILES.items())


@click.command(epilog=f"Profiles. {PROFILES_HELP}")
@click.argument("server")
@click.option(
    "--http", "port", type=click.IntRange(0, 65535), help="Listen on 127.0.0.1:PORT (0: a free one), not stdio."
)
@click.option(
    "--profile", default=DEFAULT_PROFILE, show_default=True, type=click.Choice(tuple(PROFILES)), help="How it behaves."
)
@click.option(
    "--seed", type=int, help="Makes results and failures repeatable; without it failures differ at each start."
)
@click.option(
    "--speed",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0, 100),
    help="Factor on every wait; 0 never waits.",
)
@catalog_option
@db_option
def virtual(
    server: str, port: int | None, profile: str, seed: int | None, speed: float, catalog: str, db: Path | None
) -> None:
    """Serve one server of a catalog over real MCP with simulated results, by default on stdio. SERVER may be a file of `wayfare record`: it
    is played at its recorded times, and needs no store.

    Example: wayfare virtual web-search --http 8700 --profile flaky
    """
    if Path(server).is_file():
        found = chosen(read_files([server]).servers, None)
        recording = opened_recording(Path(server), found.name, speed)
    else:
        with opened(db, alone=True) as app:
            found, recording = app.catalogs.open(catalog).server(server), None
    from core.virtual.server import Behaviour, serve

    serve(found, Behaviour(profile, seed, speed, recording), port)


@click.command()
@click.argument("server", required=False)
@click.option("--to", "file", type=click.Path(path_type=Path), help="Record into this JSON file from now on.")
@click.option("--stop", is_flag=True, help="Record no further answer; the file stays.")
@catalog_option
@common
def record(server: str | None, file: Path | None, stop: bool, catalog: str, db: Path | None, as_json: bool) -> None:
    """Record the real answers of a server, with times and failures and without secrets, into a file; or list what is recorded.

    `wayfare virtual FILE` plays the file to any client, and `wayfare import FILE` makes a catalog of it.

    Example: wayfare record git --to git.json --catalog mine
    """
    if (server is None) is not (file is None and not stop) or (file is not None and stop):
        raise click.UsageError("record takes a SERVER with --to FILE or --stop, or nothing.")
    with opened(db) as app:
        if server is not None:
            app.recordings.record(app.catalogs.open(catalog).name, server, file)
        found = [{**one._asdict(), "file": str(at)} for one, at in app.recordings.files.items()]
    if as_json:
        print_json({"recordings": found})
    elif found:
        print_table(("catalog", "server", "file"), [tuple(one.values()) for one in found])
    else:
        click.echo("No server is recorded.")


@click.command()
@click.argument("server")
@click.option("--copies", required=True, type=click.IntRange(1, MOST_COPIES), help="The number of virtual copies.")
@click.option("--name", default="", help="The new catalog's name (default: made from catalog, server and number).")
@click.option("--seed", default=0, show_default=True, type=int, help="Another seed gives other words and numbers.")
@click.option(
    "--spread", default=2.0, show_default=True, type=click.FloatRange(1, HIGHEST_SPREAD),
    help="Largest factor, up or down, on the declared times, prices and odds.",
)  # fmt: skip
@click.option("--replace", is_flag=True, help="Leave the original server out.")
@catalog_option
@common
def multiply(
    server: str,
    copies: int,
    name: str,
    seed: int,
    spread: float,
    replace: bool,
    catalog: str,
    db: Path | None,
    as_json: bool,
) -> None:
    """Make a new catalog with virtual copies of one server: other names, words and numbers.

    Example: wayfare multiply unit-exchange --copies 4 --name exchanges
    """
    with opened(db) as app:
        source = app.catalogs.open(catalog).name
        made = app.catalog_editor.multiply(source, server, Recipe(copies, seed, spread, not replace), name=name)
        known = app.catalogs.catalog(source).server_row
    fresh = [one for one in made.servers if one.name not in known]
    if as_json:
        print_json({
            "catalog": made.name, "servers": len(made.servers), "tools": len(made.tools), "copied": server,
            "copies": [{"name": one.name, "description": one.description, "tools": len(one.tools)} for one in fresh],
        })  # fmt: skip
        return
    click.echo(
        f"Catalog {made.name}: {len(made.servers)} servers with {len(made.tools)} tools, {copies} of them virtual copies of {server}."
    )
    print_table(("copy", "description"), [(one.name, one.description) for one in fresh])
