"""`wayfare status` and `wayfare stop`: the console that serves a store, who uses it, and its end."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from core.cli.options import common, print_json, print_outcome, print_table
from core.domain.console import Owner, asked, console_lock, owner_of
from core.domain.errors import WayfareError
from core.domain.settings import Settings

ENDS_S = 60.0


@click.command()
@common
def status(db: Path | None, as_json: bool) -> None:
    """Show the console that serves the store, and who uses it. It tells the address, the process, who started it, and when it ends.

    Example: wayfare status --json
    """
    settings = Settings.from_environment(db=db)
    owner = owner_of(settings.db)
    if owner is None:
        said = f"No console serves the store {settings.db}; start one with `wayfare up`."
        print_outcome({"running": False, "store": str(settings.db)}, said, as_json)
        return
    told = asked(owner, "GET")
    ends_in_s = max(0.0, owner.idle_s - told["idle_s"]) if owner.idle_s else None
    if as_json:
        known = {name: value for name, value in asdict(owner).items() if name not in {"key", "idle_s"}}
        print_json({
            "running": True, "store": str(settings.db), **known, "ends_after_idle_s": owner.idle_s or None,
            "ends_in_s": ends_in_s, "uses": told["uses"],
        })  # fmt: skip
        return
    click.echo(
        f"{described(owner)} It was started by `{owner.started_by}` and has version {owner.version}. {_end(ends_in_s)}"
    )
    if told["uses"]:
        print_table(
            ("who", "name", "now", "uses", "last use"),
            [
                (use["kind"], use["name"], str(use["active"] or ""), str(use["uses"]), _time(use["last"]))
                for use in told["uses"]
            ],
        )


@click.command()
@common
def stop(db: Path | None, as_json: bool) -> None:
    """End the console that serves the store, and wait until it has ended. An agent that is connected by `wayfare mcp` starts
    a new one with its next call.

    Example: wayfare stop
    """
    settings = Settings.from_environment(db=db)
    owner = owner_of(settings.db)
    if owner is None:
        print_outcome({"stopped": False}, f"No console serves the store {settings.db}.", as_json)
        return
    asked(owner, "DELETE")
    lock = console_lock(settings.db)
    try:
        if lock is not None:
            with lock.acquire(timeout=ENDS_S):
                pass
    except TimeoutError:
        raise WayfareError(f"The console on {owner.url} does not end; end its process {owner.pid}.") from None
    document: dict[str, Any] = {"stopped": True, "url": owner.url, "pid": owner.pid}
    print_outcome(document, f"The console on {owner.url} has ended.", as_json)


def described(owner: Owner) -> str:
    """Returns one sentence about a console that runs."""
    since = f" since {_time(owner.since)}" if owner.since else ""
    return f"Wayfare serves this store on {owner.url} (process {owner.pid or 'unknown'}{since})."


def _end(ends_in_s: float | None) -> str:
    if ends_in_s is None:
        return "It ends with `wayfare stop`."
    return f"It ends by itself in {ends_in_s / 60:.1f} min if nobody uses it, or with `wayfare stop`."


def _time(text: str) -> str:
    return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M:%S}"
