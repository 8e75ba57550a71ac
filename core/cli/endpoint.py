"""`wayfare mcp`: the endpoint for clients that start a command."""

from __future__ import annotations

from pathlib import Path

import click

from core.cli.options import catalog_option, db_option, preset_option, set_option, settings_of
from core.shared.settings import Settings


@click.command()
@click.option("--router", default="ehrr", show_default=True, help="The routing algorithm of search_tools.")
@click.option(
    "--timeout",
    default=60.0,
    show_default=True,
    type=click.FloatRange(0.1, 3600),
    help="Limit of one call of a tool, in s.",
)
@click.option(
    "--fallback/--no-fallback",
    default=False,
    show_default=True,
    help="Where a tool that only reads does not answer, call the next candidates of its search.",
)
@click.option(
    "--mirror",
    multiple=True,
    metavar="SERVER",
    help="List the tools of this server (* and ? match) under their names, in place of a search; may be repeated.",
)
@set_option
@preset_option
@catalog_option
@db_option
def mcp(
    router: str,
    timeout: float,
    fallback: bool,
    mirror: tuple[str, ...],
    settings: tuple[str, ...],
    preset: str,
    catalog: str,
    db: Path | None,
) -> None:
    """Serve Wayfare to one MCP client on standard input and output: its few tools stand for all tools of the catalog.

    Where a console, or another `wayfare mcp`, has the store, this joins it.

    Example: wayfare mcp --catalog mine --router expected_value
    """
    from core.endpoint.options import EndpointOptions
    from core.endpoint.stdio import serve_stdio

    options = EndpointOptions(catalog, router, preset, settings_of(settings), timeout, fallback, mirror)
    serve_stdio(Settings.from_environment(db=db, catalog=catalog), options)
