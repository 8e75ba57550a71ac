"""`wayfare route`: one decision."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from core.app import App
from core.cli.opening import opened
from core.cli.options import (
    catalog_option,
    common,
    preset_or_file_option,
    print_json,
    print_table,
    printable,
    set_option,
    settings_of,
)
from core.domain.decision import Decision
from core.domain.params import Parameters
from core.routers.preset_file import read_preset
from core.shared import units


@click.command()
@click.argument("text")
@click.option("--router", default="ehrr", show_default=True, help="The routing algorithm.")
@click.option("--hint", default="", help="What kind of server is wanted.")
@set_option
@preset_or_file_option
@catalog_option
@common
def route(
    text: str,
    router: str,
    hint: str,
    settings: tuple[str, ...],
    preset: str,
    catalog: str,
    db: Path | None,
    as_json: bool,
) -> None:
    """Decide which tool a sub-task goes to, and show why. With `--set planner=model` the language model that
    WAYFARE_LLM_MODEL names understands the sub-task, for routers that ask a planner.

    Example: wayfare route "sum a column of a CSV file" --set alpha_t=0.1
    """
    with opened(db) as app:
        name = app.catalogs.open(catalog).name
        decision = app.routing.route(
            text,
            catalog=name,
            router=router,
            parameters=_parameters(app, router, preset, settings_of(settings)),
            server_hint=hint,
            origin="cli",
        )
    if as_json:
        print_json(decision.to_json())
    else:
        _print_decision(decision)


def _parameters(app: App, router: str, preset: str, settings: Mapping[str, str]) -> Parameters:
    """Those of a preset by its name or its file, with some set on top. Raises ParameterError, UnknownNameError."""
    if not preset.endswith(".toml"):
        return app.routing.parameters(router, settings, preset=preset)
    return read_preset(Path(preset), router, app.routing.parameters(router)).parameters.replaced(settings)


def _print_decision(decision: Decision) -> None:
    click.echo(decision.reason)
    if decision.planner != "none":
        click.echo(f"Planner: {printable(decision.planner)}.")
    click.echo()
    servers = [decision.server_at(row) for row in decision.shortlist()]
    print_table(
        ("server", "similarity", "time to success", "utility", "posted price", "ask", ""),
        [
            (
                s.server,
                f"{s.similarity:.3f}",
                units.seconds(s.cost_s),
                f"{s.utility:.3f}",
                "–" if s.posted_price_usd is None else units.price(s.posted_price_usd),
                "no ask" if s.ask_usd is None else units.price(s.ask_usd),
                "accepts" if s.accepted else "rejects",
            )
            for s in servers
        ],
    )
    click.echo()
    tools = decision.tools_at(decision.evaluated_tools()[:10])
    print_table(
        ("tool", "similarity", "time", "price", "utility", ""),
        [
            (
                t.tool,
                f"{t.similarity:.3f}",
                units.seconds(t.time_cost_s),
                units.price(t.price_usd),
                f"{t.utility:.3f}",
                f"candidate {t.rank}" if t.dropped_by is None else t.dropped_by.replace("_", " "),
            )
            for t in tools
        ],
    )
