"""`wayfare up`: the console in the browser. `wayfare mcp`: the endpoint on standard input and output."""

from __future__ import annotations

import ctypes
import ipaddress
import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from core.cli import apps, options, output
from core.cli.options import option
from core.cli.store import LastUp, UpOptions, described, last_up, remember, with_its_environment
from core.domain.console import Owner, OwnerLeftError, asked, console_lock, owner_of
from core.domain.errors import UnknownNameError, WayfareError
from core.domain.settings import FIRST_CATALOG, Launch, Settings, set_launch
from core.gateway.door import BY_AGENT
from core.governance.clients import ClientRegister
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from core.store import Store
from core.store.connection import COMMAND

if TYPE_CHECKING:
    from filelock import FileLock

M_ARENA_MAX = -8  # of malloc.h
CONSOLE = "dashboard.app:app"  # the ASGI app that uvicorn loads by name
PUBLIC_URL = re.compile(
    r"(https?://(?:[\w.-]+|\[[\da-f:]+\])(?::\d{1,5})?)((?!/(?:mcp|door)(?:/|$))(?:/[\w.~-]+)*)/?",
    re.ASCII | re.IGNORECASE,
)
IDLE_CONNECTION_S = 75
"""Longer than proxies and clients keep a connection, because a request over a connection that has just ended is lost."""
STARTS_S = 60.0
COMMANDLINE = click.core.ParameterSource.COMMANDLINE
OTHER_OPTIONS = 4
"""The exit code of `wayfare up` if another operator's console serves the store with other options."""
EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - possible options of an operator, not a binding
"""Hosts that stand for all addresses, with the address that this machine uses."""


@click.command()
@option("--host", default="127.0.0.1", help="The address to listen on.")
@option("--port", default=8501, type=click.IntRange(1, 65535), help="The port to listen on.")
@option("--catalog", default="sample", help="The catalog shown first, by name.")
@option(
    "--mcp-host",
    "mcp_hosts",
    multiple=True,
    metavar="NAME[:PORT]",
    help="A further host name that /mcp answers to; may be repeated.",
)
@option(
    "--sign-in", is_flag=True, help="Pages require a sign-in on this machine, too. On other addresses they always do."
)
@option(
    "--trusted-proxy",
    "trusted_proxies",
    multiple=True,
    metavar="ADDRESS|NETWORK",
    help="A reverse proxy whose X-Forwarded-For and X-Forwarded-Proto are believed; may be repeated.",
)
@option(
    "--public-url",
    default="",
    metavar="URL",
    envvar="WAYFARE_PUBLIC_URL",
    help="The address behind a reverse proxy, such as https://tools.example.com/wayfare; its path is the base path. Pages require "
    "a sign-in then.",
)
@option("--background", is_flag=True, hidden=True, help="Started by `wayfare mcp`: ends when nobody uses it.")
@options.db
@click.pass_context
def up(context: click.Context, background: bool, **given: Any) -> None:
    """Start the console and print its URL. Agents connect to /mcp on the same port.

    If an operator's console serves the store already, its URL is printed. The exit code is 4 if it has other options than those
    given. A console that an agent started ends, and this one takes its place.

    Example: wayfare up --port 8600
    """
    options = replace(
        UpOptions(**given),
        host={"localhost": "127.0.0.1"}.get(given["host"], given["host"]),
        public_url=_public_url(given["public_url"]) if given["public_url"] else "",
    )
    proxies = _networks(options.trusted_proxies)
    settings = apps.settings()
    lock = console_lock(settings.db)
    if (running := _taken(lock, settings.db, over=not background)) is not None:
        click.echo(f"{described(running)} `wayfare stop` ends it.")
        if not background:
            _check_options(context, options, last_up(settings))
        return
    if background and (last := last_up(settings)) is not None:
        options, proxies = last.options, _networks(last.options.trusted_proxies)
        settings = with_its_environment(settings, last)
    settings, host = replace(settings, catalog=options.catalog), options.host
    with listening(
        host, options.port, otherwise_free=background
    ) as listener:  # kept open: no other console takes the port
        operators = _check_store(settings, options, remembered=not background)
        import uvicorn

        _keep_memory_small()
        port = listener.getsockname()[1]
        url, local_url = _address(host, port), _address(EVERY_ADDRESS.get(host, host), port)
        click.echo(f"Wayfare is starting on {url} (stop with Ctrl-C)")
        guarded = bool(options.sign_in or options.public_url) or not _is_loopback(host)
        if guarded:
            click.echo(_how_to_sign_in(options.public_url or local_url, host, operators=operators))
        names = (
            options.mcp_hosts
            if host in {*EVERY_ADDRESS, *EVERY_ADDRESS.values()}
            else (*options.mcp_hosts, urlsplit(local_url).netloc)
        )
        public = urlsplit(options.public_url).netloc
        config = uvicorn.Config(  # it parses HTTP with httptools
            CONSOLE, log_level="warning", access_log=False, timeout_graceful_shutdown=3, forwarded_allow_ips=proxies,
            timeout_keep_alive=IDLE_CONNECTION_S,
        )  # fmt: skip
        server = uvicorn.Server(config)
        set_launch(
            Launch(
                settings, output.TerminalProgress(), local_url, options.public_url, frozenset(name.lower() for name in (*names, public) if name), guarded,
                started_by=BY_AGENT if background else "wayfare up",
                idle_s=settings.idle_s if background else 0.0,
                stop=partial(setattr, server, "should_exit", True),
            )
        )  # fmt: skip
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _leave)  # uvicorn shuts everything down, then raises the signal again
        server.run(sockets=[listener])
        os._exit(0 if server.started else 3)  # at once, as after a signal


def _address(host: str, port: int) -> str:
    return f"http://{'[' + host + ']' if ':' in host else host}:{port}"


def _public_url(text: str) -> str:
    """Returns the address without a final slash. Raises WayfareError.

    >>> _public_url(" https://Tools.example.com:8443/wayfare/ ")
    'https://tools.example.com:8443/wayfare'
    """
    match = PUBLIC_URL.fullmatch(text.strip())
    if match is None:
        raise WayfareError(
            f"--public-url: {text!r} is no address of a console behind a proxy; give one such as https://tools.example.com/wayfare. "
            "Its path may not begin with /mcp or /door, which the console has itself."
        )
    return match[1].lower() + match[2]


def _networks(texts: Iterable[str]) -> list[str]:
    try:
        return [str(ipaddress.ip_network(text.strip(), strict=False)) for text in texts]
    except ValueError as error:
        raise WayfareError(
            f"--trusted-proxy: {error}; give an address or a network, such as 127.0.0.1 or 10.0.0.0/8."
        ) from None


def _taken(lock: FileLock | None, db: Path | str, *, over: bool) -> Owner | None:
    """Takes the lock of a store's console. If another console has it, returns that console once it answers. With `over`, ends a console
    that an agent started. Raises WayfareError."""
    if lock is None:
        return None
    deadline, ending = time.monotonic() + STARTS_S, ""
    while time.monotonic() < deadline:
        if (owner := owner_of(db)) is not None:
            if not over or owner.started_by != BY_AGENT:
                return owner
            if owner.key != ending:
                ending = owner.key
                click.echo(f"The console on {owner.url}, which an agent started, ends for this one.")
                with suppress(OwnerLeftError):
                    asked(owner, "DELETE")
        with suppress(TimeoutError):
            lock.acquire(timeout=0.1)
            return None
    raise WayfareError(
        f"Another console of the store {db} has been starting or ending for {STARTS_S:g} s: end its process, and start again."
    )


def _check_options(context: click.Context, chosen: UpOptions, running: LastUp | None) -> None:
    """Exits with `OTHER_OPTIONS` if an option on the command line differs from the running console's option."""
    options: dict[str, Any] = {} if running is None else asdict(running.options)
    explicit = [opt for opt in context.command.params if context.get_parameter_source(opt.name or "") is COMMANDLINE]
    other = [opt.opts[-1] for opt in explicit if opt.name in options and options[opt.name] != getattr(chosen, opt.name)]
    if other:
        click.echo(
            f"It has another {' and another '.join(other)}: end it and start again, or leave that out.", err=True
        )
        sys.exit(OTHER_OPTIONS)


def _keep_memory_small() -> None:
    """With glibc: uses two memory arenas for all threads, and returns free memory to the system every minute. With one
    arena for each thread, no thread can use memory that another thread freed, and a busy console grows by 20 MB a minute."""
    with suppress(AttributeError, OSError, TypeError):  # another system or C library
        library = ctypes.CDLL(None)
        library.mallopt(M_ARENA_MAX, 2)
        trim = library.malloc_trim
        threading.Thread(target=_every_minute, args=(partial(trim, 0),), daemon=True, name="memory").start()


def _every_minute(work: Callable[[], object]) -> None:
    while True:
        time.sleep(60)
        work()


def _how_to_sign_in(url: str, host: str, *, operators: bool) -> str:
    where = ", or that page on another address of this machine," if host in EVERY_ADDRESS else ""
    sentence = (
        f"Its pages require a sign-in: open {url}/sign-in{where} and enter a token, or go on at your identity provider."
    )
    if not operators:
        sentence += " Nobody can yet; `wayfare clients add NAME --role admin` makes a token, at any time."
    if not _is_loopback(host):
        sentence += " HTTP is not encrypted: on a network you do not trust, put a proxy with TLS before it."
    return sentence


def _check_store(settings: Settings, options: UpOptions, *, remembered: bool) -> bool:
    """Returns whether an operator can sign in, and remembers the options. Raises WayfareError for a locked or broken store, an unknown catalog, an
    endpoint open to other machines without a token, and pages that no operator can open, so that these errors appear
    before the console starts."""
    name, host = settings.catalog, options.host
    with Store(settings.db, sharing=COMMAND) as store:
        if name not in SHIPPED_CATALOGS and name not in (row.name for row in store.catalogs.list_catalogs()):
            raise UnknownNameError(f"There is no catalog {name!r}; `wayfare catalogs` lists the catalogs.")
        if not _is_loopback(host) and not ClientRegister(store, settings.now).any_in_force:
            raise WayfareError(
                f"On {host} /mcp is open to other machines and needs tokens, but no client has one: make one with "
                "`wayfare clients add NAME`, or leave --host out."
            )
        oidc = settings.oidc is not None and bool(settings.oidc.client_id)
        operators = oidc or ClientRegister(store, settings.now).any_operator
        if options.sign_in and not operators:
            raise WayfareError(
                "With --sign-in pages are for people with a role, but there is none: make one with `wayfare clients add NAME --role admin`, "
                "which prints its token, or leave --sign-in out."
            )
        if remembered:
            from core.servers.secrets import names_in

            try:
                remember(settings, options, names_in(*store.catalogs.connection_texts()))
            except WayfareError as error:
                click.echo(
                    f"{error} After a crash agents start this console without its options or variables.", err=True
                )
        return operators


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _leave(*_: object) -> None:
    """Exits with status 0 at once. Native code may still run in a thread and would make the interpreter abort."""
    os._exit(0)


def listening(host: str, port: int, *, otherwise_free: bool) -> socket.socket:
    """Returns a socket that listens on this port, or, with `otherwise_free`, on a free port if another program has it. Raises WayfareError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
        # also set on its connections: an answer is sent in two parts, and the second part waited 40 ms for the client's ACK of the first
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        if otherwise_free and port:
            return listening(host, 0, otherwise_free=False)
        raise WayfareError(
            f"Cannot listen on {host}:{port} ({error.strerror}); choose another --port or --host."
        ) from None


# `wayfare mcp`: the endpoint for clients that start a command.


@click.command()
@options.router("The routing algorithm of search_tools.")
@option("--timeout", default=60.0, type=options.Finite(0.1, 3600), help="Time limit of one call of a tool, in s.")
@option(
    "--fallback/--no-fallback",
    default=False,
    help="If a read-only tool does not answer, call the next candidates of its search.",
)
@option(
    "--mirror",
    multiple=True,
    metavar="SERVER",
    help="List the tools of this server (* and ? match) under their own names, in place of a search; may be repeated.",
)
@options.knobs
@option(
    "--catalog",
    "catalogs",
    multiple=True,
    help="A catalog by name, or a catalog file; several by name.  [default: sample]",
)
@options.db
def mcp(
    router: str,
    timeout: float,
    fallback: bool,
    mirror: tuple[str, ...],
    settings: dict[str, str],
    preset: str,
    catalogs: tuple[str, ...],
) -> None:
    """Serve Wayfare to one MCP client on standard input and output: a few tools give access to all tools of the
    catalog.

    The console that serves the store answers. If there is none, it is started in the background.

    Example: wayfare mcp --catalog mine --router expected_value
    """
    from core.gateway.base import EndpointOptions
    from core.gateway.server import serve_stdio

    catalog, *further = catalogs or (FIRST_CATALOG,)
    if Path(catalog).is_file():
        catalog = str(Path(catalog).absolute())  # the console has another working directory
    endpoint = EndpointOptions(catalog, router, preset, settings, timeout, fallback, mirror, further=tuple(further))
    serve_stdio(replace(apps.settings(), catalog=catalog), endpoint)
