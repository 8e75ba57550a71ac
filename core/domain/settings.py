"""All settings from outside. Only `Settings.from_environment` reads the environment.

| variable | what it sets |
|---|---|
| WAYFARE_DB | the store's file; `:memory:` keeps nothing |
| WAYFARE_CACHE | the folder of what can be made again: the exported encoder, indexes of large catalogs, catalogs of virtual servers |
| WAYFARE_CATALOG | the catalog that pages show first |
| WAYFARE_PUBLIC_URL | the address behind a reverse proxy, read by `wayfare up` |
| WAYFARE_ENCODER_DIFFERENCE | the file that tunes the encoder which estimates fit; `none`: the encoder as it was published |
| WAYFARE_RERANKER | a cross-encoder: a folder, or the name of a model in the Hugging Face cache |
| WAYFARE_MAX_ANSWER_MB | how large an answer of a server may be |
| WAYFARE_MAX_SESSIONS | how many sessions with servers, and processes of theirs, there may be at once |
| WAYFARE_INHERIT | further variables that servers inherit, as `AWS_PROFILE,MY_*` |
| WAYFARE_IDLE_S | after how many seconds without a use a console ends that `wayfare mcp` started |
| WAYFARE_WORDS_AFTER_S | how long pages and agents wait for a catalog's vectors before words alone decide |
| WAYFARE_LOOK_HOURS | how often servers are asked whether their tools have changed; 0: never |
| WAYFARE_TRACE_DAYS | how many days the traces of decisions are kept; their figures stay |
| WAYFARE_BACKUPS | the folder of scheduled backups; unset: none are made |
| WAYFARE_BACKUP_HOURS | the hours between two of them |
| WAYFARE_BACKUP_DAYS, WAYFARE_BACKUP_MB | how many days they are kept, and how large all may be together; the newest stays |
| WAYFARE_KEY | the passphrase that encrypts values of servers, read from `environment` by `core.servers.secret_file` |
| WAYFARE_NOTIFY_URL | the address that is told of each call that waits for a person |
| WAYFARE_OIDC_ISSUER | the OpenID Connect provider of people and agents |
| WAYFARE_OIDC_CLIENT_ID, WAYFARE_OIDC_CLIENT_SECRET, WAYFARE_OIDC_SCOPES | the console there: people sign in to the pages |
| WAYFARE_OIDC_AUDIENCE, WAYFARE_OIDC_MCP_SCOPE, WAYFARE_OIDC_CLIENT_CLAIM | what access tokens for `/mcp` say, and whose claim |
| WAYFARE_REGISTRY | the address of the MCP Registry that servers are added from |
| WAYFARE_LLM_MODEL, _BASE_URL, _API_KEY, _TIMEOUT_S | the language model of `planner=model`, read from `environment` by `core.planning` |
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self
from urllib.parse import urlsplit

from core.domain.errors import WayfareError
from core.domain.progress import Report, silent

FIRST_CATALOG = "sample"
IN_MEMORY = ":memory:"
MAX_ANSWER_MB = "WAYFARE_MAX_ANSWER_MB"
OFFICIAL_REGISTRY = "https://registry.modelcontextprotocol.io"
MAX_ANSWER_BYTES = 10_000_000
MAX_SESSIONS = 64
MOST_DAYS = 36_500.0


def utc_now() -> datetime:
    return datetime.now(UTC)


def variable(
    name: str,
    default: float,
    wanted: str,
    *,
    least: float = 0.0,
    most: float = math.inf,
    whole: bool = False,
    unit: float = 1,
) -> Any:
    """Declares a number that a variable sets. `wanted` is its form in words, `unit` multiplies it. More than `most` counts as `most`."""
    kind = int if isinstance(default, int) else float

    def read(environ: Mapping[str, str]) -> float:
        if not (text := environ.get(name)):
            return default
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not least * unit <= number * unit < math.inf or (whole and not number.is_integer()):
            raise WayfareError(f"{name} is {text!r}; give {wanted}.")
        return kind(round(min(number, most) * unit) if kind is int else min(number, most))

    return field(default=default, metadata={"read": read})


def _web_address(environ: Mapping[str, str], name: str, default: str = "") -> str:
    """Returns the address in a variable. Raises WayfareError, without the text, which may hold a secret, if it is no web address."""
    text = environ.get(name, "").strip() or default
    if text and not text.startswith(("http://", "https://")):
        raise WayfareError(f"{name} is no address that begins with http:// or https://; give one, or unset it.")
    return text


@dataclass(frozen=True, slots=True)
class Oidc:
    """An OpenID Connect provider. With a `client_id` people sign in there. With an `audience` its access tokens open `/mcp`."""

    issuer: str
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scopes: str = "openid email profile"
    audience: str = ""
    mcp_scope: str = "mcp"
    client_claim: str = "client_id"

    @classmethod
    def from_environment(cls, known: Mapping[str, str]) -> Self | None:
        """Returns the provider, or None without an issuer. Raises WayfareError if the issuer's address is not encrypted.

        >>> Oidc.from_environment({"WAYFARE_OIDC_ISSUER": "https://login.example/", "WAYFARE_OIDC_CLIENT_ID": "wayfare"}).issuer
        'https://login.example/'
        """
        values = {field.name: known.get(f"WAYFARE_{f'oidc_{field.name}'.upper()}", "").strip() for field in fields(cls)}
        if not values["issuer"]:
            return None
        url = urlsplit(values["issuer"])
        if url.scheme != "https" and not (url.scheme == "http" and url.hostname in {"localhost", "127.0.0.1", "::1"}):
            raise WayfareError(
                "WAYFARE_OIDC_ISSUER is no address that begins with https:// (http:// only on this machine)."
            )
        return cls(**{name: text for name, text in values.items() if text})

    @property
    def metadata_url(self) -> str:
        """The address of the provider's endpoints and keys."""
        return f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"


def _user_db() -> Path:
    import platformdirs

    return Path(platformdirs.user_data_dir("wayfare")) / "wayfare.duckdb"


def _user_cache() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("wayfare"))


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of an app. The defaults are the user's own folders and an empty environment.

    `db` is the store's file (":memory:": nothing is kept). `cache` is the folder of files that can be made again. `catalog` is
    shown first. `reranker` is a cross-encoder ("": none). `encoder_difference` is a file of `wayfare train-encoder` ("": the file
    that comes with Wayfare, "none": the frozen encoder). `max_answer_bytes` bounds an answer of a server, `max_sessions` the sessions with
    servers. Servers `inherit` these variables and are asked for their tools every `look_hours` (0: never). Traces of decisions are kept for
    `trace_days`. A console in the background ends after `idle_s` without a use.
    A new backup is made every `backup_hours` in the folder `backups` (None: never) and kept for `backup_days`, up to `backup_mb` in all.
    Words alone decide if the vectors of a catalog are missing after `words_after_s`.
    Waiting calls are sent to `notify_url` ("": none). Published servers come from `registry`. `environment` holds the planner's
    model and the values of references such as `${env:NAME}` in connections. `seed` repeats random draws.
    """

    db: Path | str = field(default_factory=_user_db)
    cache: Path = field(default_factory=_user_cache)
    catalog: str = FIRST_CATALOG
    reranker: str = ""
    encoder_difference: str = ""
    max_answer_bytes: int = variable(
        MAX_ANSWER_MB, MAX_ANSWER_BYTES, "a number of MB above 0, as 10", least=1e-6, unit=1e6
    )
    max_sessions: int = variable(
        "WAYFARE_MAX_SESSIONS", MAX_SESSIONS, "a whole number above 0, as 64", least=1, whole=True
    )
    inherit: tuple[str, ...] = ()
    idle_s: float = variable("WAYFARE_IDLE_S", 900.0, "a number of seconds above 0, as 900", least=math.ulp(0.0))
    look_hours: float = variable("WAYFARE_LOOK_HOURS", 6.0, "a number of hours, as 6, or 0 for never")
    words_after_s: float = variable("WAYFARE_WORDS_AFTER_S", 0.5, "a number of seconds, as 0.5, or 0 for at once")
    trace_days: float = variable("WAYFARE_TRACE_DAYS", 30.0, "a number of days, as 30", most=MOST_DAYS)
    backups: Path | None = None
    backup_hours: float = variable("WAYFARE_BACKUP_HOURS", 24.0, "a number of hours above 0, as 24", least=1e-3)
    backup_days: float = variable("WAYFARE_BACKUP_DAYS", 30.0, "a number of days, as 30", most=MOST_DAYS)
    backup_mb: float = variable("WAYFARE_BACKUP_MB", 10_000.0, "a number of MB, as 10000")
    notify_url: str = field(default="", repr=False)
    oidc: Oidc | None = None
    registry: str = OFFICIAL_REGISTRY
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    seed: int | None = None
    now: Callable[[], datetime] = utc_now

    @classmethod
    def from_environment(
        cls, environ: Mapping[str, str] | None = None, *, db: Path | str | None = None, catalog: str | None = None
    ) -> Self:
        """The settings of an environment (None: the environment of this process). `db` and `catalog` override its variables.

        An empty variable counts as unset. Raises WayfareError if a limit is no number.

        >>> settings = Settings.from_environment({"WAYFARE_DB": "/data/a.duckdb", "WAYFARE_CACHE": ""}, catalog="mine")
        >>> str(settings.db), settings.catalog, settings.cache == Settings().cache
        ('/data/a.duckdb', 'mine', True)
        """
        variables = os.environ if environ is None else environ
        chosen_db = db or variables.get("WAYFARE_DB")
        chosen_cache = variables.get("WAYFARE_CACHE")
        return cls(
            db=Path(chosen_db) if chosen_db else _user_db(),
            cache=Path(chosen_cache).expanduser() if chosen_cache else _user_cache(),
            catalog=catalog or variables.get("WAYFARE_CATALOG") or FIRST_CATALOG,
            reranker=variables.get("WAYFARE_RERANKER", "").strip(),
            encoder_difference=variables.get("WAYFARE_ENCODER_DIFFERENCE", "").strip(),
            inherit=tuple(name.strip() for name in variables.get("WAYFARE_INHERIT", "").split(",") if name.strip()),
            backups=Path(folder).expanduser().absolute() if (folder := variables.get("WAYFARE_BACKUPS")) else None,
            oidc=Oidc.from_environment(variables),
            notify_url=_web_address(variables, "WAYFARE_NOTIFY_URL"),
            registry=_web_address(variables, "WAYFARE_REGISTRY", OFFICIAL_REGISTRY),
            environment=variables,
            **{option.name: option.metadata["read"](variables) for option in fields(cls) if "read" in option.metadata},
        )

    @property
    def models_folder(self) -> Path:
        """The folder of exported encoders, with a folder for each model."""
        return self.cache / "models"

    @property
    def indexes_folder(self) -> Path | None:
        """The folder of the built indexes of large catalogs. None if nothing is kept.

        >>> Settings(db="/data/b.duckdb", cache=Path("/cache")).indexes_folder.as_posix(), Settings(db=":memory:").indexes_folder
        ('/cache/indexes', None)
        """
        return None if str(self.db) == IN_MEMORY else self.cache / "indexes"

    @property
    def greetings_file(self) -> Path | None:
        """The file that keeps how each server is greeted. None if nothing is kept."""
        return None if str(self.db) == IN_MEMORY else self.cache / "greetings.json"

    @property
    def virtual_folder(self) -> Path:
        return self.cache / "virtual"

    @property
    def networks_folder(self) -> Path:
        """The folder of saved networks: beside the store, or beside the user's store if this store is in memory.

        >>> Settings(db="/data/b.duckdb").networks_folder.as_posix()
        '/data/networks'
        """
        return self._data_folder / "networks"

    @property
    def secrets_path(self) -> Path | None:
        """The file of encrypted values of servers, beside the store. None if nothing is kept.

        >>> Settings(db="/data/b.duckdb").secrets_path.as_posix(), Settings(db=":memory:").secrets_path
        ('/data/b.duckdb.secrets', None)
        """
        if str(self.db) == IN_MEMORY:
            return None
        file = Path(self.db).expanduser().absolute()
        return file.with_name(f"{file.name}.secrets")

    @property
    def tuned_encoder(self) -> Path:
        """The default file of the result of `wayfare train-encoder`, beside the store."""
        return self._data_folder / "encoder-difference.npz"

    @property
    def _data_folder(self) -> Path:
        file = _user_db() if str(self.db) == IN_MEMORY else Path(self.db).expanduser().absolute()
        return file.parent


# The options with which the console of this process was started. The command line sets them, the pages read them.


@dataclass(frozen=True, slots=True)
class Launch:
    """The options of `wayfare up`. `url` is the address for processes of this machine, `public_url` the address for everybody else,
    without a final slash, or "". `hosts` are further host names of the endpoint. `sign_in` means that the pages need a sign-in. `started_by`
    is the command that started the console. It ends after `idle_s` without a use (0: never). `stop` ends it in order.

    Without `settings` the environment is read.
    """

    settings: Settings | None = None
    report: Report = silent
    url: str = ""
    public_url: str = ""
    hosts: frozenset[str] = frozenset()
    sign_in: bool = False
    started_by: str = "wayfare up"
    idle_s: float = 0.0
    stop: Callable[[], None] = lambda: None


_launch = Launch()


def set_launch(launch: Launch) -> None:
    """Sets the options with which the console of this process starts."""
    global _launch  # noqa: PLW0603 - one console in a process
    _launch = launch


def launched() -> Launch:
    return _launch


def own_url() -> str:
    """Returns the address of this process's console for a browser or an agent, or the default address."""
    return launched().public_url or launched().url or "http://127.0.0.1:8501"
