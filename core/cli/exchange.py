"""`wayfare export` and `wayfare apply`: what a store has as a folder of files, and such a folder taken in."""

from __future__ import annotations

from pathlib import Path

import click

from core.cli.options import common, opened, print_json, print_outcome, printable

SHOWN = 12  # changed lines of a file that are printed


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--catalog", "catalogs", multiple=True, metavar="NAME", help="This catalog alone; may be repeated (default: all, with clients and policy).")  # fmt: skip
@common
def export(folder: Path, catalogs: tuple[str, ...], db: Path | None, as_json: bool) -> None:
    """Write catalogs, clients and the policy as a folder of readable files, for git or another store. Servers, tools, prices, wordings,
    example requests, labels and the outcomes of calls are in it; tokens, values of servers and texts of calls are not.

    Example: wayfare export catalogs
    """
    with opened(db, existing=True) as app:
        written = app.exchange.write(folder, catalogs)
    print_outcome({"folder": str(folder), "files": sorted(written)}, f"{folder} has {len(written)} files.", as_json)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--yes", is_flag=True, help="Take it in: all or nothing.")
@common
def apply(folder: Path, yes: bool, db: Path | None, as_json: bool) -> None:
    """Show what a folder of `wayfare export` would change, and with --yes take it in. It adds and replaces what it names: a server, a
    price, a client. What it does not name stays. The same folder changes nothing a second time.

    Example: wayfare apply catalogs --yes
    """
    with opened(db) as app:
        found, skipped = app.exchange.apply(folder, dry=not yes), app.exchange.skipped
    counts = {file: [sum(line[0] == sign for line in lines) for sign in "+-"] for file, lines in found.items()}
    if as_json:
        rows = [{"file": file, "added": added, "removed": removed} for file, (added, removed) in counts.items()]
        print_json({"applied": yes, "changes": rows, "skipped": skipped})
        return
    for file, lines in found.items():
        click.echo(f"{printable(file)}: {counts[file][0]:,} lines added, {counts[file][1]:,} removed")
        for line in lines[:SHOWN]:
            text = line[1:].lstrip(" ")
            click.echo(f"  {line[: len(line) - len(text)]}{printable(text, 160)}")
        if len(lines) > SHOWN:
            click.echo(f"  and {len(lines) - SHOWN:,} more")
    for why in skipped[:SHOWN]:
        click.echo(f"left out: {printable(why, 200)}")
    done = "It is taken in." if yes else "Nothing is changed yet; --yes takes it in."
    click.echo(done if found else "The store has all of it already.")
