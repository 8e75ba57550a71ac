"""Around a model: both phases of a decision, definitions live from servers, calls refused, and the event that is kept."""

from __future__ import annotations

import json
from typing import Any

from core.app import App
from core.domain.decision import Decision
from core.routers import ROUTERS
from core.routers.why import why
from tests.importing import import_text
from tests.world import document

ATTENTION = "tool_attention"


def route(app: App, text: str = "Read a file.", *, catalog: str = "world", router: str = ATTENTION, **values):
    chosen = app.routing.parameters(router, values)
    return app.routing.route(text, catalog=catalog, router=router, parameters=chosen)


def recorded(app: App, decision: Decision) -> dict[str, Any]:
    """The stored part of a decision's trace."""
    app.store.events.flush()
    return json.loads(app.store.activity.decision(decision.id).trace_json)


def test_a_turn_shows_all_summaries_and_the_active_definitions(app: App) -> None:
    decision = route(app)
    turn = app.attention.before_model(decision)
    assert len(turn.summaries) == len(decision.tools.ids)
    assert "files::read: Read a file." in turn.summaries
    assert [schema.tool.id for schema in turn.schemas] == [decision.tools.ids[row] for row in decision.candidates]
    assert sum(schema.tokens for schema in turn.schemas) == decision.exposure.exposed > 0
    assert all(schema.hit for schema in app.attention.before_model(decision).schemas)  # kept from turn to turn
    eager = app.attention.before_model(route(app, lazy_loading=False))
    assert (bool(eager.summaries), eager.schemas) == (True, ())
    eager_router = app.attention.before_model(route(app, router="rag_mcp"))
    assert (eager_router.summaries, len(eager_router.schemas)) == ((), 3)


def test_a_live_server_is_asked_for_its_definitions(app: App) -> None:
    decision = route(app, "Echo words.", n=1)
    assert decision.winner.tool == "raw::echo"
    (live,) = app.attention.before_model(decision, live=True).schemas
    (cached,) = app.attention.before_model(decision, live=True).schemas
    assert (live.source, live.hit, live.note) == ("live", False, "")
    assert live.tool.input_schema is not None
    assert live.tool.price_usd == 0.002  # the catalog's price stays
    assert (cached.source, cached.hit) == ("live", True)


def test_a_server_that_cannot_be_reached_leaves_the_catalogs_definition_and_a_reason(app: App) -> None:
    (schema,) = app.attention.before_model(route(app, n=1), live=True).schemas
    assert (schema.source, schema.tool.id) == ("catalog", "files::read")
    assert "files has no command or URL" in schema.note


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


def test_a_plans_step_has_seen_what_the_steps_before_it_bring(app: App) -> None:
    servers = json.loads(document())
    letters = next(server for server in servers["servers"] if server["name"] == "mail")
    letters["tools"][0]["preconditions"] = ["has_prior_tool_output('read')"]
    import_text(app.catalog_editor, json.dumps(servers), "ordered")
    question = "Read a file and send a letter about it."

    def plan(**values: str):
        chosen = app.routing.parameters(ATTENTION, {"theta": 0.0, **values})
        return app.routing.plan(question, catalog="ordered", router=ATTENTION, parameters=chosen)

    reading, sending = (step.decision for step in plan(outputs="none").steps)
    assert reading.winner.tool == "files::read"
    assert reading.parameters["outputs"] == "none"
    assert sending.parameters["outputs"] == "files::read"
    assert sending.winner.tool == "mail::send"
    unplanned = route(app, sending.query, catalog="ordered", theta=0.0, outputs="none")
    assert "mail::send" not in [unplanned.tools.ids[row] for row in unplanned.candidates]
    assert [step.decision.parameters["outputs"] for step in plan(outputs="*").steps] == ["*", "*"]
    assert [step.decision.parameters["outputs"] for step in plan(outputs="a::b").steps] == ["a::b", "a::b,files::read"]


def test_a_tool_with_a_name_that_reads_as_several_has_been_seen_by_nobody(app: App) -> None:
    router, parameters = ROUTERS[ATTENTION](), app.routing.parameters(ATTENTION, {"outputs": "none"})
    assert router.having_seen(parameters, ["evil::a, pay", "b c::*"]).values()["outputs"] == "none"
    assert router.having_seen(parameters, ["files::read"]).values()["outputs"] == "files::read"
    stated = app.routing.parameters(ATTENTION, {"scopes": "b, a", "outputs": "files::read"})
    assert router.having_seen(stated, []) is stated  # unchanged, so an equal question has an equal decision
    assert router.having_seen(stated, ["mail::send"]).values()["scopes"] == "b, a"
