"""Servers that break in the middle of a call, each in another way: every call is answered, counted once, and within the budget."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import anyio
from mcp import Client

from core.app import App
from core.governance.budgets import Budget
from core.governance.status import budgets
from tests.gateway.broken_server import KINDS, MAY_BE, OUTCOMES, PRICE_USD, catalog
from tests.gateway.conftest import talk
from tests.gateway.serving import served
from tests.governance.conftest import policy
from tests.importing import import_text


def test_each_call_is_answered_and_counted_once(app: App, tmp_path: Path) -> None:
    import_text(app.catalog_editor, catalog(KINDS, str(tmp_path)), "world")
    limit = Budget(client="", usd=PRICE_USD * len(KINDS), calls=len(KINDS))
    policy(app, budgets=(limit,))
    answers: dict[str, str] = {}

    async def script(client: Client) -> str:
        async def one(kind: str) -> None:
            result = await client.call_tool("execute_tool", {"tool": f"{kind}::work"}, read_timeout_seconds=60)
            answers[kind] = result.structured_content["error"] if result.is_error else ""

        async with anyio.create_task_group() as tasks:
            for kind in KINDS:
                tasks.start_soon(one, kind)
        return (await client.call_tool("execute_tool", {"tool": "fine::work"})).structured_content["error"]

    with served(app, "world") as url:
        assert talk(f"{url}/mcp?timeout=1", script) == "budget_spent"
    app.store.events.flush()
    assert [kind for kind, error in answers.items() if error not in MAY_BE[kind]] == []
    logged = Counter((outcome.server, outcome.kind) for outcome in app.store.events.outcomes("world"))
    assert logged == Counter((kind, OUTCOMES[error]) for kind, error in answers.items())
    projection, rows = app.catalogs.projection("world"), app.catalogs.catalog("world").tool_row
    assert [projection.tool(row).calls for row in rows.values()] == [1] * len(KINDS)
    usd, calls = budgets(app.governance, app.settings.now)
    answered = sum(OUTCOMES[error] in {"ok", "tool_error"} for error in answers.values())
    assert (calls.used, calls.reserved, usd.reserved) == (len(KINDS), 0, 0)
    assert round(usd.used / PRICE_USD) == answered
