"""`wayfare status` and `wayfare stop`: the console that serves a store, who uses it, and its end.

The last `wayfare up` of a store. A console that `wayfare mcp` starts has its options and its environment, not those of an agent.
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

from core.cli.options import common, print_json, print_outcome, print_table
from core.domain.catalog import ServerId
from core.domain.console import Owner, asked, beside, console_lock, owner_of
from core.domain.environment import MACHINE
from core.domain.errors import WayfareError
from core.domain.leaks import plain_value
from core.domain.settings import Settings
from core.gateway.door import TOKEN
from core.servers.secret_file import PASSPHRASE, Secret, SecretFile, SecretFileError

OURS, NEVER = ("WAYFARE_", "OTEL_"), frozenset({PASSPHRASE, TOKEN, "WAYFARE_DB"})
KEPT = ServerId("", "wayfare up"), "environment"
"""Where variables that may be secrets are in the encrypted file of values."""


@dataclass(frozen=True, slots=True)
class UpOptions:
    """The options of `wayfare up`."""

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
    """Keeps the options, and of the environment our own variables, those of the machine, and those that catalogs refer to: if they
    may be secrets, encrypted. Raises WayfareError."""
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
            values.change(lambda known: known.update({KEPT: Secret(secret, settings.now())}))
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
    """Returns the settings of the last `wayfare up`, whose variables this process takes for those of the agent that started it."""
    for name in [name for name in os.environ if name.startswith(OURS) and name not in NEVER]:
        del os.environ[name]
    os.environ.update(last.environment)
    if settings.secrets_path is not None:
        with suppress(SecretFileError):  # pages and `wayfare secrets list` say so
            os.environ.update(json.loads(_secret(SecretFile(settings.secrets_path, os.environ))))
    return Settings.from_environment(db=settings.db)


def _secret(values: SecretFile) -> str:
    found = values.read().get(KEPT)
    return "{}" if found is None else found.value


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
