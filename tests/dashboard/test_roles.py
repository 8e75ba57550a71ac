"""Roles at the pages, at the fast lane and at the addresses of the console. The actions of services are in tests/contracts."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
import streamlit as st
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from core.app import App
from core.domain.catalog import ServerId
from core.domain.people import ROLES, Role
from core.domain.settings import Launch, set_launch
from core.governance.policy import Policy, Scope
from dashboard.app import pages as console
from dashboard.lane import PATH as LANE
from dashboard.sign_in import SIGN_IN, SignInGate
from tests.cases import each
from tests.dashboard.harness import app_with, knob_panel_of, open_page, press, text_of
from tests.gateway.conftest import status
from tests.gateway.serving import served
from tests.importing import import_text

TOOL = {"name": "send", "description": "Send a letter.", "inputSchema": {"type": "object", "properties": {}}}
POST = {"servers": [{"name": "mail", "description": "Mail.", "tools": [TOOL]}]}
ROUTE = {"q": "send a letter", "catalog": "post"}
LOCKED: dict[str, dict[str, str]] = {
    "call": {"catalog": "post", "tool": "mail::send"},
    "catalog": {"catalog": "post", "view": "servers", "server": "mail"},
    "govern": {"view": "Clients"},
    "route": ROUTE,
}
app = app_with({"post": POST})


@pytest.fixture
def visit(app: App, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Role], None]]:
    """Lets the pages that follow be visited by a person in this role."""
    app.governance.clients.make("crab", origin="test")
    set_launch(Launch(sign_in=True))

    sign_ins, clients = app.governance.sign_ins, app.governance.clients
    tokens = {role: clients.make(f"person-{role}", Scope(pages=True, roles=(role,)), origin="test") for role in ROLES}

    def begin(role: Role) -> None:
        cookies = {sign_ins.cookie: sign_ins.begin(tokens[role], "10.0.0.9").cookie}
        monkeypatch.setattr(
            st, "context", SimpleNamespace(cookies=cookies, timezone="UTC", ip_address="10.0.0.9", url="")
        )

    yield begin
    set_launch(Launch())


def test_what_a_viewer_forges_past_a_page_is_refused_and_noted(app: App, visit: Callable[[Role], None]) -> None:
    """The page host discards values of disabled controls. Here the control was drawn for an admin, so that the service must refuse."""
    visit("viewer")
    for name, query in LOCKED.items():
        page = open_page(name, **query)  # it stops at no exception
        assert [button for button in page.button if button.disabled and str(button.help).startswith("Your role")], name
    tool = open_page("catalog", catalog="post", view="tools", tool="mail::send")
    assert tool.toggle(key="catalog.pin.post/mail::send").disabled
    visit("admin")
    page = open_page("govern", view="Clients")
    visit("viewer")
    press(page, "govern:revoke-crab")
    assert app.governance.clients.in_force("crab") is not None
    assert "Your role (viewer) may not" in text_of(page)
    ((*_, person, action, about, refused),) = [*csv.reader(_actions(app))][1:]
    assert (person, action, about, refused) == ("person-viewer", "revoke a token", "crab", "true")


def test_an_operator_gives_their_own_value_of_a_server_and_not_the_shared_one(
    app: App, visit: Callable[[Role], None]
) -> None:
    mail = {"mcpServers": {"mail": {"command": "mail", "env": {"MAIL_TOKEN": "${env:MAIL_TOKEN}"}}}}
    import_text(app.catalog_editor, json.dumps(mail), "mine")
    query = {"catalog": "mine", "view": "servers", "server": "mail"}
    keep, field = "catalog.detail.value.mine::mail.keep", "catalog.detail.value.mine::mail.0"
    visit("operator")
    page = open_page("catalog", **query)
    assert page.button(key=keep).disabled
    assert "Sign-in and secrets: shared." in text_of(page)
    app.governance.set_policy(Policy(per_person=("mail",)), origin="test")
    page = open_page("catalog", **query)
    page.text_input(key=field).set_value("the-secret-of-the-operator")
    press(page, keep)
    assert set(app.vault.names()) == {(ServerId("mine", "mail", "person-operator"), "MAIL_TOKEN")}
    visit("admin")
    page = open_page("catalog", **query)
    assert "These are yours alone. So have person-operator." in text_of(page)
    assert "1 value to enter." in text_of(page)  # not the operator's
    visit("viewer")
    assert open_page("catalog", **query).button(key=keep).disabled


def _actions(app: App) -> list[str]:
    app.store.events.flush()
    return app.store.activity.export("person_actions", "csv").decode().splitlines()


def turned() -> None:
    import streamlit as st

    from core.routers.ehrr import EhrrParameters
    from dashboard.ui.knobs import take_turned

    take_turned([{"count": 1, "values": {"alpha_t": 0.5}}], EhrrParameters.knobs(), "k")
    st.text(st.session_state.get("k.alpha_t", "as before"))


def test_a_viewer_cannot_turn_a_knob_and_an_operator_can(app: App, visit: Callable[[Role], None]) -> None:
    for role, value in (("viewer", "as before"), ("operator", "0.5")):
        visit(role)
        page = open_page("route", **ROUTE)
        assert knob_panel_of(page)["locked"] is (role == "viewer")
        assert ("may not change knobs" in text_of(page)) is (role == "viewer")
        assert AppTest.from_function(turned).run().text[0].value == value


@each("role", list(ROLES))
def test_each_role_at_each_address(app: App, role: Role) -> None:
    token = app.governance.clients.make(f"one-{role}", Scope(pages=True, roles=(role,)), origin="test")
    gate = SignInGate(console, needed=lambda: True, app=lambda: app)
    visitor = TestClient(gate, "http://10.0.0.1:8501", client=("10.0.0.9", 5), follow_redirects=False)
    visitor.post(SIGN_IN, data={"token": token})
    response = visitor.post(LANE, json={"token": "x", "kind": "x", "values": {}})
    assert response.status_code == (404 if "tune" in ROLES[role] else 403)
    assert ("may not change knobs" in response.text) is ("tune" not in ROLES[role])
    assert visitor.post(LANE, json={"token": "x", "kind": "score", "values": {}}).status_code == 404  # it is a view
    assert [visitor.get(path).status_code for path in ("/waiting", "/export/decisions.csv")] == [200, 200]


def test_people_cannot_use_the_endpoint_in_any_role(app: App) -> None:
    with served(app, "post") as url:
        for role in ROLES:
            token = app.governance.clients.make(f"two-{role}", Scope(pages=True, roles=(role,)), origin="test")
            assert status(f"{url}/mcp", Authorization=f"Bearer {token}")[0] == 401
