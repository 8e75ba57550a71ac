"""`wayfare requests`: example requests of tools, from files, to files, written by a model, and back."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from core.app import Settings
from core.cli.options import catalog_option, common, opened, print_json, print_outcome, printable, read_file, write_file
from core.domain.errors import StoreBusyError, WayfareError
from core.domain.feedback import By
from core.learning.requests import GIVEN_BY, MODEL, NONE_TAKEN, OPERATOR, lines

if TYPE_CHECKING:
    from core.learning.request_writing import WritingRun

CLI = By(origin="cli")
SHOWN = 10  # skipped lines that are printed


@click.group()
def requests() -> None:
    """Import, export, undo or have a model write example requests of tools, which make decisions better. An example request is what
    somebody says who needs exactly that tool.

    Example: wayfare requests export --missing > missing.jsonl
    """


@requests.command(name="import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--source", default=OPERATOR, show_default=True, metavar="NAME", help=f"Who wrote them: {', '.join(GIVEN_BY)}."
)
@catalog_option
@common
def import_(file: Path, source: str, catalog: str, db: Path | None, as_json: bool) -> None:
    """Take requests from JSON Lines: {"tool": "server::tool", "requests": ["..."]}. `wayfare requests undo` takes them back.

    Example: wayfare requests import requests.jsonl --catalog work --source model
    """
    with opened(db) as app:
        name = app.catalogs.open(catalog).name
        taken = app.requests.import_file(read_file(file), source_file=str(file), catalog=name, source=source, by=CLI)
    if as_json:
        print_json({
            "tools": taken.tools, "requests": taken.requests, "skipped": [asdict(one) for one in taken.skipped],
        })  # fmt: skip
        return
    click.echo(f"{taken.requests:,} requests of {taken.tools:,} tools were taken.")
    for one in taken.skipped[:SHOWN]:
        click.echo(f"line {one.line}: {one.why}")
    if len(taken.skipped) > SHOWN:
        click.echo(f"and {len(taken.skipped) - SHOWN:,} more; --json names all.")


@requests.command()
@click.option("--missing", is_flag=True, help="The tools that have none or stale ones, each with its definition.")
@catalog_option
@common
def export(missing: bool, catalog: str, db: Path | None, as_json: bool) -> None:
    """Print the requests of a catalog as JSON Lines, or with --missing the tools that lack them.

    Example: wayfare requests export --catalog sample
    """
    with opened(db) as app:
        name = app.catalogs.open(catalog).name
        rows = app.requests.missing(name) if missing else app.requests.rows(name)
    if as_json:
        print_json({"tools": rows})
    else:
        click.echo(lines(rows), nl=False)


@requests.command()
@catalog_option
@common
def undo(catalog: str, db: Path | None, as_json: bool) -> None:
    """Take back the newest change of a catalog's requests.

    Example: wayfare requests undo --catalog work
    """
    with opened(db) as app:
        done = app.requests.undo(app.catalogs.open(catalog).name, CLI)
    at = done.at.isoformat(timespec="seconds")
    print_outcome(
        {"tools": done.tools, "requests": done.requests, "source": done.source, "at": at},
        f"{done.requests:,} requests of {done.tools:,} tools are as they were before {at}.", as_json,
    )  # fmt: skip


# `wayfare requests write`: a model writes what is missing. The store is open while requests are read or kept, not while
# the model is asked; each batch is kept at once.


@requests.command()
@click.option("--model", default="", metavar="NAME", help="The model that writes (default: WAYFARE_LLM_MODEL).")
@click.option("--limit-usd", type=click.FloatRange(0), help="Stop before more than this is spent.")
@click.option("--yes", is_flag=True, help="Begin without asking.")
@catalog_option
@common
def write(
    model: str, limit_usd: float | None, yes: bool, catalog: str, db: Path | None, as_json: bool
) -> None:  # fmt: skip
    """Have a language model write requests for the tools that lack them. Prints an estimate of tokens and money and asks before it
    begins. A run that was ended goes on where it stopped.

    The endpoint is set by WAYFARE_LLM_BASE_URL and WAYFARE_LLM_API_KEY, or follows from the model's name.

    Example: wayfare requests write --model gpt-4o-mini --catalog work --limit-usd 0.50
    """
    from core.learning.request_writing import RequestWriter, WritingRun, writing_endpoint

    if as_json and not yes:
        raise click.UsageError("--json cannot ask; give --yes with it.")
    endpoint = writing_endpoint(Settings.from_environment(db=db).environment, model)
    writer, keeper = RequestWriter(endpoint, endpoint.price_usd), _Keeper(catalog, db)
    rows = keeper.missing()
    estimate = writer.estimate(rows)
    if limit_usd is not None and estimate.usd is None:
        raise WayfareError(f"The price of {endpoint.model!r} is unknown, so --limit-usd cannot be kept; leave it out.")
    if rows and not as_json:
        click.echo(
            f"{len(rows):,} tools lack requests. {endpoint.model} would take about: {estimate.words()}.", err=True
        )
    if rows and not yes:
        click.confirm("Begin?", abort=True, err=True)
    run = WritingRun(writer, keeper.keep, limit_usd)
    run.write(rows, lambda: None if as_json else click.echo(f"{run.words()}.", err=True))
    _print_run(run, len(keeper.missing()), endpoint.model, as_json)


@dataclass
class _Keeper:
    """Reads and keeps requests in the store, or through the console that serves it."""

    catalog: str
    db: Path | None

    def missing(self) -> list[dict[str, Any]]:
        """Returns the tools that lack requests."""
        try:
            with opened(self.db) as app:
                return app.requests.missing(app.catalogs.open(self.catalog).name)
        except StoreBusyError as busy:
            return self._by_owner(["export", "--missing"], busy)["tools"]

    def keep(self, found: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """Keeps the requests of some tools. Returns how many tools and requests were taken, and what was not."""
        try:
            with opened(self.db) as app:
                name = app.catalogs.open(self.catalog).name
                given = [(line, tool, texts) for line, (tool, texts) in enumerate(found.items(), 1)]
                return asdict(app.requests.add(name, given, source=MODEL, by=CLI))
        except StoreBusyError as busy:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "requests.jsonl"
                write_file(file, lines({"tool": tool, "requests": texts} for tool, texts in found.items()))
                try:
                    return self._by_owner(["import", str(file), "--source", MODEL], busy)
                except WayfareError as error:
                    if NONE_TAKEN not in str(error):
                        raise
                    return {"tools": 0, "requests": 0, "skipped": [{"why": str(error)}]}

    def _by_owner(self, words: list[str], busy: StoreBusyError) -> dict[str, Any]:
        from core.cli.joining import printed_by_owner

        file = Path(self.catalog)
        catalog = str(file.absolute()) if file.is_file() else self.catalog
        settings = Settings.from_environment(db=self.db)
        return json.loads(printed_by_owner(["requests", *words, "--catalog", catalog, "--json"], settings, busy))


def _print_run(run: WritingRun, left: int, model: str, as_json: bool) -> None:
    if as_json:
        print_json({
            "model": model, "tools": run.tools, "requests": run.requests, "left": left,
            **asdict(run.spent), "skipped": run.skipped, "stopped": run.stopped,
        })  # fmt: skip
    else:
        for why in run.skipped[:SHOWN]:
            click.echo(printable(why, 300), err=True)
        if run.stopped:
            click.echo(printable(run.stopped, 500), err=True)
        rest = f"; {left:,} tools still lack some, the same command goes on" if left else ""
        click.echo(f"{run.requests:,} requests of {run.tools:,} tools were written{rest}.")
    if run.failed:
        sys.exit(1)
