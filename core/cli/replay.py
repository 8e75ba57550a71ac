"""`wayfare replay`: recorded sub-tasks under other parameters or another router."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from core.cli.opening import opened
from core.cli.options import catalog_option, common, print_json, print_table, printable, set_option, settings_of
from core.cli.progress import TerminalProgress
from core.lab.replay import Chosen, Replayed, ReplayTotals
from core.routers.presets import PRESETS
from core.shared import units
from core.shared.progress import Step, silent

LISTED = 30


@click.command()
@click.option("--router", default="", help="Another router, with its defaults and --set. [default: the recorded one]")
@click.option("--preset", default="", metavar="NAME", help=f"Instead of the recorded parameters: {', '.join(PRESETS)}.")
@click.option("--last", default=1_000, show_default=True, type=click.IntRange(1, 100_000), help="How many decisions.")
@set_option
@catalog_option
@common
def replay(
    router: str, preset: str, last: int, settings: tuple[str, ...], catalog: str, db: Path | None, as_json: bool
) -> None:
    """Decide recorded sub-tasks again, with the statistics of their time: which winners change, and what they cost.

    Without --router, --preset and --set everything is as it was recorded: what changes then changed with the catalog or with what
    labels have taught since.

    Example: wayfare replay --set kappa=300
    """
    with opened(db) as app:
        report = TerminalProgress() if sys.stderr.isatty() else silent
        rows = app.replay.replay(
            app.catalogs.open(catalog).name,
            router=router,
            preset=preset,
            settings=settings_of(settings),
            decisions=last,
            progress=lambda done, of: report(Step("Deciding again", done, of)),
        )
        report(None)
    totals = ReplayTotals.of(rows)
    if as_json:
        print_json({"totals": asdict(totals), "decisions": [row.to_json() for row in rows]})
        return
    _print_totals(totals)
    _print_changed([row for row in rows if row.changed])


def _print_totals(totals: ReplayTotals) -> None:
    click.echo(
        f"{totals.decisions:,} decisions, {totals.changed:,} with another winner: {totals.refused:,} have none now, "
        f"{totals.answered:,} have one only now."
    )
    click.echo()
    print_table(
        (f"{totals.both:,} with a winner both times", "then", "now"),
        [
            ("price of the winners", units.price(totals.usd_then), units.price(totals.usd_now)),
            ("unpriced winners", f"{totals.unpriced_then:,}", f"{totals.unpriced_now:,}"),
            ("expected time, s", f"{totals.s_then:,.2f}", f"{totals.s_now:,.2f}"),
            ("tokens of candidates", f"{totals.tokens_then:,}", f"{totals.tokens_now:,}"),
        ],
    )


def _print_changed(changed: Sequence[Replayed]) -> None:
    if not changed:
        return
    click.echo()
    print_table(
        ("sub-task", "winner then", "winner now", "price", "expected s"),
        [
            (
                printable(row.subtask, 60),
                printable(row.then.tool or "none"),
                printable(row.now.tool or "none"),
                f"{_price(row.then)} -> {_price(row.now)}",
                f"{_seconds(row.then)} -> {_seconds(row.now)}",
            )
            for row in changed[:LISTED]
        ],
    )
    if len(changed) > LISTED:
        click.echo(f"and {len(changed) - LISTED:,} more; --json has them all.")


def _price(chosen: Chosen) -> str:
    return "–" if chosen.tool is None else units.price(chosen.usd)


def _seconds(chosen: Chosen) -> str:
    return "–" if chosen.s is None else f"{chosen.s:.2f}"
