"""Catalog and statistics as tables: units, sources, filters."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from core.domain.catalog import Catalog, Connection, Server, Tool, ToolHints
from core.domain.events import OutcomeEvent, Override
from core.routers.projection import StatisticsProjection
from dashboard.pages.catalog.detail import server_statistics, tool_statistics
from dashboard.ui import catalog_frames as frames

NOW = datetime(2026, 1, 2, tzinfo=UTC)
CATALOG = Catalog(
    "mine",
    (
        Server(
            "weather",
            "Forecasts for any place.",
            category="data",
            tools=(
                Tool("weather", "today", "The weather now.\nIn one line.", price_usd=0.002, latency_s=0.4, tier="low"),
                Tool("weather", "week", "Seven days.", price_usd=0.006, hints=ToolHints(read_only=True)),
            ),
            conn_s=0.25,
            success=0.9,
            connection=Connection("stdio", command="npx"),
        ),
        Server("empty", "Says little.", tools=(Tool("empty", "nothing"),), ask_usd=0.5),
        Server("bare", tools=(Tool("bare", "x"),)),
    ),
)


def outcome(tool: str = "today", **changes: object) -> OutcomeEvent:
    fields: dict[str, object] = {
        "id": "1", "at": NOW, "decision_id": None, "catalog": "mine", "server": "weather", "tool": tool, "kind": "ok",
        "latency_s": 1.0, "connect_s": 0.5, "attempts": 1, "price_usd": None, "simulated": False, "error": "",
        "origin": "console",
    }  # fmt: skip
    return OutcomeEvent(**{**fields, **changes})  # type: ignore[arg-type]


def book(*overrides: Override) -> StatisticsProjection:
    return StatisticsProjection(CATALOG, overrides=overrides)


def test_servers_say_every_figure_with_unit_and_source() -> None:
    frame = frames.server_frame(CATALOG, book().snapshot())
    first = frame.loc[0]
    assert first["ask_musd"] == pytest.approx(4.0)
    assert (first["ask_source"], first["connect_source"], first["call_source"]) == (
        "tools' median",
        "declared",
        "prior",
    )
    assert first["connect_s"] == 0.25
    assert first["success_percent"] == pytest.approx(90.0)
    assert list(frame["ask_source"]) == ["tools' median", "declared", "unpriced"]
    assert np.isnan(frame.loc[2, "ask_musd"])
    assert list(frame["reached_by"]) == ["stdio", "no command", "no command"]


def test_tools_say_every_figure_with_unit_and_source() -> None:
    frame = frames.tool_frame(CATALOG, book().snapshot(), np.array([10, 20, 30, 40]))
    assert list(frame["price_musd"][:2]) == pytest.approx([2.0, 6.0])
    assert list(frame["price_source"]) == ["declared", "declared", "unpriced", "unpriced"]
    assert list(frame["latency_source"]) == ["declared", "prior", "prior", "prior"]
    assert frame.loc[0, "description"] == "The weather now. In one line."
    assert frame.loc[1, "hints"] == "read-only"
    assert list(frame["tokens"]) == [10, 20, 30, 40]


def test_measured_statistics_say_from_how_many_calls() -> None:
    running = book()
    running.observe(outcome())
    running.observe(outcome("week", connect_s=None))
    servers, tools = (make(CATALOG, running.snapshot()) for make in (frames.server_frame, frames.tool_frame))
    assert servers.loc[0, "call_source"] == "measured · 2 calls"
    assert servers.loc[0, "connect_source"] == "measured · 1 call"
    assert list(tools["success_source"])[:2] == ["measured · 1 call", "measured · 1 call"]
    counted = frames.counts(CATALOG, running.snapshot())
    assert (counted.servers, counted.tools, counted.unpriced) == (3, 4, 2)
    assert (counted.measured, counted.statistics) == (4 + 4, 4 * 3 + 2 * 4)


def test_a_description_is_shown_on_one_line_with_nothing_hidden() -> None:
    assert frames.beginning("a\x1b[31m\u202e b\n\nc") == "a⟨U+001B⟩[31m⟨U+202E⟩ b c"
    assert len(frames.beginning("x" * 10_000_000)) == frames.SHOWN_DESCRIPTION


def test_the_detail_lists_value_source_and_what_was_declared() -> None:
    statistics = book().snapshot()
    rows = {row[0]: row[1:] for row in server_statistics(CATALOG.servers[0], statistics, 0)}
    assert rows["Connection time"] == ("250 ms", "declared", "250 ms")
    assert rows["Call time"] == ("1 s", "prior", "–")
    assert tool_statistics(CATALOG.tools[0], statistics, 0)[0] == ("Latency", "400 ms", "declared", "400 ms")
