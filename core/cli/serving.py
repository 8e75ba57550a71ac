"""`wayfare up`: the console in the browser."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import click

from core.cli.options import db_option
from core.errors import UnknownNameError, WayfareError
from core.paths import default_db
from core.shipped import SHIPPED
from core.store import Store


@click.command()
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="The address to listen on; loopback unless told otherwise."
)
@click.option("--port", default=8501, show_default=True, type=click.IntRange(1, 65535), help="The port to listen on.")
@click.option("--catalog", default="sample", show_default=True, help="The catalog shown first, by name.")
@db_option
def up(host: str, port: int, catalog: str, db: Path | None) -> None:
    """Start the console and print its URL.

    Example: wayfare up --port 8600
    """
    _check_free(host, port)
    if db is not None:
        os.environ["WAYFARE_DB"] = str(db)
    os.environ["WAYFARE_CATALOG"] = catalog
    _check_store(catalog)
    import uvicorn

    url = f"http://{'[' + host + ']' if ':' in host else host}:{port}"
    click.echo(f"Wayfare is starting on {url} (stop with Ctrl-C)")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)  # uvicorn shuts everything down, then raises the signal again
    uvicorn.run(
        "dashboard.app:app", host=host, port=port, log_level="warning", access_log=False, timeout_graceful_shutdown=3
    )


def _check_store(catalog: str) -> None:
    """A locked or broken store and an unknown catalog are said here, not on a page."""
    with Store(default_db()) as store:
        if catalog not in SHIPPED and catalog not in (row.name for row in store.catalogs.list_catalogs()):
            raise UnknownNameError(f"There is no catalog {catalog!r}; `wayfare catalogs` lists those there are.")


def _leave(*_: object) -> None:
    """To be told to stop is no failure. Native code may still run in a thread: the interpreter would abort there."""
    os._exit(0)


def _check_free(host: str, port: int) -> None:
    try:
        with socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, reuse_port=False
        ):
            return
    except OSError as error:
        raise WayfareError(
            f"Cannot listen on {host}:{port} ({error.strerror}); choose another --port or --host."
        ) from None
