"""Each role at each page, at the fast lane and at the addresses of the console; a request that was forged past a page is refused."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from core.app import App
from core.domain.errors import Refusal
from core.domain.people import ROLES, Role
from core.domain.settings import Launch, set_launch
from core.governance.budgets import Budget
from core.governance.policy import ApprovalRules, Policy, Scope
from core.store.log import TABLES
from dashboard.app import pages as console
from dashboard.lane import PATH as LANE
from dashboard.navigation import VIEWS
from dashboard.sign_in import SIGN_IN, SignInGate
from tests.cases import each
from tests.dashboard.harness import app_with, knob_panel_of, open_page, text_of
from tests.gateway.conftest import status
from tests.gateway.serving import served
from tests.governance.conftest import wanted

TOOL = {"name": "send", "description": "Send a letter.", "inputSchema": {"type": "object", "properties": {}}}
POST = {"servers": [{"name": "mail", "description": "Mail.", "tools": [TOOL, {**TOOL, "name": "read"}]}]}
PAGES = {
    **{view.folder: {"q": "send a letter", "catalog": "post"} for views in VIEWS.values() for view in views},
    "call": {"catalog": "post", "tool": "mail::send"},
    "catalog": {"catalog": "post", "view": "servers", "server": "mail"},
    "lab": {"catalog": "post"},
}
MORE = (
    ("govern", {"view": "Clients"}), ("govern", {"view": "Policy"}), ("govern", {"view": "Budgets"}),
    ("catalog", {"catalog": "post", "view": "tools", "tool": "mail::send"}),
    ("catalog", {"catalog": "post", "view": "calibration"}), ("lab", {"catalog": "post", "view": "snapshots"}),
)  # fmt: skip
VISITS = [*PAGES.items(), *MORE]
app = app_with({"post": POST})


@pytest.fixture
def visit(app: App, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Role], None]]:
    """Lets the pages that follow be visited by a person in this role."""
    rules = ApprovalRules(writes=True)
    app.governance.set_policy(Policy(approvals=rules, budgets=(Budget(usd=1.0),)), origin="test")
    with pytest.raises(Refusal):
        app.governance.before(wanted(app, "mail::send", catalog="post"))
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


def kept(app: App) -> dict[str, int]:
    """The number of records of each kind in the log, but for what people tried."""
    app.store.events.flush()
    tables = [table for table in TABLES.values() if table != "person_actions"]
    return {table: app.store.activity._number(f"SELECT count(*) FROM {table}", []) for table in tables}


def locked(page: AppTest) -> list[Any]:
    """The controls that the role may not use."""
    kinds = (page.button, page.toggle, page.number_input, page.radio, page.selectbox)
    return [one for kind in kinds for one in kind if one.disabled and str(one.help).startswith("Your role")]


WHERE = {
    "viewer": {"call", "route", "catalog", "govern", "lab", "agent"}, "operator": {"catalog", "govern"},
    "approver": {"call", "route", "catalog", "lab", "agent"}, "admin": set[str](),
}  # fmt: skip


@each("role", list(ROLES))
def test_each_role_sees_every_page_and_only_a_viewer_changes_nothing(
    app: App, visit: Callable[[Role], None], role: Role
) -> None:
    visit(role)
    before, at = kept(app), set[str]()
    for name, query in VISITS if role == "viewer" else PAGES.items():
        asked = {**query, "q": f"send a letter to the {role}"} if "q" in query else query
        page = open_page(name, **asked)  # it stops at no exception
        at |= {name} if locked(page) else set()
    assert at >= WHERE[role]
    assert bool(at) is (role != "admin")
    changed = {table for table, count in kept(app).items() if count != before[table]}
    assert changed == (set() if role in {"viewer", "approver"} else {"decisions"})


FORGED = [("route", PAGES["route"]), ("catalog", PAGES["catalog"]), ("govern", {}), *MORE[:3]]


def test_what_a_viewer_forges_past_a_page_is_refused_and_noted(app: App, visit: Callable[[Role], None]) -> None:
    """The page host discards values of disabled controls. Here the controls were drawn for an admin, so that the services must refuse."""
    visit("viewer")
    for_viewer = {
        (name, *query.items()): [one.key for one in locked(open_page(name, **query))] for name, query in FORGED
    }
    before, secrets, tried = kept(app), app.vault.names(), 0
    for name, query in FORGED:
        for key in filter(None, for_viewer[name, *query.items()]):
            visit("admin")
            page = open_page(name, **query)
            before = kept(app)
            visit("viewer")
            control = next((one for one in (*page.button, *page.toggle) if one.key == key), None)
            if control is None or control.disabled:
                continue
            tried += 1
            (control.click() if control.type == "button" else control.set_value(not control.value)).run()
            assert kept(app) == before, (name, key)
    assert tried > 15
    assert app.vault.names() == secrets
    noted = list(csv.reader(app.store.activity.export("person_actions", "csv").decode().splitlines()))[1:]
    assert len(noted) > 20  # the others open a dialog
    assert {(person, refused) for _, _, person, _, _, refused in noted} == {("person-viewer", "true")}
    assert ["revoke a token", "crab"] in [one[3:5] for one in noted]


def turned() -> None:
    import streamlit as st

    from core.routers.ehrr import EhrrParameters
    from dashboard.ui.knobs import take_turned

    take_turned([{"count": 1, "values": {"alpha_t": 0.5}}], EhrrParameters.knobs(), "k")
    st.text(st.session_state.get("k.alpha_t", "as before"))


def test_a_viewer_cannot_turn_a_knob_and_an_operator_can(app: App, visit: Callable[[Role], None]) -> None:
    for role, value in (("viewer", "as before"), ("operator", "0.5")):
        visit(role)
        page = open_page("route", **PAGES["route"])
        assert knob_panel_of(page)["locked"] is (role == "viewer")
        assert ("may not change knobs" in text_of(page)) is (role == "viewer")
        assert AppTest.from_function(turned).run().text[0].value == value


@each("role", list(ROLES))
def test_each_role_at_each_address(app: App, role: Role) -> None:
    token = app.governance.clients.make(f"one-{role}", Scope(pages=True, roles=(role,)), origin="test")
    gate = SignInGate(console, needed=lambda: True, app=lambda: app)
    visitor = TestClient(gate, "http://10.0.0.1:8501", client=("10.0.0.9", 5), follow_redirects=False)
    visitor.post(SIGN_IN, data={"token": token})
    said = visitor.post(LANE, json={"token": "x", "kind": "x", "values": {}})
    assert said.status_code == (404 if "tune" in ROLES[role] else 403)
    assert ("may not change knobs" in said.text) is ("tune" not in ROLES[role])
    assert visitor.post(LANE, json={"token": "x", "kind": "score", "values": {}}).status_code == 404  # it is a view
    assert [visitor.get(path).status_code for path in ("/waiting", "/export/decisions.csv")] == [200, 200]


def test_people_cannot_use_the_endpoint_in_any_role(app: App) -> None:
    with served(app, "post") as url:
        for role in ROLES:
            token = app.governance.clients.make(f"two-{role}", Scope(pages=True, roles=(role,)), origin="test")
            assert status(f"{url}/mcp", Authorization=f"Bearer {token}")[0] == 401
