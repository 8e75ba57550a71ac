"""`wayfare check`: whether the tools of a job could be called now."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from core.cli.options import catalog_option, common, opened, print_json, printable, read_file
from core.domain.errors import UnknownNameError
from core.domain.governance_events import OPERATOR
from core.governance.clients import ANONYMOUS
from core.governance.governed_calls import read_job


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--client", default="", help="The client that does the job (default: the one of FILE, else you).")
@catalog_option
@common
def check(file: Path, client: str, catalog: str, db: Path | None, as_json: bool) -> None:
    """Check whether the tools of a job are there, healthy, allowed for the client and within budget. Nothing is called.

    FILE has one server::tool a line, or {"tools": ["server::tool"], "client": "ann", "calls": 3}. Exits 1 if a tool cannot be
    called, and says why; a call that a person has to approve is one of these.

    Example: wayfare check job.txt --client ann
    """
    job = read_job(read_file(file).decode(errors="replace"), str(file))
    with opened(db) as app:
        name, who = app.catalogs.open(catalog).name, client or job.client
        clients = app.governance.clients
        known = clients.in_force(who) is not None
        if who and clients.any_client and not known and who != ANONYMOUS:
            raise UnknownNameError(f"There is no client {who!r} in force; `wayfare clients` lists them.")
        who = app.governance.admission.identified(who, known=known) if who else OPERATOR
        found = app.preflight.check(name, dict.fromkeys(job.tools, job.calls), who)
    ok = not any(one.why for one in found)
    if as_json:
        print_json(
            {"catalog": name, "client": who, "ok": ok, "calls": job.calls, "tools": [one.to_json() for one in found]}
        )
    else:
        click.echo("\n".join(printable(one.words, 2000) for one in found))
    if not ok:
        sys.exit(1)
