"""Signing in to the pages at an identity provider: the code flow through the real gate, served by uvicorn."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from oidc_provider_mock import User, run_server_in_thread

from core.app import App
from core.domain.settings import Oidc
from core.governance.policy import People, Policy, Scope
from dashboard.app import pages as console
from dashboard.sign_in import CAME_BACK, PROVIDER, SIGN_IN, SIGN_OUT, BasePath, SignInGate
from tests.dashboard.harness import app_with
from tests.gateway.serving import listening
from tests.identity_provider import Provider

SECRET = "secret-of-the-console"
USERS = (
    User(sub="1", claims={"email": "ann@example.org", "groups": ["ops", "leads"]}),
    User(sub="2", claims={"email": "vic@example.org", "groups": "staff"}),
    User(sub="3", claims={"email": "eve@example.org", "groups": ["others"]}),
)
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{warning}")
    for warning in ("DeprecationWarning", "joserfc.errors.SecurityWarning")  # in the mock
]
app = app_with({})


@pytest.fixture
def url(app: App) -> Iterator[str]:
    groups = {"ops": "operator", "leads": "approver", "staff": "viewer"}
    app.governance.set_policy(Policy(people=People(groups=groups)), origin="test")
    with listening(SignInGate(console, needed=lambda: True, app=lambda: app)) as address:
        yield address


def trust(app: App, issuer: str) -> None:
    app.settings = replace(app.settings, oidc=Oidc(issuer, "wayfare", SECRET))


def browser(url: str) -> httpx2.Client:
    return httpx2.Client(base_url=url, timeout=30, follow_redirects=False)


def came_back(visitor: httpx2.Client, sub: str = "1", next_: str = "/govern?view=Clients") -> str:
    """The provider's redirect after a sign-in that this browser began."""
    redirect = visitor.get(PROVIDER, params={"next": next_})
    location = redirect.headers["location"]
    query = parse_qs(urlsplit(location).query)
    assert (query["code_challenge_method"], query["response_type"], len(query["nonce"])) == (["S256"], ["code"], 1)
    assert SECRET not in location + str(redirect.headers)
    return httpx2.post(location, data={"sub": sub}).headers["location"]


def test_groups_become_roles_and_signing_out_ends_it(app: App, url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with (
        run_server_in_thread(user_claims=USERS) as server,
        browser(url) as ann,
        browser(url) as vic,
    ):
        trust(app, f"http://localhost:{server.server_port}")
        assert f"localhost:{server.server_port}" in ann.get(SIGN_IN).text
        on = ann.get(came_back(ann))
        assert (on.status_code, "0;url=./govern?view=Clients" in on.text) == (200, True)
        cookies = "\n".join(on.headers.get_list("set-cookie"))
        name = app.governance.sign_ins.cookie
        assert f"{name}=" in cookies
        assert "samesite=strict" in cookies.lower()
        cookie = ann.cookies[name]
        person = app.governance.sign_ins.person(cookie)
        assert (person.name, set(person.roles)) == ("ann@example.org", {"operator", "approver"})
        assert ann.get("/").status_code == 200
        vic.get(came_back(vic, "2"))
        assert app.governance.sign_ins.person(vic.cookies[name]).roles == ("viewer",)
        app.governance.set_policy(Policy(people=People(groups={"ops": "admin"})), origin="test")
        assert app.governance.sign_ins.person(cookie).roles == ("admin",)  # at once
        assert vic.get("/").status_code == 401
        end_url = ann.get(SIGN_OUT).headers["location"]  # the provider ends its own session, and sends the browser back
        query = parse_qs(urlsplit(end_url).query)
        assert end_url.startswith(f"http://localhost:{server.server_port}/oauth2/end_session?")
        assert query == {"client_id": ["wayfare"], "post_logout_redirect_uri": [f"{url}{SIGN_IN}"]}
        assert "redirect_uri" in httpx2.get(end_url).text
        assert ann.get(SIGN_OUT).headers["location"] == SIGN_IN
        assert ann.get("/", headers={"cookie": f"{name}={cookie}"}).status_code == 401  # a copy of the cookie, too
    assert SECRET not in caplog.text
    assert all(SECRET not in policy.toml for policy in app.store.governance.policies())


def test_without_a_group_or_with_the_name_of_a_token_nobody_gets_in(app: App, url: str) -> None:
    app.governance.clients.make("ann@example.org", Scope(pages=True), origin="test")
    with run_server_in_thread(user_claims=USERS) as server:
        trust(app, f"http://localhost:{server.server_port}")
        for sub, why in (("3", "None of your groups"), ("1", "is the name of a token here")):
            with browser(url) as visitor:
                answer = visitor.get(came_back(visitor, sub))
                assert (answer.status_code, why in answer.text) == (401, True)
                assert visitor.get("/").status_code == 401


def test_an_expired_token_and_another_issuer_are_refused(app: App, url: str) -> None:
    with (
        run_server_in_thread(user_claims=USERS, access_token_max_age=timedelta(seconds=-90)) as server,
        browser(url) as visitor,
    ):
        trust(app, f"http://localhost:{server.server_port}")
        assert visitor.get(came_back(visitor)).status_code == 401
    with run_server_in_thread(user_claims=USERS) as server, browser(url) as visitor:
        trust(app, f"http://localhost:{server.server_port}/")  # it calls itself by another name
        assert visitor.get(came_back(visitor)).status_code == 401


def test_an_answer_that_this_browser_did_not_begin_is_refused(app: App, url: str) -> None:
    with run_server_in_thread(user_claims=USERS) as server, browser(url) as visitor, browser(url) as other:
        trust(app, f"http://localhost:{server.server_port}")
        where = came_back(visitor)
        assert other.get(where).status_code == 401
        assert visitor.get(where.replace("state=", "state=x")).status_code == 401
        assert visitor.get(f"{CAME_BACK}?error=access_denied&error_description=%3Cb%3Eno").status_code == 401
        assert visitor.get(where).status_code == 200
        assert visitor.get(where).status_code == 401  # once


def test_below_a_base_path_the_provider_sends_the_browser_back_there(app: App) -> None:
    gate = SignInGate(console, needed=lambda: True, app=lambda: app)
    app.governance.set_policy(Policy(people=People(groups={"ops": "viewer"})), origin="test")
    with Provider().served() as issuer, listening(BasePath(gate, "https://tools.example.com/wayfare")) as address:
        trust(app, issuer)
        with browser(address) as ann:
            redirect = urlsplit(ann.get(f"/wayfare{PROVIDER}?next=/govern").headers["location"])
            assert parse_qs(redirect.query)["redirect_uri"] == [f"{address}/wayfare{CAME_BACK}"]
            back = ann.get(httpx2.get(redirect.geturl()).headers["location"])
            assert (back.status_code, "0;url=./govern" in back.text) == (200, True)
            assert {cookie.path for cookie in ann.cookies.jar} == {"/wayfare/"}
            assert ann.get("/wayfare/").status_code == 200
            assert (
                ann.get(f"/wayfare{SIGN_OUT}").headers["location"] == f"/wayfare{SIGN_IN}"
            )  # this provider has no sign-out
            assert ann.get("/wayfare/").status_code == 401


WRONG: dict[str, Callable[[], dict[str, object]]] = {
    "nothing": dict,
    "audience": lambda: {"aud": "another"},
    "no audience": lambda: {"aud": None},
    "issuer": lambda: {"iss": "https://evil.example"},
    "nonce": lambda: {"nonce": "another"},
    "no nonce": lambda: {"nonce": None},
    "expired": lambda: {"exp": int(time.time()) - 90},
    "no end": lambda: {"exp": None},
    "unsigned": lambda: {"alg": "none", "key": ""},
    "shared key": lambda: {"alg": "HS256", "key": SECRET * 2},
}


def test_a_wrong_id_token_signs_nobody_in(app: App, url: str) -> None:
    provider = Provider()
    with provider.served() as issuer:
        trust(app, issuer)
        for wrong, make_claims in WRONG.items():
            with browser(url) as visitor:
                provider.said = make_claims()
                where = httpx2.get(visitor.get(PROVIDER).headers["location"]).headers["location"]
                statuses = [visitor.get(address).status_code for address in (where, "/")]
                assert statuses == ([200] * 2 if wrong == "nothing" else [401] * 2), wrong
    with browser(url) as visitor:  # it has gone
        trust(app, f"{issuer}/gone")
        assert visitor.get(PROVIDER).status_code == 401
