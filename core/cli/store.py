"""Commands about the store: the console that serves it, its backups, and its content as a folder of files.

The options of the last `wayfare up` are kept beside it. A console that `wayfare mcp` starts has these options and this environment, not an
agent's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from pydantic import TypeAdapter

from core.cli import apps, options, output
from core.cli.options import option
from core.domain.catalog import ServerId
from core.domain.console import Owner, asked, beside, console_lock, owner_of
from core.domain.errors import WayfareError
from core.domain.leaks import MACHINE, plain_value
from core.domain.settings import Settings
from core.gateway.door import TOKEN
from core.servers.secret_file import PASSPHRASE, Secret, SecretFile, SecretFileError

OURS, NEVER = ("WAYFARE_", "OTEL_"), frozenset({PASSPHRASE, TOKEN, "WAYFARE_DB"})
KEPT = ServerId("", "wayfare up"), "environment"
"""The place of variables that may be secrets, in the encrypted file of values."""


@dataclass(frozen=True, slots=True)
class UpOptions:
    host: str
    port: int
    catalog: str
    mcp_hosts: tuple[str, ...]
    trusted_proxies: tuple[str, ...]
    sign_in: bool
    public_url: str = ""


@dataclass(frozen=True, slots=True)
class LastUp:
    """Options, and the variables that are no secrets."""

    options: UpOptions
    environment: dict[str, str]


FILE = TypeAdapter(LastUp)


def remember(settings: Settings, options: UpOptions, referred: Collection[str]) -> None:
    """Stores the options and some variables: our own, the machine's, and variables that catalogs refer to. Variables that may be secrets
    are encrypted. Raises WayfareError."""
    file = beside(settings.db, "up.json")
    if file is None or settings.secrets_path is None:
        return
    plain, secrets = dict[str, str](), dict[str, str]()
    for name, value in settings.environment.items():
        if (name.startswith(OURS) or name in MACHINE or name in referred) and name not in NEVER:
            (plain if name == "PATH" or plain_value(name, value) else secrets)[name] = value
    secret, values = json.dumps(secrets), SecretFile(settings.secrets_path, settings.environment)
    try:
        file.unlink(missing_ok=True)
        file.touch(mode=0o600)
        file.write_bytes(FILE.dump_json(LastUp(options, plain)))
        if _secret(values) != secret:
            values.change(lambda stored: stored.update({KEPT: Secret(secret, settings.now())}))
    except OSError as error:
        raise WayfareError(f"{file} cannot be written ({error.strerror}).") from None


def last_up(settings: Settings) -> LastUp | None:
    """Returns the last `wayfare up` of the store, or None."""
    file = beside(settings.db, "up.json")
    try:
        return None if file is None else FILE.validate_json(file.read_bytes())
    except (OSError, ValueError):
        return None


def with_its_environment(settings: Settings, last: LastUp) -> Settings:
    """Returns the settings of the last `wayfare up`. Its variables replace the variables of the agent that started this process."""
    for name in [name for name in os.environ if name.startswith(OURS) and name not in NEVER]:
        del os.environ[name]
    os.environ.update(last.environment)
    if settings.secrets_path is not None:
        with suppress(SecretFileError):  # pages and `wayfare secrets list` report it
            os.environ.update(json.loads(_secret(SecretFile(settings.secrets_path, os.environ))))
    return Settings.from_environment(db=settings.db)


def _secret(values: SecretFile) -> str:
    secret = values.read().get(KEPT)
    return "{}" if secret is None else secret.value


ENDS_S = 60.0


@click.command()
@options.common
def status() -> None:
    """Show the console that serves the store, and who uses it. It tells the address, the process, who started it, and when it ends.

    Example: wayfare status --json
    """
    settings = apps.settings()
    owner = owner_of(settings.db)
    if owner is None:
        sentence = f"No console serves the store {settings.db}; start one with `wayfare up`."
        output.outcome({"running": False, "store": str(settings.db)}, sentence)
        return
    usage = asked(owner, "GET")
    ends_in_s = max(0.0, owner.idle_s - usage["idle_s"]) if owner.idle_s else None
    if output.wants_json():
        fields = {name: value for name, value in asdict(owner).items() if name not in {"key", "idle_s"}}
        output.document({
            "running": True, "store": str(settings.db), **fields, "ends_after_idle_s": owner.idle_s or None,
            "ends_in_s": ends_in_s, "uses": usage["uses"],
        })  # fmt: skip
        return
    click.echo(
        f"{described(owner)} It was started by `{owner.started_by}` and has version {owner.version}. {_end(ends_in_s)}"
    )
    if usage["uses"]:
        output.table(
            ("who", "name", "now", "uses", "last use"),
            [
                (use["kind"], use["name"], str(use["active"] or ""), str(use["uses"]), _time(use["last"]))
                for use in usage["uses"]
            ],
        )


@click.command()
@options.common
def stop() -> None:
    """End the console that serves the store, and wait until it has ended. An agent that is connected by `wayfare mcp` starts
    a new one with its next call.

    Example: wayfare stop
    """
    settings = apps.settings()
    owner = owner_of(settings.db)
    if owner is None:
        output.outcome({"stopped": False}, f"No console serves the store {settings.db}.")
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
    output.outcome(document, f"The console on {owner.url} has ended.")


def described(owner: Owner) -> str:
    since = f" since {_time(owner.since)}" if owner.since else ""
    return f"Wayfare serves this store on {owner.url} (process {owner.pid or 'unknown'}{since})."


def _end(ends_in_s: float | None) -> str:
    if ends_in_s is None:
        return "It ends with `wayfare stop`."
    return f"It ends by itself in {ends_in_s / 60:.1f} min if nobody uses it, or with `wayfare stop`."


def _time(text: str) -> str:
    return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M:%S}"


@click.command()
@click.argument("file", type=options.PATH)
@option("--force", is_flag=True, help="Replace FILE.")
@options.common
def backup(file: Path, force: bool) -> None:
    """Write one file with the store and the values of its servers, while a console runs or not. Saved networks and a tuned encoder are in
    it as well. If FILE is a folder, the backup is a new file in it.

    The file holds secrets and can be read by you alone.

    Example: wayfare backup wayfare.backup
    """
    with apps.opened(existing=True) as app:
        archive = app.backups.make(file, replace=force)
    records, size = archive.contents.records, archive.file.stat().st_size
    broken = f" The log does not verify: {archive.contents.problem}" if archive.contents.problem else ""
    output.outcome(
        {"file": str(archive.file), "bytes": size, "records": records, "hash": archive.contents.hash, "problem": archive.contents.problem or None},
        f"{archive.file} has the store with {records:,} records of its log, {size / 1e6:.1f} MB. It holds secrets.{broken}"
    )  # fmt: skip


@click.command()
@click.argument("file", type=options.File(path_type=Path, exists=True, dir_okay=False))
@option("--force", is_flag=True, help="Put it in the place of a store, which is moved to a folder beside it.")
@options.common
def restore(file: Path, force: bool) -> None:
    """Verify a backup and put it in the place of the store, which is kept beside it. The checksum of each part and the log's chain
    of hashes are verified first: a damaged file changes nothing. End the console before, with `wayfare stop`.

    Example: wayfare restore wayfare.backup --force
    """
    from core.catalogs.backups import restore as restored

    settings = apps.settings()
    done = restored(file, settings, replace=force)
    previous = f" The store of before is in {done.before}." if done.before else ""
    output.outcome(
        {"store": str(settings.db), "records": done.contents.records, "made": done.contents.at, "before": done.before and str(done.before)},
        f"{settings.db} is the store of {done.contents.at}, with {done.contents.records:,} records of its log.{previous}"
    )  # fmt: skip


SHOWN = 12  # changed lines of a file that are printed


@click.command()
@click.argument("folder", type=options.File(path_type=Path, file_okay=False))
@option("--catalog", "catalogs", multiple=True, metavar="NAME", help="This catalog alone; may be repeated (default: all, with clients and policy).")  # fmt: skip
@options.common
def export(folder: Path, catalogs: tuple[str, ...]) -> None:
    """Write catalogs, clients and the policy as a folder of readable files, for git or another store. Servers, tools, prices, wordings,
    example requests, labels and the outcomes of calls are in it; tokens, values of servers and texts of calls are not.

    Example: wayfare export catalogs
    """
    with apps.opened(existing=True) as app:
        written = app.exchange.write(folder, catalogs)
    output.outcome({"folder": str(folder), "files": sorted(written)}, f"{folder} has {len(written)} files.")


@click.command()
@click.argument("folder", type=options.File(path_type=Path, file_okay=False, exists=True))
@option("--yes", is_flag=True, help="Take it in: all or nothing.")
@options.common
def apply(folder: Path, yes: bool) -> None:
    """Show what a folder of `wayfare export` would change, and with --yes take it in. It adds and replaces what it names: a server, a
    price, a client. What it does not name stays. The same folder changes nothing a second time.

    Example: wayfare apply catalogs --yes
    """
    with apps.opened() as app:
        changes, skipped = app.exchange.apply(folder, dry=not yes), app.exchange.skipped
    counts = {file: [sum(line[0] == sign for line in lines) for sign in "+-"] for file, lines in changes.items()}
    if output.wants_json():
        rows = [{"file": file, "added": added, "removed": removed} for file, (added, removed) in counts.items()]
        output.document({"applied": yes, "changes": rows, "skipped": skipped})
        return
    for file, lines in changes.items():
        click.echo(f"{output.printable(file)}: {counts[file][0]:,} lines added, {counts[file][1]:,} removed")
        for line in lines[:SHOWN]:
            text = line[1:].lstrip(" ")
            click.echo(f"  {line[: len(line) - len(text)]}{output.printable(text, 160)}")
        if len(lines) > SHOWN:
            click.echo(f"  and {len(lines) - SHOWN:,} more")
    for why in skipped[:SHOWN]:
        click.echo(f"left out: {output.printable(why, 200)}")
    done = "It is taken in." if yes else "Nothing is changed yet; --yes takes it in."
    click.echo(done if changes else "The store has all of it already.")
