"""The last `wayfare up` of a store. A console that `wayfare mcp` starts has its options and its environment, not those of an agent."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from pydantic import TypeAdapter

from core.domain.catalog import ServerId
from core.domain.console import beside
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
