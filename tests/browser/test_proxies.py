"""The console below a path of another host, behind nginx and Caddy with TLS, as the files of docs/deploy set them up."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import ssl
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from playwright.sync_api import Browser

from core.domain.console import asked, owner_of
from core.gateway.http_app import TAKEN
from tests.authorization_server import guarded_server
from tests.browser.pages import Route
from tests.browser.serving import ROOT, ConsoleProgram, free_port
from tests.browser.turning import stored
from tests.browser.visit import LIMIT_MS, Visit
from tests.cases import each
from tests.cli.conftest import wait_for

from .conftest import Started

pytestmark = pytest.mark.browser
PROXIES = {
    "nginx": (
        "nginx.conf", ("-e", "stderr", "-c"),
        "pid {folder}/pid; daemon off; events {{}}\nhttp {{ access_log off; {temporary}\n{site}\n}}",
    ),
    "caddy": ("Caddyfile", ("run", "--adapter", "caddyfile", "--config"), "{{\nadmin off\nauto_https disable_redirects\n}}\n{site}"),
}  # fmt: skip
STRANGERS = {"nginx": "127.0.0.5", "caddy": "127.0.0.6"}  # wrong tokens count by address


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of `localhost`, signed by itself, and its key."""
    folder, key = tmp_path_factory.mktemp("tls"), ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")]), datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    files, pem = (folder / "certificate.pem", folder / "key.pem"), serialization.Encoding.PEM
    files[0].write_bytes(certificate.public_bytes(pem))
    plain = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    files[1].write_bytes(plain)
    return files


@pytest.fixture(scope="module")
def url() -> str:
    """The public address of the console."""
    return f"https://localhost:{free_port()}/wayfare"


@pytest.fixture(scope="module")
def own_console(browser: Browser, started: Started, url: str) -> Iterator[ConsoleProgram]:
    """A console with a public address."""
    with started(options=("--public-url", url, "--trusted-proxy", "127.0.0.1")) as console:
        yield console


def command(console: ConsoleProgram, *words: str) -> Any:
    """The JSON result of a command in the console."""
    owner = owner_of(console.db)
    assert owner is not None
    answer = asked(owner, "POST", {"arguments": [*words, "--json"]})
    assert answer["code"] == 0, answer
    return json.loads(answer["out"])


@contextmanager
def proxy(name: str, url: str, console: ConsoleProgram, tls: tuple[Path, Path], folder: Path) -> Iterator[None]:
    """The proxy with the file of docs/deploy, on the port of the public address."""
    file, options, frame = PROXIES[name]
    program = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        missing = f"{name} is not installed; `.ci/run` installs it."
        pytest.fail(missing, pytrace=False) if os.environ.get("CI") else pytest.skip(missing)
    host = urlsplit(url)
    changes = {
        "listen 443": f"listen {host.port}", "/etc/ssl/certs/tools.example.com.pem": str(tls[0]),
        "/etc/ssl/private/tools.example.com.key": str(tls[1]), "server_name tools.example.com": "server_name localhost",
        "\ntools.example.com {": f"\n{host.netloc} {{\n\ttls {tls[0]} {tls[1]}", "127.0.0.1:8501": f"127.0.0.1:{console.port}",
    }  # fmt: skip
    site = (ROOT / "docs/deploy" / file).read_text(encoding="utf-8")
    for old, new in changes.items():
        site = site.replace(old, new)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = " ".join(f"{kind}_temp_path {folder / kind};" for kind in kinds)
    (folder / "config").write_text(frame.format(folder=folder, temporary=temporary, site=site))
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    with (folder / "log").open("w") as log, subprocess.Popen(
        [program, *options, str(folder / "config")], env=environment, stdout=log, stderr=log
    ) as process:  # fmt: skip
        try:
            wait_for(lambda: process.poll() is not None or _answers(f"{url}/healthz", tls[0]))
            assert process.poll() is None, (folder / "log").read_text()
            yield
        finally:
            process.terminate()
            process.wait(20)


def _answers(url: str, certificate: Path) -> bool:
    try:
        return httpx2.get(url, verify=ssl.create_default_context(cafile=certificate)).status_code == 200
    except httpx2.HTTPError:
        return False


@each("name", list(PROXIES))
def test_all_of_the_console_works_below_its_path(
    name: str,
    url: str,
    own_console: ConsoleProgram,
    tls: tuple[Path, Path],
    tmp_path: Path,
    launch: Callable[..., Browser],
) -> None:
    token = command(own_console, "clients", "add", f"ada-{name}", "--operator")["token"]
    with proxy(name, url, own_console, tls, tmp_path):
        signs_in(url, own_console, tls[0], token, STRANGERS[name])
        serves_agents(url, tls[0], command(own_console, "clients", "add", f"bot-{name}")["token"])
        takes_callbacks(name, url, own_console, tls[0], tmp_path)
        with launch("--ignore-certificate-errors") as browser:  # a context's own option begins each request anew
            shows_pages(url, browser, token)


def signs_in(url: str, console: ConsoleProgram, certificate: Path, token: str, address: str) -> None:
    """Redirects and the cookie are below the path. The console distrusts a visitor's own address and scheme."""
    tell = httpx2.HTTPTransport(verify=ssl.create_default_context(cafile=certificate), local_address=address)
    with httpx2.Client(transport=tell) as http:
        bare = http.get(f"{url}?view=Clients")
        assert (bare.status_code, urlsplit(bare.headers["location"]).path) in {(301, "/wayfare/"), (308, "/wayfare/")}
        for path in ("/govern", "/export/decisions.csv"):
            asked_in = http.get(f"{url}{path}", headers={"Accept": "text/html"})
            assert urlsplit(asked_in.headers["location"]).path == "/wayfare/sign-in", path
        key = owner_of(console.db)
        assert key is not None
        assert http.get(f"{url}/door", headers={"Authorization": f"Bearer {key.key}"}).status_code == 403
        forged = [{"X-Forwarded-For": f"10.9.8.{number}", "X-Forwarded-Proto": "http"} for number in range(6)]
        tries = [http.post(f"{url}/sign-in", data={"token": "wrong"}, headers=headers) for headers in forged]
        assert [response.status_code for response in tries] == [401] * 5 + [429]
        response = http.post(f"{url}/sign-in", data={"token": token, "next": "/govern?view=Clients"}, headers=forged[0])
        assert (response.status_code, response.headers["location"]) == (303, "/wayfare/govern?view=Clients")
        assert {"Secure", "HttpOnly", "Path=/wayfare/"} <= set(response.headers["set-cookie"].split("; "))
        redirect = http.get(f"{url}/govern/")
        assert (redirect.status_code, urlsplit(redirect.headers["location"]).path) == (301, "/wayfare/govern")


def serves_agents(url: str, certificate: Path, token: str) -> None:
    """A client of the SDK searches with its token. Without a token the answer names the metadata."""
    context = ssl.create_default_context(cafile=certificate)

    async def found() -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(verify=context, headers=headers, timeout=60) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
        ):
            answer = await client.call_tool("search_tools", {"task": "convert 300 miles to kilometres"})
            return answer.structured_content or {}

    # beside a browser there can be no event loop in this thread
    assert ThreadPoolExecutor(1).submit(lambda: asyncio.run(found())).result()["candidates"]
    with httpx2.Client(verify=context) as http:
        refused = http.post(f"{url}/mcp", json={})
        (where,) = re.findall(r'resource_metadata="([^"]+)"', refused.headers["www-authenticate"])
        assert http.get(where).json()["resource"] == f"{url}/mcp"


def takes_callbacks(name: str, url: str, console: ConsoleProgram, certificate: Path, folder: Path) -> None:
    """The person's browser comes back from an authorization server to the public address."""
    with guarded_server() as guarded, httpx2.Client(verify=ssl.create_default_context(cafile=certificate)) as http:
        file = folder / "mine.json"
        file.write_text(json.dumps({"mcpServers": {"tickets": {"type": "http", "url": guarded.url}}}))
        command(console, "import", str(file), "--name", name)
        begun = command(console, "signin", "tickets", "--catalog", name, "--no-wait")
        back = guarded.visit(begun["address"])
        assert back.startswith(f"{url}/oauth/callback?")
        response = http.get(back, follow_redirects=True)
        assert (response.text, str(response.url)) == (TAKEN, f"{url}/oauth/callback")


def shows_pages(url: str, browser: Browser, token: str) -> None:
    """Pages, their websocket, charts, the fast lane and links: no request leaves the path."""
    context = browser.new_context()
    context.set_default_timeout(LIMIT_MS)
    visit = Visit(context.new_page(), url, width=1440, height=900)
    visit.page.goto(f"{url}/?q=convert+300+miles+to+kilometres")
    visit.page.get_by_label("Token").fill(token)
    visit.page.get_by_role("button", name="Sign in").click()
    route = Route(visit)
    route.decided()
    visit.page.locator(".js-plotly-plot").first.wait_for()
    route.slider("αt").press("ArrowRight")
    visit.until(lambda: bool(stored(visit)))
    visit.page.wait_for_function("new URLSearchParams(location.search).has('alpha_t')")
    visit.settled()
    visit.go("Govern")
    visit.page.reload()
    visit.settled()
    visit.page.get_by_role("link", name="Sign out").click()
    visit.page.wait_for_url(f"{url}/sign-in")
    visit.check()
    assert [url for url in visit.asked if urlsplit(url).netloc and not urlsplit(url).path.startswith("/wayfare/")] == []
    context.close()
