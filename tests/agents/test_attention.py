"""Around a model: both phases of a decision, definitions live from servers, calls refused, and the event that is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.app import App
from core.domain.catalog import definition_tokens
from core.domain.decision import Decision
from core.domain.errors import WayfareError
from core.domain.tasks import Task
from core.routers import ROUTERS
from core.routers.why import why
from tests.cases import each
from tests.importing import import_text
from tests.world import document

ATTENTION = "tool_attention"


def route(app: App, text: str = "Read a file.", *, catalog: str = "world", router: str = ATTENTION, **values):
    chosen = app.routing.parameters(router, values)
    return app.routing.route(text, catalog=catalog, router=router, parameters=chosen)


def recorded(app: App, decision: Decision) -> dict[str, Any]:
    """What the store keeps of a decision's trace."""
    app.store.events.flush()
    return json.loads(app.store.activity.decision(decision.id).trace_json)


def test_a_turn_shows_all_summaries_and_the_active_definitions(app: App) -> None:
    decision = route(app)
    shown = app.attention.before_model(decision)
    assert len(shown.summaries) == len(decision.tools.ids)
    assert "files::read: Read a file." in shown.summaries
    assert [tool.id for tool in shown.tools] == [decision.tools.ids[row] for row in decision.candidates]
    assert sum(definition_tokens(tool) for tool in shown.tools) == decision.exposure.exposed > 0
    eager = app.attention.before_model(route(app, lazy_loading=False))
    assert (bool(eager.summaries), eager.tools) == (True, ())
    other = app.attention.before_model(route(app, router="rag_mcp"))
    assert (other.summaries, len(other.tools)) == ((), 3)


def test_a_call_of_what_was_not_offered_goes_back_as_an_error(app: App) -> None:
    decision = route(app, n=1)
    assert app.attention.after_model(decision, "files::read") is None
    refused = app.attention.after_model(decision, "files::burn_everything")
    assert refused == {"error": "tool_not_available", "available": ["files::read"]}
    assert app.attention.after_model(decision, "mail::send") == refused
    open_gate = route(app, n=1, hallucination_gate=False)
    assert app.attention.after_model(open_gate, "mail::send") is None


def test_the_event_is_stored_beside_the_trace(app: App) -> None:
    decision = route(app)
    trace = recorded(app, decision)
    assert trace["event"]["turn_id"] == decision.id
    assert trace["event"]["active_set"] == [decision.tools.ids[row] for row in decision.candidates]
    assert trace["event"]["phase1_tokens"] == decision.exposure.cached
    assert {row["server"] for row in trace["servers"]} < set(decision.servers.names)
    assert "event" not in recorded(app, route(app, router="rag_mcp"))


def test_preconditions_of_a_stored_catalog_are_kept(app: App) -> None:
    servers = json.loads(document())
    servers["servers"][1]["tools"][0]["preconditions"] = ["is_authenticated('files:read')"]
    import_text(app.catalog_editor, json.dumps(servers), "guarded")
    assert app.store.catalogs.load_catalog("guarded") == app.catalogs.catalog("guarded")
    decision = route(app, catalog="guarded", scopes="none")
    row = decision.tools.ids.index("files::read")
    assert 'needs is_authenticated(scope="files:read")' in why(decision, "files::read")
    assert row not in decision.candidates


@each(
    ("tasks", "said"),
    [
        ([], "No task is labelled"),
        ([Task("1", "Bake a cake.")], "No task is labelled"),
        ([Task("1", "Bake a cake.", relevant=("oven::bake",))], "None of the labelled tools is in the catalog"),
    ],
)
def test_a_threshold_needs_labels_of_this_catalog(app: App, tasks, said) -> None:
    with pytest.raises(WayfareError, match=said):
        app.lab.fit_threshold(tasks, catalog="world", parameters=app.routing.parameters(ATTENTION))


def test_a_tool_with_a_name_that_reads_as_several_has_been_seen_by_nobody(app: App) -> None:
    router, parameters = ROUTERS[ATTENTION](), app.routing.parameters(ATTENTION, {"outputs": "none"})
    assert router.having_seen(parameters, ["evil::a, pay", "b c::*"]).values()["outputs"] == "none"
    assert router.having_seen(parameters, ["files::read"]).values()["outputs"] == "files::read"
    said = app.routing.parameters(ATTENTION, {"scopes": "b, a", "outputs": "files::read"})
    assert router.having_seen(said, []) is said  # as it was written: the same question is the same decision
    assert router.having_seen(said, ["mail::send"]).values()["scopes"] == "b, a"
