"""`wayfare findable`: how often the tools of a catalog would be found, and what they are taken for."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from core.cli.options import catalog_option, common, listed_run, opened, print_json, print_table, printable
from core.domain import units
from core.domain.findable import Findable

LISTED = 20
NAMED = 3


@click.command()
@click.option(
    "--min", "least", type=click.FloatRange(0, 1), help="Exit 1 if fewer than this share of requests find their tool among three."
)  # fmt: skip
@catalog_option
@common
def findable(least: float | None, catalog: str, db: Path | None, as_json: bool) -> None:
    """Estimate from example requests how often each tool would be found, the worst first, and what it is taken for.

    A quarter of each tool's requests is left out in turn and ranked by what the others teach. Tools that do the same count
    as one. The shares are corrected by what labelled catalogs tell of such estimates.

    Example: wayfare findable --catalog mine --min 0.8
    """
    with opened(db) as app, listed_run(app, "Ranking requests") as run:
        name = app.catalogs.open(catalog).name
        run.shows("catalog", view="findable", catalog=name)
        found = app.findable.estimate(name, run)
    if as_json:
        print_json(document(found))
    else:
        _print(found)
    if least is not None and found.hit_3 < least:
        click.echo(f"About {units.share(found.hit_3)} found among three is less than --min {least:g}.", err=True)
        sys.exit(1)


def document(found: Findable) -> dict[str, object]:
    """The estimate as JSON: shares in [0, 1]; `found` counts the first three places."""
    return {
        "hit@1": round(found.hit_1, 4),
        "hit@3": round(found.hit_3, 4),
        "interval": {"hit@1": [*found.interval_1], "hit@3": [*found.interval_3]},
        "left_out": {"hit@1": round(found.left_out_1, 4), "hit@3": round(found.left_out_3, 4)},
        "without_requests": found.without,
        "asked": found.asked,
        "requests": found.requests,
        "tools": [
            {
                "tool": one.tool, "first": one.first, "found": one.found, "of": one.of,
                "taken_for": [{"tool": other, "times": times} for other, times in one.taken_for],
            }
            for one in found.tools
        ],
    }  # fmt: skip


def _print(found: Findable) -> None:
    for name, share, (low, high), left_out in (
        ("first", found.hit_1, found.interval_1, found.left_out_1),
        ("among three", found.hit_3, found.interval_3, found.left_out_3),
    ):
        click.echo(
            f"About {units.share(share)} of requests would find their tool {name} (95 %: {units.share(low)} to {units.share(high)}); "
            f"{units.share(left_out)} of those left out did."
        )
    if found.sampled:
        click.echo(found.sampled)
    if found.without:
        one = found.without == 1
        click.echo(
            f"{found.without:,} {'tool has' if one else 'tools have'} no requests, so nothing is known of {'it' if one else 'them'}."
        )
    rows = [
        (
            printable(one.tool), f"{one.first} of {one.of}", f"{one.found} of {one.of}",
            ", ".join(f"{printable(other)} ({times})" for other, times in one.taken_for[:NAMED]),
        )
        for one in found.tools[:LISTED] if one.first < one.of
    ]  # fmt: skip
    if not rows:
        click.echo("Every request that was left out finds its tool first.")
        return
    print_table(("tool", "first", "among three", "taken for"), rows)
