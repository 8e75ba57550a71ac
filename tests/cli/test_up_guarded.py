"""A console with sign-in, on an address that is not a usual one of this machine: commands beside it, and visitors behind a proxy."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from core.domain.console import owner_of
from tests.cli.conftest import Command, free_port, wait_for
from tests.cli.test_up import start

__all__ = ["start"]
HOST = "127.0.0.2"
PROXY, NEIGHBOUR = "127.0.0.1", "127.0.0.3"
SIX = [401] * 5 + [429]


def sign_in(port: int, token: str, peer: str, *forwarded: str) -> int:
    """The status of a sign-in that a peer passes on, with header lines of its own."""
    connection = http.client.HTTPConnection(HOST, port, timeout=30, source_address=(peer, 0))
    try:
        body = urlencode({"token": token}).encode()
        connection.putrequest("POST", "/sign-in")
        lines = [("Content-Type", "application/x-www-form-urlencoded"), ("Content-Length", str(len(body)))]
        for name, text in [*lines, *(("X-Forwarded-For", value) for value in forwarded)]:
            connection.putheader(name, text)
        connection.endheaders(body)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="one address of loopback")
def test_commands_find_it_and_a_trusted_proxy_tells_its_clients_apart(
    wayfare: Command, warm: Path, start: Callable[..., Any]
) -> None:
    token = wayfare("clients", "add", "ada", "--operator", "--json").json()["token"]
    port = free_port()
    start(port, "--host", HOST, "--sign-in", "--trusted-proxy", PROXY, host=HOST)

    def tries(peer: str, *lines: tuple[str, ...]) -> list[int]:
        return [sign_in(port, "wrong", peer, *line) for line in lines]

    forged = [(f"10.9.8.{number}, 192.0.2.1",) for number in range(6)]
    assert tries(PROXY, *forged) == SIX  # a client's own entries stand left of its address
    assert tries(PROXY, ("10.9.8.7", "192.0.2.1"), ("192.0.2.1:5000",), ("192.0.2.2",)) == [429, 429, 401]
    spelled = [
        "2001:db8::1",
        "[2001:db8::1]",
        "[2001:db8::1]:443",
        "2001:DB8:0::1",
        "2001:db8:0:0::1",
        "2001:db8::0001",
    ]
    assert tries(PROXY, *((address,) for address in spelled)) == SIX
    assert tries(PROXY, *((f"unknown-{number}",) for number in range(6))) == SIX
    assert tries(NEIGHBOUR, *((f"192.0.2.{number}",) for number in range(10, 16))) == SIX  # nobody trusts it
    assert tries(PROXY, ("192.0.2.3",), ()) == [401, 401]
    for peer, line in [(PROXY, ("192.0.2.1",)), (PROXY, ("unknown-9",)), (NEIGHBOUR, ("192.0.2.10",)), (PROXY, ())]:
        assert sign_in(port, token, peer, *line) == 303, line

    assert wayfare("status", "--json").json()["url"] == f"http://{HOST}:{port}"
    assert "sample" in wayfare("catalogs").out
    assert wayfare("stop", "--json").json()["stopped"]
    wait_for(lambda: owner_of(warm) is None)
    run = wayfare("up", "--trusted-proxy", "proxy.example")
    assert (run.code, "'proxy.example'" in run.err, "10.0.0.0/8" in run.err) == (2, True, True)
    for wrong in (
        "tools.example.com/wayfare",
        "https://tools.example.com/?a=1",
        "https://tools.example.com/mcp",
        "ftp://a",
    ):
        run = wayfare("up", "--public-url", wrong)
        assert (run.code, repr(wrong) in run.err) == (2, True), run.err
