"""Commands that list the routing algorithms and their parameters."""

from __future__ import annotations

import textwrap

import click

from core.cli import options, output
from core.domain.errors import UnknownNameError
from core.routers import ROUTERS


@click.command()
@options.common
def routers() -> None:
    """List the routing algorithms.

    Example: wayfare routers
    """
    if output.wants_json():
        output.document({
            "routers": [
                {"id": r.id, "title": r.title, "paper": r.paper, "summary": r.summary, "parameters": [k.name for k in r.parameters.knobs()]}
                for r in ROUTERS.values()
            ]
        })  # fmt: skip
        return
    for router in ROUTERS.values():
        names = ", ".join(knob.name for knob in router.parameters.knobs())
        click.echo(f"{router.id:<18}{router.title}")
        for line in (router.summary, f"Paper: {router.paper}.", f"Parameters: {names}."):
            click.echo(textwrap.fill(line, 110, initial_indent=" " * 18, subsequent_indent=" " * 18))


@click.command()
@options.router("The router whose parameters are listed.")
@options.common
def parameters(router: str) -> None:
    """List a router's parameters with unit, range and default.

    Example: wayfare parameters --router ehrr
    """
    if router not in ROUTERS:
        raise UnknownNameError(f"There is no router {router!r}; choose one of: {', '.join(ROUTERS)}.")
    knobs = ROUTERS[router].parameters.knobs()
    if output.wants_json():
        output.document({
            "router": router,
            "parameters": [
                {"name": k.name, "symbol": k.symbol, "default": k.default, "unit": k.unit, "low": k.low, "high": k.high,
                 "step": k.step, "group": k.group, "choices": list(k.choices), "help": k.help}
                for k in knobs
            ],
        })  # fmt: skip
        return
    rows = [(k.name, str(k.default), k.unit, "" if k.low is None else f"{k.low:g}..{k.high:g}", k.help) for k in knobs]
    output.table(("parameter", "default", "unit", "range", "what it does"), rows)
