"""A page of another site in a real Chromium, on another port or under a name that was made to lead here, gets nothing and changes
nothing: neither by fetch, forms, events and sockets, nor where its requests have the Host of the attacker."""

from __future__ import annotations

import http.server
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, Request

from .serving import ConsoleProgram

pytestmark = pytest.mark.browser

EVIL = "evil.example"
SECRET = "wayfare_"  # every metric's name begins so
FORMS = 3
ATTACK = r"""async (console) => {
  const got = [];
  const within = (what, tried) => Promise.race([tried, new Promise((done) => setTimeout(() => { got.push(`${what}: hangs`); done(); }, 15000))]);
  const call = {jsonrpc: "2.0", id: 1, method: "tools/call", params: {name: "search_tools", arguments: {task: "steal " + Math.random()},
    _meta: {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": {name: "page", version: "1"},
      "io.modelcontextprotocol/clientCapabilities": {}}}};
  const modern = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "search_tools"};
  const json = {"content-type": "application/json", "accept": "application/json, text/event-stream"};
  const soon = {signal: AbortSignal.timeout(10000)};
  const bodies = {"/mcp": call, "/turn": {token: "x", kind: "decision", values: {}}, "/door": {arguments: ["clients", "add", "evil"]}};
  const note = async (what, asked) => {
    try {
      const answer = await asked;
      if (answer.type === "opaque") return;
      const text = await answer.text();
      if (answer.ok || answer.status === 404) got.push(`${what}: ${answer.status} ${text.slice(0, 80)}`);
    } catch (error) { if (error.name === "TimeoutError") got.push(`${what}: hangs`); }
  };
  for (const [path, body] of Object.entries(bodies)) {
    const frame = document.createElement("iframe");
    frame.name = "frame-" + path.slice(1);
    document.body.append(frame);
    const form = document.body.appendChild(document.createElement("form"));
    Object.assign(form, {method: "POST", action: console + path, target: frame.name, enctype: "text/plain"});
    const field = form.appendChild(document.createElement("input"));
    field.name = JSON.stringify(body).slice(0, -1) + ',"';
    field.value = '":1}';
    form.submit();
  }
  await Promise.all([
    ...["/mcp", "/turn", "/door", "/metrics", "/healthz", "/readyz"].map((path) => note(`GET ${path}`, fetch(console + path, soon))),
    ...Object.entries(bodies).flatMap(([path, body]) => [
      note(`POST ${path}`, fetch(console + path, {method: "POST", headers: path === "/mcp" ? {...json, ...modern} : json, body: JSON.stringify(body), ...soon})),
      note(`simple POST ${path}`, fetch(console + path, {method: "POST", mode: "no-cors", body: JSON.stringify(body), ...soon})),
    ]),
    ...["/mcp", "/metrics"].map((path) => within(`events ${path}`, new Promise((done) => {
      const events = new EventSource(console + path);
      events.onopen = () => { got.push(`events ${path}`); events.close(); done(); };
      events.onerror = () => { events.close(); done(); };
    }))),
    within("socket", new Promise((done) => {
      const socket = new WebSocket(console.replace("http", "ws") + "/_stcore/stream", ["streamlit"]);
      socket.onopen = () => { got.push("socket"); socket.close(); done(); };
      socket.onerror = done;
    })),
  ]);
  return got.sort();
}"""


@pytest.fixture
def misled(launch: Callable[..., Browser]) -> Iterator[Browser]:
    """A Chromium for which the attacker's name leads to this machine."""
    with launch(f"--host-resolver-rules=MAP {EVIL} 127.0.0.1") as misled:
        yield misled


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """The attacker's own server: an empty page."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><body>hello")

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{EVIL}:{server.server_port}/"
        server.shutdown()


def counted(console: ConsoleProgram) -> list[str]:
    """What the console has decided, called and reserved."""
    with urllib.request.urlopen(f"{console.url}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    return [line for line in lines if line.startswith(SECRET) and "agent" in line]


def is_form(request: Request) -> bool:
    """Whether a form was sent."""
    return request.method == "POST" and request.is_navigation_request()


def attacked(browser: Browser, page_of: str, console_url: str) -> list[str]:
    """What a page of another address gets from the console."""
    page: Page = browser.new_page()
    forms = list[Request]()
    for event in ("requestfinished", "requestfailed"):
        page.on(event, lambda request: forms.append(request) if is_form(request) else None)
    try:
        page.goto(page_of)
        answers: list[str] = page.evaluate(ATTACK, console_url)
        while len(forms) < FORMS:
            page.wait_for_event("requestfinished", is_form)
        return answers + [f"form: {form.url}" for form in forms if (reply := form.response()) is not None and reply.ok]
    finally:
        page.close()


def test_a_page_of_another_site(misled: Browser, console: ConsoleProgram, elsewhere: str) -> None:
    port = console.url.rpartition(":")[2]
    count = counted(console)
    assert attacked(misled, elsewhere, console.url) == []
    assert attacked(misled, elsewhere, f"http://localhost:{port}") == []
    rebound = f"http://{EVIL}:{port}"
    assert attacked(misled, f"{rebound}/healthz", rebound) == []
    assert counted(console) == count
    same_site = attacked(misled, f"{console.url}/healthz", console.url)  # the same attack from within
    assert {"GET /metrics", "POST /mcp", "POST /turn", "socket"} <= {line.partition(":")[0] for line in same_site}
    limit_s = time.monotonic() + 20
    while counted(console) == count:  # the decision is written a moment later
        assert time.monotonic() < limit_s
        time.sleep(0.1)
