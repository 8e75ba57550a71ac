"""Commands about virtual servers: serve one to any client, multiply one."""

from __future__ import annotations

from pathlib import Path

import click

from core.cli.options import catalog_option, common, db_option, opened, print_json, print_table
from core.virtual.launch import DEFAULT_PROFILE, PROFILES
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
    """Serve one server of a catalog over real MCP with simulated results, by default on stdio.

    Example: wayfare virtual web-search --http 8700 --profile flaky
    """
    with opened(db, alone=True) as app:
        found = app.catalogs.open(catalog).server(server)
    from core.virtual.server import Behaviour, serve_http, serve_stdio

    behaviour = Behaviour(profile, seed, speed)
    if port is None:
        serve_stdio(found, behaviour)
    else:
        serve_http(found, behaviour, port)


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
